package checkout

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

// RebuildIndex writes the git index of a working tree from its branch's commit. What a
// sparse one, a fork's, has left in git is marked so (skip-worktree).
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

// UpdateIndex brings the git index up to date, and makes a new one where there is none
// or the present one is of a kind that only git writes.
func UpdateIndex(ctx context.Context, s *workspace.Store, wt gitstore.Worktree, changes []gitindex.Change) error {
	if _, err := os.Lstat(filepath.Join(wt.GitDir, "index")); errors.Is(err, fs.ErrNotExist) {
		return RebuildIndex(ctx, s, wt)
	}
	err := gitindex.Update(ctx, s.Git(), wt, changes)
	if !errors.Is(err, gitindex.ErrUnreadable) {
		return err
	}
	return RebuildIndex(ctx, s, wt)
}
