package writer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/snapshot"
)

// updateTree makes the working tree that of a commit. Where it is known to hold another
// one, only what differs is written: each file whole, so that it can be done again.
func (w *Writer) updateTree(from string, v *snapshot.Snapshot) error {
	h, err := gitstore.ParseHash(from)
	if err != nil || w.T.IsFork() {
		return w.writeTree(v) // a fork's is small
	}
	was, err := snapshot.AtCommit(w.T.Store(), h)
	if err != nil {
		return w.writeTree(v)
	}
	if err := w.updateTapeFile(was, v); err != nil {
		return err
	}
	if _, err := os.Lstat(w.AnchorsPath()); err != nil {
		return w.writeTree(v)
	}
	has := make(map[string]layout.Phase, len(was.List))
	for _, p := range was.List {
		has[p.Folder] = p
	}
	for _, p := range v.List {
		old, ok := has[p.Folder]
		delete(has, p.Folder)
		if ok && old.Tree == p.Tree {
			continue
		}
		if err := w.updatePhase(was, v, old, p); err != nil {
			return err
		}
	}
	for folder := range has {
		if err := w.T.Store().FS().RemoveAll(filepath.Join(w.AnchorsPath(), folder)); err != nil {
			return err
		}
	}
	return w.T.Store().FS().SyncDir(w.AnchorsPath())
}

func (w *Writer) updateTapeFile(was, v *snapshot.Snapshot) error {
	old, _ := layout.FindEntry(was.Root, layout.TapeFile)
	info, ok := layout.FindEntry(v.Root, layout.TapeFile)
	if !ok {
		return &layout.CorruptError{File: v.Where(layout.Phase{}, layout.TapeFile), Msg: "the commit has no " + layout.TapeFile}
	}
	if old.Hash == info.Hash {
		return nil
	}
	raw, err := v.Git.Blob(info.Hash)
	if err != nil {
		return layout.CorruptObject(v.Commit, err)
	}
	return w.T.Store().FS().WriteFile(filepath.Join(w.Wt.Dir, layout.TapeFile), raw)
}

// updatePhase writes what a phase has that it had not in the commit before, if that had it.
func (w *Writer) updatePhase(was, v *snapshot.Snapshot, old, p layout.Phase) error {
	d, dir := w.T.Store().FS(), filepath.Join(w.AnchorsPath(), p.Folder)
	if err := d.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := v.Tree(p)
	if err != nil {
		return err
	}
	var before []gitstore.TreeEntry
	if old.Folder != "" {
		if before, err = was.Tree(old); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if _, _, ok := layout.ParseSegment(e.Name); !ok && e.Name != layout.AnchorFile {
			return &layout.CorruptError{File: v.Where(p, e.Name), Msg: "not a file of a phase"}
		}
		if had, ok := layout.FindEntry(before, e.Name); ok && had.Hash == e.Hash {
			continue
		}
		raw, err := v.Git.Blob(e.Hash)
		if err != nil {
			return layout.CorruptObject(v.Commit, err)
		}
		if err := d.WriteFile(filepath.Join(dir, e.Name), raw); err != nil {
			return err
		}
	}
	for _, e := range before {
		if _, ok := layout.FindEntry(entries, e.Name); ok {
			continue
		}
		if err := d.Remove(filepath.Join(dir, e.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.SyncDir(dir)
}
