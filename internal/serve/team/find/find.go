// Package find searches a team's entries. It parses words, selects candidates and ranks them like a search in a
// workspace. It reads a bounded number of candidates, the newest first, so that searches do not become slower over the
// years.
package find

import (
	"context"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/serve/team/db"
	"tape/internal/store/layout"
	"tape/internal/store/relevance"
	"tape/internal/store/snapshot"
	"tape/internal/text/query"
)

// Rows has the entries that one user sees. A [db.View] is one.
type Rows interface {
	Totals(ctx context.Context) (db.Totals, error)
	Find(ctx context.Context, q db.Question) ([]db.Found, error)
	Best(ctx context.Context, q db.Question) ([]db.Found, error)
	Count(ctx context.Context, months []db.Month, queries []string, most int) ([]db.Counted, error)
	Read(ctx context.Context, dates map[db.Key]time.Time) (map[db.Key]db.Stored, error)
	Entries(ctx context.Context, s db.Session, q db.Range, yield func(db.Stored) bool) error
	Authors(ctx context.Context) ([]string, error)
	ByID(ctx context.Context, ids []int64) (map[int64]db.Session, error)
	WordsFrom(ctx context.Context, prefix string, yield func(word string)) error
	KnownWords(ctx context.Context, words []string) ([]string, error)
}

// Source has the sessions that one user sees, and their entries. A [db.View] is one.
type Source interface {
	Rows
	Sessions(ctx context.Context, c db.Choice) ([]db.Session, error)
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
	// Some says that a query of any words was answered, and that no entry has all of its words.
	Some bool
	// Instead is the query that was answered because no entry has some word of the original query; "" if that was
	// answered.
	Instead string
}

const (
	// mostLimit is the highest limit of a search: it bounds all pages together.
	mostLimit = 1000
	// mostJudged is how many entries are read at most. That many are needed if entries contain the words of a phrase, but
	// not the phrase.
	mostJudged = 4000
	// mostCompared is about how many entries are compared to find the best.
	mostCompared = 3000
	// mostCommon is how many of the entries with all of several common words are compared if very many have all of them. If
	// that is not expected, mostCompared more are.
	mostCommon = 1000
)

// Search answers a search for words. tapes are the ids of sessions; nil means all. Errors: ErrInvalid for what only a
// search in a workspace can do.
func Search(ctx context.Context, rows Rows, s index.Search, tapes []int64) (*Result, error) {
	f, err := begin(rows, s, tapes)
	if err != nil {
		return nil, err
	}
	limit := mostLimit
	if s.Query.Limit != nil {
		limit = *s.Query.Limit
	}
	return f.run(ctx, limit)
}

