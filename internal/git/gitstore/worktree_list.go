package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"tape/internal/git/disk"
)

// worktreeList caches the admin folders of linked worktrees, by the branch that is checked out.
type worktreeList struct {
	read    time.Time
	changed time.Time // mtime of the folder of admin folders: when one was last added or removed
	admins  map[string][]string
}

// listAge is how long a list is valid. A caller that asks about thousands of branches without a worktree
// should not cause all worktrees to be read for each. The list can only miss that somebody has just
// checked out another branch in an existing worktree.
const listAge = 50 * time.Millisecond

// AdminsOf returns the admin folders of the worktrees in which a branch is checked out; for "", of those with a detached
// HEAD. Their folders may be gone. Only HEAD is read of each worktree, because there may be thousands.
func (r *Repo) AdminsOf(branch string) ([]string, error) {
	st, err := os.Stat(r.WorktreesDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.worktrees; l != nil && l.changed.Equal(st.ModTime()) && time.Since(l.read) < listAge {
		return l.admins[branch], nil
	}
	admins, err := r.admins()
	if err != nil {
		return nil, err
	}
	l := &worktreeList{changed: st.ModTime(), admins: make(map[string][]string, len(admins))}
	for _, admin := range admins {
		switch at, err := r.checkedOutIn(admin); {
		case err == nil:
			l.admins[at] = append(l.admins[at], admin)
		case !errors.Is(err, ErrNotFound):
			return nil, fmt.Errorf("list worktrees: %w", err)
		}
	}
	l.read = time.Now()
	r.worktrees = l
	return l.admins[branch], nil
}

// MovedWorktree finds the worktree of a branch in a folder that was moved or copied together with the
// repository: its .git file names the admin folder of that branch, but the paths in both are stale.
// Errors: ErrNotFound.
func (r *Repo) MovedWorktree(branch, dir string) (Worktree, error) {
	file := filepath.Join(dir, ".git")
	if st, err := os.Lstat(file); err == nil && st.IsDir() {
		return Worktree{}, ErrNotFound // a repository of its own
	}
	link, err := ReadPath(file)
	if err != nil {
		return Worktree{}, err
	}
	admin := filepath.Join(r.WorktreesDir(), filepath.Base(link))
	_, checkedOut, err := readHead(admin)
	if err == nil && (checkedOut != branch || isLink(admin)) {
		err = ErrNotFound
	}
	if err != nil {
		return Worktree{}, err
	}
	other, err := ReadAdmin(admin)
	if err == nil && disk.SameFile(filepath.Join(other.Dir, ".git"), file) {
		return Worktree{}, ErrNotFound // not stale
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Worktree{}, err
	}
	return Worktree{Dir: dir, GitDir: admin, Branch: branch}, nil
}
