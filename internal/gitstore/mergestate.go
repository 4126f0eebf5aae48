package gitstore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// mergeFiles are what git merge leaves in the git folder of a worktree for the commit
// that is to conclude it. MERGE_HEAD is what makes it a merge under way: it goes last, so
// that a removal that was interrupted can be repeated.
var mergeFiles = [...]string{"MERGE_RR", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE", "MERGE_HEAD"}

// MergeHeads returns the commits that a git merge under way in a worktree is to make
// parents, beside HEAD: more than one in an octopus merge, none when there is no merge.
func (r *Repo) MergeHeads(w Worktree) ([]Hash, error) {
	path := filepath.Join(w.GitDir, "MERGE_HEAD")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the merge of %s: %w", w.Dir, err)
	}
	var out []Hash
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		h, err := ParseHash(line)
		if err != nil {
			return nil, fmt.Errorf("read the merge of %s: %s: %w", w.Dir, path, err)
		}
		out = append(out, h)
	}
	return out, nil
}

// ClearMerge ends a merge under way in a worktree once it is concluded, as git commit
// does: it removes what git keeps about it, and touches neither index nor files. Without
// a merge it does nothing. What `git merge --autostash` has put away stays, in
// MERGE_AUTOSTASH.
func (r *Repo) ClearMerge(w Worktree) error {
	cleared := false
	for _, name := range mergeFiles {
		path := filepath.Join(w.GitDir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := r.fs.Remove(path); err != nil {
			return fmt.Errorf("clear the merge of %s: %w", w.Dir, err)
		}
		cleared = true
	}
	if !cleared {
		return nil
	}
	if err := r.fs.SyncDir(w.GitDir); err != nil {
		return fmt.Errorf("clear the merge of %s: %w", w.Dir, err)
	}
	return nil
}
