package gitworktree

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
)

// InUse finds the worktree in which git is rebasing or bisecting a branch. Meanwhile the worktree's HEAD is
// detached; at the end it returns to the branch.
func InUse(all []gitstore.Worktree, branch string) (gitstore.Worktree, bool) {
	short := strings.TrimPrefix(branch, "refs/heads/")
	for _, w := range all {
		for _, name := range []string{"rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"} {
			raw, err := os.ReadFile(filepath.Join(w.GitDir, filepath.FromSlash(name)))
			if held := strings.TrimSpace(string(raw)); err == nil && (held == branch || held == short) {
				return w, true
			}
		}
	}
	return gitstore.Worktree{}, false
}

// IndexLocked reports since when another program has a worktree's index locked, as git does while it
// changes the files. A lock of ours does not count.
func IndexLocked(w gitstore.Worktree) (since time.Time, ok bool) {
	st, err := os.Lstat(w.IndexPath() + ".lock")
	if err != nil || st.Mode().Perm() == gitlock.Perm {
		return time.Time{}, false
	}
	return st.ModTime(), true
}
