package cli

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/internal/sessions/catalog"
	"tape/repo"
)

// callWithin is how many entries before a result its call is looked for, so that the result is shown with the call's name.
const callWithin = 64

// withCall yields one entry, which has an id. If it is a result, those before it come, too.
func withCall(ctx context.Context, t *repo.Tape, id int64, one iter.Seq2[repo.Entry, error]) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range one {
			if err != nil || e.Kind != repo.KindToolResult {
				yield(e, err)
				return
			}
		}
		for e, err := range t.Entries(ctx, repo.Query{FirstID: max(1, id-callWithin), LastID: id}) {
			if e.Kind != repo.KindAnchor && !yield(e, err) {
				return
			}
		}
	}
}

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
			entries := t.Show(cmd.Context(), target)
			if number, ok := strings.CutPrefix(target, "@"); ok {
				view.full, view.events = true, true
				if id, err := strconv.ParseInt(number, 10, 64); err == nil && a.conversation(view) != nil {
					entries = withCall(cmd.Context(), t, id, entries)
					view.wanted = func(e repo.Entry) bool { return e.ID == id }
				}
			}
			return a.showEntries(cmd.Context(), t, entries, view, nil)
		},
	}
	a.addAllWorkspaces(cmd)
	view.addFlags(cmd)
	cmd.Flags().BoolVar(&team, "team", false, "show REMOTE/TAPE@17 of your team, from the server of tape login")
	return cmd
}
