package repo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"tape/internal/disk"
	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// Tx is a change of several steps to one tape: any number of entries, anchors and a
// checkpoint. All of it happens or none, whatever interrupts it. A Tx is used by one
// goroutine, inside the function given to Tape.Update.
type Tx struct {
	ctx    context.Context
	w      *writer
	before state
	batch  *gitstore.Batch

	open    [classCount]*openFile    // files being written to, by class
	sealed  map[string]gitstore.Hash // files of the open phase filled in this Tx
	dirs    map[string]bool          // folders with new names
	syncing errgroup.Group

	base    *treeBase // the branch's commit, loaded when first needed
	commits []plannedCommit
	changes map[string]gitstore.IndexChange // by path
	result  TxResult

	line       []byte // scratch
	policy     bool   // the workspace's commit policy applies
	turned     bool   // the turn before this batch is committed
	cleared    bool   // the record was written without its Undo, or may have been
	incomplete bool   // the branch has moved, but a tag or the index is missing
}

// openFile is a lastFile that is written to the working tree.
type openFile struct {
	lastFile
	file *disk.File
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
func (t *Tape) Update(ctx context.Context, f func(tx *Tx) error) (TxResult, error) {
	var result TxResult
	err := t.write(ctx, func(w *writer) (err error) {
		result, err = w.update(ctx, f)
		return err
	})
	return result, err
}

// Begin starts a Tx that ends with Commit or Rollback, for changes to several tapes
// side by side. It holds the tape's lock until then.
func (t *Tape) Begin(ctx context.Context) (*Tx, error) {
	w, err := t.lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("write tape %q: %w", t.name, classify(err))
	}
	tx, err := w.beginTx(ctx)
	if err != nil {
		return nil, fmt.Errorf("write tape %q: %w", t.name, classify(errors.Join(err, w.lock.Unlock())))
	}
	return tx, nil
}

// Commit makes the change true and ends the Tx. After an error nothing has changed.
func (tx *Tx) Commit() (TxResult, error) {
	err := tx.finish()
	if err != nil {
		err = tx.undo(err)
	}
	return tx.result, tx.release(err)
}

// Rollback ends the Tx without a change.
func (tx *Tx) Rollback() error {
	err := tx.undo(errRollback)
	if errors.Is(err, errRollback) {
		err = nil
	}
	return tx.release(err)
}

// errRollback is the reason of an undo that was asked for.
var errRollback = errors.New("rolled back")

func (tx *Tx) release(err error) error {
	if err := errors.Join(err, tx.w.lock.Unlock()); err != nil {
		tx.result = TxResult{}
		return fmt.Errorf("write tape %q: %w", tx.w.t.name, classify(err))
	}
	return nil
}

func (w *writer) update(ctx context.Context, f func(tx *Tx) error) (TxResult, error) {
	tx, err := w.beginTx(ctx)
	if err != nil {
		return TxResult{}, err
	}
	if err = f(tx); err == nil {
		err = tx.finish()
	}
	if err != nil {
		return TxResult{}, tx.undo(err)
	}
	return tx.result, nil
}

// beginTx records how the tape is, so that what follows can be taken back.
func (w *writer) beginTx(ctx context.Context) (*Tx, error) {
	tx := &Tx{ctx: ctx, w: w, before: w.st, sealed: map[string]gitstore.Hash{}, dirs: map[string]bool{}, changes: map[string]gitstore.IndexChange{}}
	tx.syncing.SetLimit(4)
	w.st.Gen++
	w.st.Undo = &undo{Head: w.st.Head, Seq: w.st.Seq, Folder: w.st.Folder, Tails: w.st.Tails}
	if err := w.save(true); err != nil {
		w.st = tx.before
		_ = w.save(false)
		return nil, err
	}
	return tx, nil
}

// LastID is the id of the tape's last entry, those of this Tx included.
func (tx *Tx) LastID() int64 { return tx.w.st.LastID }

// Assert fails with ErrConflict unless what the options say is true of the tape.
func (tx *Tx) Assert(o *AppendOptions) error { return tx.w.assert(o) }

