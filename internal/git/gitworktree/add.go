// Package gitworktree adds and removes linked worktrees, compatibly with git.
package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
)

// Add makes dir a linked worktree of a branch, without checking out files, and returns it. If dir
// already is that worktree, Add changes nothing. Add writes absolute paths, which every git understands:
// after a workspace was moved, run `git worktree repair`.
//
// The admin folder is built elsewhere, and one rename puts it under .git/worktrees, after
// dir/.git was written. So a `git worktree prune` by somebody else never sees an incomplete one,
// and after a crash the next call finishes the job.
func Add(ctx context.Context, r *gitstore.Repo, branch, dir string) (w gitstore.Worktree, err error) {
	if err := gitstore.CheckRefName(branch); err != nil {
		return w, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return w, err
	}
	err = r.Locks().Guarded(ctx, r.WorktreeGuard(), func() error {
		w, err = add(r, branch, dir)
		return err
	})
	return w, gitstore.Wrap(err, "add worktree %s of %s", dir, branch)
}

func add(r *gitstore.Repo, branch, dir string) (gitstore.Worktree, error) {
	if err := r.FS().MkdirAll(dir); err != nil {
		return gitstore.Worktree{}, err
	}
	dir, err := filepath.EvalSymlinks(dir) // git records real paths
	if err != nil {
		return gitstore.Worktree{}, err
	}
	existing, err := r.WorktreeOf(branch)
	if err == nil {
		if real, err := filepath.EvalSymlinks(existing.Dir); err == nil && real == dir {
			return existing, nil
		}
		return gitstore.Worktree{}, fmt.Errorf("the branch is checked out in %s", existing.Dir)
	}
	if !errors.Is(err, gitstore.ErrNotFound) {
		return gitstore.Worktree{}, err
	}
	if err := checkDir(r, dir); err != nil {
		return gitstore.Worktree{}, err
	}
	if err := pruneFor(r, branch, dir); err != nil {
		return gitstore.Worktree{}, err
	}
	id, err := freeID(r, branch)
	if err != nil {
		return gitstore.Worktree{}, err
	}
	w := gitstore.Worktree{Dir: dir, GitDir: filepath.Join(r.WorktreesDir(), id), Branch: branch}
	return w, write(r, w)
}

// checkDir refuses a folder that belongs to another repository or worktree. It accepts one whose
// .git file is empty or leads nowhere: a crash of ours leaves that.
func checkDir(r *gitstore.Repo, dir string) error {
	link := filepath.Join(dir, ".git")
	st, err := os.Lstat(link)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is a repository of its own", dir)
	}
	raw, err := os.ReadFile(link)
	if err != nil {
		return err
	}
	ok := strings.HasPrefix(string(raw), "gitdir: ")
	if !ok && len(raw) > 0 {
		return fmt.Errorf("%s was not written by git", link)
	}
	target, err := gitstore.ReadPath(link)
	if err != nil {
		return err
	}
	if w, err := gitstore.ReadAdmin(target); err == nil && w.Dir == dir {
		return fmt.Errorf("%s is already a worktree, of %q", dir, w.Branch)
	}
	if _, err := os.Stat(filepath.Join(target, "HEAD")); ok && err == nil && !disk.SameFile(filepath.Dir(target), r.WorktreesDir()) {
		return fmt.Errorf("%s belongs to the repository %s", dir, target)
	}
	return nil
}

// pruneFor removes the admin folders of worktrees whose folder is gone, if they are in the way of
// the new one. It refuses to remove one that is locked.
func pruneFor(r *gitstore.Repo, branch, dir string) error {
	ofBranch, err := r.AdminsOf(branch)
	if err != nil {
		return err
	}
	stale := slices.Clone(ofBranch)
	for _, admin := range r.HeadDirs()[1:] {
		id := filepath.Base(admin) // we name it after the branch, git after the folder
		if !strings.HasPrefix(id, gitstore.WorktreeID(branch)) && !strings.HasPrefix(id, filepath.Base(dir)) {
			continue
		}
		if file, err := gitstore.ReadPath(filepath.Join(admin, "gitdir")); err == nil && filepath.Dir(file) == dir {
			stale = append(stale, admin)
		}
	}
	for _, admin := range stale {
		old, err := gitstore.ReadAdmin(admin)
		if err != nil {
			continue
		}
		if _, err := os.Lstat(filepath.Join(admin, "locked")); err == nil {
			return fmt.Errorf("its worktree %s is missing, but locked: run git worktree unlock first", old.Dir)
		}
		if err := removeAdmin(r, admin); err != nil {
			return err
		}
	}
	return nil
}

// emptyStaging empties the folder in which admin folders are built and taken apart, and returns its
// path. The caller holds the guard, so whatever is there was left by a crash.
func emptyStaging(r *gitstore.Repo) (string, error) {
	path := filepath.Join(r.GitDir(), gitlock.OwnDir, "worktree.new")
	return path, r.FS().RemoveAll(path)
}

func write(r *gitstore.Repo, w gitstore.Worktree) error {
	if err := r.FS().MkdirAll(r.WorktreesDir()); err != nil {
		return err
	}
	worktrees, err := filepath.EvalSymlinks(r.WorktreesDir())
	if err != nil {
		return err
	}
	staging, err := emptyStaging(r)
	if err != nil {
		return err
	}
	if err := r.FS().MkdirAll(staging); err != nil {
		return err
	}
	files := []struct{ path, content string }{
		{filepath.Join(staging, "HEAD"), "ref: " + w.Branch},
		{filepath.Join(staging, "commondir"), "../.."},
		{filepath.Join(staging, "gitdir"), filepath.ToSlash(filepath.Join(w.Dir, ".git"))},
		{filepath.Join(w.Dir, ".git"), "gitdir: " + filepath.ToSlash(filepath.Join(worktrees, filepath.Base(w.GitDir)))},
	}
	for _, f := range files {
		if err := r.FS().WriteFile(f.path, []byte(f.content+"\n")); err != nil {
			return err
		}
	}
	if err := r.FS().Rename(staging, w.GitDir); err != nil {
		return err
	}
	return r.FS().SyncDir(r.WorktreesDir())
}

// freeID returns WorktreeID for a branch, or a similar name that is not taken.
func freeID(r *gitstore.Repo, branch string) (string, error) {
	base := gitstore.WorktreeID(branch)
	id := base
	for i := range 100 {
		if _, err := os.Lstat(filepath.Join(r.WorktreesDir(), id)); errors.Is(err, fs.ErrNotExist) {
			return id, nil
		}
		id = base + "-" + strconv.Itoa(i+1)
	}
	return "", fmt.Errorf("no free name for a worktree of %s", branch)
}

// Relink updates the paths between a moved worktree and the repository, as git worktree repair does.
func Relink(r *gitstore.Repo, w gitstore.Worktree) error {
	err := r.FS().WriteFile(filepath.Join(w.GitDir, "gitdir"), []byte(filepath.Join(w.Dir, ".git")+"\n"))
	if err == nil {
		err = r.FS().WriteFile(filepath.Join(w.Dir, ".git"), []byte("gitdir: "+w.GitDir+"\n"))
	}
	return gitstore.Wrap(err, "relink worktree %s", w.Dir)
}
