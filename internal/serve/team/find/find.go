// Package find answers searches of a team as tape search answers those of a workspace: the same words, the
// same choice of candidates, the same ranking. The candidates come from whoever has the entries, the newest
// first and in bounded numbers, so that the time of an answer does not grow with the years.
package find

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

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
	Read(ctx context.Context, keys []db.Key, oldest, newest time.Time) (map[db.Key]db.Stored, error)
	Authors(ctx context.Context) ([]string, error)
	ByID(ctx context.Context, ids []int64) (map[int64]db.Session, error)
}

// Hit is a hit with what is known of its session.
type Hit struct {
	index.Hit        // Workspace is the name of the remote
	Title     string // the session's
	Author    string
}

// Result is what a search found.
type Result struct {
	Hits []Hit
	More bool // more entries match than were given
}

const (
	// mostLimit is how many hits a search gives at most, those of all pages together.
	mostLimit = 1000
	// mostJudged is how many entries are judged at most, if the text of many does not have the phrase whose words
	// they have.
	mostJudged = 4000
	// counted is up to how many entries with a word are counted, to find out how rare it is.
	counted = 3000
)

// Search answers a search for words. Tapes are the ids of sessions; nil means all.
func Search(ctx context.Context, rows Rows, s index.Search, tapes []int64) (*Result, error) {
	if s.How != index.Words {
		return nil, layout.Invalid("search for words; or clone the remote and search there", "a team search has no --substring and no --regex: it does not read all texts")
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	if s.Context > 0 || s.Count || s.Query.Phase != "" || s.Query.After != "" {
		return nil, layout.Invalid("tape show REMOTE/TAPE@ID --team shows a hit", "a team search gives hits alone: it does not count all matches, show neighbours or look at anchors")
	}
	f := &finder{rows: rows, s: s, tapes: tapes, limit: mostLimit, query: query.Parse(s.Text, query.Options{Exact: s.Exact}),
		taken: map[db.Key]bool{}, folded: map[signature]*candidate{}}
	if s.Query.Limit != nil {
		f.limit = min(*s.Query.Limit, mostLimit)
	}
	if f.query.Empty() || f.limit == 0 {
		return &Result{}, nil
	}
	return f.run(ctx)
}

type finder struct {
	rows  Rows
	s     index.Search
	tapes []int64
	limit int
	query *query.Query
	relevance.Corpus

	filter []string // terms that an entry must have, as parts of a tsquery
	words  string   // the whole question
	units  []unit
	sure   bool // entries with the words match for sure
	early  bool // what to fold is known without reading texts
	total  int  // how many match, if not more than relevance.ManyFound

	taken  map[db.Key]bool
	judged []*candidate
	read   []*candidate
	folded map[signature]*candidate
	more   bool
}

// unit is a word of the query.
type unit struct {
	query.Expr        // a term or a prefix
	id         string // as Query.Match calls it
	idf        float64
}

type signature struct {
	sign int64
	kind string
	tape int64
}

type candidate struct {
	db.Found
	stored db.Stored
	match  query.Match
	score  float64
	more   int // how many were folded into it
}

func (f *finder) run(ctx context.Context) (*Result, error) {
	expr, sure := f.query.Index()
	f.sure = sure
	f.early = sure && !strings.ContainsFunc(f.s.Text, func(r rune) bool { return unicode.IsDigit(r) || r == '*' })
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

// filters makes terms of the filters; false if no entry can pass them.
func (f *finder) filters(ctx context.Context) (bool, error) {
	q := f.s.Query
	f.filter = append(f.filter, anyOf(relevance.MarkKind, q.Kinds), anyOf(relevance.Mark+"r", q.Roles))
	if len(f.s.Types) > 0 {
		f.filter = append(f.filter, or(anyOf(relevance.MarkKind, f.s.Types), anyOf(relevance.MarkName, f.s.Types)))
	}
	if len(q.Authors) > 0 {
		all, err := f.rows.Authors(ctx)
		if err != nil {
			return false, err
		}
		author := &snapshot.Properties[slices.IndexFunc(snapshot.Properties[:], func(p snapshot.Property) bool { return p.Mark == "a" })]
		meant := slices.DeleteFunc(all, func(a string) bool { return !author.Fits(q.Authors, a) })
		if len(meant) == 0 {
			return false, nil
		}
		f.filter = append(f.filter, anyOf(relevance.Mark+"a", meant))
	}
	if !f.s.Searches {
		f.filter = append(f.filter, "!"+quoted(relevance.MarkSearch))
	}
	return true, nil
}

// weigh finds out how rare the words of the query are. Of one word alone it does not matter.
func (f *finder) weigh(ctx context.Context, e query.Expr) error {
	terms := termsOf(e, nil)
	for _, t := range terms {
		u := unit{Expr: t, id: t.Term, idf: 1}
		if t.Op == query.Prefix {
			u.id += "*"
		}
		if len(terms) > 1 {
			words, _ := tsquery(t)
			found, among, err := f.rows.Count(ctx, words, counted)
			if err != nil {
				return err
			}
			if found >= counted && among > 0 { // as frequent in the rest
				found = int64(float64(found) * f.Entries / float64(among))
			}
			u.idf = f.IDF(int(found))
		}
		f.units = append(f.units, u)
	}
	return nil
}

// choose judges candidates, and reads the best, until there are enough hits.
func (f *finder) choose(ctx context.Context) error {
	wanted := max(relevance.LeastRead, 2*f.limit)
	newest, err := f.find(ctx, f.words, relevance.ManyFound+1)
	if err != nil {
		return err
	}
	if f.s.Newest {
		return f.newestFirst(ctx, newest)
	}
	f.more = len(newest) > relevance.ManyFound
	if !f.more {
		f.total = len(newest)
		f.judge(newest)
		return f.readBest(ctx, wanted)
	}
	if err := f.chooseOfMany(ctx, newest); err != nil {
		return err
	}
	if err := f.readBest(ctx, wanted); err != nil {
		return err
	}
	return f.goOn(ctx, newest, wanted)
}

// chooseOfMany judges the entries that have a word often, the newest of what was said, and the newest of all.
func (f *finder) chooseOfMany(ctx context.Context, newest []db.Found) error {
	var often []string
	for _, u := range f.units {
		if u.Op == query.Term {
			often = append(often, quoted(relevance.MarkOften+u.Term))
		}
	}
	list := newest[:relevance.NewCandidates]
	for _, sort := range []struct {
		words string
		most  int
	}{{or(often...), relevance.OftenCandidates}, {anyOf(relevance.MarkKind, relevance.TalkKinds[:]), relevance.TalkCandidates}} {
		if sort.words == "" {
			continue
		}
		more, err := f.find(ctx, and(f.words, sort.words), sort.most)
		if err != nil {
			return err
		}
		list = append(slices.Clip(list), more...)
	}
	slices.SortStableFunc(list, newerFirst)
	f.judge(list)
	return nil
}

func newerFirst(a, b db.Found) int {
	return cmp.Or(b.Date.Compare(a.Date), cmp.Compare(a.Tape, b.Tape), cmp.Compare(b.ID, a.ID))
}

// goOn judges more entries, the newest first, if the candidates gave too few hits.
func (f *finder) goOn(ctx context.Context, newest []db.Found, wanted int) error {
	for most := len(newest); len(f.read) < f.limit; {
		f.judge(newest)
		if err := f.readBest(ctx, wanted); err != nil {
			return err
		}
		if len(newest) < most || most >= mostJudged {
			return nil
		}
		most = min(4*most, mostJudged)
		var err error
		if newest, err = f.find(ctx, f.words, most); err != nil {
			return err
		}
	}
	return nil
}

// newestFirst reads entries in the order of their dates.
func (f *finder) newestFirst(ctx context.Context, newest []db.Found) error {
	for most := relevance.ManyFound + 1; ; {
		f.judge(newest)
		slices.SortFunc(f.judged, byAge)
		if err := f.readInOrder(ctx, f.limit+1); err != nil {
			return err
		}
		if f.more = len(f.read) > f.limit; f.more || len(newest) < most || most >= mostJudged {
			return nil
		}
		most = min(4*most, mostJudged)
		var err error
		if newest, err = f.find(ctx, f.words, most); err != nil {
			return err
		}
	}
}

func (f *finder) find(ctx context.Context, words string, most int) ([]db.Found, error) {
	units := []string{}
	for _, u := range f.units {
		words, _ := tsquery(u.Expr)
		units = append(units, words, quoted(relevance.MarkOften+u.id))
	}
	return f.rows.Find(ctx, db.Question{Words: words, Units: units, Tapes: f.tapes, Since: f.s.Query.Since, Until: f.s.Query.Until, Most: most})
}

// judge scores entries, given the newest first, by what is known without their texts.
func (f *finder) judge(list []db.Found) {
	for _, found := range list {
		if f.taken[found.Key] {
			continue
		}
		f.taken[found.Key] = true
		c := &candidate{Found: found}
		if f.early && f.folds(c) {
			continue
		}
		sum := 0.0
		for i, u := range f.units {
			if 2*i+1 >= len(c.Has) || c.Has[2*i] != '1' {
				continue
			}
			n := 1.0
			if c.Has[2*i+1] == '1' {
				n = relevance.OftenTimes
			}
			sum += u.idf * f.Saturated(n, c.Bytes)
		}
		c.score = f.Weigh(c.Kind, created(c.Found), sum)
		f.judged = append(f.judged, c)
	}
}

// folds adds a matching entry to one that says nearly the same, if there is one.
func (f *finder) folds(c *candidate) bool {
	if f.s.NoFold {
		return false
	}
	key := signature{c.Sign, c.Kind, c.Tape}
	if same := f.folded[key]; same != nil {
		same.more++
		return true
	}
	f.folded[key] = c
	return false
}

func created(f db.Found) int64 { return max(0, f.Date.UnixMicro()) }

func byScore(a, b *candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), byAge(a, b)) }

