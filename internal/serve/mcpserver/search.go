package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/sessions/filter"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

type searchArgs struct {
	filter.Params
	Query          string `json:"query"`
	Tape           string `json:"tape"`
	AllTapes       *bool  `json:"all_tapes"`
	Limit          int    `json:"limit"`
	IncludeCurrent bool   `json:"include_current"`
	Scope          string `json:"scope"`
}

const excerptChars = 300 // of a hit

// search finds entries.
func (s *server) search(ctx context.Context, c call, a searchArgs) (string, error) {
	if strings.TrimSpace(a.Query) == "" {
		return "", layout.Invalid("give words to search for", "query is empty")
	}
	q, err := a.Params.Query(filter.InJSON, time.Now())
	if err != nil {
		return "", err
	}
	q.Limit = repo.N(filter.Capped(a.Limit, 10, 30))
	switch a.Scope {
	case "", "workspace":
	case "team":
		return s.searchTeam(ctx, a, q)
	default:
		return "", layout.Invalid("give workspace or team", "scope is %q", a.Scope)
	}
	f := &searchRun{s: s, c: c}
	one := a.Tape != "" || a.AllTapes != nil && !*a.AllTapes
	if err := f.open(ctx, a.Tape, one); err != nil {
		return "", err
	}
	defer f.x.Close()
	if !one && !a.IncludeCurrent {
		if err := f.leaveOut(ctx); err != nil {
			return "", err
		}
	}
	res := &index.Result{}
	if f.tapes == nil || len(f.tapes) > 0 {
		res, err = f.find(ctx, index.Search{Text: a.Query, Query: q, Width: excerptChars - len("…")})
		if err != nil {
			return "", err
		}
	}
	return f.show(ctx, res)
}

// searchTeam finds entries of the whole team.
func (s *server) searchTeam(ctx context.Context, a searchArgs, q repo.Query) (string, error) {
	if s.Team == nil {
		return "", layout.NotFound("the user logs in with tape login URL", "no team server is known")
	}
	search := index.Search{Text: a.Query, Query: q}
	if a.Tape != "" {
		search.Tapes = []string{a.Tape}
	}
	hits, more, err := s.Team(ctx, search)
	if err != nil {
		return "", err
	}
	return teamHits(hits, more, "the command tape show REMOTE/TAPE@id shows one"), nil
}

// searchRun is one search.
type searchRun struct {
	s     *server
	c     call
	store *repo.Store
	x     *index.Index
	tapes []*repo.Tape // nil: all
	notes []string     // say what is left out
}

// open opens the workspace and its index. With one, only that tape is searched.
func (f *searchRun) open(ctx context.Context, tape string, one bool) (err error) {
	var t *repo.Tape
	if one {
		f.store, t, err = f.s.open(ctx, tape)
		f.tapes = []*repo.Tape{t}
	} else {
		f.store, err = f.s.Open(ctx)
	}
	if err == nil {
		// An index is for one goroutine, and cheap to open.
		f.x = index.New(f.store, &index.Options{Progress: f.c.progress(ctx, "indexing")})
	}
	return err
}

// leaveOut excludes the calling session from the search.
func (f *searchRun) leaveOut(ctx context.Context) error {
	all, err := catalog.All(ctx, f.store)
	if err != nil {
		return err
	}
	current, err := f.s.caller.tapes(ctx, f, all)
	if err != nil || len(current) == 0 {
		return err
	}
	f.tapes = slices.DeleteFunc(all, func(t *repo.Tape) bool {
		return slices.ContainsFunc(current, func(name string) bool { return isOf(t, name) })
	})
	f.notes = append(f.notes, fmt.Sprintf("left out: this session (%s); include_current searches it, too", line(strings.Join(current, ", "), 200)))
	return nil
}

// find searches. Damaged tapes are left out, with a note.
func (f *searchRun) find(ctx context.Context, search index.Search) (*index.Result, error) {
	search.Tapes = catalog.Names(f.tapes)
	res, err := f.x.Search(ctx, search)
	if !errors.Is(err, repo.ErrCorrupt) || len(f.tapes) == 1 {
		return res, err
	}
	tapes, cause := f.tapes, err
	if tapes == nil {
		if tapes, err = catalog.All(ctx, f.store); err != nil {
			return nil, err
		}
	}
	search.Tapes = nil
	for _, t := range tapes {
		switch _, err := f.x.About(ctx, []*repo.Tape{t}); {
		case err == nil:
			search.Tapes = append(search.Tapes, t.Name())
		case errors.Is(err, repo.ErrCorrupt):
			f.notes = append(f.notes, "damaged, and left out: "+line(t.Name()+": "+err.Error(), 200))
		default:
			return nil, err
		}
	}
	if len(search.Tapes) == 0 {
		return nil, cause
	}
	return f.x.Search(ctx, search)
}

func (f *searchRun) show(ctx context.Context, res *index.Result) (string, error) {
	if len(res.Hits) == 0 {
		return strings.Join(append([]string{"no hits"}, f.notes...), "\n"), nil
	}
	all, err := catalog.All(ctx, f.store)
	if err != nil {
		return "", err
	}
	names := catalog.ShortNames(catalog.Names(all))
	titles, err := f.titles(ctx, res.Hits)
	if err != nil {
		return "", err
	}
	matches := fmt.Sprint(res.Matches)
	if !res.Exact {
		matches = "more than " + matches
	}
	out := newAnswer(usualChars, "%s of %s matches; tape_read around=@id shows one with what is around it", display.Count(len(res.Hits), "hit", "hits"), matches)
	if res.Instead != "" {
		out.add("nothing has these words; these are hits for: " + display.Line(res.Instead) + "\n")
	}
	shown := 0
	for _, h := range res.Hits {
		text := fmt.Sprintf("%s %s [%s] @%d %s: %s\n", when(h.Entry), titles[h.Tape], line(cmp.Or(names[h.Tape], h.Tape), 100),
			h.ID, who(h.Entry), line(h.Snippet, excerptChars))
		if !out.add(text) {
			break
		}
		shown++
	}
	if shown < len(res.Hits) {
		out.end("%s more did not fit; narrow the search", display.Count(len(res.Hits)-shown, "hit", "hits"))
	}
	for _, note := range f.notes {
		out.end("%s", note)
	}
	return out.String(), nil
}

// titles returns the titles of the tapes of hits, in quotes, by name.
func (f *searchRun) titles(ctx context.Context, hits []index.Hit) (map[string]string, error) {
	titles := map[string]string{}
	var tapes []*repo.Tape
	for _, h := range hits {
		if _, ok := titles[h.Tape]; ok {
			continue
		}
		titles[h.Tape] = title(about.Tape{Name: h.Tape})
		t, err := f.store.Tape(ctx, h.Tape)
		if errors.Is(err, repo.ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		tapes = append(tapes, t)
	}
	facts, _, err := catalog.About(ctx, f.x, f.store, tapes)
	for _, t := range facts {
		titles[t.Name] = title(t)
	}
	return titles, err
}
