package cli

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"tape/cmd/internal/reports"
	"tape/index"
	"tape/internal/sessions/filter"
	"tape/internal/sessions/trace"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

// runFile shows what sessions did with a file of the project.
func (o *logOptions) runFile(ctx context.Context) error {
	if flag := o.otherFlag("file", "oneline", "full", "events", "conversation", "since", "until", "all-workspaces", "all-tapes"); flag != "" {
		return usagef("--file cannot be combined with --%s", flag)
	}
	dates, err := o.Query(filter.AsFlag, o.app.Now())
	if err != nil {
		return err
	}
	file, err := trace.FileNamed(ctx, o.file)
	if err != nil {
		return err
	}
	sessions := map[string]about.Tape{}
	type session struct {
		store   *repo.Store
		touches []index.Touch
	}
	lists, err := inSessions(ctx, o.app, false, func(ctx context.Context, store *repo.Store, tapes []string) (s session, err error) {
		s.store = store
		f := reports.FileFilter(file, tapes)
		f.Since, f.Until = dates.Since, dates.Until
		s.touches, err = withIndex(o.app, store, func(x *index.Index) ([]index.Touch, error) { return x.Touches(ctx, f) })
		return s, err
	})
	if err != nil {
		return err
	}
	var parts []iter.Seq2[repo.Entry, error]
	for _, s := range lists {
		byStart(s.touches)
		facts, err := o.app.about(ctx, s.store, nil)
		if err != nil {
			return err
		}
		for _, t := range facts {
			sessions[sessionOf(repo.Entry{Workspace: o.app.workspaceOf(s.store), Tape: t.Name})] = t
		}
		if len(s.touches) > 0 {
			parts = append(parts, inWorkspace(o.app.workspaceOf(s.store), trace.TouchedEntries(ctx, s.store, s.touches)))
		}
	}
	if len(parts) == 0 {
		return layout.NotFound("tape search finds where it was mentioned", "no session read or wrote %s", quoted(o.file))
	}
	heading, err := o.app.headings(ctx, sessions)
	if err != nil {
		return err
	}
	o.partial = true
	return o.app.showEntries(ctx, nil, concat(parts), o.entryView, heading)
}

// byStart sorts touches by session, the session with the earliest touch first.
func byStart(touches []index.Touch) {
	first := map[string]index.Touch{}
	for _, t := range touches {
		if old, ok := first[t.Tape]; !ok || t.At.Before(old.At) {
			first[t.Tape] = t
		}
	}
	slices.SortStableFunc(touches, func(a, b index.Touch) int {
		return cmp.Or(first[a.Tape].At.Compare(first[b.Tape].At), strings.Compare(a.Tape, b.Tape), cmp.Compare(a.Entry, b.Entry))
	})
}

func concat[T any](parts []iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, part := range parts {
			for v, err := range part {
				if !yield(v, err) {
					return
				}
			}
		}
	}
}
