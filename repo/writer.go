package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/disk"
	"tape/internal/gitstore"
	"tape/internal/jsonl"
)

// writer holds a tape's lock, and knows where the tape ends.
type writer struct {
	t    *Tape
	lock *disk.Lock
	st   state
	head gitstore.Hash
	wt   gitstore.Worktree
	gone bool // the tape is: its lock file goes, too
}

func (w *writer) unlock() error {
	if w.gone {
		return w.lock.Remove()
	}
	return w.lock.Unlock()
}

// write takes the tape's lock, puts right what an interrupted writer left, and runs f.
func (t *Tape) write(ctx context.Context, f func(w *writer) error) error {
	if err := t.locked(ctx, f); err != nil {
		return fmt.Errorf("write tape %q: %w", t.name, classify(err))
	}
	return nil
}

// locked is write without saying which tape it was.
func (t *Tape) locked(ctx context.Context, f func(w *writer) error) (err error) {
	w, err := t.lock(ctx)
	if err != nil {
		return err
	}
	defer func() {
		// Also when f panics: what it left is taken back by the next writer.
		if unlockErr := w.unlock(); err == nil {
			err = unlockErr
		}
	}()
	return f(w)
}

func (t *Tape) lock(ctx context.Context) (*writer, error) {
	if _, err := t.head(); err != nil {
		return nil, err // no lock file for a tape that does not exist
	}
	lock, err := t.lockFile(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{t: t, lock: lock}
	if err := w.begin(ctx); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return w, nil
}

// lockedAsIs takes the tape's lock and runs f, with whatever an interrupted writer, or git,
// has left.
func (t *Tape) lockedAsIs(ctx context.Context, f func(w *writer) error) error {
	lock, err := t.lockFile(ctx)
	if err != nil {
		return err
	}
	return errors.Join(f(&writer{t: t, lock: lock}), lock.Unlock())
}

func (t *Tape) lockFile(ctx context.Context) (*disk.Lock, error) {
	s := t.store
	lock, err := s.fs.Lock(ctx, t.lockPath(), s.wait)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.fs.MkdirAll(filepath.Dir(t.lockPath())); err != nil {
			return nil, err
		}
		lock, err = s.fs.Lock(ctx, t.lockPath(), s.wait)
	}
	return lock, err
}

// begin finds out where the tape ends: from the note of the last writer if nothing
// has changed since, by looking otherwise.
func (w *writer) begin(ctx context.Context) error {
	var ok bool
	var err error
	if w.head, err = w.t.head(); err != nil {
		return err
	}
	w.st, ok = readState(w.lock.File)
	var stale bool
	w.wt, stale, err = w.t.worktree()
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		return err
	}
	if w.st.moved(w.head) {
		if err := w.t.checkSettled(w.head); err != nil {
			return err
		}
	}
	if homeErr := w.t.checkHome(w.st, w.head, w.wt.Dir); homeErr != nil {
		return homeErr
	}
	if stale {
		if err := w.t.store.git.Relink(w.wt); err != nil {
			return err
		}
	}
	if err == nil {
		if err := checkTapeFile(w.wt.Dir, w.st.Undo); err != nil {
			return err
		}
		if err := w.awaitGit(ctx); err != nil {
			return err
		}
	}
	if err == nil && ok && w.st.Undo == nil && w.st.Anchor != "" && w.st.Head == w.head.String() && w.unchanged() {
		return nil
	}
	return w.recover(ctx, ok)
}

func (w *writer) anchorsPath() string { return filepath.Join(w.wt.Dir, anchorsDir) }

func (w *writer) phasePath(elem ...string) string {
	return filepath.Join(append([]string{w.anchorsPath(), w.st.Folder}, elem...)...)
}

