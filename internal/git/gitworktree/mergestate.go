package gitworktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/gitstore"
)

// mergeFiles are what git merge leaves in the git folder of a worktree for the commit
// that is to conclude it. MERGE_HEAD is what makes it a merge under way: it goes last, so
// that a removal that was interrupted can be repeated.
var mergeFiles = [...]string{"MERGE_RR", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE", "MERGE_HEAD"}

// MergeHeads returns the commits that a git merge under way in a worktree is to make
// parents, beside HEAD: more than one in an octopus merge, none when there is no merge.
func MergeHeads(w gitstore.Worktree) ([]gitstore.Hash, error) {
	path := filepath.Join(w.GitDir, "MERGE_HEAD")
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the merge of %s: %w", w.Dir, err)
	}
	var out []gitstore.Hash
	for line := range strings.FieldsSeq(string(raw)) {
		h, err := gitstore.ParseHash(line)
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
func ClearMerge(r *gitstore.Repo, w gitstore.Worktree) error {
	var err error
	for _, name := range mergeFiles {
		if err == nil {
			err = r.FS().Remove(filepath.Join(w.GitDir, name))
		}
	}
	if err == nil {
		err = r.FS().SyncDir(w.GitDir)
	}
	return gitstore.Wrap(err, "clear the merge of %s", w.Dir)
}
