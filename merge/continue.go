package merge

import (
	"context"
	"tape/internal/join"
	"tape/internal/workspace"

	"tape/repo"
)

// Continue finishes a merge that git has begun in the tape's working tree and has stopped
// at a conflict: it is made from the two commits, whatever git has left in the files.
// Entries that were not committed come first. The fork stays open. repo.ErrNotFound where
// there is no such merge.
func Continue(ctx context.Context, t *repo.Tape) (Result, error) {
	m, err := join.ContinueMerge(ctx, (*workspace.Tape)(t))
	return resultOf(m), err
}

// Abort takes such a merge back, as git merge --abort does, which it runs.
func Abort(ctx context.Context, t *repo.Tape) error {
	return join.AbortMerge(ctx, (*workspace.Tape)(t))
}
