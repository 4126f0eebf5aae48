package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/show/display"
	"tape/repo"
)

func (o *searchOptions) show(ctx context.Context, s index.Search, res *index.Result) error {
	if res.Instead != "" && !o.JSON {
		o.StderrUnlessQuiet("showing results for %s", display.Line(res.Instead))
	}
	switch {
	case o.count:
		return o.Result(object{{"count", res.Matches}}.With("instead", res.Instead), "%d", res.Matches)
	case o.files:
		return o.showSessions(ctx, res)
	case o.JSON:
		for _, h := range res.Hits {
			if err := o.WriteLine(rows.HitJSON(h, res.Instead)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(res.Hits) == 0 {
		switch {
		case o.limit == 0:
		case o.allTapes || !o.others(ctx):
			o.StderrUnlessQuiet("no hits")
		default:
			o.StderrUnlessQuiet("no hits in the session %s; --all-tapes searches the others, too", quoted(o.titleOf(ctx, s.Tapes[0])))
		}
		return nil
	}
	names, titles, err := o.tapesOnScreen(ctx)
	if err != nil {
		return err
	}
	o.Page()
	hits, last := res.Hits, ""
	if o.allTapes {
		hits = bySession(hits)
	}
	for i, h := range hits {
		if i > 0 {
			o.Line("")
		}
		of := ""
		if o.allTapes {
			of = cmp.Or(names[h.Tape], h.Tape)
		}
		if session := sessionOf(h.Entry); session != last && titles[session] != "" {
			rows.Session(&o.Streams, titles[session])
			last = session
		}
		rows.Hit(&o.Streams, h, of)
		if err := o.Written(); err != nil {
			return err
		}
	}
	more := o.more(res)
	switch {
	case more == "":
		return nil
	case o.Screen().Out: // it may be in a pager by now
		o.PrintUnlessQuiet("\n%s", o.Style(stdio.Dim, more))
		return nil
	}
	err = o.Flush()
	o.StderrUnlessQuiet("%s", more)
	return err
}

// bySession puts the hits of a session together, in the order of their first ones.
func bySession(hits []index.Hit) []index.Hit {
	first := map[string]int{}
	for i, h := range hits {
		if _, known := first[sessionOf(h.Entry)]; !known {
			first[sessionOf(h.Entry)] = i
		}
	}
	hits = slices.Clone(hits)
	slices.SortStableFunc(hits, func(a, b index.Hit) int { return first[sessionOf(a.Entry)] - first[sessionOf(b.Entry)] })
	return hits
}

// tapesOnScreen returns short names and titles of all tapes, by their names, if hits of several
// tapes are shown to people.
func (o *searchOptions) tapesOnScreen(ctx context.Context) (names, titles map[string]string, err error) {
	if !o.allTapes || !o.Screen().Out {
		return nil, nil, nil
	}
	titles = map[string]string{}
	var all []string
	lists, err := inStores(ctx, o.App, o.tapesOf)
	for _, t := range slices.Concat(lists...) {
		all = append(all, t.Name)
		titles[sessionOf(repo.Entry{Workspace: t.workspace, Tape: t.Name})] = t.Title + t.Suffix()
	}
	return catalog.ShortNames(all), titles, err
}

// titleOf returns the title of a tape, or its name.
func (o *searchOptions) titleOf(ctx context.Context, name string) string {
	t, err := o.store.Tape(ctx, name)
	if err != nil {
		return name
	}
	facts, err := o.aboutTape(ctx, t)
	if err != nil {
		return name
	}
	return cmp.Or(facts.Title, name)
}

// others reports whether the workspace has tapes besides the one that was searched.
func (o *searchOptions) others(ctx context.Context) bool {
	all, err := o.store.Tapes(ctx)
	return err == nil && len(all) > 1
}

func (o *searchOptions) more(res *index.Result) string {
	shown := 0
	for _, h := range res.Hits {
		shown += 1 + h.Similar
	}
	if shown >= res.Matches {
		return ""
	}
	of := strconv.Itoa(res.Matches)
	if !res.Exact {
		of = "more than " + of
	}
	return fmt.Sprintf("%d of %s matches; -n shows more", shown, of)
}

// showSessions shows the sessions with matches, each with the entries that match.
func (o *searchOptions) showSessions(ctx context.Context, res *index.Result) error {
	names, titles, err := o.tapesOnScreen(ctx)
	if err != nil {
		return err
	}
	type session struct {
		repo.Entry
		ids []int64
	}
	var list []*session
	at := map[string]*session{}
	for _, h := range res.Hits {
		s := at[sessionOf(h.Entry)]
		if s == nil {
			s = &session{Entry: h.Entry}
			at[sessionOf(h.Entry)], list = s, append(list, s)
		}
		s.ids = append(s.ids, h.ID)
	}
	for _, s := range list {
		slices.Sort(s.ids)
		if o.JSON {
			if err := o.Emit(append(object{{"tape", s.Tape}}.With("workspace", s.Workspace), object{{"matches", len(s.ids)}, {"entries", s.ids}}...).With("instead", res.Instead)); err != nil {
				return err
			}
			continue
		}
		rows.Session(&o.Streams, titles[sessionOf(s.Entry)])
		name := display.Line(cmp.Or(names[s.Tape], s.Tape))
		ids := display.Entries(len(s.ids)) + "  " + display.IDs(s.ids)
		o.Line(o.Style(stdio.Bold+";"+stdio.Yellow, name) + "  " + o.Fit(ids, max(12, o.Width()-display.Width(name)-2)))
	}
	return nil
}