func byAge(a, b *candidate) int { return newerFirst(a.Found, b.Found) }

// readBest reads the best judged entries until there are n hits.
func (f *finder) readBest(ctx context.Context, n int) error {
	slices.SortFunc(f.judged, byScore)
	return f.readInOrder(ctx, n)
}

// readInOrder reads judged entries until there are n hits.
func (f *finder) readInOrder(ctx context.Context, n int) error {
	const least = 20
	for len(f.judged) > 0 && len(f.read) < n {
		some := f.judged[:min(len(f.judged), max(least, n-len(f.read)))]
		keys := make([]db.Key, len(some))
		oldest, newest := some[0].Date, some[0].Date
		for i, c := range some {
			keys[i] = c.Key
			if c.Date.Before(oldest) {
				oldest = c.Date
			}
			if c.Date.After(newest) {
				newest = c.Date
			}
		}
		stored, err := f.rows.Read(ctx, keys, oldest, newest)
		if err != nil {
			return err
		}
		for _, c := range some {
			if len(f.read) == n { // as many as a local search reads
				break
			}
			f.judged = f.judged[1:]
			var ok bool
			if c.stored, ok = stored[c.Key]; ok { // otherwise it was removed meanwhile
				f.take(c)
			}
		}
	}
	return nil
}

