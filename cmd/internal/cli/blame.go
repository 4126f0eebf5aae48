package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"tape/cmd/internal/reports"
	"tape/index"
	"tape/internal/git/gitrun"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/review"
	"tape/internal/sessions/trace"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

type blameOptions struct {
	app         *App
	file        string
	first, last int // lines; 0: all
	stat        bool
}

func newBlameCmd(a *App) *cobra.Command {
	o := &blameOptions{app: a}
	cmd := &cobra.Command{
		Use:        "blame FILE[:LINE[-LINE]]",
		SuggestFor: []string{"annotate", "why"},
		Short:      "Show which request led to the lines of a file",
		Long: `For each group of consecutive lines of a project file, show the commit that they come from (as
in git blame) and what led to it: a person's request, and its session. Requests that only agree or
ask for a commit are not quoted, but the one before them.

A line is credited to the session that wrote it: to the last edit before the commit that has the
line, whoever made the commit. If no edit has any line of the commit, they are credited to the last
edit of the file since the commit before, and marked, unless that was undone. Lines that are not
committed yet are credited, too.

If no session edited the file, the commit tells: an agent's git commit is recorded in its session.
A commit that was rebased or amended later is recognized by its subject and author date,
and marked as probable. For a person's commit, the sessions of the project in which something was said
or done within the hour before are shown and marked as such. Lines of which no
session is known are counted at the end.

With --stat, count the lines by who wrote them: each agent, people, and unknown. Instead of FILE it
takes a range as tape review does, and counts the lines that its commits added; without an argument,
those of the current branch. Lines are of people if sessions of the project were recorded then and
none had to do with the change. They are unknown if they are older, if the clone is shallow, or if a
session edited the file and no edit has them. With --json, the result is an object with lines, agents
(lines by agent), people and unknown.

All sessions of the workspace are examined; --tape selects one. The project is the git repository
that contains the file.

With --json, each group of lines is an object with file, first_line, last_line, commit, author,
date, subject and turns. A turn has tape, title, first_id, last_id, prompt, date and how: edited,
last_edit, recorded, probably, or open. If nothing is known, unknown gives the reason:
not_committed, no_sessions, before_sessions, nothing_recorded, shallow, or, where edits have other
lines of the commit: no_edit, or says_little for lines such as a bracket.`,
		Example: `  tape blame cmd/shop/main.go
  tape blame cmd/shop/main.go:42
  tape blame cmd/shop/main.go:42-60 --json
  tape blame --stat main..HEAD
  tape log --commit 3f2a9c1   # all that was said before the commit`,
		Args: func(cmd *cobra.Command, args []string) error {
			least := 1
			if o.stat {
				least = 0
			}
			return takes(least, "FILE")(cmd, args)
		},
		PreRunE: func(_ *cobra.Command, args []string) error {
			return o.parse(first(args))
		},
		RunE: a.inStore(func(ctx context.Context, store *repo.Store, _ []string) error { return o.run(ctx, store) }),
	}
	cmd.Flags().BoolVar(&o.stat, "stat", false, "count the lines by who wrote them")
	return cmd
}

// parse splits FILE:LINE-LINE, unless there is a file of that name.
func (o *blameOptions) parse(arg string) error {
	o.file = arg
	lines := regexp.MustCompile(`^(.+):(\d+)(?:-(\d+))?$`).FindStringSubmatch(arg)
	if _, err := os.Lstat(arg); err == nil || lines == nil {
		return nil
	}
	o.file = lines[1]
	var err1, err2 error
	o.first, err1 = strconv.Atoi(lines[2])
	if o.last = o.first; lines[3] != "" {
		o.last, err2 = strconv.Atoi(lines[3])
	}
	if err1 != nil || err2 != nil || o.first < 1 || o.last < o.first {
		return usagef("the lines of %s are not a range from 1 on", quoted(arg))
	}
	return nil
}

func (o *blameOptions) run(ctx context.Context, store *repo.Store) error {
	st, err := os.Stat(o.file)
	switch {
	case err != nil && o.stat:
		return o.statRange(ctx, store)
	case err != nil:
		return layout.NotFound("", "there is no file %s", quoted(o.file))
	case st.IsDir():
		return layout.Invalid("name a file in it", "%s is a folder", quoted(o.file))
	}
	file, err := filepath.Abs(o.file)
	if err != nil {
		return err
	}
	project, err := projectgit.Open(ctx, filepath.Dir(file))
	if err != nil {
		return projectError(err)
	}
	runs, err := projectgit.Blame(ctx, file, o.first, o.last)
	switch {
	case errors.Is(err, projectgit.ErrNotInGit):
		return layout.NotFound("a file's lines are known by the commits that they come from", "no commit has %s yet", quoted(o.file))
	case errors.Is(err, projectgit.ErrNoLine):
		return layout.NotFound("", "%s has fewer lines than %d", quoted(o.file), o.last)
	case err != nil:
		return projectError(err)
	}
	show := reports.ShowBlame
	if o.stat {
		show = reports.StatFile
	}
	return o.app.withFinder(ctx, store, project, func(f *trace.Finder) error { return show(ctx, &o.app.Streams, f, project, o.file, runs) })
}

// statRange counts the lines that the commits of a range added.
func (o *blameOptions) statRange(ctx context.Context, store *repo.Store) error {
	project, err := projectgit.Open(ctx, ".")
	if err != nil {
		return projectError(err)
	}
	r, err := review.Parse(ctx, project, o.file)
	if err != nil {
		return err
	}
	return o.app.withFinder(ctx, store, project, func(f *trace.Finder) error {
		return rangeError(r.Name, reports.StatRange(ctx, &o.app.Streams, f, project, r))
	})
}

// projectError adds a way out to an error of the project's git repository.
func projectError(err error) error {
	switch {
	case errors.Is(err, gitrun.ErrNoGit):
		return (&layout.Error{Msg: err.Error()}).Try(layout.InstallGit)
	case errors.Is(err, projectgit.ErrNoRepository):
		return layout.NotFound("lines are known by the commits of the project's git repository", "%v", err)
	}
	return err
}

// withFinder calls do with a finder of the turns that led to commits of a project.
func (a *App) withFinder(ctx context.Context, store *repo.Store, project projectgit.Repo, do func(*trace.Finder) error) error {
	f := &trace.Finder{Store: store, Project: project.Top, Home: workspace.ProjectOf(store.Dir()).Dir,
		About: func(ctx context.Context) (map[string]about.Tape, error) { return a.about(ctx, store, nil) }}
	if a.tapeName != "" {
		t, err := a.openTape(ctx)
		if err != nil {
			return err
		}
		f.Tapes = []string{t.Name()}
	}
	_, err := withIndex(a, store, func(x *index.Index) (any, error) {
		f.Index = x
		return nil, do(f)
	})
	return err
}
