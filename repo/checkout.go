package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"tape/internal/disk"
	"tape/internal/gitstore"
)

// checkout writes the working tree of the tape from its commit: a tape's first
// working tree, or one whose branch was moved by a reset. A record says so until it
// is complete, so that readers meanwhile use the commit.
func (w *writer) checkout(ctx context.Context, again bool) error {
	s := w.t.store
	w.st.Gen++
	w.st.Undo = &undo{Head: w.head.String(), Next: w.head.String(), Checkout: true}
	if err := w.save(true); err != nil {
		return err
	}
	if w.wt.Dir == "" {
		parent := filepath.Join(s.dir, tapesDir)
		if st, err := os.Lstat(parent); err == nil && !st.IsDir() {
			return invalid("move it away", "%s is not a folder: working trees of tapes go there", parent)
		}
		dir := filepath.Join(parent, w.t.slug)
		if err := w.keepStray(dir, again); err != nil {
			return err
		}
		if err := s.fs.MkdirAll(filepath.Dir(dir)); err != nil {
			return err
		}
		wt, err := s.git.AddWorktree(ctx, w.t.branch, dir)
		if err != nil {
			return err
		}
		w.wt = wt
	}
	v, err := s.commitView(w.head)
	if err != nil {
		return err
	}
	if err := w.writeTree(v); err != nil {
		return err
	}
	return s.rebuildIndex(ctx, w.wt)
}

// keepStray moves away what lies where a working tree is to be, but is none that git
// knows: it may hold entries that were never committed.
func (w *writer) keepStray(dir string, again bool) error {
	if _, err := os.Lstat(dir); again || err != nil {
		return nil
	}
	d := w.t.store.fs
	stray := w.t.store.privatePath(tornDirName)
	if err := d.MkdirAll(stray); err != nil {
		return err
	}
	stray = filepath.Join(stray, w.t.slug+"~"+w.t.store.now().UTC().Format("20060102T150405.000000000Z"))
	if err := d.Rename(dir, stray); err != nil {
		return err
	}
	w.t.store.warn("git no longer knows the working tree " + dir + "; it was moved to " + stray)
	return nil
}

// writeTree replaces the working tree's files by those of a commit.
func (w *writer) writeTree(v *commitView) error {
	d := w.t.store.fs
	if err := d.RemoveAll(w.anchorsPath()); err != nil {
		return err
	}
	if err := d.MkdirAll(w.anchorsPath()); err != nil {
		return err
	}
	info, ok := findEntry(v.root, tapeFile)
	if !ok {
		return &CorruptError{File: v.where(phase{}, tapeFile), Msg: "the commit has no " + tapeFile}
	}
	raw, err := v.git.Blob(info.Hash)
	if err != nil {
		return corruptObject(v.commit, err)
	}
	if err := d.WriteFile(filepath.Join(w.wt.Dir, tapeFile), raw); err != nil {
		return err
	}
	for _, p := range v.list {
		if err := w.writePhase(v, p); err != nil {
			return err
		}
	}
	return d.SyncDir(w.anchorsPath())
}

func (w *writer) writePhase(v *commitView, p phase) error {
	d := w.t.store.fs
	dir := filepath.Join(w.anchorsPath(), p.folder)
	if err := d.Mkdir(dir); err != nil {
		return err
	}
	entries, err := v.tree(p)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, _, ok := parseSegment(e.Name); !ok && e.Name != anchorFile {
			return &CorruptError{File: v.where(p, e.Name), Msg: "not a file of a phase"}
		}
		raw, err := v.git.Blob(e.Hash)
		if err != nil {
			return corruptObject(v.commit, err)
		}
		if err := writeSynced(d, filepath.Join(dir, e.Name), raw); err != nil {
			return err
		}
	}
	return d.SyncDir(dir)
}

func writeSynced(d *disk.FS, path string, data []byte) error {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.FilePerm)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// rebuildIndex writes the git index of a working tree from its branch's commit.
func (s *Store) rebuildIndex(ctx context.Context, wt gitstore.Worktree) error {
	h, err := s.git.Ref(wt.Branch)
	if err != nil {
		return err
	}
	c, err := s.git.Commit(h)
	if err != nil {
		return corruptObject(h, err)
	}
	var all []gitstore.IndexChange
	if err := s.listTree(c.Tree, "", &all); err != nil {
		return corruptObject(h, err)
	}
	return s.git.RebuildIndex(ctx, wt, all)
}

func (s *Store) listTree(tree gitstore.Hash, prefix string, out *[]gitstore.IndexChange) error {
	entries, err := s.git.Tree(tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := s.listTree(e.Hash, prefix+e.Name+"/", out); err != nil {
				return err
			}
			continue
		}
		size, err := s.git.BlobSize(e.Hash)
		if err != nil {
			return err
		}
		*out = append(*out, gitstore.IndexChange{Path: prefix + e.Name, Hash: e.Hash, Mode: e.Mode, Size: size})
	}
	return nil
}

// updateIndex brings the git index up to date, and makes a new one where there is none
// or the present one is of a kind that only git writes.
func (s *Store) updateIndex(ctx context.Context, wt gitstore.Worktree, changes []gitstore.IndexChange) error {
	if _, err := os.Lstat(filepath.Join(wt.GitDir, "index")); errors.Is(err, fs.ErrNotExist) {
		return s.rebuildIndex(ctx, wt)
	}
	err := s.git.UpdateIndex(ctx, wt, changes)
	if !errors.Is(err, gitstore.ErrIndexUnreadable) {
		return err
	}
	return s.rebuildIndex(ctx, wt)
}
