package writer

import (
	"context"
	"errors"
	"os"
	"slices"

	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Bulk creates many new tapes, each with all its entries. They get no working tree; all objects go into one
// pack, and all branches and tags are set at once. Nobody sees them before Commit, and until then no lock is
// held: somebody else may create a tape of the same name first.
type Bulk struct {
	s     *workspace.Store
	batch *gitstore.Batch
	ready []planned
}

// planned is a new tape with all its commits.
type planned struct {
	t *workspace.Tape
	commits.Plan
}

// NewBulk returns an empty Bulk.
func NewBulk(s *workspace.Store) *Bulk { return &Bulk{s: s, batch: s.Git().NewPack()} }

// Create begins a new tape; the Tx's Commit adds it to the Bulk. If something of the tape
// exists already, such as a working tree that waits for it, it is created at once as by CreateTapeFrom, and the
// Tx is one of BeginBare. Errors: ErrConflict if the name is taken.
func (k *Bulk) Create(ctx context.Context, name string, origin TapeStart) (*Tx, error) {
	if err := layout.CheckName("a tape", name); err != nil {
		return nil, err
	}
	t := k.s.Handle(name)
	isNew, err := k.isNew(t)
	if err == nil && !isNew {
		if t, err = CreateTapeFrom(ctx, k.s, name, origin); err != nil {
			return nil, err
		}
		tx, err := BeginBare(ctx, t)
		if err == nil && origin.Dated {
			if err = tx.DateCommits(); err != nil {
				err = errors.Join(err, tx.Rollback())
			}
		}
		return tx, err
	}
	if err == nil {
		err = checkUnused(ctx, t)
	}
	if err != nil {
		return nil, layout.Wrap(err, "create tape %q", name)
	}
	w := &Writer{T: t}
	dates := origin.dates()
	plan, b, err := w.root(ctx, k.batch, origin, dates)
	if err != nil {
		return nil, layout.Wrap(err, "create tape %q", name)
	}
	tx := bulkTx{w.bareTx(k.batch, b, plan, 1), k}
	tx.kind = tx
	tx.setDates(dates)
	return tx.Tx, nil
}

// isNew reports whether a tape has no branch, lock file, list of sealed files or working tree. Tags of a former
// tape with its name do not matter: refs replaces them.
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

// bulkTx has no working tree, and no lock: its tape is new, and becomes visible with the Bulk.
type bulkTx struct {
	bareTx
	bulk *Bulk
}

// InBulk reports whether the Tx belongs to a Bulk, whose Commit makes it visible.
func (tx *Tx) InBulk() bool {
	_, ok := tx.kind.(bulkTx)
	return ok
}

// complete adds the tape to those that the Bulk's Commit makes visible.
func (tx bulkTx) complete(ctx context.Context) error {
	err := tx.Checkpoint(ctx)
	tx.b.CloseFiles()
	if err == nil {
		tx.bulk.ready = append(tx.bulk.ready, planned{tx.w.T, tx.commits.Plan})
	}
	return layout.Wrap(err, "write tape %q", tx.w.T.Name())
}

func (bulkTx) drop() error { return nil } // only unreachable objects are left

// Commit makes the tapes visible. It leaves out tapes that somebody else has created since Create, and forgotten
// ones, and returns their names. After an error some tapes may exist. The Bulk can be used again.
func (k *Bulk) Commit(ctx context.Context) (lost []string, err error) {
	batch, ready := k.batch, k.ready
	k.batch, k.ready = k.s.Git().NewPack(), nil
	defer batch.Discard()
	var gone []string
	if len(ready) == 0 {
		return nil, nil
	}
	err = WithNewLock(ctx, k.s, func() error {
		list, err := projects.ReadForgotten(k.s)
		if err != nil {
			return err
		}
		ready = slices.DeleteFunc(ready, func(p planned) bool {
			isForgotten := list.Has(p.t.Name())
			if isForgotten {
				gone = append(gone, p.t.Name())
			}
			return isForgotten
		})
		if err := batch.Flush(ctx); err != nil {
			return err
		}
		if lost, err = k.setRefs(ctx, ready); err != nil {
			return err
		}
		return batch.Finish(context.WithoutCancel(ctx))
	})
	return append(lost, gone...), err
}

// Discard drops what was not committed.
func (k *Bulk) Discard() {
	k.batch.Discard()
	k.ready = nil
}

// setRefs sets the refs of all tapes at once, or, if somebody has created one of them, tape by tape.
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

// refs returns the ref updates that create a new tape's branch and tags, and delete the tags of a former tape
// with its name.
func (p planned) refs() ([]gitstore.RefUpdate, error) {
	t, plan := p.t, p.Plan
	git := t.Store().Git()
	who := git.Committer(t.Store().Now())
	oldTags, err := git.Refs(layout.TagPrefix + t.Slug() + "/")
	if err != nil {
		return nil, err
	}
	out := []gitstore.RefUpdate{{Name: t.Ref(), New: plan.Hash, Message: "tape: " + plan.Subject, Who: who}}
	old := map[string]gitstore.Hash{}
	for _, tag := range oldTags {
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