// AppendEntry adds an entry and returns it as it will be stored. An anchor is a
// handoff, see Tx.Handoff. The workspace's commit policy applies.
func (tx *Tx) AppendEntry(d Draft) (Entry, error) {
	if err := tx.closeTurn(d.Kind, d.Payload); err != nil {
		return Entry{}, err
	}
	line, err := tx.Append(d)
	if err != nil {
		return Entry{}, err
	}
	parsed, err := jsonl.Parse(append([]byte(nil), line[:len(line)-1]...))
	if err != nil {
		return Entry{}, err
	}
	return makeEntry(parsed, tx.w.t.name, tx.w.st.Anchor, tx.w.st.Seq), nil
}

// closeTurn commits the turn before a batch's first user message, where the policy is
// to commit turns. The batch itself is one change, and is not cut into commits.
func (tx *Tx) closeTurn(kind string, payload []byte) error {
	tx.policy = true
	if !tx.w.t.store.config.Commit.Turn || tx.turned || kind != KindMessage || jsonl.GetString(payload, "role") != "user" {
		return nil
	}
	tx.turned = true
	return tx.Checkpoint()
}

// Append adds an entry and returns its line, valid until the next call.
func (tx *Tx) Append(d Draft) ([]byte, error) {
	if d.Kind == KindAnchor {
		return nil, errAnchor
	}
	line, err := tx.w.t.encode(tx.w.st.LastID+1, d)
	if err != nil {
		return nil, err
	}
	return line, tx.add(d.Kind, line)
}

// AppendLine adds the entry that a line of NDJSON describes, as ParseDraft reads it.
// It is the quick way for many entries: the line is looked at once. The workspace's
// commit policy applies.
func (tx *Tx) AppendLine(line []byte) error {
	d, err := parseLine(line)
	if err != nil {
		return err
	}
	if d.Date, err = storedDate(d.Date, tx.w.t.store.now); err != nil {
		return err
	}
	if d, err = tx.w.t.redact(d); err != nil {
		return err
	}
	if err := tx.closeTurn(d.Kind, d.Payload); err != nil {
		return err
	}
	tx.line = jsonl.AppendLine(tx.line[:0], tx.w.st.LastID+1, d)
	if err := tx.w.t.checkLine(tx.line); err != nil {
		return err
	}
	return tx.add(d.Kind, tx.line)
}

// add puts a line at the end of its class.
func (tx *Tx) add(kind string, line []byte) error {
	c := classOf(kind)
	file, err := tx.tail(c)
	if err != nil {
		return err
	}
	if len(file.data) >= SealSize {
		if file, err = tx.seal(c); err != nil {
			return err
		}
	}
	file.data = append(file.data, line...)
	tx.w.st.LastID++
	was := tx.w.st.Tails[c]
	if was.Seg != file.n {
		was.Sum = 0
	}
	tx.w.st.Tails[c] = tail{Seg: file.n, Size: int64(len(file.data)), Sum: checksum(was.Sum, line)}
	tx.count(tx.w.st.LastID)
	return nil
}

func (tx *Tx) count(id int64) {
	if tx.result.FirstID == 0 {
		tx.result.FirstID = id
	}
	tx.result.LastID = id
	tx.result.Appended++
}

// tail returns the file that the next entry of a class goes to.
func (tx *Tx) tail(c class) (*openFile, error) {
	if tx.open[c] != nil {
		return tx.open[c], nil
	}
	was := tx.w.st.Tails[c]
	file := &openFile{lastFile: lastFile{n: max(was.Seg, 1)}}
	if was.Seg > 0 {
		data, err := os.ReadFile(tx.w.phasePath(segmentName(c, was.Seg)))
		if err != nil {
			return nil, err
		}
		if int64(len(data)) != was.Size {
			return nil, fmt.Errorf("%s has changed while it was locked", segmentName(c, was.Seg))
		}
		file.data, file.written = data, len(data)
	}
	tx.open[c] = file
	return file, nil
}

// seal finishes a full file and begins the next one. Where there is a processor to
// spare, the full one's blob is written beside the work that follows; the commit
// writes those that are missing.
func (tx *Tx) seal(c class) (*openFile, error) {
	file := tx.open[c]
	if err := tx.flush(c); err != nil {
		return nil, err
	}
	tx.syncLater(file)
	tx.w.t.sealedFile(tx.w.st.Folder, segmentName(c, file.n), int64(len(file.data)), tx.w.st.Tails[c].Sum)
	if h, ok := tx.objects().TryPut(gitstore.KindBlob, file.data); ok {
		tx.sealed[segmentName(c, file.n)] = h
	}
	tx.open[c] = &openFile{lastFile: lastFile{n: file.n + 1, data: make([]byte, 0, SealSize+SealSize/8)}}
	return tx.open[c], nil
}

