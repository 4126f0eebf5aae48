// Package repo records the sessions of AI agents in git, and reads them back.
//
// # Words
//
// A [Store] is a workspace: one directory that is one git repository. It holds any
// number of tapes, each a branch. [Init] creates one, [Open] opens one, and [Find] finds the
// one that belongs to a project directory.
//
// A [Tape] is what happened in one session, in order. It only ever grows, by entries. An [Entry] is
// a message, a tool call or its result, an event, an error, or any kind of your own. Entries are
// numbered 1, 2, 3 … without gaps or repeats, and each is one line of JSON. An entry that is not
// written yet is a [Draft]; [Message], [System] and [Event] make the common ones.
//
// An [Anchor] is an entry that marks a point at which somebody else could take over. It has a name
// and a state, which says what whoever takes over needs to know. The entries from one anchor up to the next
// are a [Phase], which is a folder of plain files. Every tape begins with the anchor session/start.
// [Tape.Handoff] writes an anchor, commits it with the phase that it closes, and tags the commit. So
// `git diff` between two tags shows what happened in a phase, and a new agent has to read only what
// follows the last anchor:
//
//	for e, err := range t.Entries(ctx, repo.Query{After: repo.Latest}) { … }
//
// A [Query] selects entries by anchors, dates and kinds. All reading goes through it.
//
// # Sharing
//
// A [Remote] is any other git repository. [Store.Push] sends tapes to one, fast-forward only.
// [Store.Fetch] fetches what one has into refs of its own, and checks it; merge.Pull also merges it
// into the tapes. Published entries keep their place and their ids, local ones follow. [Clone] makes a
// workspace from a remote. All of this needs the git program.
//
// # What is promised
//
// History is append-only. [Tape.Reset] begins a new history and can archive the old one under a ref.
// Only [Tape.Purge] rewrites entries, to take out a secret, and it leaves a record that [Store.Verify]
// checks.
//
// Everything that Push sends is searched for secrets first. The setting redact marks or masks them
// before they are stored.
//
// When a call returns without an error, what it wrote survives kill -9 and a power cut. When it returns
// an error or does not return, the tape is either as it was before or as it would be after, for any number
// of entries and handoffs in one [Tape.Update]. There is no state in between, and no repair to run. The
// next writer completes or undoes what it finds unfinished, and says so through [Options].Warn.
//
// Any number of processes may write to one tape. They take turns; one that waits longer than
// Options.LockWait fails with [ErrBusy]. Readers take no lock and never wait: they see the tape as it
// was at one moment, between two changes. Git may be used on the workspace at the same time: gc,
// pack-refs, checkout, worktree, clone.
//
// Bytes that the program does not interpret are kept: unknown members of a payload, 1.0 as opposed to
// 1, numbers that no float64 can represent.
//
// Damage is reported and never built upon. Reads fail with a [CorruptError] that names the file and,
// if possible, the line; writes are refused; [Store.Verify] checks every promise of the format and lists
// what is broken. Reads compare content with its hash in git, or with a checksum if it is not
// committed yet, so they also notice a line that was replaced by another valid one.
//
// # Errors
//
// Errors that a caller can act upon match one of [ErrNotFound], [ErrInvalid], [ErrConflict], [ErrBusy] and
// [ErrCorrupt] in errors.Is; with remotes also [ErrNoGit], [ErrAuth], [ErrRemote] and [ErrHostile]. If a
// remote's branch is refused, its [RefStatus] has an [ErrRefused] or ErrConflict. [Hints] returns what an
// error suggests to do.
//
// # Format
//
// Other programs may read the files, branches, tags and trailers, too; docs/format.md describes them,
// with a worked example.
package repo
