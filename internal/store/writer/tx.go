package writer

import (
	"bytes"
	"context"
	"errors"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"

	"golang.org/x/sync/errgroup"
)

// Tx is a change of several steps to one tape: any number of entries, anchors and a
// checkpoint. All of it happens or none, whatever interrupts it. A Tx is used by one
// goroutine, inside the function given to Tape.Update.
type Tx struct {
	w      *Writer
	before journal.Record
	batch  *gitstore.Batch

	b       *resolve.Builder
	dirs    map[string]bool // folders with new names
	syncing errgroup.Group

	commits *Commits                   // nil until the branch's tree is needed
	changes map[string]gitindex.Change // by path
	result  TxResult

	wanted map[string]bool // if set, the only artifacts that are committed

	line       []byte // scratch
	bare       bool   // there is no working tree, and none is made
	bulk       *Bulk  // of a bare one: that which makes it true
	policy     bool   // the workspace's commit policy applies
	turned     bool   // the turn before this batch is committed
	cleared    bool   // the record was written without its Undo, or may have been
	incomplete bool   // the branch has moved, but a tag or the index is missing
}

// TxResult tells what a Tx did.
type TxResult struct {
	FirstID, LastID int64 // of the new entries; 0 if there are none
	Appended        int
	Handoffs        []Handoff
	Commit          string // the last commit made, "" if none
}

// Update changes the tape by f, all or none. Other writers wait; readers see the tape
// as it was until Update returns. An error from f undoes everything.
func Update(ctx context.Context, t *workspace.Tape, f func(tx *Tx) error) (TxResult, error) {
	var result TxResult
	err := Write(ctx, t, func(w *Writer) (err error) {
		result, err = w.Update(ctx, f)
		return err
	})
	return result, err
}

// Begin starts a Tx that ends with Commit or Rollback, for changes to several tapes
// side by side. It holds the tape's lock until then.
func Begin(ctx context.Context, t *workspace.Tape) (*Tx, error) {
	var tx *Tx
	w, err := Lock(ctx, t)
	if err == nil {
		if tx, err = w.beginTx(); err != nil {
			err = errors.Join(err, w.lock.Unlock())
		}
	}
	return tx, layout.Wrap(err, "write tape %q", t.Name())
}

// Commit makes the change true and ends the Tx. After an error nothing has changed. One of a
// Bulk is true when that is.
func (tx *Tx) Commit(ctx context.Context) (TxResult, error) {
	if tx.bulk != nil {
		return tx.result, tx.bulk.take(ctx, tx)
	}
	if tx.bare {
		return tx.result, tx.release(tx.finishBare(ctx))
	}
	err := tx.finish(ctx)
	if err != nil {
		err = tx.undo(err)
	}
	return tx.result, tx.release(err)
}

// Rollback ends the Tx without a change.
func (tx *Tx) Rollback() error {
	switch {
	case tx.bulk != nil:
		return nil // some objects that nothing leads to
	case tx.bare:
		tx.batch.Discard()
		return tx.release(nil)
	}
	err := tx.undo(errRollback)
	if errors.Is(err, errRollback) {
		err = nil
	}
	return tx.release(err)
}

// errRollback is the reason of an undo that was asked for.
var errRollback = errors.New("rolled back")

func (tx *Tx) release(err error) error {
	if err = errors.Join(err, tx.w.lock.Unlock()); err != nil {
		tx.result = TxResult{}
	}
	return layout.Wrap(err, "write tape %q", tx.w.T.Name())
}

// Update is a Tx of a tape that is locked already.
func (w *Writer) Update(ctx context.Context, f func(tx *Tx) error) (TxResult, error) {
	tx, err := w.beginTx()
	if err != nil {
		return TxResult{}, err
	}
	if err = f(tx); err == nil {
		err = tx.finish(ctx)
	}
	if err != nil {
		return TxResult{}, tx.undo(err)
	}
	return tx.result, nil
}

// beginTx records how the tape is, so that what follows can be taken back.
func (w *Writer) beginTx() (*Tx, error) {
	tx := &Tx{w: w, before: w.rec, batch: w.T.Store().Git().NewBatch(), dirs: map[string]bool{}, changes: map[string]gitindex.Change{}}
	tx.b = &resolve.Builder{Put: tx.batch.Put, Load: tx.load, Full: tx.seal, Keeps: tx.keeps, Seq: w.rec.Seq, Folder: w.rec.Folder, Anchor: w.rec.Anchor}
	tx.syncing.SetLimit(4)
	if err := w.begins(journal.Undo{Head: w.rec.Head, Seq: w.rec.Seq, Folder: w.rec.Folder, Tails: w.rec.Tails}); err != nil {
		// The record may be on the disk: the next writer clears it for good.
		w.rec = tx.before
		return nil, err
	}
	return tx, nil
}

// Tape is the tape that is changed.
func (tx *Tx) Tape() *workspace.Tape { return tx.w.T }

