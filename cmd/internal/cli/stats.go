package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stats"
	"tape/index"
	"tape/internal/sessions/filter"
	"tape/internal/show/report"
	"tape/internal/store/prices"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/repo"
)

type statsOptions struct {
	app *App
	filter.Params
	by, project, agent string
}

var statsGroups = []index.By{index.ByDay, index.ByProject, index.ByAgent, index.ByModel, index.ByTool, index.ByPerson}

func newStatsCmd(a *App) *cobra.Command {
	o := &statsOptions{app: a}
	groups := namesOf(statsGroups, func(by index.By) string { return string(by) })
	cmd := &cobra.Command{
		Use:   "stats [--by WHAT] [--since DATE] [--until DATE] [--project DIR] [--agent NAME] [-A]",
		Short: "Sum up sessions: time, tokens, cost, calls",
		Long: `Sum up what was done in sessions: turns, active time, tokens, calls of tools with how many failed,
and the cost, all together or by day, project, agent, model, tool or person.

Active time leaves out pauses of more than five minutes, and waits for a person's permission. Input
tokens do not include those from the cache (cached). Each message counts once, even if a transcript
repeats it. A call that a person rejected has not failed. The work of subagents counts for their
session. By tool, active time is the time from a call to its result.

The cost is known for models that have a price: dollars per million tokens, by the name of a model
or its beginning. Without cache_read and cache_write, such tokens cost as much as input.

  tape config --global prices '{"claude-opus-4":{"input":5,"output":25,"cache_read":0.5,"cache_write":6.25}}'

Sums are kept by the hour, so --since and --until count whole hours. Days are in your time zone.`,
		Example: `  tape stats --since monday
  tape stats --by day --since 7d
  tape stats --by project -A
  tape stats --by tool --agent claude --json
  tape stats --by model --tape 2`,
		SuggestFor: []string{"stat", "usage", "cost", "statistics"},
		Args:       takes(0),
		RunE:       func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.by, "by", "", "group by `WHAT`: "+strings.Join(groups, ", "))
	f.StringVar(&o.Since, "since", "", "what was done on `DATE` or later")
	f.StringVar(&o.Until, "until", "", "what was done on `DATE` or earlier")
	f.StringVar(&o.project, "project", "", "sessions of projects in `DIR`, or whose name contains it")
	f.StringVar(&o.agent, "agent", "", "sessions of agents whose name contains `NAME`")
	a.addAllWorkspaces(cmd)
	completeFlag(cmd, "by", completeWords(groups...))
	return cmd
}

func (o *statsOptions) run(ctx context.Context) error {
	by := index.By(o.by)
	if o.by != "" && !slices.Contains(statsGroups, by) {
		return usagef("--by is day, project, agent, model, tool or person, not %s", quoted(o.by))
	}
	dates, err := o.Query(filter.AsFlag, o.app.Now())
	if err != nil {
		return err
	}
	f := index.WorkFilter{Since: dates.Since, Until: dates.Until, Zone: o.app.Now().Location()}
	if o.agent != "" {
		f.Agent = func(name string) bool { return has(name, o.agent) }
	}
	if err := o.app.findShared(ctx); err != nil {
		return err
	}
	lists, err := inSessions(ctx, o.app, false, func(ctx context.Context, store *repo.Store, tapes []string) ([]*index.Work, error) {
		f := f
		f.Tapes = tapes
		name := projects.Names(store.Dir())
		f.Project = projectFilter(o.project, name)
		sums, err := withIndex(o.app, store, func(x *index.Index) ([]*index.Work, error) { return x.Work(ctx, by, f) })
		return report.Merge([][]*index.Work{sums}, func(key string) string {
			if by == index.ByProject {
				return name(key)
			}
			return key
		}), err
	})
	if err != nil {
		return err
	}
	text, err := o.pricesText()
	if err != nil {
		return err
	}
	list, err := prices.Parse(text)
	if err != nil {
		return err
	}
	sums := report.Merge(lists, func(key string) string { return key })
	return stats.Show(&o.app.Streams, report.Rows(sums, by, list), by)
}

// pricesText returns the setting prices: of the workspace, if only one is read, else of the user.
func (o *statsOptions) pricesText() (string, error) {
	if o.app.store == nil {
		return workspace.GlobalSetting("prices")
	}
	return (*workspace.Store)(o.app.store).Setting("prices")
}
