package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// Where a tape's working tree is, is for git to say. But git lets a user check out
// something else although there are entries that are not committed, as they may be in
// files that git does not know yet. Such entries must neither be forgotten nor be taken
// for those of the tape that is checked out now. The last writer's note tells.

// Worktree returns where the tape is checked out, ErrNotFound of gitstore if nowhere.
// One that was moved or copied along with the workspace is found, too; stale tells that
// git's links to it have to be mended.
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

// TreeDir is where the working tree of a tape is that git has checked out nowhere else.
func (t *Tape) TreeDir() string {
	if t.IsFork() {
		return filepath.Join(t.store.dir, layout.ForksDir, filepath.FromSlash(strings.TrimPrefix(t.branch, layout.ForkPrefix)))
	}
	return filepath.Join(t.store.dir, layout.TapesDir, t.slug)
}

// Home names a working tree in a note, relative to the workspace, which may be moved.
func (s *Store) Home(dir string) string {
	if rel, err := filepath.Rel(s.dir, dir); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(dir)
}

// Folder is the inverse of Home.
func (s *Store) Folder(home string) string {
	if dir := filepath.FromSlash(home); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(s.dir, filepath.FromSlash(home))
}
