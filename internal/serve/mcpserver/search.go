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
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/activity"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/text"
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
	Project        string `json:"project"`
}

// Limits of an answer of tape_search.
const (
	searchBytes  = 5_600 // about 1,500 tokens, in any script
	excerptChars = 260   // of a hit
	askedChars   = 160   // of what was asked, and of how a session ended
	perSession   = 2     // hits of a session, unless only one is searched
)

// newSearchAnswer begins an answer that has at most searchBytes, and a note. Bytes count, because a character of Chinese
// costs a model three to four times as much as a letter.
func newSearchAnswer(format string, args ...any) *answer {
	a := newAnswer(searchBytes, format, args...)
	a.size = func(text string) int { return len(text) }
	return a
}

// excerptSizes are how long excerpts are, the longest that let all hits fit.
var excerptSizes = [...]int{excerptChars, excerptChars * 2 / 3, excerptChars / 2, excerptChars / 3}

// excerpt shortens the snippet of a hit to about chars characters, around what matches.
func excerpt(h index.Hit, chars int) string {
	if chars >= excerptChars {
		return line(h.Snippet, excerptChars)
	}
	var spans []text.Span
	for _, s := range h.Spans {
		spans = append(spans, text.Span{Start: s[0], End: s[1]})
	}
	short, _ := text.Snippet([]byte(h.Snippet), spans, chars)
	return line(short, excerptChars)
}

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
	case "", scopeWorkspace:
	case scopeTeam:
		return s.searchTeam(ctx, a, q)
	default:
		return "", wrongScope(a.Scope)
	}
	runs, err := s.searchRuns(ctx, c, a)
	if err != nil {
		return "", err
	}
	defer runs.close()
	res := &index.Result{}
	search := index.Search{Text: a.Query, Query: q, PerSession: perSession, Width: excerptChars - len("…")}
	if len(runs) > 1 || runs[0].tapes == nil || len(runs[0].tapes) > 0 {
		if res, err = runs.find(ctx, search); err != nil {
			return "", err
		}
		if words, _ := search.Wider(); words != "" && len(res.Hits) == 0 { // a model would have to ask again
			search.Text = words
			if res, err = runs.find(ctx, search); err != nil {
				return "", err
			}
			res.Instead = words
		}
	}
	return runs.show(ctx, res, a.Project)
}

// searchRuns opens the workspaces that are searched, and their indexes.
func (s *server) searchRuns(ctx context.Context, c call, a searchArgs) (runs searchRuns, err error) {
	stores, err := s.stores(ctx, a.Project)
	if err != nil {
		return nil, err
	}
	one := a.Tape != "" || a.AllTapes != nil && !*a.AllTapes
	if one && len(stores) > 1 {
		return nil, layout.Invalid("name the project that the tape is of", "one tape is not of all projects")
	}
	for i, store := range stores {
		f := &searchRun{s: s, c: c, store: store}
		if one {
			t, err := s.tapeIn(ctx, store, a.Tape, catalog.Find)
			if err != nil {
				return nil, err
			}
			f.tapes = []*repo.Tape{t}
		}
		// An index is for one goroutine, and cheap to open.
		f.x = index.New(store, &index.Options{Progress: c.progress(ctx, "indexing")})
		runs = append(runs, f)
		if i == 0 && !one && !a.IncludeCurrent {
			if err := f.leaveOut(ctx); err != nil {
				runs.close()
				return nil, err
			}
		}
	}
	return runs, nil
}

// The scopes of searches and reads.
const (
	scopeWorkspace = "workspace"
	scopeTeam      = "team"
)

func wrongScope(scope string) error {
	return layout.Invalid("give workspace or team", "scope is %q", scope)
}

// searchTeam finds entries of the whole team.
func (s *server) searchTeam(ctx context.Context, a searchArgs, q repo.Query) (string, error) {
	if s.Team == nil {
		return "", layout.NotFound("the user logs in with tape login URL", "no team server is known")
	}
	search := index.Search{Text: a.Query, Query: q, PerSession: perSession}
	if a.Tape != "" {
		search.Tapes = []string{a.Tape}
	}
	hits, more, err := s.Team(ctx, search)
	if err != nil {
		return "", err
	}
	how := "the command tape show REMOTE/TAPE@id shows one"
	if s.TeamEntries != nil {
		how = "tape_read scope=team tape=REMOTE/TAPE around=@id shows one with what is around it, and so does the command tape show REMOTE/TAPE@id"
	}
	return teamHits(hits, more, how), nil
}

