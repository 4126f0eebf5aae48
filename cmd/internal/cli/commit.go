package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/repo"
)

func newCommitCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "commit",
		Short: "Commit the entries appended since the last commit",
		Long: `Make a checkpoint: a commit without a new anchor. Entries are safe as soon as they are
appended; a commit makes them visible to git. If there is nothing to commit, it says so.`,
		RunE: a.onTape(func(ctx context.Context, t *repo.Tape, _ []string) error {
			commit, n, err := t.Checkpoint(ctx)
			if err != nil {
				return err
			}
			text := "committed " + display.Entries(n) + ": "
			if n == 0 {
				text = "nothing new since commit "
			}
			return a.Result(object{{"commit", commit}, {"entries", n}}, "%s", text+shortID(commit))
		}),
	}
}
