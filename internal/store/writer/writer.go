package writer

import (
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
	return layout.Wrap(Locked(ctx, t, f), "write tape %q", t.Name())
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

// Begin finds out where the tape ends: from the note of the last writer if nothing
// has changed since, by looking otherwise.
func (w *Writer) Begin(ctx context.Context) error {
	stale, err := w.look()
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
		return err
	}
	if err := w.awaitGit(ctx); err != nil {
		return err
	}
	if w.rec.Undo == nil && !w.rec.UnsyncedClear && w.rec.Anchor != "" && w.rec.Head == w.Head.String() && w.unchanged() {
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
	if w.indexIsOld(w.rec) || modTime(w.AnchorsPath()) != w.rec.DirTime || modTime(w.phasePath()) != w.rec.PhaseTime {
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

// indexIsOld reports whether git's index is older than a note of it: its name is not durable when
// the note is, and a power cut may bring back the one before. One that is younger is git's work.
func (w *Writer) indexIsOld(note journal.Record) bool {
	return modTime(w.Wt.IndexPath()) < note.IndexTime
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
	w.rec.Branch, w.rec.Head, w.rec.Home = w.T.Ref(), w.Head.String(), w.T.Store().RelDir(w.Wt.Dir)
	w.rec.DirTime, w.rec.PhaseTime, w.rec.IndexTime = modTime(w.AnchorsPath()), modTime(w.phasePath()), modTime(w.Wt.IndexPath())
	for c := range w.rec.Tails {
		if tail := &w.rec.Tails[c]; tail.Seg > 0 {
			tail.Time = modTime(w.phasePath(layout.SegmentName(layout.Class(c), tail.Seg)))
		}
	}
}

// save writes the note. It is only a cache unless it has, or takes back, an Undo.
func (w *Writer) save(sync bool) error { return journal.Save(w.lock.File, w.rec, sync) }

// begins records, durably, a change of several steps before it begins.
func (w *Writer) begins(u journal.Undo) error {
	w.rec.Gen++
	w.rec.Undo = &u
	return w.save(true)
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
