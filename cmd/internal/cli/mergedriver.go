package cli

import (
	"github.com/spf13/cobra"
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
			return MergeFile(cmd.Context(), &a.Streams, args[:3], args[3])
		},
	}
}
