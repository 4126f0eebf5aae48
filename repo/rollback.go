package repo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/disk"
	"tape/internal/gitstore"
)

// without reports whether a commit has nothing of the change that u was recorded
// before, so that the change can be taken back.
func (t *Tape) without(u undo, head gitstore.Hash) (bool, error) {
	if head.String() == u.Head {
		return true, nil
	}
	v, err := t.store.commitView(head)
	if err != nil {
		return false, err
	}
	if len(v.list) < u.Seq {
		return true, nil
	}
	p := v.list[u.Seq-1]
	if len(v.list) > u.Seq || p.folder != u.Folder {
		return false, nil
	}
	entries, err := v.tree(p)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		c, n, ok := parseSegment(e.Name)
		if !ok || n < u.Tails[c].Seg {
			continue
		}
		size, err := t.store.git.BlobSize(e.Hash)
		if err != nil {
			return false, corruptObject(head, err)
		}
		if n > u.Tails[c].Seg || size > u.Tails[c].Size {
			return false, nil
		}
	}
	return true, nil
}

// rollback brings the files back to what they were before a change of several steps.
func (w *writer) rollback(u undo) error {
	d := w.t.store.fs
	phases, err := listPhases(w.wt.Dir)
	if err != nil {
		return err
	}
	for _, p := range phases {
		if p.seq > u.Seq {
			if err := d.RemoveAll(filepath.Join(w.anchorsPath(), p.folder)); err != nil {
				return err
			}
		}
	}
	folder := filepath.Join(w.anchorsPath(), u.Folder)
	names, err := dirNames(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return d.SyncDir(w.anchorsPath()) // somebody went back behind it with git
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		c, n, ok := parseSegment(name)
		if !ok {
			continue
		}
		path := filepath.Join(folder, name)
		switch was := u.Tails[c]; {
		case n > was.Seg:
			err = d.Remove(path)
		case n == was.Seg:
			err = truncate(d, path, was.Size)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(d.SyncDir(folder), d.SyncDir(w.anchorsPath()))
}

// truncate cuts a file back to a size, durably. A shorter file is left alone.
func truncate(d *disk.FS, path string, size int64) error {
	st, err := os.Lstat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if st.Size() <= size {
		return nil
	}
	f, err := d.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

// undo takes back what a Tx wrote, because of cause, which it returns.
func (tx *Tx) undo(cause error) error {
	w := tx.w
	tx.abandon()
	was := tx.before
	u := undo{Head: was.Head, Seq: was.Seq, Folder: was.Folder, Tails: was.Tails}
	if head, err := w.t.head(); err != nil {
		return fmt.Errorf("%w (the next command completes it or takes it back: %w)", cause, err)
	} else if back, err := w.t.without(u, head); err != nil || !back {
		return fmt.Errorf("the branch has moved, the next command completes the change: %w", errors.Join(cause, err))
	}
	if tx.cleared {
		// The record may be gone. If it cannot be written again the change stands,
		// complete as it is.
		gen := w.st.Gen
		w.st = was
		w.st.Gen, w.st.Undo = gen, &u
		if err := w.save(true); err != nil {
			return fmt.Errorf("%w (it may have happened all the same: %w)", cause, err)
		}
	}
	if err := w.rollback(u); err != nil {
		return fmt.Errorf("%w (the next command takes back what was written: %w)", cause, err)
	}
	was.Gen = w.st.Gen
	w.st = was
	w.note()
	if err := w.save(true); err != nil {
		return fmt.Errorf("%w (and %w)", cause, err)
	}
	return cause
}
