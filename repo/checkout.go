package repo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tape/internal/disk"
	"tape/internal/gitstore"
)

// checkout writes the working tree of the tape from its commit: a tape's first
// working tree, or one whose branch was moved by a reset. A record says so until it
// is complete, so that readers meanwhile use the commit. The record of one that was
// begun, if any, is given.
func (w *writer) checkout(ctx context.Context, u *undo) error {
	s := w.t.store
	again, from := u != nil && u.Checkout, ""
	if again && w.wt.Dir != "" {
		from = u.From
	}
	if w.wt.Dir == "" {
		if err := w.checkNotElsewhere(); err != nil {
			return err
		}
	}
	w.st.Gen++
	w.st.Undo = &undo{Head: w.head.String(), Next: w.head.String(), Checkout: true, From: from}
	if err := w.save(true); err != nil {
		return err
	}
	if w.wt.Dir == "" {
		dir := w.t.treeDir()
		for parent := filepath.Dir(dir); parent != s.dir; parent = filepath.Dir(parent) {
			if st, err := os.Lstat(parent); err == nil && !st.IsDir() {
				return invalid("move it away", "%s is not a folder: working trees of tapes go there", parent)
			}
		}
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
	if err := w.bringTree(from, v); err != nil {
		return err
	}
	return s.rebuildIndex(ctx, w.wt)
}

// checkNotElsewhere refuses to give a tape a working tree beside one that git is about to
// bring back to it, or in the place of one that has something else checked out.
func (w *writer) checkNotElsewhere() error {
	git := w.t.store.git
	if busy, ok := git.InUse(w.t.branch); ok {
		return conflict("finish that, or take it back: git -C "+shellWord(busy.Dir)+" status says how",
			"git is in the middle of rebasing or bisecting %s in %s", w.t.Branch(), busy.Dir)
	}
	all, err := git.Worktrees()
	if err != nil {
		return err
	}
	place, err := os.Stat(w.t.treeDir())
	if err != nil {
		return nil
	}
	for _, wt := range all {
		if st, err := os.Stat(wt.Dir); err == nil && os.SameFile(st, place) {
			return conflict("check it out there again: git -C "+shellWord(wt.Dir)+" checkout "+shellWord(w.t.Branch()),
				"%s, where %q belongs, has something else checked out", wt.Dir, w.t.name)
		}
	}
	return nil
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
func (w *writer) writeTree(v *snapshot) error {
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
	list := v.list
	if w.t.IsFork() {
		list = list[len(list)-1:] // what can still change
	}
	for _, p := range list {
		if err := w.writePhase(v, p); err != nil {
			return err
		}
	}
	return d.SyncDir(w.anchorsPath())
}

func (w *writer) writePhase(v *snapshot, p phase) error {
	d := w.t.store.fs
	dir := filepath.Join(w.anchorsPath(), p.folder)
	if err := d.Mkdir(dir); err != nil {
		return err
	}
	entries, err := v.tree(p)
	if err != nil {
		return err
	}
	var newest [classCount]int
	for _, e := range entries {
		c, n, ok := parseSegment(e.Name)
		if ok {
			newest[c] = max(newest[c], n)
		} else if e.Name != anchorFile {
			return &CorruptError{File: v.where(p, e.Name), Msg: "not a file of a phase"}
		}
	}
	for _, e := range entries {
		if c, n, ok := parseSegment(e.Name); ok && w.t.IsFork() && n < newest[c] {
			continue // sealed
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

// rebuildIndex writes the git index of a working tree from its branch's commit. What a
// sparse one, a fork's, has left in git is marked so (skip-worktree).
func (s *Store) rebuildIndex(ctx context.Context, wt gitstore.Worktree) error {
	h, err := s.git.Ref(wt.Branch)
	if err != nil {
		return err
	}
	v, err := s.commitView(h)
	if err != nil {
		return err
	}
	l := lister{s: s}
	if strings.HasPrefix(wt.Branch, forkPrefix) {
		l.sparse = wt.Dir
		l.known = s.knownTrees(wt.Branch)
	}
	if err := l.tree(v.rootTree, ""); err != nil {
		return corruptObject(h, err)
	}
	return s.git.RebuildIndex(ctx, wt, l.out)
}

// lister lists the files of a tree.
type lister struct {
	s      *Store
	out    []gitstore.IndexChange
	sparse string // if set, files that are missing in this folder are left out of it
	known  map[gitstore.Hash][]gitstore.TreeEntry

	noSizes bool
}

func (l *lister) tree(tree gitstore.Hash, prefix string) error {
	entries, ok := l.known[tree]
	if !ok {
		var err error
		if entries, err = l.s.git.Tree(tree); err != nil {
			return err
		}
	}
	here := l.filesHere(prefix)
	for _, e := range entries {
		path := prefix + e.Name
		if e.IsDir() {
			if err := l.tree(e.Hash, path+"/"); err != nil {
				return err
			}
			continue
		}
		change := gitstore.IndexChange{Path: path, Hash: e.Hash, Mode: e.Mode}
		if change.Skip = l.sparse != "" && !here[e.Name]; !change.Skip && !l.noSizes {
			var err error
			if change.Size, err = l.s.git.BlobSize(e.Hash); err != nil {
				return err
			}
		}
		l.out = append(l.out, change)
	}
	return nil
}

// filesHere is what of a folder a sparse working tree has.
func (l *lister) filesHere(prefix string) map[string]bool {
	if l.sparse == "" {
		return nil
	}
	names, err := dirNames(filepath.Join(l.sparse, filepath.FromSlash(prefix)))
	if err != nil {
		return nil
	}
	here := make(map[string]bool, len(names))
	for _, name := range names {
		here[name] = true
	}
	return here
}

// knownTrees makes trees of phases from what the git index of a fork's parent says: the
// fork has most of them too, and reading each from git would cost it the length of its
// tape. They go by their hash, so that it does not matter whether that index is right.
func (s *Store) knownTrees(fork string) map[gitstore.Hash][]gitstore.TreeEntry {
	slug, _, _ := strings.Cut(strings.TrimPrefix(fork, forkPrefix), "/")
	wt, err := s.git.WorktreeOf(branchPrefix + slug)
	if err != nil {
		wt = gitstore.Worktree{Dir: s.dir, GitDir: s.git.GitDir()}
	}
	all, err := s.git.ReadIndex(wt)
	if err != nil {
		return nil
	}
	known := map[gitstore.Hash][]gitstore.TreeEntry{}
	for i := 0; i < len(all); {
		folder := path.Dir(all[i].Path)
		var entries []gitstore.TreeEntry
		for ; i < len(all) && path.Dir(all[i].Path) == folder; i++ {
			entries = append(entries, gitstore.TreeEntry{Name: path.Base(all[i].Path), Mode: all[i].Mode, Hash: all[i].Hash})
		}
		known[gitstore.HashObject(gitstore.KindTree, gitstore.EncodeTree(entries))] = entries
	}
	return known
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
