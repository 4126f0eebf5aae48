package writer

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"tape/internal/disk"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/snapshot"
)

// writeTree makes the working tree that of a commit. Where it is known to hold another
// one, only what differs is written: each file whole, so that it can be done again.
func (w *Writer) writeTree(from string, v *snapshot.Snapshot) error {
	d, was := w.T.Store().FS(), &snapshot.Snapshot{}
	if _, err := os.Lstat(w.AnchorsPath()); err == nil && from != "" && !w.T.IsFork() { // a fork's is small
		if h, err := gitstore.ParseHash(from); err == nil {
			if known, err := snapshot.AtCommit(w.T.Store(), h); err == nil {
				was = known
			}
		}
	}
	for _, name := range layout.RootFiles() {
		if err := w.writeRootFile(was, v, name); err != nil {
			return err
		}
	}
	has := make(map[string]layout.Phase, len(was.List))
	for _, p := range was.List {
		has[p.Folder] = p
	}
	if len(has) == 0 {
		if err := errors.Join(d.RemoveAll(w.AnchorsPath()), d.MkdirAll(w.AnchorsPath())); err != nil {
			return err
		}
	}
	list := v.List
	if w.T.IsFork() {
		list = list[len(list)-1:] // what can still change
	}
	for _, p := range list {
		old := has[p.Folder]
		delete(has, p.Folder)
		if old.Tree == p.Tree {
			continue
		}
		if err := w.writePhase(was, v, old, p); err != nil {
			return err
		}
	}
	for folder := range has {
		if err := d.RemoveAll(filepath.Join(w.AnchorsPath(), folder)); err != nil {
			return err
		}
	}
	return d.SyncDir(w.AnchorsPath())
}

func (w *Writer) writeRootFile(was, v *snapshot.Snapshot, name string) error {
	path := filepath.Join(w.Wt.Dir, name)
	old, _ := layout.FindEntry(was.Root, name)
	is, ok := layout.FindEntry(v.Root, name)
	switch {
	case !ok && name == layout.TapeFile:
		return &layout.CorruptError{File: v.Where(layout.Phase{}, name), Msg: "the commit has no " + name}
	case !ok:
		return w.removeReadme(path)
	case old.Hash == is.Hash:
		return nil
	}
	raw, err := v.Git.Blob(is.Hash)
	if err != nil {
		return layout.CorruptObject(v.Commit, err)
	}
	return w.T.Store().FS().WriteFile(path, raw)
}

// removeReadme removes the README.md that another history of the tape has, but not one that
// somebody has put there.
func (w *Writer) removeReadme(path string) error {
	if data, err := os.ReadFile(path); err != nil || string(data) != layout.Readme {
		return nil //nolint:nilerr // what cannot be read is not ours
	}
	d := w.T.Store().FS()
	return errors.Join(d.Remove(path), d.SyncDir(w.Wt.Dir))
}

// writePhase writes what a phase has that it had not in the commit before, if that had it.
func (w *Writer) writePhase(was, v *snapshot.Snapshot, old, p layout.Phase) error {
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
	newest := layout.Newest(entries)
	for _, e := range entries {
		c, n, ok := layout.ParseSegment(e.Name)
		if e.Name == layout.ArtifactsDir && e.IsDir() {
			continue
		}
		if !ok && e.Name != layout.AnchorFile {
			return &layout.CorruptError{File: v.Where(p, e.Name), Msg: "not a file of a phase"}
		}
		if ok && w.T.IsFork() && n < newest[c] {
			continue // sealed
		}
		if had, _ := layout.FindEntry(before, e.Name); had.Hash == e.Hash {
			continue
		}
		raw, err := v.Git.Blob(e.Hash)
		if err != nil {
			return layout.CorruptObject(v.Commit, err)
		}
		if err := writeFile(d, filepath.Join(dir, e.Name), raw); err != nil {
			return err
		}
	}
	for _, e := range before {
		if _, ok := layout.FindEntry(entries, e.Name); ok || e.IsDir() {
			continue
		}
		if err := d.Remove(filepath.Join(dir, e.Name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := w.writeArtifacts(v, dir, before, entries); err != nil {
		return err
	}
	return d.SyncDir(dir)
}

// writeFile writes a file that is not there in one step less than one that somebody may be
// reading.
func writeFile(d *disk.FS, path string, data []byte) error {
	f, err := d.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.FilePerm)
	if errors.Is(err, fs.ErrExist) {
		return d.WriteFile(path, data)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
