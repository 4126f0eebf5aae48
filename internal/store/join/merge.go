package join

import (
	"context"
	"errors"
	"tape/internal/git/gitstore"
	"tape/internal/store/forks"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
)

// Options say how a fork is merged.
type Options struct {
	Keep    bool   // leave the fork open: it can be written to, and merged again
	Summary string // recorded instead of the fork's entries, which stay reachable in git
}

// Result tells what a merge did.
type Result struct {
	Merged          int    // entries that were appended; 0 if there was nothing new
	FirstID, LastID int64  // of these entries
	Commit          string // of the merge; "" if there was nothing new
	Anchors         int    // phases among the appended entries
	Into            string // the tape or fork that they were appended to
	Closed          bool   // the fork was closed
}

// Merge merges a fork into its parent: the fork's own entries are appended, renumbered, each with
// meta.origin, in one commit with two parents. Uncommitted entries of either side are committed
// first. Merging again adds nothing.
//
// If the parent was itself merged away, the fork is merged into the tape that contains the parent
// now. The error is a *RewrittenError if the history of either side was changed.
func Merge(ctx context.Context, t *workspace.Tape, o Options) (out Result, err error) {
	err = WithMergesCompleted(ctx, func() error {
		out, err = merge(ctx, t, o)
		return err
	})
	return out, err
}

func merge(ctx context.Context, t *workspace.Tape, o Options) (Result, error) {
	into, err := Target(ctx, t)
	if err != nil {
		return Result{}, err
	}
	var out Result
	err = writer.Locked(ctx, into, func(w *writer.Writer) error {
		return writer.Locked(ctx, t, func(fw *writer.Writer) error {
			if !o.Keep {
				if err := forks.CheckClosable(fw); err != nil {
					return err
				}
			}
			if err := fw.Checkpoint(ctx); err != nil {
				return err
			}
			if err := w.Checkpoint(ctx); err != nil {
				return err
			}
			if out, err = onto(ctx, w, fw.Head, ontoOptions{name: t.Name(), summary: o.Summary}); err != nil || o.Keep {
				return err
			}
			out.Closed = true
			return closeInto(ctx, fw, w.Head)
		})
	})
	return out, layout.Wrap(err, "merge %q into %q", t.Name(), into.Name())
}

// closeInto closes a fork after its merge. into is the parent's commit, which does not contain the fork
// if there was nothing to merge; then the message says so.
func closeInto(ctx context.Context, w *writer.Writer, into gitstore.Hash) error {
	message := ""
	if has, err := lineage.Contains(w.T.Store(), into, w.Head); err != nil {
		return err
	} else if !has {
		message = forks.EmptyMergeMessage + layout.OneLine(w.T.ForkName())
	}
	return forks.Close(ctx, w, message)
}

// Target returns what a fork is merged into: the nearest of its ancestors that contains the base of the
// fork. That is its parent, unless somebody else has merged the parent into an ancestor, with entries
// that the parent lacks here. If none contains it, it is the nearest one. Errors: ErrInvalid for a
// tape; ErrNotFound if no ancestor is here.
func Target(ctx context.Context, t *workspace.Tape) (*workspace.Tape, error) {
	if !t.IsFork() {
		return nil, layout.Invalid("", "%q is a tape, not a fork", t.Name()).Try(layout.NameFork)
	}
	var first *workspace.Tape
	for into, err := range forks.Ancestors(ctx, t) {
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = into
		}
		if knows, err := knowsBase(into, t); err != nil || knows {
			return into, err
		}
	}
	if first == nil {
		return nil, layout.NotFound("", "%q, the parent of %q, is gone", t.Parent(), t.Name()).Try(layout.ListAll)
	}
	return first, nil // Merge reports what is wrong
}

// knowsBase reports whether a tape contains the base of a fork.
func knowsBase(t *workspace.Tape, f *workspace.Tape) (bool, error) {
	head, err1 := t.Head()
	at, err2 := f.Head()
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	b, ok, err := snapshot.MadeBase(f, at)
	if err != nil || !ok {
		return err == nil, err // the fork was made by git: Merge looks for its base
	}
	base, err1 := snapshot.AtCommit(t.Store(), b.Start)
	ours, err2 := snapshot.AtCommit(t.Store(), head)
	if err := errors.Join(err1, err2); err != nil {
		return false, err
	}
	if ok, err := ours.Continues(base); err != nil || ok {
		return ok, err
	}
	begin, err := t.Store().Git().Commit(b.Start)
	if err != nil {
		return false, layout.CorruptObject(b.Start, err)
	}
	for _, from := range begin.Parents {
		if has, err := lineage.Contains(t.Store(), head, from); err != nil || has {
			return has, err
		}
	}
	return false, nil
}
