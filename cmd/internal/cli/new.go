package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/repo"
)

func newNewCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Create a session",
		Long: `Create a session, opened by the anchor session/start. The current session stays the same. If a session
of that name was forgotten (tape rm --forget), imports and pulls accept it again.`,
		Example: `  tape new review
  tape new -- -odd-name`,
		Args: takes(1, "NAME"),
		RunE: a.inStore(func(ctx context.Context, store *repo.Store, args []string) error {
			if err := projects.Unforget(ctx, (*workspace.Store)(store), args[0]); err != nil {
				return err
			}
			t, err := store.CreateTape(ctx, args[0])
			if err != nil {
				return err
			}
			return a.tapeResult(ctx, t, "created tape %s")
		}),
	}
}
