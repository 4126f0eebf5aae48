package writer

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"tape/internal/git/gitstore"
	"tape/internal/store/aside"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// rollback restores the files to the state before a change of several steps. What it removes was written by the change.
// If own is false, that was another process, and its record says so, which may be damaged: then everything is kept.
func (w *Writer) rollback(u journal.Undo, own bool) error {
	d, files := w.T.Store().FS(), aside.Of(w.T, w.Wt.Dir)
	defer files.Tell()
	phases, err := snapshot.ListPhases(w.Wt.Dir)
	if err != nil {
		return err
	}
	for _, p := range phases {
		if p.Seq > u.Seq {
			remove := files.Keep
			if own {
				remove = files.UndoFolder
			}
			if err := remove(filepath.Join(w.AnchorsPath(), p.Folder)); err != nil {
				return err
			}
		}
	}
	folder := filepath.Join(w.AnchorsPath(), u.Folder)
	names, err := workspace.DirNames(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return d.SyncDir(w.AnchorsPath()) // somebody has reset the branch to a commit before the phase
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		c, n, ok := layout.ParseSegment(name)
		if !ok {
			continue
		}
		path := filepath.Join(folder, name)
		switch tail := u.Tails[c]; {
		case n < tail.Seg:
		case own && n > tail.Seg:
			err = files.Undo(path, 0)
		case own:
			err = files.Undo(path, tail.Size)
		case n > tail.Seg:
			err = files.Keep(path)
		default:
			err = files.CutAway(path, tail.Size)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(d.SyncDir(folder), d.SyncDir(w.AnchorsPath()))
}

// undo removes what a Tx wrote, because of the error cause. It returns cause, with any error of the undoing.
func (tx *treeTx) undo(cause error) error {
	w := tx.w
	_ = tx.syncing.Wait()
	tx.batch.Discard()
	before := tx.before
	u := *journal.Growing(before)
	if w.rec.Undo != nil {
		u.Next = w.rec.Undo.Next
	}
	if head, err := w.T.Head(); err != nil {
		return fmt.Errorf("%w (the next command completes or undoes it: %w)", cause, err)
	} else if back, err := w.undoes(u, head); err != nil || !back {
		return fmt.Errorf("the branch has moved, the next command completes the change: %w", errors.Join(cause, err))
	}
	if tx.cleared {
		// The record on disk may no longer have its Undo. If that cannot be written again, the change stays, and is
		// complete.
		gen := w.rec.Gen
		w.rec = before
		w.rec.Gen, w.rec.Undo = gen, &u
		if err := w.save(true); err != nil {
			return fmt.Errorf("%w (it may have happened all the same: %w)", cause, err)
		}
	}
	if err := w.rollback(u, true); err != nil {
		return fmt.Errorf("%w (the next command removes what was written: %w)", cause, err)
	}
	before.Gen = w.rec.Gen
	w.rec = before
	w.updateRecord()
	if err := w.save(true); err != nil {
		return fmt.Errorf("%w (and %w)", cause, err)
	}
	return cause
}

// undoes reports whether the branch, at the commit head, has nothing of the change that u undoes.
func (w *Writer) undoes(u journal.Undo, head gitstore.Hash) (bool, error) {
	rec := w.rec
	rec.Undo = &u
	f, err := snapshot.Find(w.T, rec, head, w.Wt)
	return journal.Decide(f).Files == journal.RollBack, err
}
