package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/hooks/githooks"
	"tape/internal/store/layout"
	"tape/merge"
	"tape/repo"
)

func newMergeDriverCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "merge-driver BASE OURS THEIRS PATH",
		Short: "Merge a file of a phase as git merge does",
		Long: `Merge three versions of a file of a phase. git merge calls this command as merge-driver %O %A
%B %P after tape git install. Entries that the other side has added follow ours, renumbered;
the result is written to OURS.

If a side has changed or removed entries of BASE, that is a conflict: OURS does not change, the
difference is shown, and the exit code is 4. Git then reports a conflict. It also does so if
entries would be replayed instead of merged: by git rebase, git cherry-pick, git revert, git am
and git stash.

The next command, or the hook post-merge, completes what git has merged, because git sees one
file at a time, and both sides may have opened a phase of the same number.`,
		Example: `  git merge fork/main/try-redis
  git config merge.tape.driver`,
		Args: takes(4, "BASE", "OURS", "THEIRS", "PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runMergeDriver(cmd.Context(), args[:3], args[3])
		},
	}
}

func (a *App) runMergeDriver(ctx context.Context, versions []string, path string) error {
	at, err := githooks.Locate()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Outside a repository, somebody tries it by hand.
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
		if sides[i], err = a.readFile(ctx, name); err != nil {
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
