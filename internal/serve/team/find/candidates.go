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
	"tape/internal/text"
	"tape/internal/text/query"
)

// source has the entries that match one query. It is what [relevance.Choose] chooses from.
type source struct {
	*finder
	words    string // the whole tsquery
	any      bool   // an entry with one of the units matches, if it passes the filters
	units    []unit // the rarest first
	seen     map[db.Key]bool
	sessions map[int64]db.Session
	within   relevance.Span // if not empty, only entries of this time are selected
}

// unit is a term of the query.
type unit struct {
	relevance.Term
	words string // as a tsquery
	found int    // how many entries have it
}

// weigh finds out how rare the words of the query are.
func (r *source) weigh(ctx context.Context) (terms []relevance.Term, err error) {
	for _, feature := range r.query.Features() {
		if words, none := tsquery(feature.Expr); !none {
			r.units = append(r.units, unit{Term: relevance.Term{Feature: feature}, words: words})
		}
	}
	if err := r.count(ctx, wordsOf(r.units)); err != nil {
		return nil, err
	}
	for i := range r.units {
		u := &r.units[i]
		u.found = r.counts[u.words]
		u.Weight = u.Factor * r.corpus.IDF(u.found)
	}
	r.units = slices.DeleteFunc(r.units, func(u unit) bool { return u.found == 0 })
	for _, u := range r.units {
		terms = append(terms, u.Term)
	}
	slices.SortStableFunc(r.units, func(a, b unit) int { return cmp.Compare(a.found, b.found) })
	return terms, nil
}

// most is where counting the entries with a word stops; a higher number is estimated. Of very many entries, fewer are enough
// for an estimate.
func (f *finder) most() int {
	if f.corpus.Entries > 100_000 {
		return 1000
	}
	return mostCompared
}

// count finds out how many entries match each of some tsqueries, unless it is known.
func (f *finder) count(ctx context.Context, queries []string) error {
	queries = slices.DeleteFunc(slices.Clone(queries), func(q string) bool { _, known := f.counts[q]; return known })
	if len(queries) == 0 {
		return nil
	}
	most := f.most()
	list, err := f.rows.Count(ctx, f.totals.Months, queries, most)
	for i, c := range list {
		if c.Found >= int64(most) { // suppose that they are as frequent in older entries
			c.Found = int64(float64(c.Found) * f.corpus.Entries / float64(c.Among))
		}
		f.counts[queries[i]] = int(c.Found)
	}
	return err
}

// question is the query, with other words.
func (r *source) question(words string, most int) db.Question {
	q := db.Question{Words: words, Tapes: r.tapes, Since: r.s.Query.Since, Until: r.s.Query.Until, Most: most, Months: r.totals.Months}
	if r.within != (relevance.Span{}) {
		first, last := time.UnixMicro(r.within.Since), time.UnixMicro(r.within.Before-1)
		if first.After(q.Since) {
			q.Since = first
		}
		if q.Until.IsZero() || last.Before(q.Until) {
			q.Until = last
		}
	}
	return q
}

// Best returns the best entries. If very many entries match, it compares those that have a rare word, or all of the
// words, and goes on with the newest.
func (r *source) Best(ctx context.Context, terms []relevance.Term, n int, full map[string]bool, within relevance.Span) ([]*relevance.Candidate, error) {
	r.within = within
	if n = min(n, mostJudged-len(r.seen)); n <= 0 {
		return nil, nil
	}
	q := r.question(r.words, min(len(r.seen)+n, mostJudged))
	for _, u := range r.units {
		weighed := db.Unit{Words: u.words, Weight: relevance.Guess(u.Weight, false)}
		if u.Expr.Op == query.Term {
			weighed.Often = quoted(relevance.MarkOften + u.Expr.Term)
			weighed.More = relevance.Guess(u.Weight, true) - weighed.Weight
		}
		q.Units = append(q.Units, weighed)
	}
	rare, common := r.few()
	if len(common) == 0 {
		list, err := r.rows.Best(ctx, q)
		if err != nil {
			return nil, err
		}
		return r.candidates(ctx, list, n, full)
	}
	list, err := r.compared(ctx, q, rare, common)
	if err == nil && len(list) < q.Most {
		var newest []db.Found
		newest, err = r.rows.Find(ctx, r.question(r.words, q.Most))
		list = append(list, newest...)
	}
	if err != nil {
		return nil, err
	}
	return r.candidates(ctx, list, n, full)
}

