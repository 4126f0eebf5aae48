package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	st, err := os.Stat(r.worktreesDir())
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
