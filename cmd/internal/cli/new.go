package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/repo"
)

func newNewCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Create a tape",
		Long:  `Create a tape, opened by the anchor session/start. The current tape stays the same.`,
		Example: `  tape new review
  tape new -- -odd-name`,
		Args: takes(1, "NAME"),
		RunE: a.inStore(func(ctx context.Context, store *repo.Store, args []string) error {
			t, err := store.CreateTape(ctx, args[0])
			if err != nil {
				return err
			}
			return a.tapeResult(ctx, t, "created tape %s")
		}),
	}
}
