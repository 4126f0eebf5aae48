package find

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tape/internal/serve/team/db"
	"tape/internal/store/relevance"
	"tape/internal/text"
	"tape/internal/text/query"
)

// signature is equal for entries of a session that say nearly the same.
type signature struct {
	sign int64
	kind string
	tape int64
}

// candidate is an entry that has the words, and may become a hit.
type candidate struct {
	db.Found
	stored  db.Stored // after it was read
	match   query.Match
	score   float64
	similar int // how many entries were folded into it
}

// choose scores candidates and reads the best of them, until there are enough hits.
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
	if err := f.countPhrase(ctx); err != nil {
		return err
	}
	if err := f.chooseOfMany(ctx, newest); err != nil {
		return err
	}
	if err := f.readBest(ctx, wanted); err != nil {
		return err
	}
	return f.goOn(ctx, newest, wanted)
}

// countPhrase counts the entries that have all words of a query with a phrase. The weight of the phrase beside
// other words depends on that number.
func (f *finder) countPhrase(ctx context.Context) (err error) {
	switch q := f.s.Query; {
	case f.sure || len(f.units) < 2:
	case f.tapes == nil && q.Since.IsZero() && q.Until.IsZero():
		f.total, err = f.count(ctx, f.words)
	default:
		var all []db.Found
		all, err = f.find(ctx, f.words, mostCounted)
		f.total = len(all)
	}
	return err
}

// chooseOfMany scores entries that contain a word often, the newest that somebody said, and the newest of all.
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

// goOn scores older entries, too, while there are too few hits.
func (f *finder) goOn(ctx context.Context, newest []db.Found, wanted int) error {
	for most := len(newest); len(f.hits) < f.limit; {
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

// newestFirst reads entries, the newest first, until there are enough hits.
func (f *finder) newestFirst(ctx context.Context, newest []db.Found) error {
	for most := relevance.ManyFound + 1; ; {
		f.judge(newest)
		slices.SortFunc(f.judged, byAge)
		if err := f.readInOrder(ctx, f.limit+1); err != nil {
			return err
		}
		if f.more = len(f.hits) > f.limit; f.more || len(newest) < most || most >= mostJudged {
			return nil
		}
		most = min(4*most, mostJudged)
		var err error
		if newest, err = f.find(ctx, f.words, most); err != nil {
			return err
		}
	}
}

// find returns the newest entries that match a tsquery, in the sessions and the time that were asked for.
func (f *finder) find(ctx context.Context, words string, most int) ([]db.Found, error) {
	units := []string{}
	for _, u := range f.units {
		words, _ := tsquery(u.Expr)
		units = append(units, words, quoted(relevance.MarkOften+u.id))
	}
	return f.rows.Find(ctx, db.Question{Words: words, Units: units, Tapes: f.tapes, Since: f.s.Query.Since, Until: f.s.Query.Until, Most: most})
}

// judge scores entries without reading their texts. The list has the newest entries first, so that an older entry
// is folded into a newer one.
func (f *finder) judge(list []db.Found) {
	for _, found := range list {
		if f.seen[found.Key] {
			continue
		}
		f.seen[found.Key] = true
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

// folds folds an entry into an earlier one that says nearly the same, and reports whether there is one.
func (f *finder) folds(c *candidate) bool {
	if f.s.NoFold {
		return false
	}
	key := signature{c.Sign, c.Kind, c.Tape}
	if same := f.folded[key]; same != nil {
		same.similar++
		return true
	}
	f.folded[key] = c
	return false
}

// created returns the date of an entry in microseconds.
func created(f db.Found) int64 { return max(0, f.Date.UnixMicro()) }

func byScore(a, b *candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), byAge(a, b)) }

func byAge(a, b *candidate) int { return newerFirst(a.Found, b.Found) }

// readBest reads the scored entries, the best first, until there are n hits.
func (f *finder) readBest(ctx context.Context, n int) error {
	slices.SortFunc(f.judged, byScore)
	return f.readInOrder(ctx, n)
}

// readInOrder reads the scored entries in their order until there are n hits.
func (f *finder) readInOrder(ctx context.Context, n int) error {
	const least = 20
	for len(f.judged) > 0 && len(f.hits) < n {
		some := f.judged[:min(len(f.judged), max(least, n-len(f.hits)))]
		dates := make(map[db.Key]time.Time, len(some))
		for _, c := range some {
			dates[c.Key] = c.Date
		}
		stored, err := f.rows.Read(ctx, dates)
		if err != nil {
			return err
		}
		for _, c := range some {
			if len(f.hits) == n { // a local search stops here, too
				break
			}
			f.judged = f.judged[1:]
			var ok bool
			if c.stored, ok = stored[c.Key]; ok { // it may have been removed meanwhile
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
		if relevance.DigitsMatter(f.s.Text) {
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
	f.hits = append(f.hits, c)
}

// idfOf returns the weight of a word, by how rare it is. A phrase is as rare as the entries that have its words.
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
