package writer

import (
	"context"
	"path/filepath"
	"tape/internal/gitstore"
	"tape/internal/gitstore/gitindex"
	"tape/internal/gitstore/gitworktree"
	"tape/internal/journal"
	"tape/internal/layout"
	"tape/internal/snapshot"
)

// DropTree removes the working tree. A record says so until it is gone, so that readers
// meanwhile use the commit, and a writer after a crash begins a new one.
func (w *Writer) DropTree(ctx context.Context) error {
	if err := w.begins(journal.Undo{Head: w.Head.String(), Next: w.Head.String(), Checkout: true}); err != nil {
		return err
	}
	if w.InMainTree() { // which stays; a crash before the branch is gone brings the files back
		return w.emptyMainTree(context.WithoutCancel(ctx))
	}
	if err := gitworktree.Remove(context.WithoutCancel(ctx), w.T.Store().Git(), w.Wt); err != nil {
		return err
	}
	w.Wt = gitstore.Worktree{}
	w.rec.Undo, w.rec.Home = nil, ""
	return w.save(true)
}

// InMainTree reports whether the tape is checked out in the folder of the workspace.
func (w *Writer) InMainTree() bool { return w.Wt.GitDir == w.T.Store().Git().GitDir() }

// emptyMainTree removes what the tape's commit has put into the workspace's folder.
func (w *Writer) emptyMainTree(ctx context.Context) error {
	v, err := snapshot.AtCommit(w.T.Store(), w.Head)
	if err != nil {
		return err
	}
	for _, e := range v.Root {
		if !filepath.IsLocal(e.Name) || e.Name == layout.GitDirName {
			continue
		}
		if err := w.T.Store().FS().RemoveAll(filepath.Join(w.Wt.Dir, e.Name)); err != nil {
			return err
		}
	}
	return gitindex.Rebuild(ctx, w.T.Store().Git(), w.Wt, nil)
}
