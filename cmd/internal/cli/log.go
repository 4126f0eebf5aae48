package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/repo"
)

type logOptions struct {
	*App
	entryFilter
	graphOptions
	all    bool
	anchor string
	after  string

	changed func(flag string) bool
}

func newLogCmd(a *App) *cobra.Command { return newLogCmdFor(&logOptions{App: a}) }

func newLogCmdFor(o *logOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:        "log [flags]",
		SuggestFor: []string{"view", "history", "cat"},
		Short:      "Show the entries of the open phase, or of any part of the tape",
		Long: `Show the entries of the open phase, its anchor first, the oldest first.

Dates are given as 2026-11-20, 2026-11-20T09:30:00Z, yesterday or "2 hours ago", and
include both ends. Anchors are named as tape anchors shows them: by name, by number
(002), or as latest.

With --graph, show the commits of the tape and of its forks, the newest first: handoffs,
checkpoints, where forks begin and where they were merged. -n bounds their number.`,
		Example: `  tape log
  tape log --all --oneline
  tape log --after implement --kind message --tail 5
  tape log --all --since yesterday --json
  tape log --graph -n 20`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.changed = cmd.Flags().Changed
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "show the whole tape")
	f.StringVar(&o.anchor, "anchor", "", "show the phase of the anchor `NAME`")
	f.StringVar(&o.after, "after", "", "show everything behind the `ANCHOR`")
	o.entryFilter.addFlags(cmd)
	o.graphOptions.addFlags(cmd)
	return cmd
}

func (o *logOptions) query() (repo.Query, error) {
	q := repo.Query{Phase: o.anchor, After: o.after}
	all, anchor, after := o.changed("all"), o.changed("anchor"), o.changed("after")
	switch {
	case all && anchor, all && after, anchor && after:
		return q, usagef("give one of --all, --anchor and --after")
	case all && !o.all, !all && !anchor && !after:
		q.Phase = repo.Latest
	}
	err := o.apply(&q, o.changed, o.Now())
	return q, err
}

func (o *logOptions) run(ctx context.Context) error {
	if o.graph {
		return o.runGraph(ctx)
	} else if o.allTapes {
		return usagef("--all-tapes goes with --graph")
	}
	q, err := o.query()
	if err != nil {
		return err
	}
	t, err := o.openTape(ctx)
	if err != nil {
		return err
	}
	return o.showEntries(t.Entries(ctx, q), o.oneline)
}