// begin checks what is searched for.
func begin(rows Rows, s index.Search, tapes []int64) (*finder, error) {
	if s.How != index.Words {
		return nil, layout.Invalid("search for words; or clone the remote and search there", "a team search finds words, not substrings or regular expressions: it does not read all texts")
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Context > 0 || s.Count || s.Query.Phase != "" || s.Query.After != "" {
		return nil, layout.Invalid("read the session around a hit", "a team search returns only hits: it cannot count all matches, show neighbours or look at anchors")
	}
	return &finder{rows: rows, s: s, tapes: tapes, counts: map[string]int{}, has: map[string]bool{}}, nil
}

// Pages answers a search with all hits of its first pages, upTo of them; first is the length of the first page. How many
// entries are compared depends on how many hits are asked for, and so may their order. So each page has what is left of the
// hits of a longer search, and no hit comes twice.
func Pages(ctx context.Context, rows Rows, s index.Search, tapes []int64, first, upTo int) (*Result, error) {
	f, err := begin(rows, s, tapes)
	if err != nil {
		return nil, err
	}
	res, err := f.run(ctx, first)
	if err != nil {
		return nil, err
	}
	type key struct{ tape, id int64 }
	seen := map[key]bool{}
	for n := first; ; {
		for _, h := range res.Hits {
			seen[key{h.Session.ID, h.ID}] = true
		}
		if n = min(2*n, mostLimit); !res.More || len(res.Hits) >= upTo || len(res.Hits) >= mostLimit {
			break
		}
		longer, err := f.run(ctx, n)
		if err != nil {
			return nil, err
		}
		had := len(res.Hits)
		for _, h := range longer.Hits {
			if !seen[key{h.Session.ID, h.ID}] && len(res.Hits) < n {
				res.Hits = append(res.Hits, h)
			}
		}
		if res.More = longer.More; len(res.Hits) == had {
			break
		}
	}
	if len(res.Hits) > upTo {
		res.Hits, res.More = res.Hits[:upTo], true
	}
	return res, nil
}

// finder is one search, or several that differ in the limit. What it learns of the database helps the later ones.
type finder struct {
	rows  Rows
	s     index.Search
	tapes []int64
	limit int
	query *query.Query

	totals *db.Totals
	filter []string // terms that an entry must have, as parts of a tsquery
	corpus relevance.Corpus
	counts map[string]int  // of entries with some words
	has    map[string]bool // whether entries have all of some conditions
}

func (f *finder) run(ctx context.Context, limit int) (*Result, error) {
	f.limit, f.query = min(limit, mostLimit), relevance.Parse(f.s.Text, f.s.Exact)
	if f.query.Empty() || f.limit == 0 {
		return &Result{}, nil
	}
	if f.totals == nil {
		ok, err := f.filters(ctx)
		if err != nil || !ok {
			return &Result{}, err
		}
		totals, err := f.rows.Totals(ctx)
		if err != nil {
			return nil, err
		}
		f.totals = &totals
		f.corpus = relevance.Corpus{Entries: float64(totals.Entries), Average: max(1, float64(totals.Bytes)/max(1, float64(totals.Entries)))}
		if !totals.Newest.IsZero() {
			f.corpus.Newest = totals.Newest.UnixMicro()
		}
	}
	anyWord := f.query.Any()
	if anyWord == nil || f.s.Exact || f.s.AllWords {
		return f.strictly(ctx)
	}
	tries := []*query.Query{anyWord}
	if anyWord.Single() {
		tries = anyWord.Alone() // one word means what it says, unless no entry has it
	}
	if f.s.AsSpelt {
		tries = tries[:1]
	}
	var res *Result
	var err error
	for i, q := range tries {
		f.query = q
		instead := ""
		if i == len(tries)-1 && !f.s.AsSpelt {
			if instead, err = f.tryNear(ctx); err != nil {
				return nil, err
			}
		}
		if res, err = f.answer(ctx); err != nil {
			return nil, err
		}
		if len(res.Hits) > 0 {
			res.Instead = instead
			res.Some, err = f.lacksAll(ctx)
			break
		}
	}
	return res, err
}

// answer answers the query.
func (f *finder) answer(ctx context.Context) (*Result, error) {
	expr, sure := f.query.Index()
	words, none := tsquery(expr)
	if none {
		return &Result{}, nil
	}
	r := &source{finder: f, any: len(f.query.Asked()) > 0, words: and(append([]string{words}, f.filter...)...), seen: map[db.Key]bool{}, sessions: map[int64]db.Session{}}
	terms, err := r.weigh(ctx)
	if err != nil {
		return nil, err
	}
	most := f.s.PerSession
	if len(f.tapes) == 1 {
		most = 0
	}
	chosen, err := relevance.Choose(ctx, r, relevance.Choice{Query: f.query, Terms: terms, Corpus: f.corpus, Limit: f.limit, Sure: sure, Text: f.s.Text,
		Newest: f.s.Newest, NoFold: f.s.NoFold, Flat: f.s.Flat, Most: most})
	if err != nil {
		return nil, err
	}
	out := &Result{More: !chosen.Every || chosen.Left > 0}
	for _, c := range chosen.Hits {
		h, err := r.hit(c)
		if err != nil {
			return nil, err
		}
		out.Hits = append(out.Hits, h)
	}
	return out, nil
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

// snippetWidth is the width of a snippet in characters, as in a local search.
const snippetWidth = 160

// EntryOf returns the entry of a row. Its workspace is the name of the remote.
func EntryOf(s db.Stored, of db.Session) (layout.Entry, error) {
	e, err := snapshot.ParseEntry([]byte(s.Line), of.Name, s.Anchor, s.Phase)
	e.Workspace = of.Remote
	return e, layout.Wrap(err, "read entry @%d of %s/%s", s.ID, of.Remote, of.Name)
}