// compared returns the best of the entries that have a rare word or all of the common ones. If very many have all of these,
// only the newest of them are compared, or, if the query is one word, those of the kinds that weigh most.
func (r *source) compared(ctx context.Context, q db.Question, rare, common []unit) ([]db.Found, error) {
	with := func(words string) db.Question {
		if r.any {
			words = and(append([]string{words}, r.filter...)...)
		} else { // an entry with a rare word need not match
			words = and(words, r.words)
		}
		q.Words = words
		return q
	}
	switch {
	case len(r.units) == 1:
		return r.ofKinds(ctx, r.units[0], q.Most)
	case len(rare) > 0 && len(common) == 1:
		return r.rows.Best(ctx, with(or(wordsOf(rare)...)))
	}
	guess := r.corpus.Entries // of the entries with all, if no word comes with another
	looked := 0               // how many words are looked up; to look up the most frequent takes longer than to compare what has the others
	for i, u := range common {
		if i == 0 || guess >= mostCommon || !r.any {
			looked = i + 1
		}
		guess *= float64(u.found) / r.corpus.Entries
	}
	newest := with(and(wordsOf(common[:looked])...))
	newest.Also = and(wordsOf(common[looked:])...)
	if newest.Newest = mostCommon; guess < mostCommon {
		newest.Newest += mostCompared
	}
	list, err := r.rows.Best(ctx, newest)
	if err != nil {
		return nil, err
	}
	if len(rare) == 0 {
		if r.within == (relevance.Span{}) {
			r.has[together(append(wordsOf(common), r.filter...))] = len(list) > 0
		}
		return list, nil
	}
	more, err := r.rows.Best(ctx, with(or(wordsOf(rare)...)))
	if err != nil {
		return nil, err
	}
	had := map[db.Key]bool{}
	for _, f := range list {
		had[f.Key] = true
	}
	list = append(list, slices.DeleteFunc(more, func(f db.Found) bool { return had[f.Key] })...)
	slices.SortStableFunc(list, func(a, b db.Found) int {
		return cmp.Or(cmp.Compare(b.Sum*relevance.KindWeight(b.Kind), a.Sum*relevance.KindWeight(a.Kind)), b.Date.Compare(a.Date), cmp.Compare(a.Tape, b.Tape), cmp.Compare(b.ID, a.ID))
	})
	return list, nil
}

// together names a set of conditions.
func together(conditions []string) string {
	return strings.Join(slices.Sorted(slices.Values(conditions)), "\n")
}

func wordsOf(list []unit) (out []string) {
	for _, u := range list {
		out = append(out, u.words)
	}
	return out
}

// ofKinds returns the best entries with one word: those of the kind with the greatest weight, of the same weight the newest.
// The database finds these without looking at most entries.
func (r *source) ofKinds(ctx context.Context, u unit, most int) (out []db.Found, err error) {
	type class struct {
		words         string
		guess, weight float64
	}
	var classes []class
	var known []string
	often := quoted(relevance.MarkOften + u.Expr.Term)
	for _, k := range relevance.ByWeight {
		kinds := anyOf(relevance.MarkKind, k.Names)
		known = append(known, kinds)
		words := and(r.words, kinds)
		if u.Expr.Op == query.Term && relevance.IsTalk(k.Names[0]) {
			classes = append(classes, class{and(words, often), relevance.Guess(u.Weight, true), k.Weight})
			words = and(words, "!"+often)
		}
		classes = append(classes, class{words, relevance.Guess(u.Weight, false), k.Weight})
	}
	classes = append(classes, class{and(r.words, "!"+or(known...)), relevance.Guess(u.Weight, false), relevance.OtherWeight})
	slices.SortStableFunc(classes, func(a, b class) int { return cmp.Compare(b.guess*b.weight, a.guess*a.weight) })
	for _, c := range classes {
		list, err := r.rows.Find(ctx, r.question(c.words, most-len(out)))
		if err != nil {
			return nil, err
		}
		for _, f := range list {
			f.Sum = c.guess
			out = append(out, f)
		}
		if len(out) >= most {
			break
		}
	}
	return out, nil
}

// few returns the rarest terms, which together about mostCompared entries have, and the others, which are common.
func (r *source) few() (rare, common []unit) {
	sum := 0
	for i, u := range r.units {
		if sum += u.found; sum > mostCompared {
			return r.units[:i], r.units[i:]
		}
	}
	return r.units, nil
}

// Newest returns the newest entries.
func (r *source) Newest(ctx context.Context, n int) ([]*relevance.Candidate, error) {
	if n = min(n, mostJudged-len(r.seen)); n <= 0 {
		return nil, nil
	}
	list, err := r.rows.Find(ctx, r.question(r.words, len(r.seen)+n))
	if err != nil {
		return nil, err
	}
	return r.candidates(ctx, list, n, nil)
}

