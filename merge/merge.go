// Package merge brings together what two sides have recorded.
//
// Both sides of a merge begin with the same entries, and each has appended others. The
// side that is merged into keeps every byte; what only the other has follows,
// renumbered, each entry with the place that it had in meta.origin. So nothing is lost,
// nothing comes twice, each side keeps its order, and there is no conflict, unless
// somebody has changed what both begin with.
//
//	f, err := t.Fork(ctx, "try-wal")
//	…
//	res, err := merge.Back(ctx, f)
//
// With a remote, the other side is this workspace: published entries stay as they are, and
// local ones follow.
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
	// Options change how a fork is merged back.
	Options = join.Options
	// Result tells what a merge did.
	Result = join.Result
)

// Back merges a fork into its parent and closes it. The error is a *repo.RewrittenError
// where somebody has changed what both begin with; nothing has changed then.
func Back(ctx context.Context, fork *repo.Tape) (Result, error) {
	return BackWith(ctx, fork, Options{})
}

// BackWith is Back with options.
func BackWith(ctx context.Context, fork *repo.Tape, o Options) (Result, error) {
	return join.Merge(ctx, (*workspace.Tape)(fork), o)
}

// Continue finishes a merge that git has begun in the tape's working tree and has stopped
// at a conflict: it is made from the two commits, whatever git has left in the files.
// Entries that were not committed come first. The fork stays open. repo.ErrNotFound where
// there is no such merge.
func Continue(ctx context.Context, t *repo.Tape) (Result, error) {
	return join.ContinueMerge(ctx, (*workspace.Tape)(t))
}

// Abort undoes such a merge, as git merge --abort does, which it runs.
func Abort(ctx context.Context, t *repo.Tape) error {
	return join.AbortMerge(ctx, (*workspace.Tape)(t))
}
