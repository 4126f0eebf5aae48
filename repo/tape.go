package repo

import (
	"context"
	"iter"
	"strings"

	"tape/internal/store/forks"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Tape is one session's append-only sequence of entries, or a fork of one. It is a handle without locks
// or open files, and its methods may be called from several goroutines.
type Tape workspace.Tape

type (
	// AppendOptions are conditions for an append. Nil means none.
	AppendOptions = writer.AppendOptions
	// Tx is a transaction: a change of several steps that happens completely or not at all.
	Tx = writer.Tx
	// TxResult is what a Tx wrote.
	TxResult = writer.TxResult
	// Archive is a former history of a tape, kept under a ref.
	Archive = snapshot.Archive
	// Info is an overview of a tape.
	Info = query.Info
	// Base says where a fork begins.
	Base = query.Base
	// ForkInfo is an overview of a fork.
	ForkInfo = forks.ForkInfo
	// Commit is a commit of a tape's history.
	Commit = forks.Commit
)

// States of a fork.
const (
	ForkOpen       = forks.ForkOpen
	ForkMerged     = forks.ForkMerged
	ForkSummarized = forks.ForkSummarized // merged with a summary only
	ForkDiscarded  = forks.ForkDiscarded
)

func (t *Tape) in() *workspace.Tape { return (*workspace.Tape)(t) }

// Name is the tape's name; a fork's is PARENT/FORK.
func (t *Tape) Name() string { return t.in().Name() }

// Branch is the git branch that holds the tape, as git names it: tape/<slug>, or
// fork/<parent's slug>/<slug> for a fork.
func (t *Tape) Branch() string { return t.in().Branch() }

// Store is the workspace that the tape is in.
func (t *Tape) Store() *Store { return (*Store)(t.in().Store()) }

// WorkTree is the folder where the tape is checked out, "" if there is none.
func (t *Tape) WorkTree() string { return t.in().WorkTree() }

// IsFork reports whether this is a fork.
func (t *Tape) IsFork() bool { return t.in().IsFork() }

// ForkName is a fork's own name, without its parent's; "" for a tape.
func (t *Tape) ForkName() string { return t.in().ForkName() }

// Parent is the name of the tape or fork that a fork was made from; "" for a tape.
func (t *Tape) Parent() string { return t.in().Parent() }

// Append appends entries, all or none, and returns them as stored. When it returns,
// they survive a power cut.
func (t *Tape) Append(ctx context.Context, o *AppendOptions, drafts ...Draft) ([]Entry, error) {
	return withMergesCompleted(ctx, func() ([]Entry, error) { return writer.Append(ctx, t.in(), o, drafts...) })
}

// Update makes a change of several steps. If f returns nil, all of it is stored, otherwise nothing.
// Readers see the tape as it was until then.
func (t *Tape) Update(ctx context.Context, f func(tx *Tx) error) (TxResult, error) {
	return withMergesCompleted(ctx, func() (TxResult, error) { return writer.Update(ctx, t.in(), f) })
}

// Handoff writes an anchor, commits it with the phase that it closes, and tags the commit. The anchor's name
// must not be Latest or a number, which mean the last anchor and phases.
func (t *Tape) Handoff(ctx context.Context, a Anchor) (Handoff, error) {
	if a.Name == Latest || a.Name != "" && strings.Trim(a.Name, "0123456789") == "" {
		return Handoff{}, layout.Invalid("add a word that says what the phase is for",
			"an anchor cannot be called %q: that names the last anchor, or a phase by its number", a.Name)
	}
	return withMergesCompleted(ctx, func() (Handoff, error) { return writer.HandOff(ctx, t.in(), a) })
}

// Checkpoint commits the uncommitted entries, and returns the commit and how many there were. If there were
// none, it returns the present commit and 0.
func (t *Tape) Checkpoint(ctx context.Context) (commit string, entries int64, err error) {
	err = join.WithMergesCompleted(ctx, func() error {
		commit, entries, err = writer.Checkpoint(ctx, t.in())
		return err
	})
	return commit, entries, err
}

// Reset starts a tape over with only a new first anchor, a fork with only what it has of its parent. With
// archive, the history so far is kept under a ref, which is returned; without, only git's reflog has it.
func (t *Tape) Reset(ctx context.Context, archive bool) (ref string, err error) {
	return withMergesCompleted(ctx, func() (string, error) { return writer.Reset(ctx, t.in(), archive) })
}

// Archives returns the tape's archives, the oldest first.
func (t *Tape) Archives(ctx context.Context) ([]Archive, error) {
	return snapshot.Archives(ctx, t.in())
}

// Restore makes an archive the tape's history again, and removes its ref. The current history is archived
// in turn, unless it is only the first anchor; that archive's ref is returned. The stamp may be Latest or
// any unique beginning. A removed tape exists again.
func (t *Tape) Restore(ctx context.Context, stamp string) (restored Archive, archived string, err error) {
	err = join.WithMergesCompleted(ctx, func() error {
		restored, archived, err = writer.Restore(ctx, t.in(), stamp)
		return err
	})
	return restored, archived, err
}

// Remove removes a tape with its working tree, branch and tags. With archive, a ref keeps its history;
// its name is returned, and Restore brings the tape back. Without, the tape's archives are deleted, too.
// ErrConflict if it has open forks, is the current tape, or somebody has it checked out.
func (t *Tape) Remove(ctx context.Context, archive bool) (ref string, err error) {
	return withMergesCompleted(ctx, func() (string, error) { return forks.Remove(ctx, t.in(), archive) })
}

// Entries yields the selected entries. It reads the tape as it is when the iteration begins, without what
// is appended meanwhile. It ends after an error.
func (t *Tape) Entries(ctx context.Context, q Query) iter.Seq2[Entry, error] {
	return seqWithMergesCompleted(ctx, snapshot.Entries(ctx, t.in(), q))
}

// Context yields what the next model call needs: the last anchor; the earlier entries that no writer of an
// anchor had seen, because they come from another side of a merge or pull; and what follows the
// anchor. It reads the tape as Entries does.
func (t *Tape) Context(ctx context.Context) iter.Seq2[Entry, error] {
	return seqWithMergesCompleted(ctx, query.Context(ctx, t.in()))
}

// Show yields a phase with its anchor (by name, number, folder, tag or Latest), one entry
// (@17), or what a commit added.
func (t *Tape) Show(ctx context.Context, target string) iter.Seq2[Entry, error] {
	return seqWithMergesCompleted(ctx, query.Show(ctx, t.in(), target))
}

// Phases returns the tape's phases in order.
func (t *Tape) Phases(ctx context.Context) ([]Phase, error) {
	return withMergesCompleted(ctx, func() ([]Phase, error) { return query.Phases(ctx, t.in()) })
}

// Info returns an overview of the tape.
func (t *Tape) Info(ctx context.Context) (Info, error) {
	return withMergesCompleted(ctx, func() (Info, error) { return query.InfoOf(ctx, t.in()) })
}

// Summary returns a cheap overview of the tape, for lists of many tapes.
func (t *Tape) Summary(ctx context.Context) (query.Summary, error) {
	return withMergesCompleted(ctx, func() (query.Summary, error) { return query.SummaryOf(ctx, t.in()) })
}

// Stamp returns a text that does not change while nothing is written to the tape, for pollers, and the id
// of the last entry that was written through this package or the command line. They are "" and 0 if they are
// unknown, for example while a change is under way.
func (t *Tape) Stamp() (stamp string, last int64, err error) { return query.StampOf(t.in()) }

// History yields the commits of the tape and of its forks, the newest first.
func (t *Tape) History(ctx context.Context) iter.Seq2[Commit, error] {
	return seqWithMergesCompleted(ctx, forks.History(ctx, t.in()))
}

// Fork makes a fork that begins at the tape's end. Uncommitted entries are committed first. ErrConflict if
// there is a fork or tape of that name.
func (t *Tape) Fork(ctx context.Context, name string) (*Tape, error) { return t.ForkAt(ctx, name, "") }

// ForkAt makes a fork that begins after an anchor (its name, its phase's number or folder, its tag, or
// Latest) or after an entry (@17). "" means the tape's end.
func (t *Tape) ForkAt(ctx context.Context, name, at string) (*Tape, error) {
	f, err := withMergesCompleted(ctx, func() (*workspace.Tape, error) { return forks.Begin(ctx, t.in(), name, at) })
	return (*Tape)(f), err
}

// Base returns where a fork begins. ErrInvalid for a tape that is not a fork.
func (t *Tape) Base(ctx context.Context) (Base, error) { return query.DescribeBase(ctx, t.in()) }

// ForkInfo returns an overview of an open fork.
func (t *Tape) ForkInfo(ctx context.Context) (ForkInfo, error) {
	return withMergesCompleted(ctx, func() (ForkInfo, error) { return forks.Describe(ctx, t.in()) })
}

// Forks returns the open forks of a tape, but not forks of its forks.
func (t *Tape) Forks(ctx context.Context) ([]*Tape, error) { return outside(t.in().Forks(ctx)) }

// ClosedForks returns the forks that were merged into a tape and those of its own that were discarded, the
// newest first. Discarded ones are found as long as git keeps its reflog.
func (t *Tape) ClosedForks(ctx context.Context) ([]ForkInfo, error) {
	return forks.ClosedForks(ctx, t.in())
}

// Discard deletes a fork with all its entries. All that remains is two lines in the reflog of its parent's
// branch, by which git keeps the commits for a while. ErrConflict if the fork has forks, or somebody has it
// checked out.
func (t *Tape) Discard(ctx context.Context) error {
	return join.WithMergesCompleted(ctx, func() error { return forks.Discard(ctx, t.in()) })
}

// seqWithMergesCompleted is withMergesCompleted for a sequence. What comes again in a second call is left out.
func seqWithMergesCompleted[T any](ctx context.Context, seq iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		yielded := 0
		err := join.WithMergesCompleted(ctx, func() error {
			n := 0
			for v, err := range seq {
				if join.Mendable(err) {
					return err
				}
				if n++; n <= yielded {
					continue
				}
				if yielded++; !yield(v, err) {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			yield(*new(T), err)
		}
	}
}
