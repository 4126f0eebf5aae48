package writer

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Writer holds a tape's lock, and has the state of the tape, such as its last entry.
type Writer struct {
	T    *workspace.Tape
	Head gitstore.Hash     // the tape's newest commit
	Wt   gitstore.Worktree // Dir is "" without a working tree

	lock    *disk.Lock
	rec     journal.Record // the record for the next writer
	removed bool           // the tape was removed: remove its lock file too
}

// Unlock releases the lock.
func (w *Writer) Unlock() error {
	if w.removed {
		return w.lock.Remove()
	}
	return w.lock.Unlock()
}

// Write takes the tape's lock, repairs what an interrupted writer left, and runs f.
func Write(ctx context.Context, t *workspace.Tape, f func(w *Writer) error) error {
	return layout.Wrap(Locked(ctx, t, f), "write tape %q", t.Name())
}

// Locked is like Write, without the tape's name in errors.
func Locked(ctx context.Context, t *workspace.Tape, f func(w *Writer) error) (err error) {
	w, err := Lock(ctx, t)
	if err != nil {
		return err
	}
	defer func() {
		// Deferred, because f may panic: the next writer undoes what it left.
		if unlockErr := w.Unlock(); err == nil {
			err = unlockErr
		}
	}()
	return f(w)
}

// Lock takes the tape's lock, and repairs what an interrupted writer left.
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

// LockedUnrepaired takes the tape's lock and runs f without repairing what an interrupted writer, or git, has left. The
// tape need not exist.
func LockedUnrepaired(ctx context.Context, t *workspace.Tape, f func(w *Writer) error) error {
	lock, err := LockFile(ctx, t)
	if err != nil {
		return err
	}
	w := Holding(t, lock)
	if _, err = w.readState(); err == nil || errors.Is(err, layout.ErrNotFound) {
		err = f(w)
	}
	return errors.Join(err, lock.Unlock())
}

// Holding returns a writer for a lock that is held already.
func Holding(t *workspace.Tape, lock *disk.Lock) *Writer { return &Writer{T: t, lock: lock} }

// LockFile takes the tape's lock, and makes the folder of the lock file if it is missing. It repairs nothing.
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

// readState reads the last writer's record, the branch, and where it is checked out. stale says that git's links to
// the working tree need a repair.
func (w *Writer) readState() (stale bool, err error) {
	if w.rec, _, err = journal.Read(w.lock.File); err != nil {
		return false, err
	}
	if w.Head, err = w.T.Head(); err != nil {
		return false, err
	}
	if w.Wt, stale, err = w.T.Worktree(); errors.Is(err, gitstore.ErrNotFound) {
		err = nil
	}
	return stale, err
}

// Begin finds out where the tape ends: from the last writer's record if nothing has changed since, otherwise by
// repairing and reading the files. It makes a working tree if there is none.
func (w *Writer) Begin(ctx context.Context) error {
	stale, err := w.readState()
	if err != nil {
		return err
	}
	if err := snapshot.CheckMoved(w.T, w.rec, w.Head); err != nil {
		return err
	}
	if err := journal.CheckHome(w.T, w.rec, w.Head, w.Wt.Dir); err != nil {
		return err
	}
	if stale {
		if err := gitworktree.Relink(w.T.Store().Git(), w.Wt); err != nil {
			return err
		}
	}
	if w.Wt.Dir == "" {
		return w.recover(ctx)
	}
	if err := journal.CheckTapeFile(w.Wt.Dir, w.rec.Undo); err != nil {
		return cmp.Or(w.checkMerging(), err) // a conflict in it
	}
	if err := w.awaitGit(ctx); err != nil {
		return err
	}
	if w.rec.Undo == nil && !w.rec.UnsyncedClear && w.rec.Anchor != "" && w.rec.Head == w.Head.String() && w.unchanged() {
		return nil
	}
	return w.recover(ctx)
}

// AnchorsPath returns the folder of the tape's phases.
func (w *Writer) AnchorsPath() string { return filepath.Join(w.Wt.Dir, layout.AnchorsDir) }

func (w *Writer) phasePath(elem ...string) string {
	return filepath.Join(append([]string{w.AnchorsPath(), w.rec.Folder}, elem...)...)
}

