package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/reports"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/projects"
	"tape/repo"
)

type digestOptions struct {
	app                           *App
	since, until, project, format string
}

func newDigestCmd(a *App) *cobra.Command {
	o := &digestOptions{app: a}
	cmd := &cobra.Command{
		Use:   "digest [--since DATE] [--until DATE] [--project DIR] [--format FORMAT] [-A]",
		Short: "Show what was done recently",
		Long: `Show what was done, by day and project: in the seven days up to today or --until, or from --since on.
Each session has its title, its other requests, the files that it changed, its commits, how it ended,
and what came out of its last turn: tests, commits, a command that failed at the end.

A session is listed if somebody asked something in it in the range, under the day of its last request
or commit there. What a subagent did counts for the session that started it. At most eight requests
(fewer if there are many sessions) and three commits of a session are shown; --json has all.`,
		Example: `  tape digest
  tape digest --since monday -A   # of all projects
  tape digest --since "last week" --until "last week"
  tape digest --since 2026-11-01 --format markdown >november.md`,
		SuggestFor: []string{"summary", "week", "report", "standup"},
		RunE:       func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringVar(&o.since, "since", "", "show what was asked on `DATE` or later (default: the last seven days)")
	f.StringVar(&o.until, "until", "", "show what was asked on `DATE` or earlier")
	f.StringVar(&o.project, "project", "", "show sessions of projects in `DIR`, or whose name contains it")
	f.StringVar(&o.format, "format", reports.DigestFormats[0], "the `FORMAT`: "+strings.Join(reports.DigestFormats[:], " or "))
	completeFlag(cmd, "format", completeWords(reports.DigestFormats[:]...))
	a.addAllWorkspaces(cmd)
	return cmd
}

func (o *digestOptions) run(ctx context.Context) error {
	if !slices.Contains(reports.DigestFormats[:], o.format) {
		return usagef("--format must be %s, not %q", strings.Join(reports.DigestFormats[:], " or "), o.format)
	}
	q, err := filter.Params{Since: o.since, Until: o.until}.Query(filter.AsFlag, o.app.Now())
	if err != nil {
		return err
	}
	if o.since == "" {
		q.Since = report.Week(q.Until, o.app.Now())
	}
	if err := o.app.findShared(ctx); err != nil {
		return err
	}
	lists, err := inStores(ctx, o.app, func(ctx context.Context, store *repo.Store) (list []reports.DigestSession, err error) {
		name := projects.Names(store.Dir())
		f := index.WorkFilter{Since: q.Since, Until: q.Until, Zone: o.app.Now().Location(), Project: projectFilter(o.project, name)}
		found, err := withIndex(o.app, store, func(x *index.Index) ([]*index.Digest, error) { return x.Digests(ctx, f) })
		for _, g := range found {
			g.About.ProjectLabel = name(g.About.Project)
			list = append(list, reports.DigestSession{Session: report.Session{Digest: g, Workspace: o.app.workspaceOf(store)}})
		}
		return list, err
	})
	if err != nil {
		return err
	}
	list := slices.Concat(lists...)
	if o.app.Screen().Out && len(list) > 0 {
		all, err := o.app.allTapes(ctx)
		if err != nil {
			return err
		}
		names := catalog.ShortNames(catalog.Names(all))
		for i := range list {
			list[i].Short = names[list[i].About.Name]
		}
	}
	err = reports.ShowDigest(&o.app.Streams, list, o.format)
	if err == nil && len(list) == 0 && o.since+o.until == "" {
		o.app.StderrUnlessQuiet("only the last seven days were searched; tape digest --since 30d looks further back")
	}
	return err
}

// projectFilter returns the filter that --project means, nil without it. name returns the name of a directory's project.
func projectFilter(project string, name func(dir string) string) func(dir string) bool {
	if project == "" {
		return nil
	}
	project = projectNamed(project)
	return func(dir string) bool { return within(about.Tape{Project: dir, ProjectLabel: name(dir)}, project) }
}

// projectNamed returns the value of --project, made absolute if it is a directory.
func projectNamed(project string) string {
	if project == "." || strings.ContainsRune(project, filepath.Separator) {
		dir, err := filepath.Abs(project)
		if err == nil {
			return dir
		}
	}
	return project
}
