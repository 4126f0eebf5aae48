package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"tape/internal/git/gitstore"
)

// Remove deletes a linked worktree: its folder with everything in it, the folders
// of the workspace around it that are empty then, and what git keeps about it. The folder
// may be gone already. After a crash half-way a second call finishes. The main worktree,
// and one that somebody locked with `git worktree lock`, are refused.
func Remove(ctx context.Context, r *gitstore.Repo, w gitstore.Worktree) error {
	err := r.Locks().Guarded(ctx, r.WorktreeGuard(), func() error {
		if filepath.Dir(w.GitDir) != r.WorktreesDir() {
			return errors.New("it is not a linked worktree of this repository")
		}
		known, err := gitstore.ReadAdmin(w.GitDir)
		if errors.Is(err, gitstore.ErrNotFound) {
			_, err := emptyStaging(r) // what a crash left of it
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
		if inside, err := filepath.Rel(known.Dir, r.GitDir()); err == nil && filepath.IsLocal(inside) {
			return errors.New("the repository itself is inside it")
		}
		// Without .git it is no worktree any more; then the rest can take its time.
		if err := r.FS().Remove(filepath.Join(known.Dir, ".git")); err != nil {
			return err
		}
		if err := r.FS().RemoveAll(known.Dir); err != nil {
			return err
		}
		if err := removeEmptyFolders(r, filepath.Dir(known.Dir)); err != nil {
			return err
		}
		return removeAdmin(r, w.GitDir)
	})
	return gitstore.Wrap(err, "remove worktree %s", w.Dir)
}

// removeEmptyFolders removes empty folders inside the main working tree, from dir up.
func removeEmptyFolders(r *gitstore.Repo, dir string) error {
	main, ok := r.MainDir()
	for ; ok && gitstore.IsInside(dir, main); dir = filepath.Dir(dir) {
		if err := r.FS().Remove(dir); err != nil {
			if left, rerr := os.ReadDir(dir); rerr == nil && len(left) == 0 {
				return err
			}
			return nil // it is not empty
		}
	}
	return nil
}

// removeAdmin takes a worktree out of git's sight by one rename, then deletes it.
func removeAdmin(r *gitstore.Repo, admin string) error {
	trash, err := emptyStaging(r)
	if err != nil {
		return err
	}
	if err := r.FS().Rename(admin, trash); err != nil {
		return err
	}
	if err := r.FS().SyncDir(r.WorktreesDir()); err != nil {
		return err
	}
	return r.FS().RemoveAll(trash)
}
