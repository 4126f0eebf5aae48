package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/hooks/githooks"
	"tape/internal/store/layout"
	"tape/merge"
	"tape/repo"
)

// MergeFile merges three versions of a phase's file into ours. versions has their names: base, ours and theirs.
func MergeFile(ctx context.Context, s *stdio.Streams, versions []string, path string) error {
	at, err := githooks.Locate()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Outside a repository, somebody tries the merge by hand.
	if err == nil {
		merging, err := at.IsMerge()
		if err != nil {
			return err
		}
		if !merging {
			return layout.Conflict("abort it (git rebase --abort, git cherry-pick --abort, git revert --abort), and merge: git merge BRANCH",
				"%s: entries are merged, never replayed: a rebase, cherry-pick, revert or stash does not work on a tape", path)
		}
	}
	var sides [3][]byte
	for i, name := range versions {
		if sides[i], err = ReadFile(ctx, s, name); err != nil {
			return err
		}
	}
	merged, err := merge.File(sides[0], sides[1], sides[2])
	if errors.Is(err, repo.ErrConflict) {
		return rows.MergeConflict(path, sides[0], sides[1], sides[2])
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return stdio.ReplaceFile(nil, versions[1], func(w io.Writer) error {
		_, err := w.Write(merged)
		return err
	})
}

// ReadFile reads a file, or standard input for "-".
func ReadFile(ctx context.Context, s *stdio.Streams, name string) ([]byte, error) {
	if name == "-" {
		return s.ReadAll(ctx, 0, nil)
	}
	raw, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, layout.NotFound("", "there is no file %s", name)
	}
	if err != nil {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	return raw, nil
}
