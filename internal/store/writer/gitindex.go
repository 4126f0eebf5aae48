package writer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"tape/internal/git/gitindex"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// RebuildIndex writes git's index of a working tree from its branch's commit. Files that a fork's sparse
// working tree lacks are marked skip-worktree.
func RebuildIndex(ctx context.Context, s *workspace.Store, wt gitstore.Worktree) error {
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

// updateIndex applies changes to git's index. It rebuilds an index that is missing, or of a kind that only git
// can write.
func updateIndex(ctx context.Context, s *workspace.Store, wt gitstore.Worktree, changes []gitindex.Change) error {
	if _, err := os.Lstat(filepath.Join(wt.GitDir, "index")); errors.Is(err, fs.ErrNotExist) {
		return RebuildIndex(ctx, s, wt)
	}
	err := gitindex.Update(ctx, s.Git(), wt, changes)
	if !errors.Is(err, gitindex.ErrUnreadable) {
		return err
	}
	return RebuildIndex(ctx, s, wt)
}
