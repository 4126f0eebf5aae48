package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/repo"
)

type betweenOptions struct {
	app *App
	entryFilter
	inclusive bool
}

func newBetweenCmd(a *App) *cobra.Command { return newBetweenCmdFor(&betweenOptions{app: a}) }

func newBetweenCmdFor(o *betweenOptions) *cobra.Command {
	var q repo.Query
	cmd := &cobra.Command{
		Use:   "between A B [--inclusive] [--kind KIND]… [flags]",
		Short: "Show the entries between two anchors",
		Long: `Show the entries strictly between two anchors: the latest A, and the first B after it. With
--inclusive, show the phases from A through B in full, with their anchors. The output is that
of tape log.

Anchors are named as tape anchors shows them: by name, by number (002), or as latest.

` + datesHelp,
		Example: `  tape between plan review
  tape between 002 latest --inclusive --oneline
  tape between plan review --kind tool_call --json`,
		Args:              takes(2, "A", "B"),
		ValidArgsFunction: upTo(2, o.app.completeAnchors()),
		PreRunE: func(cmd *cobra.Command, args []string) (err error) {
			q, err = o.query(cmd.Flags().Changed, o.app.Now())
			q.From, q.To, q.Inclusive = args[0], args[1], o.inclusive
			return err
		},
		RunE: o.app.onTape(func(ctx context.Context, t *repo.Tape, _ []string) error {
			if err := o.app.checkKnown(ctx, these(t), q); err != nil {
				return err
			}
			return o.app.showTape(ctx, t, q, o.entryView)
		}),
	}
	cmd.Flags().BoolVar(&o.inclusive, "inclusive", false, "show the phases of both anchors, whole")
	o.addFlags(cmd)
	return cmd
}
