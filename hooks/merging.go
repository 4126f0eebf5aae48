package hooks

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/gitstore"
)

// IsMerge reports whether the merge driver that is this process is run by git merge (or
// the merge of git pull), and not by something that replays changes: rebase, cherry-pick,
// revert, am, stash, checkout -m.
//
// Git merge alone names the commits that it merges in the environment, as
// GITHEAD_<commit>. It hands that on to the stash that --autostash brings back when the
// merge is over; then HEAD is no longer where the merge began.
func (r Repository) IsMerge() (bool, error) {
	named := false
	for _, v := range os.Environ() {
		named = named || strings.HasPrefix(v, "GITHEAD_")
	}
	if !named {
		return false, nil
	}
	g, err := gitstore.Open(r.CommonDir, nil)
	if err != nil {
		return false, err
	}
	_, head, err := g.Head(r.GitDir)
	if err != nil {
		return false, err
	}
	began, err := os.ReadFile(filepath.Join(r.GitDir, "ORIG_HEAD"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if strings.TrimSpace(string(began)) != head.String() {
		return false, nil
	}
	// Merged as a squash, HEAD stays.
	return !r.has("MERGE_AUTOSTASH") || !r.has("SQUASH_MSG"), nil
}

func (r Repository) has(name string) bool {
	_, err := os.Lstat(filepath.Join(r.GitDir, name))
	return err == nil
}
