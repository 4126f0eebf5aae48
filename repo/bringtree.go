package repo

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/gitstore"
)

// bringTree makes the working tree that of a commit. Where it is known to hold another
// one, only what differs is written: each file whole, so that it can be done again.
func (w *writer) bringTree(from string, v *snapshot) error {
	h, err := gitstore.ParseHash(from)
	if err != nil || w.t.IsFork() {
		return w.writeTree(v) // a fork's is small
	}
	was, err := w.t.store.commitView(h)
	if err != nil {
		return w.writeTree(v)
	}
	if err := w.bringTapeFile(was, v); err != nil {
		return err
	}
	if _, err := os.Lstat(w.anchorsPath()); err != nil {
		return w.writeTree(v)
	}
	has := make(map[string]phase, len(was.list))
	for _, p := range was.list {
		has[p.folder] = p
	}
	for _, p := range v.list {
		old, ok := has[p.folder]
		delete(has, p.folder)
		if ok && old.tree == p.tree {
			continue
		}
		if err := w.bringPhase(was, v, old, p); err != nil {
			return err
		}
	}
	for folder := range has {
		if err := w.t.store.fs.RemoveAll(filepath.Join(w.anchorsPath(), folder)); err != nil {
			return err
		}
	}
	return w.t.store.fs.SyncDir(w.anchorsPath())
}

func (w *writer) bringTapeFile(was, v *snapshot) error {
	old, _ := findEntry(was.root, tapeFile)
	info, ok := findEntry(v.root, tapeFile)
	if !ok {
		return &CorruptError{File: v.where(phase{}, tapeFile), Msg: "the commit has no " + tapeFile}
	}
	if old.Hash == info.Hash {
		return nil
	}
	raw, err := v.git.Blob(info.Hash)
	if err != nil {
		return corruptObject(v.commit, err)
	}
	return w.t.store.fs.WriteFile(filepath.Join(w.wt.Dir, tapeFile), raw)
}

// bringPhase writes what a phase has that it had not in the commit before, if that had it.
func (w *writer) bringPhase(was, v *snapshot, old, p phase) error {
	d, dir := w.t.store.fs, filepath.Join(w.anchorsPath(), p.folder)
	if err := d.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	entries, err := v.tree(p)
	if err != nil {
		return err
	}
	var before []gitstore.TreeEntry
	if old.folder != "" {
		if before, err = was.tree(old); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if _, _, ok := parseSegment(e.Name); !ok && e.Name != anchorFile {
			return &CorruptError{File: v.where(p, e.Name), Msg: "not a file of a phase"}
		}
		if had, ok := findEntry(before, e.Name); ok && had.Hash == e.Hash {
			continue
		}
		raw, err := v.git.Blob(e.Hash)
		if err != nil {
			return corruptObject(v.commit, err)
		}
		if err := d.WriteFile(filepath.Join(dir, e.Name), raw); err != nil {
			return err
		}
	}
	for _, e := range before {
		if _, ok := findEntry(entries, e.Name); ok {
			continue
		}
		if err := d.Remove(filepath.Join(dir, e.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.SyncDir(dir)
}