// unchanged reports whether the files are as the note says.
func (w *writer) unchanged() bool {
	if modTime(w.anchorsPath()) != w.st.DirTime || modTime(w.phasePath()) != w.st.PhaseTime {
		return false
	}
	for c, was := range w.st.Tails {
		if was.Seg == 0 {
			continue
		}
		st, err := os.Lstat(w.phasePath(segmentName(class(c), was.Seg)))
		if err != nil || !st.Mode().IsRegular() || st.Size() != was.Size || st.ModTime().UnixNano() != was.Time {
			return false
		}
	}
	return true
}

// modTime returns a file's modification time in ns, 0 when there is none.
func modTime(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.ModTime().UnixNano()
}

// note records the present state in memory; save writes it.
func (w *writer) note() {
	w.st.Branch, w.st.Head, w.st.Home = w.t.branch, w.head.String(), w.t.store.home(w.wt.Dir)
	w.st.DirTime, w.st.PhaseTime = modTime(w.anchorsPath()), modTime(w.phasePath())
	for c := range w.st.Tails {
		if tail := &w.st.Tails[c]; tail.Seg > 0 {
			tail.Time = modTime(w.phasePath(segmentName(class(c), tail.Seg)))
		}
	}
}

// save writes the note. It is only a cache unless it has, or takes back, an Undo.
func (w *writer) save(sync bool) error { return saveState(w.lock.File, w.st, sync) }

// checkLine refuses a line that is longer than the workspace allows.
func (t *Tape) checkLine(line []byte) error {
	if limit := t.store.config.MaxLine; len(line)-1 > limit {
		return invalid("keep large content in a file of its own and record its path; or raise the limit with: tape config max_line N",
			"the entry has %d bytes; the limit of a line is %d", len(line)-1, limit)
	}
	return nil
}

// appendOne appends one entry: one write, one sync.
func (w *writer) appendOne(ctx context.Context, d Draft) (Entry, error) {
	id := w.st.LastID + 1
	line, err := w.t.encode(id, d)
	if err != nil {
		return Entry{}, err
	}
	c := classOf(d.Kind)
	tail := w.st.Tails[c]
	tail.Seg = max(tail.Seg, 1)
	sealed := ""
	if tail.Size >= SealSize {
		sealed = w.phasePath(segmentName(c, tail.Seg))
		w.t.sealedFile(w.st.Folder, segmentName(c, tail.Seg), tail.Size, tail.Sum)
		tail.Seg, tail.Size, tail.Sum = tail.Seg+1, 0, 0
	}
	path := w.phasePath(segmentName(c, tail.Seg))
	if err := w.writeLine(path, line, tail.Size); err != nil {
		return Entry{}, err
	}
	if !w.stands(ctx, path, line, tail.Size) {
		// Git has written the file meanwhile: once more, behind what there is now.
		if err := w.begin(ctx); err != nil {
			return Entry{}, err
		}
		return w.appendOne(ctx, d)
	}
	tail.Size += int64(len(line))
	tail.Sum = checksum(tail.Sum, line)
	w.st.Tails[c], w.st.LastID = tail, id
	w.note()
	// The entry is safe; without the note the next writer just looks for itself.
	_ = w.save(false)
	if sealed != "" {
		w.writeAhead(sealed)
	}
	parsed, err := jsonl.Parse(line[:len(line)-1])
	return makeEntry(parsed, w.t.name, w.st.Anchor, w.st.Seq), err
}

// encode makes the line of an entry, its newline included.
func (t *Tape) encode(id int64, d Draft) ([]byte, error) {
	if d.line != nil && !t.store.Redacts(d.line) {
		if stored, err := jsonl.ParseID(d.line); err == nil && stored == id {
			line := append(append([]byte(nil), d.line...), '\n')
			return line, t.checkLine(line)
		}
	}
	prepared, err := d.prepare(t.store.now)
	if err == nil {
		prepared, err = t.redact(prepared)
	}
	if err != nil {
		return nil, err
	}
	line := jsonl.AppendLine(nil, id, prepared)
	return line, t.checkLine(line)
}

