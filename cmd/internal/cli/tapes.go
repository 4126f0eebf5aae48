package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hostcmd"
	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/store/about"
	"tape/internal/store/workspace"
	"tape/repo"
)

type tapesOptions struct {
	app                  *App
	limit                int
	project, agent, grep string
	since, until         string
	team, starred        bool
	tags                 []string
}

func newTapesCmd(a *App) *cobra.Command {
	o := &tapesOptions{app: a, limit: -1}
	cmd := &cobra.Command{
		Use:     "tapes [-n N] [--project DIR] [--agent NAME] [--since DATE] [--until DATE] [--grep TEXT] [--starred] [--tag TAG]... [-A]",
		Aliases: []string{"ls"},
		Short:   "List the sessions of the workspace, the newest first",
		Long: `List the sessions of the workspace: those with the newest entries first, empty ones last.
tape ls is the same.

A session's title is the one that you set, the one that its agent gave, or the first thing that a
person asked. In place of a session's name you can use the number in front, the beginning of the name
(if no other name begins with it), or - for the previous session. On a terminal, a number means what
the last list there showed, until a list is shown again; those of -A work from any directory. The
current session is marked with *.

Stars and tags are those of tape star and tape tag. Two marks say what happened, and grade nothing:
"failed end" (it ended with an error, or its last call failed) and "failed 3×" (the same call failed
three times).

If there is room, the list shows the project, the name, the number of messages, and for each
remote how many entries are only here (ahead) or only there (behind), as of the last push,
fetch or pull.`,
		Example: `  tape tapes -n 10
  tape ls --project shop --since yesterday
  tape ls --grep retry
  tape ls --starred --tag release
  tape ls -A --since monday   # of all projects
  tape log --tape 2`,
		SuggestFor: []string{"list", "sessions"},
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("limit") {
				return nil
			}
			_, err := filter.Count("--limit", &o.limit)
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.team {
				if o.starred || len(o.tags) > 0 {
					return usagef("the team's list has no stars and tags: leave out --starred and --tag")
				}
				return hostcmd.TeamRun(o.app.onTeam).List(cmd, hostcmd.TeamList{Limit: o.limit, Project: o.project, Agent: o.agent, Grep: o.grep, Since: o.since, Until: o.until})
			}
			return o.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.IntVarP(&o.limit, "limit", "n", -1, "show the newest `N` sessions")
	f.StringVar(&o.project, "project", "", "show sessions of projects in `DIR`, or whose name contains it")
	f.StringVar(&o.agent, "agent", "", "show sessions of agents whose name contains `NAME`")
	f.StringVar(&o.since, "since", "", "show sessions with entries of `DATE` or later")
	f.StringVar(&o.until, "until", "", "show sessions that were begun on `DATE` or earlier")
	f.StringVar(&o.grep, "grep", "", "show sessions whose title, name, project or branch contains `TEXT`, in any case")
	f.BoolVar(&o.starred, "starred", false, "show sessions that have a star")
	f.StringArrayVar(&o.tags, "tag", nil, "show sessions that have the `TAG`; several: all of them")
	f.BoolVar(&o.team, "team", false, "list the sessions of your team, from the server of tape login")
	a.addAllWorkspaces(cmd)
	f.Lookup("limit").DefValue = "0"
	return cmd
}

func (o *tapesOptions) run(ctx context.Context) error {
	dates, err := filter.Params{Since: o.since, Until: o.until}.Query(filter.AsFlag, o.app.Now())
	if err != nil {
		return err
	}
	project := projectNamed(o.project)
	all, err := o.app.listTapes(ctx)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(t listedTape) bool {
		return !within(t.Tape, project) || o.starred && !t.Starred || !t.HasTags(o.tags) || !has(t.Agent, o.agent) || t.Updated.Before(dates.Since) || !dates.Until.IsZero() && t.Started.After(dates.Until) ||
			o.since+o.until != "" && t.Empty() ||
			!slices.ContainsFunc([]string{t.Title, t.Name, t.Project, t.Branch}, func(s string) bool { return has(s, o.grep) })
	})
	if o.limit >= 0 {
		list = list[:min(o.limit, len(list))]
	}
	if !o.app.JSON {
		listed := make([]*about.Tape, len(list))
		for i := range list {
			listed[i] = &list[i].Tape
		}
		catalog.TellApart(listed) // only those that are shown matter
	}
	none := "No matching sessions."
	if len(all) == 0 && o.app.store != nil && len((*workspace.Store)(o.app.store).LeftOut()) > 0 {
		none = "No session can be read."
	} else if len(all) == 0 {
		none = "No sessions yet: tape import reads those of your agents, tape record install AGENT records new ones."
	}
	l := listing[listedTape]{None: none, Paged: true, Object: tapeObject}
	columns := rows.TapeColumns(&o.app.Streams, list, catalog.ShortNames(namesOf(all, func(t listedTape) string { return t.Name })), o.app.everywhere)
	for _, c := range columns {
		l.Head = append(l.Head, c.Head)
	}
	l.Row = func(t listedTape, add func(cells ...any)) {
		cells := make([]any, len(columns))
		for i, c := range columns {
			cells[i] = c.Cell(t)
		}
		add(cells...)
	}
	dir := ""
	if o.app.store != nil {
		dir = o.app.store.Dir()
	}
	numbers := make(map[int]stdio.Numbered, len(list))
	for _, t := range list {
		numbers[t.Number] = stdio.Numbered{Workspace: cmp.Or(t.Workspace, dir), Tape: t.Name, Anywhere: o.app.everywhere}
	}
	o.app.KeepNumbers(listOfTapes, numbers)
	err = l.Show(&o.app.Streams, list, nil)
	if err != nil || o.app.JSON || o.app.everywhere {
		return err
	}
	name := o.app.store.CurrentTape()
	switch listed := slices.ContainsFunc(all, func(t listedTape) bool { return t.Name == name }); {
	case listed:
	case isFork(ctx, o.app.store, name): // forks are not in the list
		o.app.PrintUnlessQuiet("the current one is the fork %s", quoted(name))
	case slices.Contains((*workspace.Store)(o.app.store).LeftOut(), "tape/"+name): // it is damaged, which a warning says
	case name == repo.DefaultTape:
		o.app.PrintUnlessQuiet("the current tape is %s, which is empty", quoted(name))
	}
	return nil
}

// has reports whether a text contains a part, ignoring case.
func has(text, part string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(part))
}

// within reports whether a tape's project is in a directory, or, if want is not an absolute path,
// whether the project's name contains it.
func within(t about.Tape, want string) bool {
	if filepath.IsAbs(want) {
		return t.Project == want || strings.HasPrefix(t.Project, strings.TrimSuffix(want, "/")+"/")
	}
	return has(t.ProjectName(), want)
}
