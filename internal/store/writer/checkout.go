package writer

import (
	"context"
	"os"
	"path/filepath"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/aside"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
)

// checkout writes the tape's working tree from its commit: a new working tree, or one whose branch was moved,
// for example by a reset. Until the files are complete, an undo record says so and readers use the commit.
// u is the undo record of an interrupted change, or nil.
func (w *Writer) checkout(ctx context.Context, u *journal.Undo) error {
	s := w.T.Store()
	interrupted, from := u != nil && u.Checkout, ""
	known := []gitstore.Hash{w.Head}
	if interrupted {
		for _, name := range []string{u.Head, u.From} { // what the working tree had before
			if h, err := gitstore.ParseHash(name); err == nil {
				known = append(known, h)
			}
		}
	}
	if interrupted && w.Wt.Dir != "" {
		from = u.From
	}
	if w.Wt.Dir == "" {
		if err := w.checkNotElsewhere(); err != nil {
			return err
		}
	}
	if err := w.recordUndo(*journal.CheckOut(w.Head, from)); err != nil {
		return err
	}
	if w.Wt.Dir == "" {
		dir := w.T.TreeDir()
		for parent := filepath.Dir(dir); parent != s.Dir(); parent = filepath.Dir(parent) {
			if st, err := os.Lstat(parent); err == nil && !st.IsDir() {
				return layout.Invalid("move it away", "%s is not a folder: working trees of tapes go there", parent)
			}
		}
		if err := w.keepStray(dir, interrupted); err != nil {
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
	if err := (WorkFiles{T: w.T, Wt: w.Wt, Known: known}).Write(from, v); err != nil {
		return err
	}
	return RebuildIndex(ctx, s, w.Wt)
}

// checkNotElsewhere refuses to make a working tree for a tape if git is in the middle of rebasing or bisecting
// its branch in another working tree, or if something else is checked out in its folder.
func (w *Writer) checkNotElsewhere() error {
	detached, err := w.T.Store().Git().DetachedWorktrees()
	if err != nil {
		return err
	}
	if busy, ok := gitworktree.InUse(detached, w.T.Ref()); ok {
		return layout.Conflict("finish or abort that: git -C "+layout.ShellWord(busy.Dir)+" status says how",
			"git is in the middle of rebasing or bisecting %s in %s", w.T.Branch(), busy.Dir)
	}
	place, err := os.Stat(w.T.TreeDir())
	if err != nil {
		return nil
	}
	all, err := w.T.Store().Git().Worktrees()
	if err != nil {
		return err
	}
	for _, wt := range all {
		if st, err := os.Stat(wt.Dir); err == nil && os.SameFile(st, place) {
			return layout.Conflict("check it out there again: git -C "+layout.ShellWord(wt.Dir)+" checkout "+layout.ShellWord(w.T.Branch()),
				"%s, where %q belongs, has something else checked out", wt.Dir, w.T.Name())
		}
	}
	return nil
}

// keepStray makes room for a new working tree: it moves away a folder that git does not know there, because
// the folder may have uncommitted entries. It leaves the folder of an interrupted checkout where it is.
func (w *Writer) keepStray(dir string, interrupted bool) error {
	if _, err := os.Lstat(dir); interrupted || err != nil {
		return nil
	}
	files := aside.Of(w.T, dir)
	if err := files.Keep(dir); err != nil {
		return err
	}
	w.T.Store().Warn("git no longer knows the working tree " + dir + "; it was moved to " + files.Kept())
	return nil
}
