package cli

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	"tape/cmd/internal/reports"
	"tape/internal/git/projectgit"
	"tape/internal/sessions/trace"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

// runCommit shows what led to a commit of the project, on all tapes or on the one that is named.
func (o *logOptions) runCommit(ctx context.Context) error {
	if flag := o.otherFlag("commit", "oneline", "full", "events", "conversation"); flag != "" {
		return usagef("--commit cannot be combined with --%s", flag)
	}
	store, err := o.app.openStore(ctx)
	if err != nil {
		return err
	}
	project, err := projectgit.Open(ctx, ".")
	if err != nil && !errors.Is(err, projectgit.ErrNoRepository) {
		o.app.StderrIfVerbose("%v", err)
	}
	commit, err := o.projectCommit(ctx, project, o.commit)
	if err != nil {
		return err
	}
	return o.app.withFinder(ctx, store, project, func(f *trace.Finder) error { return o.showCommit(ctx, f, project, commit) })
}

// projectCommit finds a commit in the project. If there is none, a name that looks like an id is
// taken as one, which a tape may have recorded.
func (o *logOptions) projectCommit(ctx context.Context, project projectgit.Repo, name string) (projectgit.Commit, error) {
	if project.Top != "" && !strings.HasPrefix(name, "-") {
		if c, ok, err := project.Commit(ctx, name); ok || err != nil {
			return c, err
		}
	}
	if id := strings.ToLower(name); regexp.MustCompile(`^[0-9a-f]{4,64}$`).MatchString(id) {
		return projectgit.Commit{ID: id}, nil
	}
	return projectgit.Commit{}, layout.NotFound("give its id, or run this in the project's git repository", "there is no commit %s here", quoted(name))
}

func (o *logOptions) showCommit(ctx context.Context, f *trace.Finder, project projectgit.Repo, commit projectgit.Commit) error {
	turns, err := f.LedTo(ctx, project, commit)
	if err != nil {
		return err
	}
	if len(turns) == 0 {
		if commit.Subject == "" {
			return layout.NotFound("run this in the project's git repository: there, a commit is also found by its subject and files", "no tape has recorded a commit %s", quoted(commit.ID))
		}
		why, err := reports.Why(ctx, &o.app.Streams, f, commit)
		return cmp.Or(err, error(layout.NotFound("", "nothing is known of commit %s (%s): %s", shortID(commit.ID), display.Truncate(display.Line(commit.Subject), 60), why.Text)))
	}
	if mark := reports.Mark(turns[0], commit); mark != "" {
		o.app.AboveResults(mark)
	}
	facts, err := o.app.about(ctx, f.Store, nil)
	if err != nil {
		return err
	}
	sessions := map[string]about.Tape{}
	for _, t := range facts {
		sessions[sessionOf(repo.Entry{Tape: t.Name})] = t
	}
	heading, err := o.app.headings(ctx, sessions)
	if err != nil {
		return err
	}
	o.partial = true
	return o.app.showEntries(ctx, nil, f.Entries(ctx, turns), o.entryView, heading)
}
