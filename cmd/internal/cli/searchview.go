package cli

import (
	"context"
	"slices"

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
		o.app.StderrUnlessQuiet("no entry has all of these words: entries with some of the words")
	}
	switch {
	case o.count:
		return o.app.Result(object{{"count", res.Matches}}.With("instead", res.Instead), "%d", res.Matches)
	case o.files:
		names, titles, err := o.tapesOnScreen(ctx)
		if err != nil {
			return err
		}
		return rows.HitsOfSessions(&o.app.Streams, res, names, titles)
	case o.app.JSON:
		for _, h := range res.Hits {
			if err := o.app.WriteLine(rows.HitJSON(h, res.Instead)); err != nil {
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
			o.app.StderrUnlessQuiet("no hits in this session; --all-tapes searches the others, too")
		}
		return nil
	}
	names, titles, err := o.tapesOnScreen(ctx)
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

// tapesOnScreen returns the short names of all tapes, by name, and their titles, by [sessionOf], if hits of
// several tapes are shown on a screen; otherwise nil.
func (o *searchOptions) tapesOnScreen(ctx context.Context) (names, titles map[string]string, err error) {
	if !o.allTapes || !o.app.Screen().Out {
		return nil, nil, nil
	}
	titles = map[string]string{}
	var all []string
	lists, err := inStores(ctx, o.app, o.app.tapesOf)
	for _, t := range slices.Concat(lists...) {
		all = append(all, t.Name)
		titles[sessionOf(repo.Entry{Workspace: t.Workspace, Tape: t.Name})] = t.Title + t.Suffix()
	}
	return catalog.ShortNames(all), titles, err
}

// others reports whether the workspace has tapes besides the one that was searched.
func (o *searchOptions) others(ctx context.Context) bool {
	all, err := o.app.store.Tapes(ctx)
	return err == nil && len(all) > 1
}
