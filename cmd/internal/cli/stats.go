package cli

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"tape/cmd/internal/reports"
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
and the cost, all together or by day, project, agent, model, tool or person, or by two of these.

Active time leaves out pauses of more than five minutes, and waits for a person's permission. Input
tokens do not include those from the cache (cached). Each message counts once, even if a transcript
repeats it. A call that a person rejected has not failed. The work of subagents counts for their
session. By tool, active time is the time from a call to its result.

The cost is in dollars: what the agent has noted, if it notes that, else by the prices of the usual
models that come with tape, without discounts and without what long prompts cost more. They are from
` + strings.ReplaceAll(prices.Source(), "; ", "\nand ") + `.
Models without a price are named. Your own prices are used instead of both: dollars per million
tokens, by the name of a model or its beginning. Without cache_read and cache_write, such tokens
cost as much as input; without cache_write_1h, those that are kept in the cache for an hour cost
1.6 times as much as cache_write.

  tape config --global prices '{"claude-opus-4":{"input":5,"output":25}}'

Sums are kept by the quarter of an hour, so --since and --until count whole quarters. Days are in
your time zone.`,
		Example: `  tape stats --since monday
  tape stats --by day --since 7d
  tape stats --by project -A
  tape stats --by project,model
  tape stats --by tool --agent claude --json
  tape stats --by model --tape 2`,
		SuggestFor: []string{"stat", "usage", "cost", "statistics"},
		Args:       takes(0),
		RunE:       func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.by, "by", "", "group by `WHAT`: "+strings.Join(groups, ", ")+"; or two of them, as project,model")
	f.StringVar(&o.Since, "since", "", "what was done on `DATE` or later")
	f.StringVar(&o.Until, "until", "", "what was done on `DATE` or earlier")
	f.StringVar(&o.project, "project", "", "sessions of projects in `DIR`, or whose name contains it")
	f.StringVar(&o.agent, "agent", "", "sessions of agents whose name contains `NAME`")
	a.addAllWorkspaces(cmd)
	completeFlag(cmd, "by", completeWords(groups...))
	return cmd
}

func (o *statsOptions) run(ctx context.Context) error {
	by, err := groupsOf(o.by)
	if err != nil {
		return err
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
	var leftOut atomic.Int64 // damaged sessions
	lists, err := inSessions(ctx, o.app, false, func(ctx context.Context, store *repo.Store, tapes []string) ([]*index.Work, error) {
		f := f
		f.Tapes = tapes
		name := projects.Names(store.Dir())
		f.Project = projectFilter(o.project, name)
		sums, err := withIndex(o.app, store, func(x *index.Index) ([]*index.Work, error) { return x.Work(ctx, by, f) })
		leftOut.Add(int64(len((*workspace.Store)(store).LeftOut())))
		return report.Merge([][]*index.Work{sums}, func(key string) string {
			return index.RenameKey(key, func(part int, key string) string {
				if by.Parts()[part] == index.ByProject {
					return name(key)
				}
				return key
			})
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
	return reports.ShowStats(&o.app.Streams, report.Rows(sums, by, list), by, leftOut.Load())
}

// groupsOf returns how work is grouped, by one or two groups.
func groupsOf(text string) (index.By, error) {
	var by index.By
	parts := strings.Split(text, ",")
	if text == "" {
		return by, nil
	}
	for i, part := range parts {
		group := index.By(strings.TrimSpace(part))
		switch {
		case !slices.Contains(statsGroups, group):
			return "", usagef("--by is day, project, agent, model, tool or person, or two of them with a comma, not %s", quoted(text))
		case i == 0:
			by = group
		case i > 1 || group == by:
			return "", usagef("--by takes one or two different groups, not %s", quoted(text))
		default:
			by = by.And(group)
		}
	}
	if all := by.Parts(); slices.Contains(all, index.ByTool) && (slices.Contains(all, index.ByModel) || slices.Contains(all, index.ByPerson)) {
		return "", usagef("--by tool goes together with day, project or agent")
	}
	return by, nil
}

// pricesText returns the setting prices: of the workspace, if only one is read, else of the user.
func (o *statsOptions) pricesText() (string, error) {
	if o.app.store == nil {
		return workspace.GlobalSetting("prices")
	}
	return (*workspace.Store)(o.app.store).Setting("prices")
}