func (tx *Tx) objects() *gitstore.Batch {
	if tx.batch == nil {
		tx.batch = tx.w.t.store.git.NewBatch()
	}
	return tx.batch
}

func (tx *Tx) put(kind gitstore.Kind, data []byte) gitstore.Hash { return tx.objects().Put(kind, data) }

// flush writes what a class's open file has in memory only.
func (tx *Tx) flush(c class) error {
	file := tx.open[c]
	if file == nil || file.written == len(file.data) {
		return nil
	}
	if file.file == nil {
		path := tx.w.phasePath(segmentName(c, file.n))
		if file.written == 0 {
			tx.dirs[filepath.Dir(path)] = true
		}
		f, err := tx.w.t.store.fs.OpenFile(path, os.O_WRONLY|os.O_CREATE, disk.FilePerm)
		if err != nil {
			return err
		}
		file.file = f
	}
	if _, err := file.file.WriteAt(file.data[file.written:], int64(file.written)); err != nil {
		return err
	}
	file.written = len(file.data)
	return nil
}

// syncLater syncs and closes a file that was written to, beside other work.
func (tx *Tx) syncLater(file *openFile) {
	f := file.file
	if f == nil {
		return
	}
	file.file = nil
	tx.syncing.Go(func() error { return errors.Join(f.Sync(), f.Close()) })
}

// flushAll brings everything that was appended so far to the files, and on its way to
// the disk.
func (tx *Tx) flushAll() error {
	for c := range tx.open {
		if err := tx.flush(class(c)); err != nil {
			return err
		}
		if tx.open[c] != nil {
			tx.syncLater(tx.open[c])
		}
	}
	return nil
}

// finish makes the change durable, and then true.
func (tx *Tx) finish() error {
	w := tx.w
	if every := w.t.store.config.Commit.Every; tx.policy && every > 0 && w.uncommitted() >= int64(every) {
		if err := tx.Checkpoint(); err != nil {
			return err
		}
	}
	if err := tx.flushAll(); err != nil {
		return err
	}
	if err := tx.syncing.Wait(); err != nil {
		return err
	}
	if err := tx.checkStands(); err != nil {
		return err
	}
	for dir := range tx.dirs {
		if err := w.t.store.fs.SyncDir(dir); err != nil {
			return err
		}
	}
	if err := tx.ctx.Err(); err != nil {
		return err
	}
	if tx.batch != nil {
		if err := tx.batch.Flush(tx.ctx); err != nil && len(tx.commits) > 0 {
			return err
		}
	}
	if len(tx.commits) > 0 {
		if err := tx.moveBranch(); err != nil {
			return err
		}
	}
	w.note()
	if tx.incomplete {
		return nil // the record stays, and makes the next writer complete the change
	}
	w.st.Undo, tx.cleared = nil, true
	err := w.save(true)
	if err != nil && len(tx.commits) > 0 {
		w.t.store.warn("the change is complete, but its record could not be cleared: " + err.Error())
		return nil
	}
	return err
}

// checkStands makes sure that git has not written over the files.
func (tx *Tx) checkStands() error {
	if err := tx.w.awaitGit(tx.ctx); err != nil {
		return err
	}
	for c, file := range tx.open {
		if file == nil || file.written == 0 {
			continue
		}
		name := segmentName(class(c), file.n)
		if size, err := sizeOf(tx.w.phasePath(name)); err != nil || size != int64(file.written) {
			return conflict("try again", "git has written %s in the meantime", name)
		}
	}
	return nil
}

// abandon lets go of everything that an undone Tx has open.
func (tx *Tx) abandon() {
	for _, file := range tx.open {
		if file != nil && file.file != nil {
			_ = file.file.Close()
			file.file = nil
		}
	}
	_ = tx.syncing.Wait()
	if tx.batch != nil {
		tx.batch.Discard()
	}
}
