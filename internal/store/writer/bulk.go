package writer

import (
	"context"
	"errors"
	"os"

	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Bulk makes many new tapes, each with all its entries. They have no working tree: all their
// objects go into one pack, and all their branches and tags are set at once. Nobody sees any of
// them before Commit, and no lock is held until then: who makes a tape of the same name
// meanwhile comes first.
type Bulk struct {
	s     *workspace.Store
	batch *gitstore.Batch
	ready []planned
}

// planned is a new tape with all its commits.
type planned struct {
	t *workspace.Tape
	Plan
}

// NewBulk begins one.
func NewBulk(s *workspace.Store) *Bulk { return &Bulk{s: s, batch: s.Git().NewPack()} }

// Create begins a new tape, opened by a given anchor. Commit of the Tx leaves it to the Bulk. A
// tape of which something is there already, such as a working tree that waits for it, is made
// at once, as by CreateTapeFrom. ErrConflict if there is one of that name.
func (k *Bulk) Create(ctx context.Context, name string, first layout.Anchor) (*Tx, error) {
	if err := layout.CheckName("a tape", name); err != nil {
		return nil, err
	}
	t := k.s.Handle(name)
	isNew, err := k.isNew(t)
	if err == nil && !isNew {
		if t, err = CreateTapeFrom(ctx, k.s, name, first); err != nil {
			return nil, err
		}
		return BeginBare(ctx, t)
	}
	if err == nil {
		err = checkUnused(ctx, t)
	}
	if err != nil {
		return nil, layout.Wrap(err, "create tape %q", name)
	}
	w := &Writer{T: t}
	at, b, err := w.root(ctx, k.batch, first)
	if err != nil {
		return nil, layout.Wrap(err, "create tape %q", name)
	}
	tx := w.bareTx(k.batch, b, at, 1)
	tx.bulk = k
	return tx, nil
}

// isNew reports whether nothing is there yet of a tape, not even of a former one of its name.
func (k *Bulk) isNew(t *workspace.Tape) (bool, error) {
	if _, err := t.Head(); !errors.Is(err, layout.ErrNotFound) {
		return false, err
	}
	for _, path := range []string{journal.LockPath(t), snapshot.SealsPath(t)} {
		if _, err := os.Lstat(path); err == nil {
			return false, nil
		}
	}
	_, err := k.s.Git().WorktreeOf(t.Ref())
	if errors.Is(err, gitstore.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// InBulk reports whether the Tx is of a Bulk, and true only when that is.
func (tx *Tx) InBulk() bool { return tx.bulk != nil }

// take has a Tx among those that Commit makes true.
func (k *Bulk) take(ctx context.Context, tx *Tx) error {
	err := tx.Checkpoint(ctx)
	if err == nil {
		k.ready = append(k.ready, planned{tx.w.T, tx.commits.Plan})
	}
	return layout.Wrap(err, "write tape %q", tx.w.T.Name())
}

// Commit makes the tapes true, and returns the names of those that somebody else has made
// meanwhile: nothing of them has changed. After an error some may be there. It can be used again.
func (k *Bulk) Commit(ctx context.Context) (lost []string, err error) {
	batch, ready := k.batch, k.ready
	k.batch, k.ready = k.s.Git().NewPack(), nil
	defer batch.Discard()
	if len(ready) == 0 {
		return nil, nil
	}
	err = HoldingNew(ctx, k.s, func() error {
		if err := batch.Flush(ctx); err != nil {
			return err
		}
		if lost, err = k.setRefs(ctx, ready); err != nil {
			return err
		}
		return batch.Finish(context.WithoutCancel(ctx))
	})
	return lost, err
}

// Discard drops what Commit has not made true.
func (k *Bulk) Discard() {
	k.batch.Discard()
	k.ready = nil
}

// setRefs sets the refs of all tapes at once, or, if somebody has made one of them, tape by tape.
func (k *Bulk) setRefs(ctx context.Context, ready []planned) (lost []string, err error) {
	var all []gitstore.RefUpdate
	each := make([][]gitstore.RefUpdate, len(ready))
	for i, p := range ready {
		if each[i], err = p.refs(); err != nil {
			return nil, err
		}
		all = append(all, each[i]...)
	}
	err = k.s.Git().UpdateRefsAtOnce(ctx, all)
	if !errors.Is(err, gitstore.ErrConflict) {
		return nil, err
	}
	for i, p := range ready {
		err := k.s.Git().UpdateRefsAtOnce(ctx, each[i])
		if errors.Is(err, gitstore.ErrConflict) {
			lost = append(lost, p.t.Name())
		} else if err != nil {
			return lost, err
		}
	}
	return lost, nil
}

// refs are the branch of a new tape and its tags, in place of those that a tape of the same
// name has left behind.
func (p planned) refs() ([]gitstore.RefUpdate, error) {
	t, plan := p.t, p.Plan
	git := t.Store().Git()
	_, who, err := git.Identity(t.Store().Now())
	if err != nil {
		return nil, err
	}
	left, err := git.Refs(layout.TagPrefix + t.Slug() + "/")
	if err != nil {
		return nil, err
	}
	out := []gitstore.RefUpdate{{Name: t.Ref(), New: plan.Hash, Message: "tape: " + plan.Subject, Who: who}}
	old := map[string]gitstore.Hash{}
	for _, tag := range left {
		old[tag.Name] = tag.Hash
	}
	for _, tag := range plan.Tags {
		if old[tag.Name] != tag.Hash {
			out = append(out, gitstore.RefUpdate{Name: tag.Name, Old: old[tag.Name], New: tag.Hash, Message: "tape: tag", Who: who})
		}
		delete(old, tag.Name)
	}
	for name, h := range old {
		out = append(out, gitstore.RefUpdate{Name: name, Old: h, Message: "tape: reset", Who: who})
	}
	return out, nil
}
