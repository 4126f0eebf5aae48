package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/internal/sessions/catalog"
)

func newShowCmd(a *App) *cobra.Command {
	var view entryView
	var team bool
	cmd := &cobra.Command{
		Use:        "show TARGET [flags]",
		SuggestFor: []string{"view", "cat"},
		Short:      "Show a phase, an entry, a tag or a commit",
		Long: `Show TARGET: a phase with its anchor (its name, its number such as 002, or latest), an entry
(@17, or TAPE@17), or the entries that a tag or commit added. An entry is shown in full; other targets are
shown as in tape log. An entry that tape search --team has found is REMOTE/TAPE@17.`,
		Example: `  tape show latest
  tape show 002
  tape show @17
  tape show @17 --json
  tape show -A 0cde@17   # wherever that session is
  tape show anchor/main/002_implement`,
		Args:              takes(1, "TARGET"),
		ValidArgsFunction: upTo(1, a.completeAnchors()),
		RunE: func(cmd *cobra.Command, args []string) error {
			tape, target := catalog.Entry(args[0])
			if err := a.nameTape(tape); err != nil {
				return err
			}
			if team {
				return hostcmd.TeamRun(a.onTeam).Show(cmd, args[0], view.oneline)
			}
			t, err := a.openTape(cmd.Context())
			if hostcmd.TeamHas(args[0], err, a.Getenv) {
				return hostcmd.TeamRun(a.onTeam).Show(cmd, args[0], view.oneline)
			}
			if err != nil {
				return err
			}
			view.partial = true
			if strings.HasPrefix(target, "@") {
				view.full, view.events = true, true
			}
			return a.showEntries(cmd.Context(), t, t.Show(cmd.Context(), target), view, nil)
		},
	}
	a.addAllWorkspaces(cmd)
	view.addFlags(cmd)
	cmd.Flags().BoolVar(&team, "team", false, "show REMOTE/TAPE@17 of your team, from the server of tape login")
	return cmd
}
