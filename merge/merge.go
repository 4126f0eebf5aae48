// Package merge combines what two sides have recorded.
//
// Both sides of a merge begin with the same entries, and each has appended others. The side that is
// merged into keeps every byte. The entries that only the other side has follow. They are renumbered, and
// meta.origin has the former place of each. So nothing is lost or duplicated, and each side keeps its
// order. There is no conflict, unless somebody changed what both begin with.
//
//	f, err := t.Fork(ctx, "try-wal")
//	…
//	res, err := merge.Back(ctx, f)
//
// With a remote, the other side is this workspace: published entries stay as they are, and local ones
// follow.
//
//	done, err := merge.Pull(ctx, store, "origin", nil)
package merge

import (
	"context"
	"tape/internal/store/join"
	"tape/internal/store/workspace"

	"tape/repo"
)

type (
	// Options say how a fork is merged.
	Options = join.Options
	// Result is what a merge did.
	Result = join.Result
)

// Back merges a fork into its parent and closes it. If somebody changed what both begin with, the error is
// a *repo.RewrittenError, and nothing is changed.
func Back(ctx context.Context, fork *repo.Tape) (Result, error) {
	return BackWith(ctx, fork, Options{})
}

// BackWith is Back with options.
func BackWith(ctx context.Context, fork *repo.Tape, o Options) (Result, error) {
	return join.Merge(ctx, (*workspace.Tape)(fork), o)
}

// Continue finishes a merge in the tape's working tree that git stopped at a conflict. It uses the two
// commits, not the files that git left. Uncommitted entries are committed first. The fork stays
// open. repo.ErrNotFound if there is no such merge.
func Continue(ctx context.Context, t *repo.Tape) (Result, error) {
	return join.ContinueMerge(ctx, (*workspace.Tape)(t))
}

// Abort undoes a merge that git has not finished in the tape's working tree. It commits uncommitted
// entries, so none is lost. repo.ErrNotFound if there is no such merge.
func Abort(ctx context.Context, t *repo.Tape) error {
	return join.AbortMerge(ctx, (*workspace.Tape)(t))
}
