package purge

import (
	"context"
	"fmt"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/rewrite"
	"tape/internal/store/workspace"
)

// FollowPurge does to a tape, its forks and archives what purges have done to its history
// elsewhere: old is a commit that both had, next what the other has now. No record is added.
// Then the tape is such that next continues it, or that both have gone on from what old
// became. Options.Warn says what could not be cleared.
//
// ErrConflict if next is not old purged, or the same cannot be done here because the
// scanner was another one; then nothing is changed.
func FollowPurge(ctx context.Context, t *workspace.Tape, old, next gitstore.Hash, o PurgeOptions) error {
	p := newPurge(t.Store(), t, o)
	return p.aloneTold(ctx, fmt.Sprintf("purge tape %q as elsewhere", t.Name()), func() error { // a fetch, which has its lock
		made, ok, err := rewrite.CheckPurged(ctx, p.s, p.o.Find, old, next)
		if err != nil {
			return err
		}
		if !ok {
			return layout.Conflict("clone it again into another workspace, and compare", "the history of %s was rewritten elsewhere, and not by a purge", p.t.Branch())
		}
		p.follow, p.mask, p.prints = &made, made.Mask, made.Prints
		return p.do(ctx)
	}, purgeLock)
}