// unchanged reports whether the files match the record.
func (w *Writer) unchanged() bool {
	if w.indexIsOld(w.rec) || !dirUnchanged(w.AnchorsPath(), w.rec.DirTime) || !dirUnchanged(w.phasePath(), w.rec.PhaseTime) {
		return false
	}
	for c, tail := range w.rec.Tails {
		if tail.Seg == 0 {
			continue
		}
		st, err := os.Lstat(w.phasePath(layout.SegmentName(layout.Class(c), tail.Seg)))
		if err != nil || !st.Mode().IsRegular() || st.Size() != tail.Size || st.ModTime().UnixNano() != tail.Time {
			return false
		}
	}
	return true
}

// indexIsOld reports whether git's index is older than the record says: the rename of a new index is not synced before
// the record, so a power cut may bring back the former one. A newer index was written by git.
func (w *Writer) indexIsOld(rec journal.Record) bool {
	return modTime(w.Wt.IndexPath()) < rec.IndexTime
}

// modTime returns a file's modification time in ns, 0 if it is missing.
func modTime(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.ModTime().UnixNano()
}

// dirUnchanged reports whether path is a folder, not a link to one, and was last modified at time, in ns.
func dirUnchanged(path string, time int64) bool {
	st, err := os.Lstat(path)
	return err == nil && st.IsDir() && st.ModTime().UnixNano() == time
}

// updateRecord updates the record in memory; save writes it.
func (w *Writer) updateRecord() {
	w.rec.Branch, w.rec.Head, w.rec.Home = w.T.Ref(), w.Head.String(), w.T.Store().RelDir(w.Wt.Dir)
	w.rec.DirTime, w.rec.PhaseTime, w.rec.IndexTime = modTime(w.AnchorsPath()), modTime(w.phasePath()), modTime(w.Wt.IndexPath())
	for c := range w.rec.Tails {
		if tail := &w.rec.Tails[c]; tail.Seg > 0 {
			tail.Time = modTime(w.phasePath(layout.SegmentName(layout.Class(c), tail.Seg)))
		}
	}
}

// save writes the record, and syncs it if sync is set. A record that neither has nor clears an Undo is only a cache.
func (w *Writer) save(sync bool) error { return journal.Save(w.lock.File, w.rec, sync) }

// recordUndo records durably, before a change of several steps, how to undo or complete it.
func (w *Writer) recordUndo(u journal.Undo) error {
	w.rec.Gen++
	w.rec.Undo = &u
	return w.save(true)
}

// LastID returns the id of the tape's last entry.
func (w *Writer) LastID() int64 { return w.rec.LastID }

// Committed returns the id of the last committed entry.
func (w *Writer) Committed() int64 { return w.rec.Committed }

// Uncommitted returns the number of uncommitted entries.
func (w *Writer) Uncommitted() int64 { return w.rec.LastID - w.rec.Committed }

// Interrupted reports whether a change that began at the commit head was interrupted. Nobody was told that it
// succeeded, so entries after LastID do not count.
func (w *Writer) Interrupted(head gitstore.Hash) bool {
	return w.rec.Undo.Change() == journal.Growth && w.rec.Head == head.String()
}

// Checkpoint commits uncommitted entries, if there are any.
func (w *Writer) Checkpoint(ctx context.Context) error {
	if w.Uncommitted() == 0 {
		return nil
	}
	_, err := w.Update(ctx, func(tx *Tx) error { return tx.Checkpoint(ctx) })
	return err
}

// MarkRemoved says that the tape was removed, so that Unlock removes its lock file.
func (w *Writer) MarkRemoved() { w.removed = true }

// ForgetRecord drops the record of a tape's last writer: its commit is gone. The next writer reads the files instead.
func ForgetRecord(ctx context.Context, t *workspace.Tape) error {
	return LockedUnrepaired(ctx, t, func(w *Writer) error {
		w.rec = journal.Record{Gen: w.rec.Gen + 1}
		return w.Scrub()
	})
}

// Scrub writes the record and erases all older ones.
func (w *Writer) Scrub() error { return journal.Scrub(w.lock.File, w.rec) }
