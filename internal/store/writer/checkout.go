package writer

import (
	"context"
	"os"
	"path/filepath"
	"tape/internal/git/gitworktree"
	"tape/internal/store/checkout"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
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
	if err := w.begins(journal.Undo{Head: w.Head.String(), Next: w.Head.String(), Checkout: true, From: from}); err != nil {
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
		if err := s.Exclude(); err != nil {
			return err
		}
		if err := s.FS().MkdirAll(filepath.Dir(dir)); err != nil {
			return err
		}
		wt, err := gitworktree.Add(ctx, s.Git(), w.T.Ref(), dir)
		if err != nil {
			return err
		}
		w.Wt = wt
	}
	v, err := snapshot.AtCommit(s, w.Head)
	if err != nil {
		return err
	}
	if err := (checkout.Tree{T: w.T, Wt: w.Wt}).Write(from, v); err != nil {
		return err
	}
	return checkout.RebuildIndex(ctx, s, w.Wt)
}

// checkNotElsewhere refuses to give a tape a working tree beside one that git is about to
// bring back to it, or in the place of one that has something else checked out.
func (w *Writer) checkNotElsewhere() error {
	all, err := w.T.Store().Git().Worktrees()
	if err != nil {
		return err
	}
	if busy, ok := gitworktree.InUse(all, w.T.Ref()); ok {
		return layout.Conflict("finish or abort that: git -C "+layout.ShellWord(busy.Dir)+" status says how",
			"git is in the middle of rebasing or bisecting %s in %s", w.T.Branch(), busy.Dir)
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
