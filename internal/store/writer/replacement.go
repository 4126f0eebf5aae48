package writer

import (
	"context"
	"errors"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// BeginReplacement returns a Tx that writes a new history of a tape. Its Commit archives the present history
// and puts the new one in its place; until then the tape is unchanged. The Tx holds the tape's lock
// until it ends.
func BeginReplacement(ctx context.Context, t *workspace.Tape, origin TapeStart) (*Tx, error) {
	w, err := Lock(ctx, t)
	if err != nil {
		return nil, layout.Wrap(err, "write tape %q", t.Name())
	}
	batch := t.Store().Git().NewPack()
	dates := origin.dates()
	plan, b, err := w.root(ctx, batch, origin, dates)
	if err != nil {
		batch.Discard()
		return nil, layout.Wrap(errors.Join(err, w.Unlock()), "write tape %q", t.Name())
	}
	tx := replacementTx{Holding(t, w.lock).bareTx(batch, b, plan, 1), w}
	tx.kind = tx
	tx.setDates(dates)
	return tx.Tx, nil
}

// replacementTx has no working tree: its history is not that of the tape's branch before its commit.
type replacementTx struct {
	bareTx
	former *Writer // holds the history that is replaced
}

func (tx replacementTx) complete(ctx context.Context) error { return tx.release(tx.finish(ctx)) }

// finish archives the former history, then moves the branch to the new one.
func (tx replacementTx) finish(ctx context.Context) (err error) {
	defer tx.batch.Discard()
	if err := tx.Checkpoint(ctx); err != nil {
		return err
	}
	if err := tx.batch.Flush(ctx); err != nil {
		return err
	}
	if tx.result.Archived, err = tx.former.Archive(ctx); err != nil {
		return err
	}
	plan := tx.commits.Plan
	plan.Subject, plan.Objects = "anew: "+layout.OneLine(tx.w.T.Name()), tx.batch
	return tx.former.MoveTo(ctx, plan, tx.former.Head)
}