// LastID is the id of the tape's last entry, those of this Tx included.
func (tx *Tx) LastID() int64 { return tx.w.rec.LastID }

// Assert fails with ErrConflict unless what the options say is true of the tape.
func (tx *Tx) Assert(o *AppendOptions) error { return tx.w.assert(o) }

// AppendEntry adds an entry and returns it as it will be stored. An anchor is a
// handoff, see Tx.Handoff. The workspace's commit policy applies.
func (tx *Tx) AppendEntry(ctx context.Context, d layout.Draft) (layout.Entry, error) {
	if err := d.Check(); err != nil {
		return layout.Entry{}, err
	}
	if err := tx.closeTurn(ctx, d); err != nil {
		return layout.Entry{}, err
	}
	if err := tx.checkArtifacts(ctx, d.Payload); err != nil {
		return layout.Entry{}, err
	}
	line, err := tx.Append(ctx, d)
	if err != nil {
		return layout.Entry{}, err
	}
	return snapshot.ParseEntry(bytes.Clone(line), tx.w.T.Name(), tx.w.rec.Anchor, tx.w.rec.Seq)
}

// closeTurn commits the turn before a batch's first user message, where the policy is
// to commit turns. The batch itself is one change, and is not cut into commits.
func (tx *Tx) closeTurn(ctx context.Context, d layout.Draft) error {
	tx.policy = true
	if !tx.w.T.Store().Config().Commit.Turn || tx.turned || !IsUserMessage(d) {
		return nil
	}
	tx.turned = true
	return tx.Checkpoint(ctx)
}

// Append adds an entry as it is, whatever its payload has, and returns its line, valid until
// the next call.
func (tx *Tx) Append(ctx context.Context, d layout.Draft) ([]byte, error) {
	if d.Kind == layout.KindAnchor {
		return nil, layout.ErrAnchor
	}
	d, err := tx.Absent(ctx, d)
	if err != nil {
		return nil, err
	}
	line, err := Encode(tx.w.T, tx.w.rec.LastID+1, d)
	if err != nil {
		return nil, err
	}
	return line, tx.add(ctx, d.Kind, line)
}

// AppendLine adds the entry that a line of NDJSON describes, as ParseDraft reads it.
// It is the quick way for many entries: the line is looked at once. The workspace's
// commit policy applies.
func (tx *Tx) AppendLine(ctx context.Context, line []byte) error {
	d, err := layout.ParseLine(line)
	if err != nil {
		return err
	}
	if err := layout.CheckPayload(d.Kind, d.Payload); err != nil {
		return err
	}
	if d.Date, err = layout.StoredDate(d.Date, tx.w.T.Store().Now); err != nil {
		return err
	}
	if d, err = tx.w.T.Redact(d); err != nil {
		return err
	}
	if err := tx.closeTurn(ctx, layout.Draft{Kind: d.Kind, Payload: d.Payload}); err != nil {
		return err
	}
	if err := tx.checkArtifacts(ctx, d.Payload); err != nil {
		return err
	}
	tx.line = jsonl.AppendLine(tx.line[:0], tx.w.rec.LastID+1, d)
	if err := checkLine(tx.w.T, tx.line); err != nil {
		return err
	}
	return tx.add(ctx, d.Kind, tx.line)
}

// AppendAlone is AppendLine of an entry that is a change by itself, though several are stored
// together: the commit policy applies to each.
func (tx *Tx) AppendAlone(ctx context.Context, line []byte) error {
	tx.turned = false
	if err := tx.AppendLine(ctx, line); err != nil {
		return err
	}
	return tx.commitEvery(ctx)
}

// commitEvery commits where the policy is to commit after so many entries.
func (tx *Tx) commitEvery(ctx context.Context) error {
	if every := tx.w.T.Store().Config().Commit.Every; tx.policy && every > 0 && tx.w.Uncommitted() >= int64(every) {
		return tx.Checkpoint(ctx)
	}
	return nil
}

// add puts a line at the end of its class.
func (tx *Tx) add(ctx context.Context, kind string, line []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := layout.ClassOf(kind)
	file, err := tx.b.Add(c, line)
	if err != nil {
		return err
	}
	was := tx.w.rec.Tails[c]
	if was.Seg != file.N {
		was.Sum = 0
	}
	tx.w.rec.Tails[c] = journal.Tail{Seg: file.N, Size: int64(len(file.Data)), Sum: snapshot.Checksum(was.Sum, line)}
	tx.count()
	return nil
}

// count counts an entry that has been added.
func (tx *Tx) count() {
	tx.w.rec.LastID++
	tx.result.LastID = tx.w.rec.LastID
	tx.result.Appended++
	tx.result.FirstID = tx.result.LastID - int64(tx.result.Appended) + 1
}

// Objects is what the Tx adds to git, together with its commits.
func (tx *Tx) Objects() *gitstore.Batch { return tx.batch }

// finish makes the change durable, and then true.
func (tx *Tx) finish(ctx context.Context) error {
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
	if err := tx.checkStands(ctx); err != nil {
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
	w.note()
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
