package writer

import (
	"bytes"
	"context"
	"errors"
	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// Tx is a change of several steps to one tape: entries, anchors and commits. All of it takes effect or none,
// whatever interrupts it. Use it in one goroutine, inside the function given to Update, or from Begin to Commit.
type Tx struct {
	kind  kind
	w     *Writer
	batch *gitstore.Batch
	b     *resolve.Builder

	commits *commits.Chain // nil until the branch's tree is needed
	result  TxResult

	wanted map[string]bool // if set, the only artifacts that are committed

	describe func(entries int) string // the messages of checkpoints; nil: the usual one
	dates    *commits.Dates           // nil: the commits get the time of writing
	newest   []byte                   // the last line that was added
	line     []byte                   // buffer
	policy   bool                     // the workspace's commit policy applies
	turned   bool                     // the turn before this batch was committed
}

// kind is where and how a Tx takes effect: treeTx, bareTx, bulkTx or replacementTx.
type kind interface {
	// complete puts the change into effect, and releases the lock.
	complete(ctx context.Context) error
	// drop undoes the change, and releases the lock.
	drop() error

	// Only a transaction with a working tree has something to do here; of the others, the builder has everything.
	loadBase() error                // gives the builder the branch's tree, and what is not committed yet
	closeFolder() error             // writes the open phase's files to their end
	openFolder(anchor []byte) error // makes the folder of the phase that the builder has opened
	keepArtifacts() error           // tells the builder which artifacts are in the open phase, for a commit

	// attach stores an artifact for later entries.
	attach(ctx context.Context, data []byte) error
	// needArtifacts refuses references to missing artifacts, and brings the others to the open phase.
	needArtifacts(ctx context.Context, refs []layout.Artifact) error
	// bringArtifact does the same for an entry that is stored although artifacts may be missing. others have artifacts, too.
	bringArtifact(ctx context.Context, ref layout.Artifact, others []*snapshot.Snapshot) error
}

// TxResult says what a Tx did.
type TxResult struct {
	FirstID, LastID int64 // of the new entries; 0 if there are none
	Appended        int
	Handoffs        []Handoff
	Commit          string // the last commit made, "" if none
	Archived        string // the ref of the history that was replaced, see BeginReplacement
}

// Update lets f change the tape, all or nothing. Other writers wait; readers see the old state until Update
// returns. An error from f undoes everything.
func Update(ctx context.Context, t *workspace.Tape, f func(tx *Tx) error) (TxResult, error) {
	var result TxResult
	err := Write(ctx, t, func(w *Writer) (err error) {
		result, err = w.Update(ctx, f)
		return err
	})
	return result, err
}

// Begin starts a Tx that ends with Commit or Rollback, for changes to several tapes side by side. It holds the
// tape's lock until then.
func Begin(ctx context.Context, t *workspace.Tape) (*Tx, error) {
	w, err := Lock(ctx, t)
	if err != nil {
		return nil, layout.Wrap(err, "write tape %q", t.Name())
	}
	tx, err := w.beginTx()
	if err != nil {
		return nil, layout.Wrap(errors.Join(err, w.lock.Unlock()), "write tape %q", t.Name())
	}
	return tx.Tx, nil
}

// Commit puts the change into effect and ends the Tx. After an error nothing has changed, unless the error says that
// the next command completes the change. In a Bulk the change takes effect with the Bulk's Commit.
func (tx *Tx) Commit(ctx context.Context) (TxResult, error) {
	err := tx.kind.complete(ctx)
	return tx.result, err
}

// Rollback ends the Tx without a change.
func (tx *Tx) Rollback() error { return tx.kind.drop() }

func (tx *Tx) release(err error) error {
	if err = errors.Join(err, tx.w.lock.Unlock()); err != nil {
		tx.result = TxResult{}
	}
	return layout.Wrap(err, "write tape %q", tx.w.T.Name())
}

// Tape returns the tape that is changed.
func (tx *Tx) Tape() *workspace.Tape { return tx.w.T }

// LastID returns the id of the tape's last entry, including those of this Tx.
func (tx *Tx) LastID() int64 { return tx.w.rec.LastID }

// Assert fails with ErrConflict unless the tape meets the conditions of the options.
func (tx *Tx) Assert(o *AppendOptions) error { return tx.w.assert(o) }

// AppendEntry adds an entry and returns it as it will be stored. For anchors use Tx.Handoff. The workspace's
// commit policy applies.
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

// closeTurn commits the turn before a batch's first user message, if the policy is to commit turns. The batch
// itself is one change, and is not divided into commits.
func (tx *Tx) closeTurn(ctx context.Context, d layout.Draft) error {
	tx.policy = true
	if !tx.w.T.Store().Config().Commit.Turn || tx.turned || !IsUserMessage(d) {
		return nil
	}
	tx.turned = true
	return tx.Checkpoint(ctx)
}

// Append adds an entry without checking its payload, and returns its line, which is valid until the next call. It
// lists missing artifacts in the entry's meta, and takes no notice of the commit policy.
func (tx *Tx) Append(ctx context.Context, d layout.Draft) ([]byte, error) {
	if d.Kind == layout.KindAnchor {
		return nil, layout.ErrAnchor
	}
	d, err := tx.MarkAbsent(ctx, d)
	if err != nil {
		return nil, err
	}
	line, err := Encode(tx.w.T, tx.w.rec.LastID+1, d)
	if err != nil {
		return nil, err
	}
	return line, tx.add(ctx, d.Kind, line)
}

// AppendLine adds an entry from a line of NDJSON, see layout.ParseLine. It is fast for many entries, because it
// parses the line once. The workspace's commit policy applies.
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

// AppendAlone is AppendLine for an entry that is a change of its own: the commit policy applies to each, though
// several are stored together.
func (tx *Tx) AppendAlone(ctx context.Context, line []byte) error {
	tx.turned = false
	if err := tx.AppendLine(ctx, line); err != nil {
		return err
	}
	return tx.commitEvery(ctx)
}

// commitEvery commits if the commit policy is a number of entries, and at least as many are uncommitted.
func (tx *Tx) commitEvery(ctx context.Context) error {
	if every := tx.w.T.Store().Config().Commit.Every; tx.policy && every > 0 && tx.w.Uncommitted() >= int64(every) {
		return tx.Checkpoint(ctx)
	}
	return nil
}

// add appends a line to its class.
func (tx *Tx) add(ctx context.Context, kind string, line []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := layout.ClassOf(kind)
	tx.newest = line
	file, err := tx.b.Add(c, line)
	if err != nil {
		return err
	}
	tail := tx.w.rec.Tails[c]
	if tail.Seg != file.N {
		tail.Sum = 0
	}
	tx.w.rec.Tails[c] = journal.Tail{Seg: file.N, Size: int64(len(file.Data)), Sum: snapshot.Checksum(tail.Sum, line)}
	tx.count()
	return nil
}

// count counts an added entry.
func (tx *Tx) count() {
	tx.w.rec.LastID++
	tx.result.LastID = tx.w.rec.LastID
	tx.result.Appended++
	tx.result.FirstID = tx.result.LastID - int64(tx.result.Appended) + 1
}

// Objects returns the batch of objects that the Tx adds to git.
func (tx *Tx) Objects() *gitstore.Batch { return tx.batch }

// DateCommits gives the commits of the Tx the dates of their entries.
func (tx *Tx) DateCommits() error {
	head, err := tx.w.T.Store().Git().Commit(tx.w.Head)
	if err != nil {
		return layout.CorruptObject(tx.w.Head, err)
	}
	tx.setDates(commits.DatesAfter(head))
	return nil
}

func (tx *Tx) setDates(d *commits.Dates) {
	tx.dates = d
	if tx.commits != nil {
		tx.commits.Dated(d)
	}
}

// Artifacts returns how many artifacts the open phase has, of those that are committed.
func (tx *Tx) Artifacts() int { return len(tx.b.Artifacts) }

// Describe sets how the messages of checkpoints are made, from the number of their entries.
func (tx *Tx) Describe(message func(entries int) string) { tx.describe = message }

// Dates returns the dates of the Tx's commits, for commits beside them; see [commits.Put].
func (tx *Tx) Dates() *commits.Dates { return tx.dates }
