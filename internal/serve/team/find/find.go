// Package find searches a team's entries. It parses words, selects candidates and ranks them like a search in a
// workspace. It reads a bounded number of candidates, the newest first, so that searches do not become slower over the
// years.
package find

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/serve/team/db"
	"tape/internal/store/layout"
	"tape/internal/store/relevance"
	"tape/internal/store/snapshot"
	"tape/internal/text"
	"tape/internal/text/query"
)

// Rows has the entries that one user sees. A [db.View] is one.
type Rows interface {
	Totals(ctx context.Context) (db.Totals, error)
	Find(ctx context.Context, q db.Question) ([]db.Found, error)
	Count(ctx context.Context, words string, most int) (found, among int64, err error)
	Read(ctx context.Context, dates map[db.Key]time.Time) (map[db.Key]db.Stored, error)
	Authors(ctx context.Context) ([]string, error)
	ByID(ctx context.Context, ids []int64) (map[int64]db.Session, error)
}

// Source has the sessions that one user sees, and their entries. A [db.View] is one.
type Source interface {
	Rows
	Sessions(ctx context.Context, c db.Choice) ([]db.Session, error)
	Entries(ctx context.Context, s db.Session, q db.Range, yield func(db.Stored) bool) error
	CountSessions(ctx context.Context, c db.Choice) (int, error)
	Facets(ctx context.Context) (db.Facets, error)
	Days(ctx context.Context, since time.Time) (map[string]int, error)
	Containing(ctx context.Context, s db.Session, part string, most int) ([]int64, error)
}

// Named finds a session by its name, REMOTE/TAPE. hint says how to list those that the user sees.
func Named(ctx context.Context, s Source, name, hint string) (db.Session, error) {
	remote, tape, _ := strings.Cut(name, "/")
	list, err := s.Sessions(ctx, db.Choice{Remote: remote, Name: tape, Most: 1})
	if err != nil {
		return db.Session{}, err
	}
	if tape == "" || len(list) == 0 {
		return db.Session{}, layout.NotFound(hint, "there is no session %q", name)
	}
	return list[0], nil
}

// Hit is a hit, with title and author.
type Hit struct {
	index.Hit            // Workspace is the name of the remote
	Title     string     // of the session
	Session   db.Session // the session
	Author    string     // of the entry
}

// Result is what a search found.
type Result struct {
	Hits []Hit
	More bool // there are more than Hits
}

const (
	// mostLimit is the highest limit of a search: it bounds all pages together.
	mostLimit = 1000
	// mostJudged is how many of the newest entries are scored at most. That many are needed if entries contain the
	// words of a phrase, but not the phrase.
	mostJudged = 4000
	// mostCounted is where counting the entries with a word stops. A higher number is estimated.
	mostCounted = 3000
)

