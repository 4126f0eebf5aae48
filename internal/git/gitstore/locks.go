package gitstore

import (
	"context"
	"path/filepath"

	"tape/internal/git/gitlock"
)

func (r *Repo) refGuard() string { return filepath.Join(r.gitDir, gitlock.OwnDir, "refs.lock") }

// RecoverLocks removes the locks that killed processes of ours left on refs, the indexes of worktrees and the
// configuration, calls RecoverMirrors, and returns the removed paths. A writer removes the locks that it meets;
// this is for housekeeping, so that git is not stopped by a lock on something that we never write again.
func (r *Repo) RecoverLocks(ctx context.Context) ([]string, error) {
	removed, err := r.RecoverMirrors(ctx)
	if err != nil {
		return removed, err
	}
	removeDead := r.clearDead(&removed)
	if err = r.locks.Guarded(ctx, r.refGuard(), func() error { return r.EachRefLock(removeDead) }); err != nil {
		return removed, Wrap(err, "recover locks")
	}
	dead := map[string]string{} // lock → its guard
	check := func(target, guard string) {
		if lock := target + ".lock"; gitlock.IsDead(lock) {
			dead[lock] = guard
		}
	}
	for _, path := range []string{r.config.Path(), r.config.OwnPath(), r.config.AttributesPath()} {
		check(path, r.config.Guard())
	}
	for _, dir := range r.HeadDirs() {
		w := Worktree{GitDir: dir}
		check(w.IndexPath(), w.IndexGuard())
	}
	if len(dead) == 0 {
		return removed, nil
	}
	// The guard of worktrees is held, so that taking a guard does not create its folder again in an admin folder
	// that is being removed.
	err = r.locks.Guarded(ctx, r.WorktreeGuard(), func() error {
		for lock, guard := range dead {
			if !gitlock.IsDead(lock) {
				continue
			}
			if err := r.locks.Guarded(ctx, guard, func() error { return removeDead(lock) }); err != nil {
				return err
			}
		}
		return nil
	})
	return removed, Wrap(err, "recover locks")
}

// clearDead returns a function that removes a lock if its process is dead, and appends it to removed.
func (r *Repo) clearDead(removed *[]string) func(path string) error {
	return func(path string) error {
		if !gitlock.IsDead(path) {
			return nil
		}
		*removed = append(*removed, path)
		return r.fs.Remove(path)
	}
}

// EachRefLock calls fn for all paths of possible locks on refs and HEADs.
func (r *Repo) EachRefLock(fn func(path string) error) error {
	paths := []string{r.packedPath() + ".lock"}
	for _, dir := range r.HeadDirs() {
		paths = append(paths, filepath.Join(dir, "HEAD.lock"))
	}
	for _, path := range paths {
		if err := fn(path); err != nil {
			return err
		}
	}
	return gitlock.EachLockIn(filepath.Join(r.gitDir, "refs"), fn)
}
