package writer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/disk"
	"tape/internal/gitstore"
	"tape/internal/journal"
	"tape/internal/jsonl"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// Writer holds a tape's lock, and knows where the tape ends.
type Writer struct {
	T    *workspace.Tape
	Head gitstore.Hash     // the tape's newest commit
	Wt   gitstore.Worktree // Dir is "" if the tape is checked out nowhere

	lock *disk.Lock
	rec  journal.Record // what the next writer is told
	gone bool           // the tape is: its lock file goes, too
}

// Unlock gives up the lock.
func (w *Writer) Unlock() error {
	if w.gone {
		return w.lock.Remove()
	}
	return w.lock.Unlock()
}

// Write takes the tape's lock, puts right what an interrupted writer left, and runs f.
func Write(ctx context.Context, t *workspace.Tape, f func(w *Writer) error) error {
	if err := Locked(ctx, t, f); err != nil {
		return fmt.Errorf("write tape %q: %w", t.Name(), layout.Classify(err))
	}
	return nil
}

// Locked is write without saying which tape it was.
func Locked(ctx context.Context, t *workspace.Tape, f func(w *Writer) error) (err error) {
	w, err := Lock(ctx, t)
	if err != nil {
		return err
	}
	defer func() {
		// Also when f panics: what it left is taken back by the next writer.
		if unlockErr := w.Unlock(); err == nil {
			err = unlockErr
		}
	}()
	return f(w)
}

// Lock takes the tape's lock, and puts right what an interrupted writer left.
func Lock(ctx context.Context, t *workspace.Tape) (*Writer, error) {
	if _, err := t.Head(); err != nil {
		return nil, err // no lock file for a tape that does not exist
	}
	lock, err := LockFile(ctx, t)
	if err != nil {
		return nil, err
	}
	w := Holding(t, lock)
	if err := w.Begin(ctx); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return w, nil
}

// LockedAsIs takes the tape's lock and runs f, with whatever an interrupted writer, or git,
// has left. The tape need not exist.
func LockedAsIs(ctx context.Context, t *workspace.Tape, f func(w *Writer) error) error {
	lock, err := LockFile(ctx, t)
	if err != nil {
		return err
	}
	w := Holding(t, lock)
	if _, err = w.look(); err == nil || errors.Is(err, layout.ErrNotFound) {
		err = f(w)
	}
	return errors.Join(err, lock.Unlock())
}

// Holding is the writer of whoever has the lock already.
func Holding(t *workspace.Tape, lock *disk.Lock) *Writer { return &Writer{T: t, lock: lock} }

// LockFile takes the tape's lock, and nothing else.
func LockFile(ctx context.Context, t *workspace.Tape) (*disk.Lock, error) {
	s := t.Store()
	lock, err := s.FS().Lock(ctx, journal.LockPath(t), s.Wait())
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.FS().MkdirAll(filepath.Dir(journal.LockPath(t))); err != nil {
			return nil, err
		}
		lock, err = s.FS().Lock(ctx, journal.LockPath(t), s.Wait())
	}
	return lock, err
}

// look reads the last writer's note, the branch, and where it is checked out.
func (w *Writer) look() (stale bool, err error) {
	w.rec, _ = journal.Read(w.lock.File)
	if w.Head, err = w.T.Head(); err != nil {
		return false, err
	}
	if w.Wt, stale, err = w.T.Worktree(); errors.Is(err, gitstore.ErrNotFound) {
		err = nil
	}
	return stale, err
}

// Begin finds out where the tape ends: from the note of the last writer if nothing
// has changed since, by looking otherwise.
func (w *Writer) Begin(ctx context.Context) error {
	stale, err := w.look()
	if err != nil {
		return err
	}
	if w.rec.Moved(w.Head) {
		if err := snapshot.CheckSettled(w.T, w.Head); err != nil {
			return err
		}
	}
	if err := journal.CheckHome(w.T, w.rec, w.Head, w.Wt.Dir); err != nil {
		return err
	}
	if stale {
		if err := w.T.Store().Git().Relink(w.Wt); err != nil {
			return err
		}
	}
	if w.Wt.Dir == "" {
		return w.recover(ctx)
	}
	if err := journal.CheckTapeFile(w.Wt.Dir, w.rec.Undo); err != nil {
		return err
	}
	if err := w.awaitGit(ctx); err != nil {
		return err
	}
	if w.rec.Undo == nil && w.rec.Anchor != "" && w.rec.Head == w.Head.String() && w.unchanged() {
		return nil
	}
	return w.recover(ctx)
}

