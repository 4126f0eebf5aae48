package writer

import (
	"context"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/store/aside"
	"tape/internal/store/journal"
)

// DropTree removes the working tree. Before that it writes an undo record: readers then use the commit, and a
// writer after a crash makes a new working tree.
func (w *Writer) DropTree(ctx context.Context) error {
	if err := w.recordUndo(*journal.CheckOut(w.Head, "")); err != nil {
		return err
	}
	if w.InMainTree() { // the folder and the undo record stay; if the branch is not deleted, the files come back
		return EmptyWorkTree(context.WithoutCancel(ctx), w.T, w.Wt, w.Head)
	}
	files := aside.Of(w.T, w.Wt.Dir, w.Head)
	defer files.Tell()
	if err := gitworktree.Remove(context.WithoutCancel(ctx), w.T.Store().Git(), w.Wt, files.Remove); err != nil {
		return err
	}
	w.Wt = gitstore.Worktree{}
	w.rec.Undo, w.rec.Home = nil, ""
	return w.save(true)
}

// InMainTree reports whether the tape is checked out in the folder of the workspace.
func (w *Writer) InMainTree() bool { return w.Wt.GitDir == w.T.Store().Git().GitDir() }
