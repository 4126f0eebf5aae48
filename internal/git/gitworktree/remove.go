package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
)

// Remove deletes a linked worktree: its folder, the folders around it in the workspace that become
// empty, and git's admin folder. The caller's empty removes the folder with what is in it, except .git,
// which is gone by then. The worktree's folder may be missing.
// After a crash half-way, call it again. Without the admin folder, it leaves the worktree's folder
// alone. It refuses the main worktree, and one that `git worktree lock` locked.
func Remove(ctx context.Context, r *gitstore.Repo, w gitstore.Worktree, empty func(dir string) error) error {
	err := r.Locks().Guarded(ctx, r.WorktreeGuard(), func() error {
		if filepath.Dir(w.GitDir) != r.WorktreesDir() {
			return errors.New("it is not a linked worktree of this repository")
		}
		admin, err := gitstore.ReadAdmin(w.GitDir)
		if errors.Is(err, gitstore.ErrNotFound) {
			_, err := emptyStaging(r) // a crash may have left it there
			return err
		}
		if err != nil {
			return err
		}
		if admin.Dir != filepath.Clean(w.Dir) {
			return fmt.Errorf("git says that it is in %s", admin.Dir)
		}
		if _, err := os.Lstat(filepath.Join(w.GitDir, "locked")); err == nil {
			return errors.New("it is locked: run git worktree unlock first")
		}
		if inside, err := filepath.Rel(admin.Dir, r.GitDir()); err == nil && filepath.IsLocal(inside) {
			return errors.New("the repository itself is inside it")
		}
		// First .git: without it this is no worktree any more, and the rest may take time.
		if err := r.FS().Remove(filepath.Join(admin.Dir, ".git")); err != nil {
			return err
		}
		if err := empty(admin.Dir); err != nil {
			return err
		}
		if err := removeEmptyFolders(r, filepath.Dir(admin.Dir)); err != nil {
			return err
		}
		return removeAdmin(r, w.GitDir)
	})
	return gitstore.Wrap(err, "remove worktree %s", w.Dir)
}

// removeEmptyFolders removes dir and its parents inside the main working tree, as long as they
// are empty.
func removeEmptyFolders(r *gitstore.Repo, dir string) error {
	main, ok := r.MainDir()
	for ; ok && disk.IsInside(dir, main); dir = filepath.Dir(dir) {
		if err := r.FS().Remove(dir); err != nil {
			if left, rerr := os.ReadDir(dir); rerr == nil && len(left) == 0 {
				return err
			}
			return nil // it is not empty
		}
	}
	return nil
}

// removeAdmin moves an admin folder away from where git looks, by one rename, then deletes it.
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
