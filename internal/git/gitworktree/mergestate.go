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

// mergeFiles are what git merge leaves in the git folder of a worktree for the commit that concludes
// it. MERGE_HEAD is last: without it there is no merge, so an interrupted removal can be repeated.
var mergeFiles = [...]string{"MERGE_RR", "MERGE_MODE", "MERGE_MSG", "SQUASH_MSG", "AUTO_MERGE", "MERGE_HEAD"}

// MergeHeads returns the commits, besides HEAD, that an unfinished git merge in a worktree will make
// parents: several in an octopus merge, none without a merge.
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

// ClearMerge removes git's files about an unfinished merge in a worktree, as git commit does when it
// concludes one. Index and files stay, and so does what `git merge --autostash` stashed
// (MERGE_AUTOSTASH). Without a merge it does nothing.
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
