package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/internal/store/about"
	"tape/internal/store/query"
	"tape/repo"
)

// datedTape is a tape with its facts, such as the dates of its first and last entries.
type datedTape struct {
	about.Tape
	tape      *repo.Tape
	workspace string
	base      int64 // the id of the last entry that a fork has from its parent
}

// entries yields the entries that a query selects, without those that a fork has from its parent.
func (t datedTape) entries(ctx context.Context, q repo.Query) iter.Seq2[repo.Entry, error] {
	return func(yield func(repo.Entry, error) bool) {
		for e, err := range t.tape.Entries(ctx, q) {
			if errors.Is(err, repo.ErrNotFound) {
				return // it was removed meanwhile
			}
			e.Workspace = t.workspace
			if (err != nil || e.ID > t.base) && !yield(e, err) {
				return
			}
		}
	}
}

// runAll shows entries of all tapes by date.
func (o *logOptions) runAll(ctx context.Context, q repo.Query) error {
	if o.app.tapeName != "" {
		return usagef("--tape and --all-tapes exclude each other")
	}
	if err := o.app.checkKnown(ctx, func() ([]*repo.Tape, error) { return o.app.allTapes(ctx) }, q); err != nil {
		return err
	}
	lists, err := inStores(ctx, o.app, func(ctx context.Context, store *repo.Store) ([]datedTape, error) { return o.dated(ctx, store, q) })
	if err != nil {
		return err
	}
	tapes := slices.Concat(lists...)
	sessions := map[string]about.Tape{}
	for _, t := range tapes {
		sessions[sessionOf(repo.Entry{Workspace: t.workspace, Tape: t.tape.Name()})] = t.Tape
	}
	heading, err := o.app.headings(ctx, sessions)
	if err != nil {
		return err
	}
	if !o.app.JSON && !o.oneline {
		q = o.conversationQuery(q)
	}
	entries := o.app.bounded(q, func(q repo.Query) iter.Seq2[repo.Entry, error] { return byTime(ctx, tapes, q) }, o.entryView)
	return o.app.showEntries(ctx, nil, entries, o.entryView, heading)
}

// headings returns a function that returns the heading of an entry. The keys of sessions are those of [sessionOf].
func (a *App) headings(ctx context.Context, sessions map[string]about.Tape) (func(repo.Entry) plain.Session, error) {
	names, err := a.shortNames(ctx)
	if err != nil {
		return nil, err
	}
	return func(e repo.Entry) plain.Session {
		t := sessions[sessionOf(e)]
		return plain.Session{Title: display.Line(cmp.Or(t.Label(), e.Tape)), Name: cmp.Or(names[e.Tape], e.Tape), Dir: t.Project}
	}, nil
}

// dated returns the tapes and forks of a workspace in which the query may find entries.
func (o *logOptions) dated(ctx context.Context, store *repo.Store, q repo.Query) (tapes []datedTape, err error) {
	all, err := catalog.All(ctx, store)
	if err != nil {
		return nil, err
	}
	facts, err := o.app.about(ctx, store, all)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		d := datedTape{Tape: facts[t.Branch()], tape: t, workspace: o.app.workspaceOf(store)}
		// Updated does not count titles, so the title may be newer.
		late := !q.Since.IsZero() && d.Updated.Before(q.Since) && d.Given == "" && d.Called == ""
		empty := !o.app.JSON && !t.IsFork() && !catalog.Listed(d.Tape) // as in the list of tapes
		if empty || late || !q.Until.IsZero() && d.Started.After(q.Until) {
			continue
		}
		if t.IsFork() {
			base, err := t.Base(ctx)
			if err != nil {
				return nil, err
			}
			d.base = base.Entry
		}
		tapes = append(tapes, d)
	}
	return tapes, nil
}

// byTime yields the entries of several tapes that a query selects, by date.
func byTime(ctx context.Context, tapes []datedTape, q repo.Query) iter.Seq2[repo.Entry, error] {
	var sources []query.Source
	for _, t := range tapes {
		from := t.Started
		if q.Reverse {
			from = t.Updated
		}
		sources = append(sources, query.Source{From: from, Entries: t.entries(ctx, q)})
	}
	return query.ByTime(sources, q.Reverse)
}
