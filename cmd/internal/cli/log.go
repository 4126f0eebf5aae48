package cli

import (
	"context"
	"iter"
	"time"

	"github.com/spf13/cobra"

	"tape/repo"
)

type logOptions struct {
	app *App

	entryFilter
	graphOptions
	all    bool
	anchor string
	after  string

	changed func(flag string) bool
}

// entryFilter are the flags of the commands that list entries.
type entryFilter struct {
	limit, tail  int
	reverse      bool
	oneline      bool
	kinds        []string
	since, until string
}

func (o *entryFilter) addFlags(cmd *cobra.Command, a *App) {
	f := cmd.Flags()
	f.IntVarP(&o.limit, "limit", "n", 0, "show the first `N` entries, in the order shown")
	f.IntVar(&o.tail, "tail", 0, "show the last `N` entries, in the order shown")
	f.StringArrayVar(&o.kinds, "kind", nil, "show entries of this `KIND` only; may be repeated")
	f.StringVar(&o.since, "since", "", "show what is not older than `DATE`")
	f.StringVar(&o.until, "until", "", "show what is not newer than `DATE`")
	f.BoolVar(&o.reverse, "reverse", false, "show the newest entry first")
	f.BoolVar(&o.oneline, "oneline", false, "show each entry on one line")
	a.completeFlag(cmd, "kind", completeKinds)
}

// apply puts the flags that were given into a query.
func (o *entryFilter) apply(q *repo.Query, changed func(flag string) bool, now time.Time) (err error) {
	q.Kinds, q.Reverse = o.kinds, o.reverse
	if changed("limit") {
		q.Limit = repo.N(o.limit)
	}
	if changed("tail") {
		q.Tail = repo.N(o.tail)
	}
	if changed("since") {
		if q.Since, err = repo.ParseSince(o.since, now); err != nil {
			return err
		}
	}
	if changed("until") {
		q.Until, err = repo.ParseUntil(o.until, now)
	}
	return err
}

func newLogCmd(a *App) *cobra.Command { return newLogCmdFor(&logOptions{app: a}) }

func newLogCmdFor(o *logOptions) *cobra.Command {
	a := o.app
	cmd := &cobra.Command{
		Use:   "log [flags]",
		Short: "Show the entries of the open phase, or of any part of the tape",
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
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.changed = cmd.Flags().Changed
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "show the whole tape")
	f.StringVar(&o.anchor, "anchor", "", "show the phase of the anchor `NAME`")
	f.StringVar(&o.after, "after", "", "show everything behind the `ANCHOR`")
	o.entryFilter.addFlags(cmd, a)
	o.graphOptions.addFlags(cmd)
	a.completeFlag(cmd, "anchor", a.completeAnchors)
	a.completeFlag(cmd, "after", a.completeAnchors)
	return cmd
}

// query turns the flags into what is asked of the tape.
func (o *logOptions) query() (repo.Query, error) {
	q := repo.Query{Phase: o.anchor, After: o.after}
	slices := 0
	for _, flag := range []string{"all", "anchor", "after"} {
		if o.changed(flag) {
			slices++
		}
	}
	switch {
	case slices > 1:
		return q, usagef("give one of --all, --anchor and --after")
	case o.changed("anchor") && o.anchor == "":
		return q, usagef("--anchor is empty")
	case o.changed("after") && o.after == "":
		return q, usagef("--after is empty")
	case slices == 0 || o.changed("all") && !o.all:
		q.Phase = repo.Latest
	}
	err := o.apply(&q, o.changed, o.app.Now())
	return q, err
}

func (o *logOptions) run(ctx context.Context) error {
	a := o.app
	if o.graph {
		return a.runGraph(ctx, o.graphOptions, o.limit, o.changed)
	} else if o.allTapes {
		return usagef("--all-tapes goes with --graph")
	}
	q, err := o.query()
	if err != nil {
		return err
	}
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	return a.showEntries(t.Entries(ctx, q), o.oneline)
}

// showEntries writes entries as they are read.
func (a *App) showEntries(entries iter.Seq2[repo.Entry, error], oneline bool) error {
	show := a.entryWriter(oneline)
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := show(e); err != nil {
			return err
		}
	}
	return nil
}

// entryWriter returns a function that shows entries one by one.
func (a *App) entryWriter(oneline bool) func(repo.Entry) error {
	if a.json {
		return func(e repo.Entry) error { return a.writeLine(e.JSON()) }
	}
	a.page()
	v := &entryView{app: a, oneline: oneline}
	return v.show
}

func newShowCmd(a *App) *cobra.Command {
	var oneline bool
	cmd := &cobra.Command{
		Use:   "show TARGET [--oneline]",
		Short: "Show a phase, an entry, or what a tag or commit holds",
		Long: `Show what TARGET names: a phase with its anchor (its name, its number such as 002, or
latest), an entry (@17), or the entries that a tag's or commit's change added.`,
		Example: `  tape show latest
  tape show 002
  tape show @17 --json
  tape show anchor/main/002_implement`,
		Args:              takes(1, "TARGET"),
		ValidArgsFunction: a.completeAnchorArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := a.openTape(cmd.Context())
			if err != nil {
				return err
			}
			return a.showEntries(t.Show(cmd.Context(), args[0]), oneline)
		},
	}
	cmd.Flags().BoolVar(&oneline, "oneline", false, "show each entry on one line")
	return cmd
}
