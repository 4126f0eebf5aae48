package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// RemoveWorktree deletes a linked worktree: its folder with everything in it, the folders
// of the workspace around it that are empty then, and what git keeps about it. The folder
// may be gone already. After a crash half-way a second call finishes. The main worktree,
// and one that somebody locked with `git worktree lock`, are refused.
func (r *Repo) RemoveWorktree(ctx context.Context, w Worktree) error {
	err := r.locks.Guarded(ctx, r.worktreeGuard(), func() error {
		if filepath.Dir(w.GitDir) != r.worktreesDir() {
			return errors.New("it is not a linked worktree of this repository")
		}
		known, err := readAdmin(w.GitDir)
		if errors.Is(err, ErrNotFound) {
			_, err := r.emptyStaging() // what a crash left of it
			return err
		}
		if err != nil {
			return err
		}
		if known.Dir != filepath.Clean(w.Dir) {
			return fmt.Errorf("git says that it is in %s", known.Dir)
		}
		if _, err := os.Lstat(filepath.Join(w.GitDir, "locked")); err == nil {
			return errors.New("it is locked: git worktree unlock it first")
		}
		if inside, err := filepath.Rel(known.Dir, r.gitDir); err == nil && filepath.IsLocal(inside) {
			return errors.New("the repository itself is inside it")
		}
		// Without .git it is no worktree any more; then the rest can take its time.
		if err := r.fs.Remove(filepath.Join(known.Dir, ".git")); err != nil {
			return err
		}
		if err := r.fs.RemoveAll(known.Dir); err != nil {
			return err
		}
		if err := r.removeEmptyFolders(filepath.Dir(known.Dir)); err != nil {
			return err
		}
		return r.removeAdmin(w.GitDir)
	})
	if err != nil {
		return fmt.Errorf("remove worktree %s: %w", w.Dir, err)
	}
	return nil
}

// removeEmptyFolders removes empty folders inside the main working tree, from dir up.
func (r *Repo) removeEmptyFolders(dir string) error {
	main, ok := r.MainDir()
	for ; ok && isInside(dir, main); dir = filepath.Dir(dir) {
		if err := r.fs.Remove(dir); err != nil {
			if left, rerr := os.ReadDir(dir); rerr == nil && len(left) == 0 {
				return err
			}
			return nil // it is not empty
		}
	}
	return nil
}

// removeAdmin takes a worktree out of git's sight by one rename, then deletes it.
func (r *Repo) removeAdmin(admin string) error {
	trash, err := r.emptyStaging()
	if err != nil {
		return err
	}
	if err := r.fs.Rename(admin, trash); err != nil {
		return err
	}
	if err := r.fs.SyncDir(r.worktreesDir()); err != nil {
		return err
	}
	return r.fs.RemoveAll(trash)
}