// take makes an entry a hit if its text matches.
func (f *finder) take(c *candidate) {
	var ok bool
	if c.match, ok = f.query.Match([]byte(c.stored.Text)); !ok {
		return
	}
	if !f.early {
		if strings.ContainsFunc(f.s.Text, func(r rune) bool { return unicode.IsDigit(r) || r == '*' }) {
			c.Sign = int64(text.Identity([]byte(c.stored.Text)))
		}
		if f.folds(c) {
			return
		}
	}
	sum := 0.0
	for _, t := range c.match.Terms {
		sum += f.idfOf(t.Term) * f.Saturated(float64(t.N), c.Bytes)
	}
	if c.match.Literal {
		sum *= relevance.Literal
	}
	c.score = f.Weigh(c.Kind, created(c.Found), sum)
	f.read = append(f.read, c)
}

// idfOf is the weight of a word; a phrase is as rare as what was found.
func (f *finder) idfOf(term string) float64 {
	for _, u := range f.units {
		if u.id == term {
			return u.idf
		}
	}
	if f.total > 0 {
		return f.IDF(f.total)
	}
	return f.IDF(relevance.ManyFound)
}

func (f *finder) result(ctx context.Context) (*Result, error) {
	if !f.s.Newest {
		slices.SortFunc(f.read, byScore)
	}
	out := &Result{More: f.more || len(f.read) > f.limit || len(f.judged) > 0}
	best := f.read[:min(len(f.read), f.limit)]
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
			continue // removed meanwhile
		}
		e, err := EntryOf(c.stored, s)
		if err != nil {
			return nil, err
		}
		h := Hit{Hit: index.Hit{Entry: e, Score: math.Round(c.score*1000) / 1000, Similar: c.more}, Title: s.Title, Author: c.stored.Author}
		var spans []text.Span
		h.Snippet, spans = text.Snippet([]byte(c.stored.Text), c.match.Spans, cmp.Or(f.s.Width, snippetWidth))
		for _, span := range spans {
			h.Spans = append(h.Spans, [2]int{span.Start, span.End})
		}
		out.Hits = append(out.Hits, h)
	}
	return out, nil
}

// snippetWidth is that of a local search, in characters.
const snippetWidth = 160

// EntryOf is the entry of a stored row. Its workspace is the name of the remote.
func EntryOf(s db.Stored, of db.Session) (layout.Entry, error) {
	e, err := snapshot.ParseEntry([]byte(s.Line), of.Name, s.Anchor, s.Phase)
	e.Workspace = of.Remote
	return e, layout.Wrap(err, "read entry @%d of %s/%s", s.ID, of.Remote, of.Name)
}
