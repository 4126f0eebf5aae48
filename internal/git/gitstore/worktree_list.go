package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// worktreeList is what linkedWorktrees found at one moment, by branch.
type worktreeList struct {
	read    time.Time
	changed time.Time // when git last added or removed one
	of      map[string]Worktree
}

// listAge is for how long a list is good. Who asks for thousands of branches that have no
// worktree should not read all worktrees for each of them. What a list may miss is that
// somebody has just checked out another branch in a folder that was there before.
const listAge = 50 * time.Millisecond

func (r *Repo) knownWorktrees() (map[string]Worktree, error) {
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
		return l.of, nil
	}
	list, err := r.linkedWorktrees()
	if err != nil {
		return nil, err
	}
	l := &worktreeList{read: time.Now(), changed: st.ModTime(), of: make(map[string]Worktree, len(list))}
	for _, w := range list {
		if _, twice := l.of[w.Branch]; !twice && w.Branch != "" {
			l.of[w.Branch] = w
		}
	}
	r.worktrees = l
	return l.of, nil
}

// MovedWorktree finds the worktree of a branch in a folder that was moved or copied
// along with the repository: it names an admin folder by the id of one that is here and
// has the branch, but the paths between them are stale. ErrNotFound without one.
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
	_, has, err := readHead(admin)
	if err == nil && has != branch {
		err = ErrNotFound
	}
	if err != nil {
		return Worktree{}, err
	}
	other, err := ReadAdmin(admin)
	if err == nil && SameFile(filepath.Join(other.Dir, ".git"), file) {
		return Worktree{}, ErrNotFound // not stale: git knows it, and has another branch there
	}
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Worktree{}, err
	}
	return Worktree{Dir: dir, GitDir: admin, Branch: branch}, nil
}