// AnchorsPath is the folder of the tape's phases.
func (w *Writer) AnchorsPath() string { return filepath.Join(w.Wt.Dir, layout.AnchorsDir) }

func (w *Writer) phasePath(elem ...string) string {
	return filepath.Join(append([]string{w.AnchorsPath(), w.rec.Folder}, elem...)...)
}

// unchanged reports whether the files are as the note says.
func (w *Writer) unchanged() bool {
	if modTime(w.AnchorsPath()) != w.rec.DirTime || modTime(w.phasePath()) != w.rec.PhaseTime {
		return false
	}
	for c, was := range w.rec.Tails {
		if was.Seg == 0 {
			continue
		}
		st, err := os.Lstat(w.phasePath(layout.SegmentName(layout.Class(c), was.Seg)))
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
func (w *Writer) note() {
	w.rec.Branch, w.rec.Head, w.rec.Home = w.T.Ref(), w.Head.String(), w.T.Store().Home(w.Wt.Dir)
	w.rec.DirTime, w.rec.PhaseTime = modTime(w.AnchorsPath()), modTime(w.phasePath())
	for c := range w.rec.Tails {
		if tail := &w.rec.Tails[c]; tail.Seg > 0 {
			tail.Time = modTime(w.phasePath(layout.SegmentName(layout.Class(c), tail.Seg)))
		}
	}
}

// save writes the note. It is only a cache unless it has, or takes back, an Undo.
func (w *Writer) save(sync bool) error { return journal.Save(w.lock.File, w.rec, sync) }

// checkLine refuses a line that is longer than the workspace allows.
func checkLine(t *workspace.Tape, line []byte) error {
	if limit := t.Store().Config().MaxLine; len(line)-1 > limit {
		return layout.Invalid("keep large content in a file of its own and record its path; or raise the limit with: tape config max_line N",
			"the entry has %d bytes; the limit of a line is %d", len(line)-1, limit)
	}
	return nil
}

// appendOne appends one entry: one write, one sync.
func (w *Writer) appendOne(ctx context.Context, d layout.Draft) (layout.Entry, error) {
	id := w.rec.LastID + 1
	line, err := Encode(w.T, id, d)
	if err != nil {
		return layout.Entry{}, err
	}
	c := layout.ClassOf(d.Kind)
	tail := w.rec.Tails[c]
	tail.Seg = max(tail.Seg, 1)
	sealed := ""
	if tail.Size >= layout.SealSize {
		sealed = w.phasePath(layout.SegmentName(c, tail.Seg))
		snapshot.SealedFile(w.T, w.rec.Folder, layout.SegmentName(c, tail.Seg), tail.Size, tail.Sum)
		tail.Seg, tail.Size, tail.Sum = tail.Seg+1, 0, 0
	}
	path := w.phasePath(layout.SegmentName(c, tail.Seg))
	if err := w.writeLine(path, line, tail.Size); err != nil {
		return layout.Entry{}, err
	}
	if !w.stands(ctx, path, line, tail.Size) {
		// Git has written the file meanwhile: once more, behind what there is now.
		if err := w.Begin(ctx); err != nil {
			return layout.Entry{}, err
		}
		return w.appendOne(ctx, d)
	}
	tail.Size += int64(len(line))
	tail.Sum = snapshot.Checksum(tail.Sum, line)
	w.rec.Tails[c], w.rec.LastID = tail, id
	w.note()
	// The entry is safe; without the note the next writer just looks for itself.
	_ = w.save(false)
	if sealed != "" {
		w.writeAhead(sealed)
	}
	parsed, err := jsonl.Parse(line[:len(line)-1])
	return snapshot.MakeEntry(parsed, w.T.Name(), w.rec.Anchor, w.rec.Seq), err
}

// Encode makes the line of an entry, its newline included.
func Encode(t *workspace.Tape, id int64, d layout.Draft) ([]byte, error) {
	if d.Line != nil && !t.Store().Redacts(d.Line) {
		if stored, err := jsonl.ParseID(d.Line); err == nil && stored == id {
			line := append(append([]byte(nil), d.Line...), '\n')
			return line, checkLine(t, line)
		}
	}
	prepared, err := d.Prepare(t.Store().Now)
	if err == nil {
		prepared, err = t.Redact(prepared)
	}
	if err != nil {
		return nil, err
	}
	line := jsonl.AppendLine(nil, id, prepared)
	return line, checkLine(t, line)
}

// writeLine writes a line at the end of a file and syncs it, and the folder when the
// file is new. After an error the file is as it was.
func (w *Writer) writeLine(path string, line []byte, at int64) (err error) {
	d := w.T.Store().FS()
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
func (w *Writer) writeAhead(path string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return
	}
	batch := w.T.Store().Git().NewBatch()
	batch.Put(gitstore.KindBlob, data)
	_ = batch.Flush(context.Background())
}

// AppendOptions assert something of the tape. Nil asserts nothing.
type AppendOptions struct {
	// Anchor is the name of the phase that must be open. If another one is, the call
	// fails with ErrConflict and nothing is written.
	Anchor string
}

func (w *Writer) assert(o *AppendOptions) error {
	if o == nil || o.Anchor == "" || o.Anchor == w.rec.Anchor || o.Anchor == w.rec.Folder {
		return nil
	}
	if seq, _, ok := layout.ParseFolder(o.Anchor + "_"); ok && seq == w.rec.Seq {
		return nil
	}
	return layout.Conflict("somebody handed off meanwhile; look with: tape anchors",
		"the open phase is %q, not %q", w.rec.Anchor, o.Anchor)
}

// Append appends entries, all or none, and returns them as stored. When it returns,
// they survive a power cut.
func Append(ctx context.Context, t *workspace.Tape, o *AppendOptions, drafts ...layout.Draft) ([]layout.Entry, error) {
	for _, d := range drafts {
		if d.Kind == layout.KindAnchor {
			return nil, layout.ErrAnchor
		}
	}
	if len(drafts) != 1 {
		var out []layout.Entry
		_, err := Update(ctx, t, func(tx *Tx) error {
			if err := tx.Assert(o); err != nil {
				return err
			}
			for _, d := range drafts {
				e, err := tx.AppendEntry(ctx, d)
				if err != nil {
					return err
				}
				out = append(out, e)
			}
			return nil
		})
		return out, err
	}
	var out []layout.Entry
	err := Write(ctx, t, func(w *Writer) error {
		if err := w.assert(o); err != nil {
			return err
		}
		policy := t.Store().Config().Commit
		if policy.Turn && IsUserMessage(drafts[0]) && w.Uncommitted() > 0 {
			if _, err := Encode(t, w.rec.LastID+1, drafts[0]); err != nil {
				return err // no checkpoint for an entry that cannot be written
			}
			if err := w.Checkpoint(ctx); err != nil {
				return err
			}
		}
		e, err := w.appendOne(ctx, drafts[0])
		if err != nil {
			return err
		}
		out = []layout.Entry{e}
		if policy.Every > 0 && w.Uncommitted() >= int64(policy.Every) {
			if err := w.Checkpoint(ctx); err != nil {
				// The entry itself is safe, and the next append tries again.
				t.Store().Warn("the entry is recorded, but the checkpoint failed: " + err.Error())
			}
		}
		return nil
	})
	return out, err
}

// IsUserMessage reports whether an entry begins a turn.
func IsUserMessage(d layout.Draft) bool {
	return d.Kind == layout.KindMessage && jsonl.GetString(d.Payload, "role") == "user"
}

// LastID is the tape's last entry.
func (w *Writer) LastID() int64 { return w.rec.LastID }

// Committed is the last entry that the tape's newest commit has.
func (w *Writer) Committed() int64 { return w.rec.Committed }

// Uncommitted is how many entries the last commit does not have.
func (w *Writer) Uncommitted() int64 { return w.rec.LastID - w.rec.Committed }

// Interrupted reports whether a change that began at a commit was never acknowledged:
// nothing behind LastID counts.
func (w *Writer) Interrupted(at gitstore.Hash) bool {
	return w.rec.Undo != nil && !w.rec.Undo.Checkout && w.rec.Head == at.String()
}

// Checkpoint commits what is not committed, if there is anything.
func (w *Writer) Checkpoint(ctx context.Context) error {
	if w.Uncommitted() == 0 {
		return nil
	}
	_, err := w.Update(ctx, func(tx *Tx) error { return tx.Checkpoint(ctx) })
	return err
}

// Gone says that the tape was taken away: its lock file goes with the lock.
func (w *Writer) Gone() { w.gone = true }

// Scrub writes the note such that nothing is left of older ones.
func (w *Writer) Scrub() error { return journal.Scrub(w.lock.File, w.rec) }
