package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"tape/repo"
)

func newShowCmd(a *App) *cobra.Command {
	var view entryView
	cmd := &cobra.Command{
		Use:        "show TARGET [flags]",
		SuggestFor: []string{"view", "cat"},
		Short:      "Show a phase, an entry, a tag or a commit",
		Long: `Show TARGET: a phase with its anchor (its name, its number such as 002, or latest), an entry
(@17), or the entries that a tag or commit added. An entry is shown in full; other targets are
shown as in tape log.`,
		Example: `  tape show latest
  tape show 002
  tape show @17
  tape show @17 --json
  tape show anchor/main/002_implement`,
		Args:              takes(1, "TARGET"),
		ValidArgsFunction: upTo(1, a.completeAnchors()),
		RunE: a.onTape(func(ctx context.Context, t *repo.Tape, args []string) error {
			view.partial = true
			if strings.HasPrefix(args[0], "@") {
				view.full, view.events = true, true
			}
			return a.showEntries(ctx, t, t.Show(ctx, args[0]), view, nil)
		}),
	}
	view.addFlags(cmd)
	return cmd
}
