package purge

import (
	"context"
	"fmt"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/rewrite"
	"tape/internal/store/workspace"
)

// FollowPurge repeats, for a tape with its forks and archives, the purges that were made of its history
// elsewhere. old is a commit that both sides had, next what the other side has now. It adds no record.
// Afterwards next continues the tape, or both have diverged from what old became. What could not be
// cleared goes to the store's warnings.
//
// ErrConflict if next is not what a purge makes of old, or if the purge cannot be repeated here because it was
// made with another scanner; then nothing is changed.
func FollowPurge(ctx context.Context, t *workspace.Tape, old, next gitstore.Hash, o PurgeOptions) error {
	p := newPurge(t.Store(), t, o)
	return p.aloneWarning(ctx, fmt.Sprintf("purge tape %q as elsewhere", t.Name()), func() error { // called by a fetch, which holds the fetch lock
		made, ok, err := rewrite.RecordedPurge(ctx, p.s, old, next)
		if err != nil {
			return err
		}
		if !ok {
			return layout.Conflict("clone it again into another workspace, and compare", "the history of %s was rewritten elsewhere, and not by a purge", p.t.Branch())
		}
		p.follow = &made
		return p.do(ctx)
	}, purgeLock)
}
