// Package repo records the sessions of AI agents in git, and reads them back.
//
// # Words
//
// A [Store] is a workspace: one directory that is one git repository. It holds any
// number of tapes, each a branch. [Init] creates one, [Open] opens one, and [Find]
// tells which one a project directory means.
//
// A [Tape] is what happened in one session, in order. It only ever grows. What it
// grows by is an [Entry]: a message, a tool call or its result, an event, an error, or
// any kind of your own. Entries are numbered 1, 2, 3 … without gap or repeat, and each
// is one line of JSON. An entry that is still to be written is a [Draft]; [Message],
// [System] and [Event] make the common ones.
//
// An [Anchor] is an entry that marks a point at which somebody else could take over: it
// has a name and a state, which says what the next one needs to know. The entries from
// one anchor up to the next are a [Phase], and a folder of plain files. Every tape is
// opened by the anchor session/start. [Tape.Handoff] writes an anchor, commits the phase
// that it closes, and tags the commit. So `git diff` between two tags is what happened
// in a phase, and a new agent need not read more than what follows the last anchor:
//
//	for e, err := range t.Entries(ctx, repo.Query{After: repo.Latest}) { … }
//
// A [Query] selects entries by anchors, dates and kinds. All reading goes through it.
//
// # Sharing
//
// A [Remote] is any other git repository. [Store.Push] sends tapes to one, forward only.
// [Store.Fetch] brings what one has beside the tapes, where it is checked; merge.Pull also
// brings each tape together with it. Published entries keep their place and their ids, local
// ones follow. [Clone] makes a workspace of a remote. All of this needs the git program.
//
// # What is promised
//
// History is append-only. [Tape.Reset] begins a new history and can keep the old one under
// a ref of its own. Nothing rewrites an entry but [Tape.Purge], for a secret that must not
// be there, and that leaves a record which [Store.Verify] checks.
//
// Everything that Push sends is searched for secrets first. The setting redact has them
// marked or masked before they are stored.
//
// When a call returns without an error, what it wrote survives kill -9 and a power cut.
// When it returns with an error, or never, the tape is as it was before or as it would
// be after, for any number of entries and handoffs in one [Tape.Update]; there is no
// state in between, and no repair to be run. What the next writer finds unfinished it
// completes or takes back, and tells [Options].Warn.
//
// Any number of processes may write to one tape. They take turns, and one that waits
// for longer than Options.LockWait fails with [ErrBusy]. Readers take no lock and never
// wait: they see the tape as it was at one moment, between two changes. Git may be used
// on the workspace meanwhile: gc, pack-refs, checkout, worktree, clone.
//
// Bytes that the program has no use for are kept: unknown members of a payload, 1.0 as
// opposed to 1, numbers that no float64 holds.
//
// What somebody else damages is reported, not built upon. Reads fail with a
// [CorruptError] that names the file and, where it can be told, the line; writes are
// refused; [Store.Verify] checks every promise of the format and lists what is broken.
// Reads compare what they read with its hash in git, and with a checksum where it is
// not committed yet, so that a line replaced by another well-formed one is found too.
//
// # Errors
//
// An error that a caller can act upon is one of [ErrNotFound], [ErrInvalid],
// [ErrConflict], [ErrBusy] and [ErrCorrupt], as errors.Is tells; where a remote is talked
// to also [ErrNoGit], [ErrAuth], [ErrRemote] and [ErrHostile]. What was refused of a remote is in
// the [RefStatus] of that branch, as [ErrRefused] or ErrConflict. [Hint] gives the way out
// that an error knows of.
//
// # Format
//
// The files, branches, tags and trailers are for other programs to read too; the
// document docs/format.md describes them with a worked example.
package repo
