package writer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/disk"
	"tape/internal/gitstore"
	"tape/internal/gitstore/gitindex"
	"tape/internal/journal"
	"tape/internal/layout"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

// checkout writes the working tree of the tape from its commit: a tape's first
// working tree, or one whose branch was moved by a reset. A record says so until it
// is complete, so that readers meanwhile use the commit. The record of one that was
// begun, if any, is given.
func (w *Writer) checkout(ctx context.Context, u *journal.Undo) error {
	s := w.T.Store()
	again, from := u != nil && u.Checkout, ""
	if again && w.Wt.Dir != "" {
		from = u.From
	}
	if w.Wt.Dir == "" {
		if err := w.checkNotElsewhere(); err != nil {
			return err
		}
	}
	w.St.Gen++
	w.St.Undo = &journal.Undo{Head: w.Head.String(), Next: w.Head.String(), Checkout: true, From: from}
	if err := w.Save(true); err != nil {
		return err
	}
	if w.Wt.Dir == "" {
		dir := w.T.TreeDir()
		for parent := filepath.Dir(dir); parent != s.Dir(); parent = filepath.Dir(parent) {
			if st, err := os.Lstat(parent); err == nil && !st.IsDir() {
				return layout.Invalid("move it away", "%s is not a folder: working trees of tapes go there", parent)
			}
		}
		if err := w.keepStray(dir, again); err != nil {
			return err
		}
		if err := s.FS().MkdirAll(filepath.Dir(dir)); err != nil {
			return err
		}
		wt, err := s.Git().AddWorktree(ctx, w.T.Ref(), dir)
		if err != nil {
			return err
		}
		w.Wt = wt
	}
	v, err := snapshot.AtCommit(s, w.Head)
	if err != nil {
		return err
	}
	if err := w.updateTree(from, v); err != nil {
		return err
	}
	return rebuildIndex(ctx, s, w.Wt)
}

// checkNotElsewhere refuses to give a tape a working tree beside one that git is about to
// bring back to it, or in the place of one that has something else checked out.
func (w *Writer) checkNotElsewhere() error {
	git := w.T.Store().Git()
	if busy, ok := git.InUse(w.T.Ref()); ok {
		return layout.Conflict("finish that, or take it back: git -C "+layout.ShellWord(busy.Dir)+" status says how",
			"git is in the middle of rebasing or bisecting %s in %s", w.T.Branch(), busy.Dir)
	}
	all, err := git.Worktrees()
	if err != nil {
		return err
	}
	place, err := os.Stat(w.T.TreeDir())
	if err != nil {
		return nil
	}
	for _, wt := range all {
		if st, err := os.Stat(wt.Dir); err == nil && os.SameFile(st, place) {
			return layout.Conflict("check it out there again: git -C "+layout.ShellWord(wt.Dir)+" checkout "+layout.ShellWord(w.T.Branch()),
				"%s, where %q belongs, has something else checked out", wt.Dir, w.T.Name())
		}
	}
	return nil
}

// keepStray moves away what lies where a working tree is to be, but is none that git
// knows: it may hold entries that were never committed.
func (w *Writer) keepStray(dir string, again bool) error {
	if _, err := os.Lstat(dir); again || err != nil {
		return nil
	}
	d := w.T.Store().FS()
	stray := w.T.Store().PrivatePath(layout.TornDirName)
	if err := d.MkdirAll(stray); err != nil {
		return err
	}
	stray = filepath.Join(stray, w.T.Slug()+"~"+w.T.Store().Now().UTC().Format("20060102T150405.000000000Z"))
	if err := d.Rename(dir, stray); err != nil {
		return err
	}
	w.T.Store().Warn("git no longer knows the working tree " + dir + "; it was moved to " + stray)
	return nil
}

// writeTree replaces the working tree's files by those of a commit.
func (w *Writer) writeTree(v *snapshot.Snapshot) error {
	d := w.T.Store().FS()
	if err := d.RemoveAll(w.AnchorsPath()); err != nil {
		return err
	}
	if err := d.MkdirAll(w.AnchorsPath()); err != nil {
		return err
	}
	info, ok := layout.FindEntry(v.Root, layout.TapeFile)
	if !ok {
		return &layout.CorruptError{File: v.Where(layout.Phase{}, layout.TapeFile), Msg: "the commit has no " + layout.TapeFile}
	}
	raw, err := v.Git.Blob(info.Hash)
	if err != nil {
		return layout.CorruptObject(v.Commit, err)
	}
	if err := d.WriteFile(filepath.Join(w.Wt.Dir, layout.TapeFile), raw); err != nil {
		return err
	}
	list := v.List
	if w.T.IsFork() {
		list = list[len(list)-1:] // what can still change
	}
	for _, p := range list {
		if err := w.writePhase(v, p); err != nil {
			return err
		}
	}
	return d.SyncDir(w.AnchorsPath())
}

func (w *Writer) writePhase(v *snapshot.Snapshot, p layout.Phase) error {
	d := w.T.Store().FS()
	dir := filepath.Join(w.AnchorsPath(), p.Folder)
	if err := d.Mkdir(dir); err != nil {
		return err
	}
	entries, err := v.Tree(p)
	if err != nil {
		return err
	}
	var newest [layout.ClassCount]int
	for _, e := range entries {
		c, n, ok := layout.ParseSegment(e.Name)
		if ok {
			newest[c] = max(newest[c], n)
		} else if e.Name != layout.AnchorFile {
			return &layout.CorruptError{File: v.Where(p, e.Name), Msg: "not a file of a phase"}
		}
	}
	for _, e := range entries {
		if c, n, ok := layout.ParseSegment(e.Name); ok && w.T.IsFork() && n < newest[c] {
			continue // sealed
		}
		raw, err := v.Git.Blob(e.Hash)
		if err != nil {
			return layout.CorruptObject(v.Commit, err)
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
func rebuildIndex(ctx context.Context, s *workspace.Store, wt gitstore.Worktree) error {
	h, err := s.Git().Ref(wt.Branch)
	if err != nil {
		return err
	}
	v, err := snapshot.AtCommit(s, h)
	if err != nil {
		return err
	}
	l := snapshot.Lister{S: s}
	if strings.HasPrefix(wt.Branch, layout.ForkPrefix) {
		l.Sparse = wt.Dir
		l.Known = snapshot.KnownTrees(s, wt.Branch)
	}
	if err := l.Tree(v.RootTree, ""); err != nil {
		return layout.CorruptObject(h, err)
	}
	return gitindex.Rebuild(ctx, s.Git(), wt, l.Out)
}

// updateIndex brings the git index up to date, and makes a new one where there is none
// or the present one is of a kind that only git writes.
func updateIndex(ctx context.Context, s *workspace.Store, wt gitstore.Worktree, changes []gitindex.Change) error {
	if _, err := os.Lstat(filepath.Join(wt.GitDir, "index")); errors.Is(err, fs.ErrNotExist) {
		return rebuildIndex(ctx, s, wt)
	}
	err := gitindex.Update(ctx, s.Git(), wt, changes)
	if !errors.Is(err, gitindex.ErrUnreadable) {
		return err
	}
	return rebuildIndex(ctx, s, wt)
}