// writeLine writes a line at the end of a file and syncs it, and the folder when the
// file is new. After an error the file is as it was.
func (w *writer) writeLine(path string, line []byte, at int64) (err error) {
	d := w.t.store.fs
	flag := os.O_WRONLY
	if at == 0 {
		flag |= os.O_CREATE
	}
	f, err := d.OpenFile(path, flag, disk.FilePerm)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// Were this to fail too, the next writer sets the rest aside.
			_ = f.File.Truncate(at)
			if at == 0 {
				_ = os.Remove(path)
			}
		}
		err = errors.Join(err, f.Close())
	}()
	if _, err := f.WriteAt(line, at); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if at == 0 {
		return d.SyncDir(filepath.Dir(path))
	}
	return nil
}

// writeAhead stores a sealed file's blob, so that the next commit need not. It may
// fail, or the blob be pruned: the commit looks.
func (w *writer) writeAhead(path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	batch := w.t.store.git.NewBatch()
	batch.Put(gitstore.KindBlob, data)
	_ = batch.Flush(context.Background())
}

// AppendOptions assert something of the tape. Nil asserts nothing.
type AppendOptions struct {
	// Anchor is the name of the phase that must be open. If another one is, the call
	// fails with ErrConflict and nothing is written.
	Anchor string
}

func (w *writer) assert(o *AppendOptions) error {
	if o == nil || o.Anchor == "" || o.Anchor == w.st.Anchor || o.Anchor == w.st.Folder {
		return nil
	}
	if seq, _, ok := parseFolder(o.Anchor + "_"); ok && seq == w.st.Seq {
		return nil
	}
	return conflict("somebody handed off meanwhile; look with: tape anchors",
		"the open phase is %q, not %q", w.st.Anchor, o.Anchor)
}

// Append appends entries, all or none, and returns them as stored. When it returns,
// they survive a power cut.
func (t *Tape) Append(ctx context.Context, o *AppendOptions, drafts ...Draft) ([]Entry, error) {
	for _, d := range drafts {
		if d.Kind == KindAnchor {
			return nil, errAnchor
		}
	}
	if len(drafts) != 1 {
		var out []Entry
		_, err := t.Update(ctx, func(tx *Tx) error {
			if err := tx.Assert(o); err != nil {
				return err
			}
			for _, d := range drafts {
				e, err := tx.AppendEntry(d)
				if err != nil {
					return err
				}
				out = append(out, e)
			}
			return nil
		})
		return out, err
	}
	var out []Entry
	err := t.write(ctx, func(w *writer) error {
		if err := w.assert(o); err != nil {
			return err
		}
		policy := t.store.config.Commit
		if policy.Turn && isUserMessage(drafts[0]) && w.uncommitted() > 0 {
			if _, err := t.encode(w.st.LastID+1, drafts[0]); err != nil {
				return err // no checkpoint for an entry that cannot be written
			}
			if err := w.checkpoint(ctx); err != nil {
				return err
			}
		}
		e, err := w.appendOne(ctx, drafts[0])
		if err != nil {
			return err
		}
		out = []Entry{e}
		if policy.Every > 0 && w.uncommitted() >= int64(policy.Every) {
			if err := w.checkpoint(ctx); err != nil {
				// The entry itself is safe, and the next append tries again.
				t.store.warn("the entry is recorded, but the checkpoint failed: " + err.Error())
			}
		}
		return nil
	})
	return out, err
}

func isUserMessage(d Draft) bool {
	return d.Kind == KindMessage && jsonl.GetString(d.Payload, "role") == "user"
}

// uncommitted is how many entries the last commit does not have.
func (w *writer) uncommitted() int64 { return w.st.LastID - w.st.Committed }

func (w *writer) checkpoint(ctx context.Context) error {
	_, err := w.update(ctx, func(tx *Tx) error { return tx.Checkpoint() })
	return err
}
