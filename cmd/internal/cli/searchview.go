package cli

import (
	"cmp"
	"context"
	"time"

	"tape/cmd/internal/rows"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/repo"
)

func (o *searchOptions) show(ctx context.Context, s index.Search, res *index.Result) error {
	if res.Instead != "" && !o.app.JSON {
		o.app.StderrUnlessQuiet("showing results for %s", display.Line(res.Instead))
	}
	if res.Some && !o.app.JSON && !o.count {
		where, elsewhere := "entry", ""
		if !o.allTapes && o.others(ctx) {
			where, elsewhere = "entry of this session", "; "+o.allInstead()
		}
		o.app.StderrUnlessQuiet("no %s has all of these words: entries with some of the words%s", where, elsewhere)
	}
	if len(res.Hits) > 0 && s.Query.Since.IsZero() && s.Query.Until.IsZero() && !o.app.JSON && !o.count {
		if since, before, named := s.Time(time.Now()); named != "" {
			first, last := since.Format(time.DateOnly), before.AddDate(0, 0, -1).Format(time.DateOnly)
			o.app.StderrUnlessQuiet("%q: what was said then counts more; --since %s --until %s finds only that", display.Line(named), first, last)
		}
	}
	switch {
	case o.count:
		return o.app.Result(object{{"count", res.Matches}}.With("instead", res.Instead), "%d", res.Matches)
	case o.files:
		left := 0
		if o.mostSessions >= 0 {
			res.Hits, left = rows.FirstSessions(res.Hits, o.mostSessions)
		}
		names, titles, err := o.sessionsOf(ctx, res.Hits)
		if err == nil {
			err = rows.HitsOfSessions(&o.app.Streams, res, names, titles)
		}
		if err == nil && left > 0 && !o.app.JSON {
			o.app.BelowResults(display.Count(left, "other session has matches", "other sessions have matches") + "; -n shows more")
		}
		return err
	case o.app.JSON:
		_, titles, err := o.sessionsOf(ctx, res.Hits)
		if err != nil {
			return err
		}
		for _, h := range res.Hits {
			if err := o.app.WriteLine(rows.HitJSON(h, res.Instead, titles[rows.HitKey(h)])); err != nil {
				return err
			}
		}
		return nil
	}
	if len(res.Hits) == 0 {
		switch {
		case o.limit == 0:
		case o.allTapes || !o.others(ctx):
			o.app.StderrUnlessQuiet("no hits")
		default:
			o.app.StderrUnlessQuiet("no hits in this session; %s", o.allInstead())
		}
		return nil
	}
	names, titles, err := o.sessionsOf(ctx, res.Hits)
	if err != nil {
		return err
	}
	o.app.Page()
	hits := res.Hits
	if o.allTapes && !s.Flat {
		hits = rows.BySession(hits)
	}
	if err := rows.Hits(&o.app.Streams, hits, o.allTapes, names, titles); err != nil {
		return err
	}
	if more := rows.More(res); more != "" {
		o.app.BelowResults(more)
	}
	return nil
}

// sessionsOf returns the short names of tapes, if there is a screen, and what is shown above the hits of each session, by
// [sessionOf]. Both are nil if a single session was searched.
func (o *searchOptions) sessionsOf(ctx context.Context, hits []index.Hit) (names map[string]string, titles map[string]rows.Heading, err error) {
	if !o.allTapes || len(hits) == 0 {
		return nil, nil, nil
	}
	of := map[string][]index.Hit{} // by workspace
	for _, h := range hits {
		of[h.Workspace] = append(of[h.Workspace], h)
	}
	titles = map[string]rows.Heading{}
	for in, wanted := range of {
		facts := o.facts
		if facts == nil {
			store, err := o.app.storeOf(ctx, repo.Entry{Workspace: in})
			if err != nil {
				return nil, nil, err
			}
			if facts, err = o.app.about(ctx, store, tapesOf(ctx, store, wanted)); err != nil {
				return nil, nil, err
			}
		}
		for _, t := range facts {
			h := rows.Heading{Title: t.Title}
			if o.app.Screen().Out {
				h.Title += t.Suffix()
			}
			if o.app.everywhere || !o.app.Screen().Out {
				h.Project = t.ProjectBranch()
			}
			if o.app.JSON {
				h.Project = t.Project
			}
			titles[sessionOf(repo.Entry{Workspace: in, Tape: t.Name})] = h
		}
	}
	if !o.app.Screen().Out {
		return nil, titles, nil
	}
	all, err := o.app.allTapes(ctx)
	return catalog.ShortNames(catalog.Names(all)), titles, err
}

// tapesOf returns the tapes of hits in a workspace, and those of their sessions.
func tapesOf(ctx context.Context, store *repo.Store, hits []index.Hit) (tapes []*repo.Tape) {
	known := map[string]bool{}
	for _, h := range hits {
		for _, name := range []string{h.Tape, cmp.Or(h.Session, h.Tape)} {
			if known[name] {
				continue
			}
			known[name] = true
			if t, err := store.Tape(ctx, name); err == nil { // else it was removed meanwhile
				tapes = append(tapes, t)
			}
		}
	}
	return tapes
}

// allInstead says how all sessions are searched.
func (o *searchOptions) allInstead() string {
	if o.app.tapeName != "" {
		return "--all-tapes in place of --tape searches the others, too"
	}
	return "--all-tapes searches the others, too"
}

// wide is the flag that says where was searched, if that was in more than one session, with a space after it.
func (o *searchOptions) wide() string {
	switch {
	case o.app.everywhere:
		return "-A "
	case o.allTapes:
		return "--all-tapes "
	}
	return ""
}

// others reports whether the workspace has tapes besides the one that was searched.
func (o *searchOptions) others(ctx context.Context) bool {
	all, err := o.app.store.Tapes(ctx)
	return err == nil && len(all) > 1
}
