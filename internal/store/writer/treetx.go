package writer

import (
	"context"
	"errors"
	"tape/internal/git/gitindex"
	"tape/internal/store/journal"
	"tape/internal/store/resolve"

	"golang.org/x/sync/errgroup"
)

// treeTx writes to the tape's working tree first. The record in the lock file says how to undo that.
type treeTx struct {
	*Tx
	before     journal.Record
	dirs       map[string]bool // folders with new files, to be synced
	syncing    errgroup.Group
	changes    map[string]gitindex.Change // by path
	cleared    bool                       // the record was written without its Undo, or may have been
	incomplete bool                       // the branch has moved, but a tag or the index is not up to date
}

// beginTx records the state of the tape, so that the change can be undone.
func (w *Writer) beginTx() (*treeTx, error) {
	tx := &treeTx{Tx: &Tx{w: w, batch: w.T.Store().Git().NewBatch()}, before: w.rec, dirs: map[string]bool{}, changes: map[string]gitindex.Change{}}
	tx.kind = tx
	tx.b = &resolve.Builder{Put: tx.batch.Put, Load: tx.load, Full: tx.seal, Stored: tx.noteChange, Seq: w.rec.Seq, Folder: w.rec.Folder, Anchor: w.rec.Anchor}
	tx.syncing.SetLimit(4)
	if err := w.recordUndo(*journal.Growing(w.rec)); err != nil {
		// The record may be on disk: the next writer clears it durably.
		w.rec = tx.before
		return nil, err
	}
	return tx, nil
}

// Update is like the function Update, for a tape whose lock is held already.
func (w *Writer) Update(ctx context.Context, f func(tx *Tx) error) (TxResult, error) {
	tx, err := w.beginTx()
	if err != nil {
		return TxResult{}, err
	}
	if err = f(tx.Tx); err == nil {
		err = tx.finish(ctx)
	}
	if err != nil {
		return TxResult{}, tx.undo(err)
	}
	return tx.result, nil
}

func (tx *treeTx) complete(ctx context.Context) error {
	err := tx.finish(ctx)
	if err != nil {
		err = tx.undo(err)
	}
	return tx.release(err)
}

// errRollback is the cause of an undo by Rollback.
var errRollback = errors.New("rolled back")

func (tx *treeTx) drop() error {
	err := tx.undo(errRollback)
	if errors.Is(err, errRollback) {
		err = nil
	}
	return tx.release(err)
}

// finish syncs everything, then puts the change into effect.
func (tx *treeTx) finish(ctx context.Context) error {
	w := tx.w
	if err := tx.commitEvery(ctx); err != nil {
		return err
	}
	if err := tx.flushAll(); err != nil {
		return err
	}
	if err := tx.syncing.Wait(); err != nil {
		return err
	}
	if err := tx.checkIntact(ctx); err != nil {
		return err
	}
	for dir := range tx.dirs {
		if err := w.T.Store().FS().SyncDir(dir); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	commits := tx.result.Commit != ""
	if err := tx.batch.Flush(ctx); err != nil && commits {
		return err
	}
	if commits {
		if err := tx.moveBranch(ctx); err != nil {
			return err
		}
	}
	w.updateRecord()
	if tx.incomplete {
		return nil // the record stays, and makes the next writer complete the change
	}
	w.rec.Undo, tx.cleared = nil, true
	err := w.save(true)
	if err != nil && commits {
		w.T.Store().Warn("the change is complete, but its record could not be cleared: " + err.Error())
		return nil
	}
	return err
}