// candidates returns the first n rows that were not returned before, without those of the sessions in full.
func (r *source) candidates(ctx context.Context, list []db.Found, n int, full map[string]bool) (out []*relevance.Candidate, err error) {
	var ids []int64
	for _, f := range list {
		if _, ok := r.sessions[f.Tape]; !ok {
			ids = append(ids, f.Tape)
		}
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		more, err := r.rows.ByID(ctx, slices.Compact(ids))
		if err != nil {
			return nil, err
		}
		for id, s := range more {
			r.sessions[id] = s
		}
	}
	for _, f := range list {
		s, ok := r.sessions[f.Tape] // it may have been removed meanwhile
		if r.seen[f.Key] || !ok || full[sessionOf(s)] || len(out) == n {
			continue
		}
		r.seen[f.Key] = true
		out = append(out, &relevance.Candidate{Kind: f.Kind, Created: max(0, f.Date.UnixMicro()), Length: f.Bytes, Sign: f.Sign, Guess: f.Sum,
			Tape: f.Tape, ID: f.ID, Beside: sessionOf(s) != s.Remote+"/"+s.Name, Session: sessionOf(s), Key: &row{Found: f}})
	}
	return out, nil
}

// row is an entry, with what was read of it.
type row struct {
	db.Found
	stored db.Stored
}

// sessionOf returns the session that a tape belongs to.
func sessionOf(s db.Session) string {
	return s.Remote + "/" + relevance.SessionOf(s.Name, strings.HasPrefix(s.Ref, "refs/heads/fork/"))
}

// Read reads the texts of candidates.
func (r *source) Read(ctx context.Context, list []*relevance.Candidate, each func(*relevance.Candidate)) error {
	if len(list) == 0 {
		return nil
	}
	dates := make(map[db.Key]time.Time, len(list))
	for _, c := range list {
		f := c.Key.(*row)
		dates[f.Found.Key] = f.Found.Date
	}
	stored, err := r.rows.Read(ctx, dates)
	for _, c := range list {
		f := c.Key.(*row)
		if s, ok := stored[f.Found.Key]; ok { // it may have been removed meanwhile
			f.stored, c.Text = s, []byte(s.Text)
		}
		c.Weight = relevance.KindWeight(f.Kind)
		if f.Kind == layout.KindMessage {
			if e, err := EntryOf(f.stored, r.sessions[f.Found.Tape]); err == nil {
				c.Weight = relevance.WeightOf(e)
			}
		}
		each(c)
	}
	return err
}

// Calls finds the calls that events tell more about, shortly before them.
func (r *source) Calls(ctx context.Context, list []*relevance.Candidate) error {
	for _, c := range list {
		f := c.Key.(*row)
		s := r.sessions[f.Found.Tape]
		e, err := EntryOf(f.stored, s)
		if err != nil {
			return err
		}
		id := relevance.CallOf(e)
		if id == "" {
			continue
		}
		result := int64(0)
		var damaged error
		before := db.Range{First: max(1, e.ID-relevance.CallBack), Last: e.ID - 1, Kinds: []string{layout.KindToolCall, layout.KindToolResult}, Reverse: true, Most: relevance.CallBack}
		err = r.rows.Entries(ctx, s, before, func(one db.Stored) bool {
			e, damaged = EntryOf(one, s)
			if damaged != nil || !relevance.HasCall(e, id) {
				return damaged == nil
			}
			if e.Kind == layout.KindToolResult {
				result = one.ID
				return true
			}
			if r.s.Query.Keep(e) && len(r.s.Types) == 0 {
				c.Call, c.Result = one.ID, result
				one.Text, f.stored = f.stored.Text, one
			}
			return false
		})
		if err = cmp.Or(err, damaged); err != nil {
			return err
		}
	}
	return nil
}

// hit makes a hit of a candidate.
func (r *source) hit(c *relevance.Candidate) (Hit, error) {
	f := c.Key.(*row)
	s := r.sessions[f.Found.Tape]
	e, err := EntryOf(f.stored, s)
	if err != nil {
		return Hit{}, err
	}
	rounded := func(x float64) float64 { return math.Round(x*1000) / 1000 }
	_, of, _ := strings.Cut(c.Session, "/")
	h := Hit{Hit: index.Hit{Entry: e, Score: rounded(c.Score), Rank: rounded(c.Rank), Similar: c.Like, More: c.More}, Title: s.Title, Session: s, Author: f.stored.Author}
	h.Hit.Session = of
	h.Has, h.Lacks = r.query.Found(c.Match)
	var spans []text.Span
	h.Snippet, spans = text.Snippet(c.Text, c.Match.Spans, cmp.Or(r.s.Width, snippetWidth))
	for _, span := range spans {
		h.Spans = append(h.Spans, [2]int{span.Start, span.End})
	}
	return h, nil
}
