// Package merge brings together what two sides have recorded.
//
// Both sides of a merge begin with the same entries, and each has appended others. The
// side that is merged into keeps every byte; what the other has besides follows,
// renumbered, each entry with the place that it had in meta.origin. So nothing is lost,
// nothing comes twice, each side keeps its order, and there is no conflict, unless
// somebody has changed what both begin with.
//
//	f, err := t.Fork(ctx, "try-wal")
//	…
//	res, err := merge.Back(ctx, f)
//
// With a remote, the other side is this workspace: what is published is merged into, and
// what is only here follows.
//
//	done, err := merge.Pull(ctx, store, "origin", nil)
package merge

import (
	"context"
	"tape/internal/join"
	"tape/internal/workspace"

	"tape/repo"
)

// Options change how a fork is merged back.
type Options struct {
	Keep    bool   // leave the fork open: it can be written to, and merged again
	Summary string // record this instead of the fork's entries, which stay reachable
}

// Result tells what a merge did.
type Result struct {
	Merged          int // entries that were appended; 0 if there was nothing new
	FirstID, LastID int64
	Commit          string // of the merge; "" if there was nothing new
	Anchors         int    // phases among what was appended
	Into            string // the tape, or fork, that it was appended to
	Closed          bool   // the fork is gone
}

// Back merges a fork into its parent and closes it. The error is a *repo.RewrittenError
// where somebody has changed what both begin with; nothing has changed then.
func Back(ctx context.Context, fork *repo.Tape) (Result, error) {
	return BackWith(ctx, fork, Options{})
}

// BackWith is Back with options.
func BackWith(ctx context.Context, fork *repo.Tape, o Options) (Result, error) {
	var m join.Merged
	err := join.Settled(ctx, func() (err error) {
		m, err = join.Merge(ctx, (*workspace.Tape)(fork), &join.MergeOptions{Keep: o.Keep, Summary: o.Summary})
		return err
	})
	return resultOf(m), err
}

func resultOf(m join.Merged) Result {
	return Result{Merged: m.Entries, FirstID: m.FirstID, LastID: m.LastID, Commit: m.Commit, Anchors: len(m.Handoffs),
		Into: m.Into, Closed: m.Closed}
}
