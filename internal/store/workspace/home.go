package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// Git knows where a tape's working tree is. But git lets a user check out another branch although there
// are uncommitted entries, in files that git may not know yet. Such entries must neither be forgotten nor
// be taken for entries of the tape that is checked out now. The last writer's record in the journal says
// which tape they belong to.

// Worktree returns the working tree in which the tape is checked out. It also finds one that was moved or
// copied along with the workspace; stale says that git's links to it need a repair. Errors:
// gitstore.ErrNotFound.
func (t *Tape) Worktree() (wt gitstore.Worktree, stale bool, err error) {
	git := t.store.git
	wt, err = git.WorktreeOf(t.branch)
	if !errors.Is(err, gitstore.ErrNotFound) {
		return wt, false, err
	}
	wt, err = git.MovedWorktree(t.branch, t.TreeDir())
	if err != nil && !errors.Is(err, gitstore.ErrNotFound) {
		err = fmt.Errorf("read the working tree %s: %w", t.TreeDir(), err)
	}
	return wt, err == nil, err
}

// TreeDir returns the folder for the tape's working tree, if git has not checked it out elsewhere.
func (t *Tape) TreeDir() string {
	if t.IsFork() {
		return filepath.Join(t.store.dir, layout.ForksDir, filepath.FromSlash(strings.TrimPrefix(t.branch, layout.ForkPrefix)))
	}
	return filepath.Join(t.store.dir, layout.TapesDir, t.slug)
}

// RelDir returns the path of a working tree as the journal has it: relative to the workspace, which may
// be moved, or absolute outside of it.
func (s *Store) RelDir(dir string) string {
	if rel, err := filepath.Rel(s.dir, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(dir)
}

// AbsDir is the inverse of RelDir.
func (s *Store) AbsDir(rel string) string {
	if dir := filepath.FromSlash(rel); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.dir, filepath.FromSlash(rel))
}
