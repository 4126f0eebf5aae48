package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/cmd/internal/teamcmd"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/repo"
)

type tapesOptions struct {
	*App
	limit                int
	project, agent, grep string
	since, until         string
	team                 bool
}

func newTapesCmd(a *App) *cobra.Command {
	o := &tapesOptions{App: a, limit: -1}
	cmd := &cobra.Command{
		Use:     "tapes [-n N] [--project DIR] [--agent NAME] [--since DATE] [--until DATE] [--grep TEXT] [-A]",
		Aliases: []string{"ls"},
		Short:   "List the sessions of the workspace, the newest first",
		Long: `List the sessions of the workspace: those with the newest entries first, empty ones last.
tape ls is the same.

A session's title is the one that you set, the one that its agent gave, or the first thing that a
person asked. In place of a session's name you can use the number in front (until the order changes), the beginning of the
name (if no other name begins so), or - for the previous session. The current session is marked with
*.

If there is room, the list shows the project, the name, the number of messages, and for each
remote how many entries are only here (ahead) or only there (behind), as of the last push,
fetch or pull.`,
		Example: `  tape tapes -n 10
  tape ls --project shop --since yesterday
  tape ls --grep retry
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
				return teamcmd.Run(o.onTeam).List(cmd, teamcmd.List{Limit: o.limit, Project: o.project, Agent: o.agent, Grep: o.grep, Since: o.since, Until: o.until})
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
	f.BoolVar(&o.team, "team", false, "list the sessions of your team, from the server of tape login")
	a.addAllWorkspaces(cmd)
	f.Lookup("limit").DefValue = "0"
	return cmd
}

func (o *tapesOptions) run(ctx context.Context) error {
	dates, err := filter.Params{Since: o.since, Until: o.until}.Query(filter.AsFlag, o.Now())
	if err != nil {
		return err
	}
	project := projectNamed(o.project)
	all, err := o.listTapes(ctx)
	if err != nil {
		return err
	}
	list := slices.DeleteFunc(slices.Clone(all), func(t listedTape) bool {
		return !within(t.Tape, project) || !has(t.Agent, o.agent) || t.Updated.Before(dates.Since) || !dates.Until.IsZero() && t.Started.After(dates.Until) ||
			o.since+o.until != "" && t.empty() ||
			!slices.ContainsFunc([]string{t.Title, t.Name, t.Project, t.Branch}, func(s string) bool { return has(s, o.grep) })
	})
	if o.limit >= 0 {
		list = list[:min(o.limit, len(list))]
	}
	if !o.JSON {
		listed := make([]*about.Tape, len(list))
		for i := range list {
			listed[i] = &list[i].Tape
		}
		catalog.TellApart(listed) // from those that are shown
	}
	none := "No matching sessions."
	if len(all) == 0 {
		none = "No sessions yet: tape import reads those of your agents, tape record install AGENT records new ones."
	}
	l := listing[listedTape]{None: none, Paged: true, Object: listedTape.object}
	columns := o.tapeColumns(list, catalog.ShortNames(namesOf(all, func(t listedTape) string { return t.Name })))
	for _, c := range columns {
		l.Head = append(l.Head, c.head)
	}
	l.Row = func(t listedTape, add func(cells ...any)) {
		cells := make([]any, len(columns))
		for i, c := range columns {
			cells[i] = c.cell(t)
		}
		add(cells...)
	}
	err = l.Show(&o.Streams, list, nil)
	if err != nil || o.JSON || o.everywhere {
		return err
	}
	name := o.store.CurrentTape()
	switch listed := slices.ContainsFunc(all, func(t listedTape) bool { return t.Name == name }); {
	case listed:
	case isFork(ctx, o.store, name): // forks are not in the list
		o.PrintUnlessQuiet("the current one is the fork %s", quoted(name))
	case name == repo.DefaultTape:
		o.PrintUnlessQuiet("the current tape is %s, which is empty", quoted(name))
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

type tapeColumn struct {
	head string
	cell func(listedTape) string
}

// tapeColumns returns the columns that the screen has room for beside the titles; in a pipe, all. A column that says
// the same in each row comes only if no title is cut for it.
func (o *tapesOptions) tapeColumns(list []listedTape, names map[string]string) []tapeColumn {
	const enough, plenty = 28, 48 // cells of a title
	left := o.Width()
	columns := []tapeColumn{
		{">", func(t listedTape) string {
			return strconv.Itoa(t.number) + display.Pad(currentMark(t.current && !o.everywhere), 1)
		}},
		{"~TITLE", func(t listedTape) string { return fitLabel(t.Tape, left) }},
		{"UPDATED", func(t listedTape) string { return o.briefly(t.Updated) }},
	}
	agent := tapeColumn{"AGENT", func(t listedTape) string {
		if w := o.Width(); w > 0 && w < 100 {
			first, _, _ := strings.Cut(t.Agent, "-")
			return first
		}
		return t.Agent
	}}
	label := tapeColumn{"", func(t listedTape) string { return t.Label() }}
	more := []tapeColumn{
		{"PROJECT", func(t listedTape) string {
			if w := o.Width(); w > 0 && w < 100 && o.everywhere {
				return display.Truncate(t.ProjectBranch(), w/5)
			}
			return display.Truncate(t.ProjectBranch(), enough)
		}},
		{"TAPE", func(t listedTape) string { return names[t.Name] }},
		{">MESSAGES", func(t listedTape) string { return strconv.Itoa(t.Messages) }},
	}
	projects := map[string]bool{"": true}
	for _, t := range list {
		projects[t.ProjectBranch()] = true
	}
	if len(projects) <= 2 && !o.everywhere { // one, or none
		more = more[1:]
	}
	if o.Width() == 0 {
		more[len(more)-2].cell = func(t listedTape) string { return t.Name }
	}
	if len(list) > 0 {
		for i, d := range list[0].remotes {
			more = append(more, tapeColumn{strings.ToUpper(d.Remote), func(t listedTape) string { return rows.DistanceText(t.remotes[i]) }})
		}
	}
	if slices.ContainsFunc(list, func(t listedTape) bool { return t.Agent != "" }) {
		more = slices.Insert(more, b2i(o.everywhere), agent) // of all projects, the project says more
	}
	for _, c := range columns {
		if c.head != "~TITLE" {
			left -= cellsOf(c, list) + len("  ")
		}
	}
	constant := func(c tapeColumn) bool {
		return o.Width() > 0 && !slices.ContainsFunc(list, func(t listedTape) bool { return c.cell(t) != c.cell(list[0]) })
	}
	slices.SortStableFunc(more, func(x, y tapeColumn) int { return b2i(constant(x)) - b2i(constant(y)) })
	longest := cellsOf(label, list)
	for _, c := range more {
		title := plenty
		if c.head == "PROJECT" || c.head == "AGENT" {
			title = enough
		}
		if constant(c) {
			title = stdio.MaxCell // all that a column gets
		}
		if cells := cellsOf(c, list) + len("  "); o.Width() == 0 || left-cells >= min(title, longest) {
			columns = append(columns, c)
			left -= cells
		}
	}
	return columns
}

// fitLabel returns the label of a tape. The end that tells it apart is never cut.
func fitLabel(t about.Tape, cells int) string {
	const least = 12
	if cells <= 0 || t.Title == "" || t.Apart == "" {
		return t.Label()
	}
	return display.Truncate(display.Line(t.Title), max(least, cells-display.Width(t.Suffix()))) + t.Suffix()
}

// cellsOf returns the width of a column.
func cellsOf(c tapeColumn, list []listedTape) int {
	cells := len(strings.TrimPrefix(c.head, ">"))
	for _, t := range list {
		cells = max(cells, min(display.Width(display.Line(c.cell(t))), stdio.MaxCell))
	}
	return cells
}

func currentMark(current bool) string {
	if current {
		return "*"
	}
	return ""
}
