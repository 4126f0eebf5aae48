package repo

import (
	"context"
	"fmt"

	"tape/internal/gitstore"
	"tape/internal/gitstore/gitrun"
)

// followPurge does to a tape, its forks and archives what purges have done to its history
// elsewhere: old is a commit that both had, next what the other has now. No record is added.
// Then the tape is such that next continues it, or that both have gone on from what old
// became. What could not be cleared is told by Options.Warn.
//
// ErrConflict if next is not old purged, or the same cannot be done here because the
// scanner was another one; then nothing is changed.
func followPurge(ctx context.Context, t *Tape, old, next gitstore.Hash, o PurgeOptions) error {
	p := t.store.newPurge(t, o)
	err := p.runFollow(ctx, old, next)
	for _, left := range p.out.Left {
		t.store.warn(left)
	}
	if err != nil {
		return fmt.Errorf("purge tape %q as elsewhere: %w", t.name, classify(err))
	}
	return nil
}

// runFollow does it beside a fetch, which has its lock.
func (p *purge) runFollow(ctx context.Context, old, next gitstore.Hash) error {
	if err := gitrun.CheckGit(); err != nil {
		return err
	}
	unlock, err := p.s.lockPrivate(ctx, purgeLock)
	if err != nil {
		return err
	}
	defer func() { _ = unlock() }()
	if err := p.finishFirst(ctx); err != nil {
		return err
	}
	made, ok, err := p.s.checkPurged(ctx, p.o.find, old, next)
	if err != nil {
		return err
	}
	if !ok {
		return conflict("clone it again into another workspace, and compare", "the history of %s was rewritten elsewhere, and not by a purge", p.t.Branch())
	}
	p.follow = &made
	return p.do(ctx)
}