// searchRun is one search.
type searchRun struct {
	s     *server
	c     call
	store *repo.Store
	x     *index.Index
	tapes []*repo.Tape // nil: all
	notes []string     // say what is left out

	names    map[string]string // short names of tapes, by name
	sessions map[string]sessionText
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

// show shows the result of a search. project is the one that was asked for, as the caller gave it.
func (runs searchRuns) show(ctx context.Context, res *index.Result, project string) (string, error) {
	var notes []string
	for _, f := range runs {
		if names := (*workspace.Store)(f.store).LeftOut(); len(names) > 0 {
			f.notes = append(f.notes, "damaged, and left out: "+line(strings.Join(names, ", "), 200))
		}
		notes = append(notes, f.notes...)
	}
	if len(res.Hits) == 0 {
		return strings.Join(append([]string{"no hits"}, notes...), "\n"), nil
	}
	for _, f := range runs {
		all, err := catalog.All(ctx, f.store)
		if err != nil {
			return "", err
		}
		f.names = catalog.ShortNames(catalog.Names(all))
		own := slices.DeleteFunc(slices.Clone(res.Hits), func(h index.Hit) bool { return runs.of(h) != f })
		if f.sessions, err = f.aboutSessions(ctx, own); err != nil {
			return "", err
		}
	}
	matches := fmt.Sprint(res.Matches)
	if !res.Exact {
		matches = "more than " + matches
	}
	how := "tape_read around=@id"
	if project != "" {
		how = "tape_read project=PROJECT around=@id"
	}
	head := fmt.Sprintf("%s of %s matches, the best session first; %s shows one with what is around it; tape=NAME searches one session alone", display.Count(len(res.Hits), "hit", "hits"), matches, how)
	if res.Instead != "" {
		head += "\nnothing has these words; these are hits for: " + display.Line(res.Instead)
	}
	if res.Some {
		head += "\nno entry has all of these words; the best one lacks: " + line(strings.Join(res.Hits[0].Lacks, ", "), askedChars)
	}
	var out *answer
	shown := 0
	for _, chars := range excerptSizes {
		out = newSearchAnswer("%s", head)
		if shown = runs.add(out, res.Hits, project != "", chars); shown == len(res.Hits) {
			break
		}
	}
	if shown < len(res.Hits) {
		out.end("%s more did not fit; narrow the search", display.Count(len(res.Hits)-shown, "hit", "hits"))
	}
	for _, note := range notes {
		out.end("%s", note)
	}
	return out.String(), nil
}

// add adds hits to an answer, with excerpts of so many characters, and returns how many there was room for.
func (runs searchRuns) add(out *answer, hits []index.Hit, projects bool, chars int) (shown int) {
	session := ""
	for _, h := range hits {
		text, f := "", runs.of(h)
		if of := h.Workspace + "\x00" + sessionName(h); of != session || shown == 0 {
			text, session = f.sessions[sessionName(h)].show(chars), of
			if projects {
				text += "  project: " + line(projectOf(f.store.Dir()), titleChars) + "\n"
			}
		}
		text += fmt.Sprintf("%s [%s] @%d %s: %s\n", when(h.Entry), line(cmp.Or(f.names[h.Tape], h.Tape), 100), h.ID, who(h.Entry), excerpt(h, chars))
		if h.More > 0 {
			text += fmt.Sprintf("  and %s in this session\n", display.Count(h.More, "more hit", "more hits"))
		}
		if !out.add(text) {
			break
		}
		shown++
	}
	return shown
}

// sessionName returns the name of the tape of the session that a hit belongs to.
func sessionName(h index.Hit) string { return cmp.Or(h.Session, h.Tape) }

// sessionText is what is said about a session: a line with title, project and dates, and what was asked first, how it
// ended and what came out.
type sessionText struct {
	head  string
	lines [][2]string // what each is, and its text
}

// show shows it with texts that fit to excerpts of so many characters.
func (s sessionText) show(chars int) string {
	out := "\n" + s.head + "\n"
	for _, l := range s.lines {
		short, _ := text.Snippet([]byte(l[1]), nil, min(chars, askedChars))
		out += "  " + l[0] + ": " + line(short, askedChars) + "\n"
	}
	return out
}

// aboutSessions returns what is known of the sessions of hits, by the names of their tapes.
func (f *searchRun) aboutSessions(ctx context.Context, hits []index.Hit) (map[string]sessionText, error) {
	out := map[string]sessionText{}
	var tapes []*repo.Tape
	for _, h := range hits {
		name := sessionName(h)
		if _, known := out[name]; known {
			continue
		}
		out[name] = sessionText{head: title(about.Tape{Name: name})}
		t, err := f.store.Tape(ctx, name)
		if errors.Is(err, repo.ErrNotFound) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		tapes = append(tapes, t)
	}
	facts, _, err := catalog.About(ctx, f.x, f.store, tapes)
	if err != nil {
		return nil, err
	}
	done, err := f.x.Digests(ctx, index.WorkFilter{Tapes: catalog.Names(tapes), Zone: time.UTC})
	if err != nil && !errors.Is(err, repo.ErrCorrupt) { // another tape is damaged, which find has said
		return nil, err
	}
	for _, t := range facts {
		said := sessionText{head: title(t)}
		if project := t.ProjectName(); project != "" {
			said.head += " in " + line(project, titleChars)
		}
		said.head += ", " + minute(t.Started)
		if !t.Updated.IsZero() && t.Updated.Sub(t.Started) > time.Minute {
			said.head += " to " + minute(t.Updated)
		}
		add := func(what, text string) {
			if text != "" {
				said.lines = append(said.lines, [2]string{what, text})
			}
		}
		if t.Asked != t.Title {
			add("asked", t.Asked)
		}
		if i := slices.IndexFunc(done, func(d *index.Digest) bool { return d.About.Name == t.Name }); i >= 0 {
			if how := done[i].Ending; how != activity.Asked && how != activity.Working {
				add("ended", report.End(how, done[i].Answer))
			}
			add("came out", done[i].Outcome)
		}
		out[t.Name] = said
	}
	return out, nil
}
