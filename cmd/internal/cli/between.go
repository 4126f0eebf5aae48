package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/repo"
)

type betweenOptions struct {
	app *App

	entryFilter
	from, to  string
	inclusive bool

	changed func(flag string) bool
}

func newBetweenCmd(a *App) *cobra.Command {
	return newBetweenCmdFor(&betweenOptions{app: a})
}

func newBetweenCmdFor(o *betweenOptions) *cobra.Command {
	a := o.app
	cmd := &cobra.Command{
		Use:   "between A B [--inclusive] [--kind KIND]… [flags]",
		Short: "Show the entries between two anchors",
		Long: `Show the entries strictly between two anchors: the latest A, and the first B behind it.
With --inclusive, the phases from A through B are shown whole, their anchors too.

Anchors are named as tape anchors shows them: by name, by number (002), or as latest.`,
		Example: `  tape between plan review
  tape between 002 latest --inclusive --oneline
  tape between plan review --kind tool_call --json`,
		Args:              takes(2, "A", "B"),
		ValidArgsFunction: a.completeAnchorPair,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.changed = cmd.Flags().Changed
			o.from, o.to = args[0], args[1]
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.inclusive, "inclusive", false, "show the phases of both anchors, whole")
	o.addFlags(cmd, a)
	return cmd
}

func (o *betweenOptions) query() (repo.Query, error) {
	q := repo.Query{From: o.from, To: o.to, Inclusive: o.inclusive}
	err := o.apply(&q, o.changed, o.app.Now())
	return q, err
}

func (o *betweenOptions) run(ctx context.Context) error {
	q, err := o.query()
	if err != nil {
		return err
	}
	t, err := o.app.openTape(ctx)
	if err != nil {
		return err
	}
	return o.app.showEntries(t.Entries(ctx, q), o.oneline)
}

// completeAnchorPair offers anchors for two arguments.
func (a *App) completeAnchorPair(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.completeAnchors(cmd, args, prefix)
}