// Search answers a search for words. tapes are the ids of sessions; nil means all. Errors: ErrInvalid for what only a
// search in a workspace can do.
func Search(ctx context.Context, rows Rows, s index.Search, tapes []int64) (*Result, error) {
	if s.How != index.Words {
		return nil, layout.Invalid("search for words; or clone the remote and search there", "a team search finds words, not substrings or regular expressions: it does not read all texts")
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Context > 0 || s.Count || s.Query.Phase != "" || s.Query.After != "" {
		return nil, layout.Invalid("read the session around a hit", "a team search returns only hits: it cannot count all matches, show neighbours or look at anchors")
	}
	f := &finder{rows: rows, s: s, tapes: tapes, limit: mostLimit, query: query.Parse(s.Text, query.Options{Exact: s.Exact}),
		seen: map[db.Key]bool{}, folded: map[signature]*candidate{}}
	if s.Query.Limit != nil {
		f.limit = min(*s.Query.Limit, mostLimit)
	}
	if f.query.Empty() || f.limit == 0 {
		return &Result{}, nil
	}
	return f.run(ctx)
}

// finder is one search.
type finder struct {
	rows  Rows
	s     index.Search
	tapes []int64
	limit int
	query *query.Query
	relevance.Corpus

	filter []string // terms that an entry must have, as parts of a tsquery
	words  string   // the whole tsquery
	units  []unit
	sure   bool // all entries with the words match the query
	early  bool // entries can be folded before their texts are read
	total  int  // how many entries have the words; 0: not counted

	seen   map[db.Key]bool // all candidates so far
	judged []*candidate    // with a score, not yet read
	hits   []*candidate
	folded map[signature]*candidate // the first candidate with each signature
	more   bool                     // there are more hits
}

// unit is a word of the query.
type unit struct {
	query.Expr        // a term or a prefix
	id         string // its name in a query.Match
	idf        float64
}

func (f *finder) run(ctx context.Context) (*Result, error) {
	expr, sure := f.query.Index()
	f.sure = sure
	f.early = sure && !relevance.DigitsMatter(f.s.Text)
	words, none := tsquery(expr)
	if none {
		return &Result{}, nil
	}
	ok, err := f.filters(ctx)
	if err != nil || !ok {
		return &Result{}, err
	}
	f.words = and(append([]string{words}, f.filter...)...)
	totals, err := f.rows.Totals(ctx)
	if err != nil {
		return nil, err
	}
	f.Corpus = relevance.Corpus{Entries: float64(totals.Entries), Average: max(1, float64(totals.Bytes)/max(1, float64(totals.Entries)))}
	if !totals.Newest.IsZero() {
		f.Newest = totals.Newest.UnixMicro()
	}
	if err := f.weigh(ctx, expr); err != nil {
		return nil, err
	}
	if err := f.choose(ctx); err != nil {
		return nil, err
	}
	return f.result(ctx)
}

// filters turns the filters into terms. It returns false if no entry can pass them.
func (f *finder) filters(ctx context.Context) (bool, error) {
	for _, p := range snapshot.Properties {
		values := p.Asked(&f.s.Query)
		if p.Part && len(values) > 0 { // only for authors, who are given by a part of their names
			all, err := f.rows.Authors(ctx)
			if err != nil {
				return false, err
			}
			asked := values
			if values = slices.DeleteFunc(all, func(a string) bool { return !p.Fits(asked, a) }); len(values) == 0 {
				return false, nil
			}
		}
		f.filter = append(f.filter, anyOf(relevance.Mark+p.Mark, values))
	}
	if len(f.s.Types) > 0 {
		f.filter = append(f.filter, or(anyOf(relevance.MarkKind, f.s.Types), anyOf(relevance.MarkName, f.s.Types)))
	}
	if !f.s.Searches {
		f.filter = append(f.filter, "!"+quoted(relevance.MarkSearch))
	}
	return true, nil
}

// weigh finds out how rare the words of the query are. For one word alone, that does not matter.
func (f *finder) weigh(ctx context.Context, e query.Expr) error {
	terms := termsOf(e, nil)
	for _, t := range terms {
		u := unit{Expr: t, id: t.Term, idf: 1}
		if t.Op == query.Prefix {
			u.id += "*"
		}
		if len(terms) > 1 {
			words, _ := tsquery(t)
			found, err := f.count(ctx, words)
			if err != nil {
				return err
			}
			u.idf = f.IDF(found)
		}
		f.units = append(f.units, u)
	}
	return nil
}

// count returns how many entries have some words. Above mostCounted, it is an estimate.
func (f *finder) count(ctx context.Context, words string) (int, error) {
	found, among, err := f.rows.Count(ctx, words, mostCounted)
	if found >= mostCounted && among > 0 { // suppose that they are as frequent in older entries
		found = int64(float64(found) * f.Entries / float64(among))
	}
	return int(found), err
}

// result returns the best hits, with snippets.
func (f *finder) result(ctx context.Context) (*Result, error) {
	if !f.s.Newest {
		slices.SortFunc(f.hits, byScore)
	}
	out := &Result{More: f.more || len(f.hits) > f.limit || len(f.judged) > 0}
	best := f.hits[:min(len(f.hits), f.limit)]
	var ids []int64
	for _, c := range best {
		ids = append(ids, c.Tape)
	}
	slices.Sort(ids)
	sessions, err := f.rows.ByID(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	for _, c := range best {
		s, ok := sessions[c.Tape]
		if !ok {
			continue // it was removed meanwhile
		}
		e, err := EntryOf(c.stored, s)
		if err != nil {
			return nil, err
		}
		h := Hit{Hit: index.Hit{Entry: e, Score: math.Round(c.score*1000) / 1000, Similar: c.similar}, Title: s.Title, Session: s, Author: c.stored.Author}
		var spans []text.Span
		h.Snippet, spans = text.Snippet([]byte(c.stored.Text), c.match.Spans, cmp.Or(f.s.Width, snippetWidth))
		for _, span := range spans {
			h.Spans = append(h.Spans, [2]int{span.Start, span.End})
		}
		out.Hits = append(out.Hits, h)
	}
	return out, nil
}

// snippetWidth is the width of a snippet in characters, as in a local search.
const snippetWidth = 160

// EntryOf returns the entry of a row. Its workspace is the name of the remote.
func EntryOf(s db.Stored, of db.Session) (layout.Entry, error) {
	e, err := snapshot.ParseEntry([]byte(s.Line), of.Name, s.Anchor, s.Phase)
	e.Workspace = of.Remote
	return e, layout.Wrap(err, "read entry @%d of %s/%s", s.ID, of.Remote, of.Name)
}
