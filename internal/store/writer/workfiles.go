package writer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"tape/internal/git/disk"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/aside"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// WorkFiles is the working tree of a tape. The tape's lock must be held.
type WorkFiles struct {
	T  *workspace.Tape
	Wt gitstore.Worktree
	// Known are commits whose files may be removed and overwritten: the new one, and those before it.
	Known []gitstore.Hash

	files *aside.Tree
}

func (w WorkFiles) anchors() string { return filepath.Join(w.Wt.Dir, layout.AnchorsDir) }

// Write makes the working tree equal to a snapshot; a fork's gets only what can still change. from is the
// commit that the working tree equals now; if it is "", and for a fork, all files are written. An interrupted
// Write can be repeated, because each file is written completely.
func (w WorkFiles) Write(from string, v *snapshot.Snapshot) error {
	d, was := w.T.Store().FS(), &snapshot.Snapshot{}
	w.files = aside.Of(w.T, w.Wt.Dir, append(slices.Clone(w.Known), v.Commit)...)
	defer w.files.Tell()
	if _, err := os.Lstat(w.anchors()); err == nil && from != "" && !w.T.IsFork() { // a fork's working tree is small: rewrite it
		if h, err := gitstore.ParseHash(from); err == nil {
			if current, err := snapshot.AtCommit(w.T.Store(), h); err == nil {
				was = current
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
		if err := errors.Join(w.files.Remove(w.anchors()), d.MkdirAll(w.anchors())); err != nil {
			return err
		}
	}
	list := v.List
	if w.T.IsFork() {
		list = list[len(list)-1:] // only what can still change
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
		if err := w.files.Remove(filepath.Join(w.anchors(), folder)); err != nil {
			return err
		}
	}
	return d.SyncDir(w.anchors())
}

func (w WorkFiles) writeRootFile(was, v *snapshot.Snapshot, name string) error {
	path := filepath.Join(w.Wt.Dir, name)
	old, _ := layout.FindEntry(was.Root, name)
	next, ok := layout.FindEntry(v.Root, name)
	switch {
	case !ok && name == layout.TapeFile:
		return &layout.CorruptError{File: v.Where(layout.Phase{}, name), Msg: "the commit has no " + name}
	case !ok:
		return w.removeOurs(path)
	case old.Hash == next.Hash:
		return nil
	}
	raw, err := v.Git.Blob(next.Hash)
	if err != nil {
		return layout.CorruptObject(v.Commit, err)
	}
	return w.files.Replace(path, raw)
}

// removeOurs removes a README.md or .gitattributes that tape wrote, but not one that somebody else put there.
func (w WorkFiles) removeOurs(path string) error {
	if data, err := os.ReadFile(path); err != nil || !layout.WroteRootFile(filepath.Base(path), data) {
		return nil //nolint:nilerr // an unreadable file is not ours
	}
	return errors.Join(w.files.Remove(path), w.T.Store().FS().SyncDir(w.Wt.Dir))
}

// writePhase writes the files of phase p that differ from those of old, the same phase in was; old is zero if was
// lacks the phase.
func (w WorkFiles) writePhase(was, v *snapshot.Snapshot, old, p layout.Phase) error {
	d, dir := w.T.Store().FS(), filepath.Join(w.anchors(), p.Folder)
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
	newest := layout.LastSegments(entries)
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
		if err := w.writeFile(filepath.Join(dir, e.Name), raw); err != nil {
			return err
		}
	}
	for _, e := range before {
		if _, ok := layout.FindEntry(entries, e.Name); ok || e.IsDir() {
			continue
		}
		if err := w.files.Remove(filepath.Join(dir, e.Name)); err != nil {
			return err
		}
	}
	if err := w.writeArtifacts(v, dir, before, entries); err != nil {
		return err
	}
	return d.SyncDir(dir)
}

// writeFile writes a new file directly, and an existing one, which somebody may be reading, by a rename.
func (w WorkFiles) writeFile(path string, data []byte) error {
	f, err := w.T.Store().FS().OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, disk.FilePerm)
	if errors.Is(err, fs.ErrExist) {
		return w.files.Replace(path, data)
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

// writeArtifacts adds and removes a phase's artifacts. In a fork's working tree they stay in git.
func (w WorkFiles) writeArtifacts(v *snapshot.Snapshot, phase string, before, entries []gitstore.TreeEntry) error {
	had, err1 := snapshot.ArtifactsOf(v.Git, before)
	has, err2 := snapshot.ArtifactsOf(v.Git, entries)
	if err := errors.Join(err1, err2); err != nil {
		return layout.CorruptObject(v.Commit, err)
	}
	d, dir := w.T.Store().FS(), filepath.Join(phase, layout.ArtifactsDir)
	for _, e := range had {
		if _, ok := layout.FindEntry(has, e.Name); !ok {
			if err := w.files.Remove(filepath.Join(dir, e.Name)); err != nil {
				return err
			}
		}
	}
	if w.T.IsFork() || len(has) == 0 {
		return nil
	}
	if err := d.MkdirAll(dir); err != nil {
		return err
	}
	for _, e := range has {
		if was, _ := layout.FindEntry(had, e.Name); was.Hash == e.Hash {
			continue
		}
		if !layout.IsArtifactName(e.Name) || e.Mode != gitstore.ModeFile {
			return &layout.CorruptError{File: filepath.Join(dir, e.Name), Msg: "not an artifact"}
		}
		data, err := v.Git.Blob(e.Hash)
		if err != nil {
			return layout.CorruptObject(v.Commit, err)
		}
		if err := w.writeFile(filepath.Join(dir, e.Name), data); err != nil {
			return err
		}
	}
	return d.SyncDir(dir)
}

// EmptyWorkTree removes a tape's files from the workspace's folder, and all entries from git's index. head is the tape's
// newest commit.
func EmptyWorkTree(ctx context.Context, t *workspace.Tape, wt gitstore.Worktree, head gitstore.Hash) error {
	files := aside.Of(t, wt.Dir, head)
	defer files.Tell()
	v, err := snapshot.AtCommit(t.Store(), head)
	if err != nil {
		return err
	}
	for _, e := range v.Root {
		if !filepath.IsLocal(e.Name) || e.Name == layout.GitDirName {
			continue
		}
		if err := files.Remove(filepath.Join(wt.Dir, e.Name)); err != nil {
			return err
		}
	}
	return gitindex.Rebuild(ctx, t.Store().Git(), wt, nil)
}
