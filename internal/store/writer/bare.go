package writer

import (
	"context"
	"errors"
	"slices"

	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// BeginBare is like Begin, but makes no working tree if the tape has none: entries and their commits go only
// to git. Then it needs no record: until the branch moves, nothing has changed; after that only tags can be
// missing, and they are created from the commits.
func BeginBare(ctx context.Context, t *workspace.Tape) (*Tx, error) {
	if _, err := t.Head(); err != nil {
		return nil, err
	}
	lock, err := LockFile(ctx, t)
	if err != nil {
		return nil, layout.Wrap(err, "write tape %q", t.Name())
	}
	tx, err := Holding(t, lock).beginBare(ctx)
	if err != nil {
		err = errors.Join(err, lock.Unlock())
	}
	return tx, layout.Wrap(err, "write tape %q", t.Name())
}

func (w *Writer) beginBare(ctx context.Context) (*Tx, error) {
	if _, err := w.readState(); err != nil {
		return nil, err
	}
	if w.Wt.Dir != "" || w.rec.Undo != nil || w.rec.UnsyncedClear {
		if err := w.Begin(ctx); err != nil {
			return nil, err
		}
		tx, err := w.beginTx()
		if err != nil {
			return nil, err
		}
		return tx.Tx, nil
	}
	if w.rec.Moved(w.Head) {
		if err := snapshot.CheckMergeComplete(w.T, w.Head); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(journal.CheckHome(w.T, w.rec, w.Head, ""), w.checkNotElsewhere()); err != nil {
		return nil, err
	}
	// Create missing tags now: once this change has its tags, nothing would look for earlier ones.
	if _, err := commits.EnsureTags(ctx, w.T, w.Head, false); err != nil {
		return nil, err
	}
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return nil, err
	}
	if err := v.CheckPhases(); err != nil {
		return nil, err
	}
	last, err := v.LastID()
	if err != nil {
		return nil, err
	}
	batch := w.T.Store().Git().NewBatch()
	b, err := resolve.NewBuilder(v, batch.Put)
	if err != nil {
		return nil, err
	}
	return w.bareTx(batch, b, commits.Plan{Hash: w.Head}, last).Tx, nil
}

// bareTx has no working tree: entries and commits go only to git.
type bareTx struct{ *Tx }

// bareTx returns a Tx without working tree, which continues the commit from. The builder has that commit's
// tree; last is the id of its last entry.
func (w *Writer) bareTx(batch *gitstore.Batch, b *resolve.Builder, from commits.Plan, last int64) bareTx {
	w.rec.LastID, w.rec.Committed = last, last
	w.rec.Seq, w.rec.Folder, w.rec.Anchor = b.Seq, b.Folder, b.Anchor
	tx := bareTx{&Tx{w: w, batch: batch, b: b, commits: commits.Continue(w.T, batch, b, from, last)}}
	tx.kind = tx
	return tx
}

// complete writes the objects, then moves the branch.
func (tx bareTx) complete(ctx context.Context) error { return tx.release(tx.finish(ctx)) }

func (tx bareTx) finish(ctx context.Context) error {
	w := tx.w
	defer tx.batch.Discard()
	if err := tx.Checkpoint(ctx); err != nil || tx.result.Appended == 0 {
		return err
	}
	if err := tx.batch.Flush(ctx); err != nil {
		return err
	}
	plan := tx.commits.Plan
	who, err := w.moveRef(ctx, plan, w.Head)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	w.setTags(ctx, plan.Tags, who)
	w.finishObjects(ctx, tx.batch)
	return nil
}

func (tx bareTx) drop() error {
	tx.batch.Discard()
	return tx.release(nil)
}

func (bareTx) loadBase() error                      { return nil }
func (bareTx) closeFolder() error                   { return nil }
func (bareTx) openFolder([]byte) error              { return nil }
func (bareTx) keepArtifacts() error                 { return nil }
func (bareTx) attach(context.Context, []byte) error { return nil }

func (tx bareTx) needArtifacts(_ context.Context, refs []layout.Artifact) error {
	for _, ref := range refs {
		if err := tx.b.Refer(ref.SHA256); err != nil {
			return err
		}
		if _, ok := layout.FindEntry(tx.b.Artifacts, ref.SHA256); !ok {
			return Missing(ref)
		}
	}
	return nil
}

func (tx bareTx) bringArtifact(_ context.Context, ref layout.Artifact, others []*snapshot.Snapshot) error {
	tx.b.From = append(slices.Clip(tx.b.From[:min(1, len(tx.b.From))]), others...)
	return tx.b.Refer(ref.SHA256)
}
