package relevance

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"tape/internal/store/layout"
	"tape/internal/text"
	"tape/internal/text/query"
)

// Candidates is how many entries are read and judged at a time: those that have the most of the query, by what an
// index knows of them.
const Candidates = 200

// PerSession is how many of a session's entries its place depends on, and how many are usually shown.
const PerSession = 3

// hitWeights is what a session's best entries count: one with all that was asked for says more than three with some of it.
var hitWeights = [PerSession]float64{1, 0.6, 0.4}

// Candidate is an entry that may become a hit.
type Candidate struct {
	Kind    string
	Created int64   // microseconds since 1970; 0 if it has no date
	Length  int     // of its line, in bytes
	Sign    int64   // see FoldKey
	Tape    int64   // of entries with the same date, those of the tape with the lower number come first
	Guess   float64 // what an index knows of it: the sum of [Guess] over the terms
	ID      int64   // of two entries of a tape, the one with the greater id is newer
	Beside  bool    // it is on the tape of a fork or a subagent; of entries with the same date, these come last
	Session string  // the session that it belongs to; entries of different sessions are never folded
	Key     any     // for the source

	Text   []byte  // set by Source.Read; nil if it does not match
	Weight float64 // see [WeightOf]; set by Source.Read
	// Call and Result are the IDs of the call that the entry tells more about and of its result, 0 if there is none: set by
	// Source.Calls. The entry is shown as the call, or counts as one more like it.
	Call, Result int64

	Match query.Match
	Score float64
	Rank  float64 // the weighted sum of the scores of the best entries of its session
	Like  int     // how many entries were folded into it
	More  int     // how many hits of its session are left out because of Most or the limit, if this is the last one
}

// newerFirst orders by age.
func newerFirst(a, b *Candidate) int {
	beside := 0
	switch {
	case a.Beside && !b.Beside:
		beside = 1
	case b.Beside && !a.Beside:
		beside = -1
	}
	return cmp.Or(cmp.Compare(b.Created, a.Created), beside, cmp.Compare(a.Tape, b.Tape), cmp.Compare(b.ID, a.ID))
}

// Term is a feature of the query with its weight.
type Term struct {
	query.Feature
	Weight float64 // how rare it is, times its factor
}

// Source has the entries that match a query.
type Source interface {
	// Best returns the n best entries that it has not returned before, without those of the sessions in full: those
	// with the greatest sum of [Guess] over the terms, of several the newest. If within is not empty, it returns only
	// entries of that time.
	Best(ctx context.Context, terms []Term, n int, full map[string]bool, within Span) ([]*Candidate, error)
	// Newest returns the n newest entries that neither it nor Best has returned before.
	Newest(ctx context.Context, n int) ([]*Candidate, error)
	// Read sets Weight, and Text, which stays nil if the entry is not to be seen, and calls f with each candidate, in any order but one
	// at a time. It may read on while f runs.
	Read(ctx context.Context, list []*Candidate, f func(*Candidate)) error
	// Calls sets Call and Result of events that were read.
	Calls(ctx context.Context, list []*Candidate) error
}

// Span is a time in microseconds since 1970, from Since until Before. It is empty if they are equal.
type Span struct{ Since, Before int64 }

func (s Span) has(c *Candidate) bool { return c.Created >= s.Since && c.Created < s.Before }

// Guess is what a term adds to the sum by which candidates are chosen. often says that the entry has it OftenTimes.
func Guess(weight float64, often bool) float64 {
	if often {
		return weight * OftenTimes * (k1 + 1) / (OftenTimes + k1)
	}
	return weight
}

// Choice says which hits to choose.
type Choice struct {
	Query  *query.Query
	Terms  []Term
	Corpus Corpus
	Limit  int // how many hits
	// Sure says that all entries of the source match, so that they can be folded before they are read.
	Sure   bool
	Text   string // as it was typed
	Newest bool   // the newest first, instead of the best
	NoFold bool
	// Flat orders entries by themselves. Otherwise the hits of a session are together.
	Flat bool
	// Most is how many hits of a session are chosen at most; 0 means all.
	Most  int
	Brief bool // for one of several searches whose hits are merged: fewer entries are judged
}

// Chosen is what was chosen.
type Chosen struct {
	Hits []*Candidate
	// Matches is how many of the entries that were looked at match; Every says that these were all.
	Matches int
	Every   bool
	Left    int // hits that are left out because of the limit, or because their sessions have others
}

type chooser struct {
	Choice
	from   Source
	early  bool // entries are folded before they are read
	hits   []*Candidate
	count  int          // entries that are known to match
	later  []*Candidate // that were folded, but not read yet
	bySign map[signature]*Candidate
	of     map[string]int // hits of each session
	then   Span           // the time that the query names
}

// signature is what folded entries have in common.
type signature struct {
	sign          int64
	kind, session string
}

// Choose reads and judges candidates until there are enough hits.
func Choose(ctx context.Context, from Source, c Choice) (*Chosen, error) {
	x := &chooser{Choice: c, from: from, early: c.Sure && !DigitsMatter(c.Text), bySign: map[signature]*Candidate{}, of: map[string]int{}}
	x.Flat = x.Flat || x.Newest
	if since, before, named := layout.TimeIn(c.Text, time.Now()); named != "" && c.Query.IsAny() {
		x.then = Span{since.UnixMicro(), before.UnixMicro()}
	}
	var ofThen []*Candidate
	if x.then != (Span{}) && !x.Newest { // there may be very many newer ones
		var err error
		if ofThen, err = from.Best(ctx, x.Terms, x.first()/2, nil, x.then); err != nil {
			return nil, err
		}
	}
	all := false // the source has returned all
	for n := x.first(); !x.enough(); n = min(4*n, math.MaxInt/8) {
		if len(x.later) > 0 {
			if err := x.readLater(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if all {
			break
		}
		full := x.full()
		list, err := x.next(ctx, n, full)
		all = len(list) < n && len(full) == 0
		list, ofThen = append(ofThen, list...), nil
		if err == nil {
			err = x.judge(ctx, list)
		}
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			break
		}
	}
	hits := x.order()
	return &Chosen{Hits: hits, Matches: x.count, Every: all && len(x.later) == 0, Left: len(x.hits) - len(hits)}, nil
}

// first is how many candidates are asked for first.
func (x *chooser) first() int {
	switch {
	case x.Newest:
		return min(max(x.Limit, 16), Candidates)
	case x.Brief:
		return Candidates / 2
	}
	return Candidates
}

func (x *chooser) next(ctx context.Context, n int, full map[string]bool) ([]*Candidate, error) {
	if x.Newest {
		return x.from.Newest(ctx, n)
	}
	return x.from.Best(ctx, x.Terms, n, full, Span{})
}

// full returns the sessions that have as many hits as are shown.
func (x *chooser) full() map[string]bool {
	full := map[string]bool{}
	for session, n := range x.of {
		if x.Most > 0 && !x.Flat && n >= x.Most {
			full[session] = true
		}
	}
	return full
}

func (x *chooser) enough() bool {
	if x.Most == 0 || x.Flat {
		return len(x.hits) >= x.Limit
	}
	n := 0
	for _, of := range x.of {
		n += min(of, x.Most)
	}
	return n >= x.Limit
}

// judge makes hits of candidates. An older entry is folded into a newer one that says nearly the same, but what was said
// at the time that the query names stays.
func (x *chooser) judge(ctx context.Context, list []*Candidate) error {
	if !x.Newest || ofSeveral(list) { // the order of one tape's entries is that of their ids, even if dates are not
		slices.SortFunc(list, func(a, b *Candidate) int {
			if is := x.then.has(a); is != x.then.has(b) && !x.Newest {
				if is {
					return -1
				}
				return 1
			}
			return newerFirst(a, b)
		})
	}
	if x.early {
		list = slices.DeleteFunc(list, x.folds)
	}
	if x.Newest || !x.early {
		return x.read(ctx, list)
	}
	x.later = list
	return x.readLater(ctx)
}

// leastRead is how many candidates are read at least, for each of up to two terms. Those that seem to be worth less than a
// share of the best are read only if the others fill no page: most are whole files beside an edit, which are long.
const (
	leastRead  = 40
	leastShare = 1. / 10
)

// readLater reads the best of the candidates, by what the index knows, their lengths and dates. Usually these fill a page,
// and the others have not to be read.
func (x *chooser) readLater(ctx context.Context) error {
	for _, c := range x.later {
		c.Score = x.weigh(c, KindWeight(c.Kind), c.Guess*x.Corpus.Saturated(1, c.Length))
	}
	slices.SortFunc(x.later, byScore)
	n := min(len(x.later), max(leastRead*min(len(x.Terms), 2), 2*min(x.Limit, math.MaxInt/2)))
	for n > 1 && x.later[0].Score > 0 && x.later[n-1].Score < leastShare*x.later[0].Score {
		n--
	}
	list := x.later[:n]
	x.later = x.later[n:]
	return x.read(ctx, list)
}

// read makes hits of the candidates whose texts match.
func (x *chooser) read(ctx context.Context, list []*Candidate) error {
	if err := x.from.Read(ctx, list, x.match); err != nil {
		return err
	}
	var events []*Candidate
	for _, c := range list {
		if c.Text == nil {
			continue
		}
		if !x.early && x.folds(c) {
			c.Text = nil
			continue
		}
		c.Score = x.score(c)
		x.hits = append(x.hits, c)
		if x.of[c.Session]++; c.Kind == layout.KindEvent {
			events = append(events, c)
		}
	}
	if x.NoFold || len(events) == 0 {
		return nil
	}
	err := x.from.Calls(ctx, events)
	x.toCalls()
	return err
}

// match sets Match, or removes a text that does not match.
func (x *chooser) match(c *Candidate) {
	if c.Text == nil {
		return
	}
	var ok bool
	if c.Match, ok = x.Query.Match(c.Text); !ok {
		c.Text = nil
	} else if !x.early && DigitsMatter(x.Text) {
		c.Sign = int64(text.Identity(c.Text))
	}
}

// toCalls folds what tells more about a call into the call, or into its result.
func (x *chooser) toCalls() {
	type key struct{ tape, id int64 }
	at := map[key]*Candidate{}
	for _, c := range x.hits {
		if c.Call == 0 {
			at[key{c.Tape, c.ID}] = c
		}
	}
	x.hits = slices.DeleteFunc(x.hits, func(c *Candidate) bool {
		if c.Call == 0 {
			return false
		}
		owner := cmp.Or(at[key{c.Tape, c.Result}], at[key{c.Tape, c.Call}])
		if owner == nil {
			at[key{c.Tape, c.Call}] = c // shown as the call
			return false
		}
		owner.Like += 1 + c.Like
		x.of[c.Session]--
		return true
	})
}

// folds counts a matching entry. It folds the entry into an earlier one that says nearly the same, and returns true if
// there is one. Otherwise later entries may be folded into this one.
func (x *chooser) folds(c *Candidate) bool {
	x.count++
	if x.NoFold {
		return false
	}
	key := signature{c.Sign, c.Kind, c.Session}
	if same := x.bySign[key]; same != nil {
		same.Like++
		return true
	}
	x.bySign[key] = c
	return false
}

// score is BM25 over the terms of the query, weighed by kind, age, and whether the text has the query as typed.
func (x *chooser) score(c *Candidate) float64 {
	sum := 0.0
	for _, found := range c.Match.Terms {
		for i := range x.Terms {
			if t := &x.Terms[i]; t.ID == found.Term {
				sum += t.Weight * x.Corpus.Saturated(float64(found.N), c.Length)
				break
			}
		}
	}
	if c.Match.Literal {
		sum *= Literal
	}
	return x.weigh(c, c.Weight, sum)
}

// weigh weighs the sum over the words of an entry by the weight of its kind, its age, and the time that the query names.
func (x *chooser) weigh(c *Candidate, weight, sum float64) float64 {
	if x.then.has(c) {
		sum *= then
	}
	return x.Corpus.Weigh(weight, c.Created, sum)
}

// ofSeveral reports whether candidates are of several tapes.
func ofSeveral(list []*Candidate) bool {
	return slices.ContainsFunc(list, func(c *Candidate) bool { return c.Tape != list[0].Tape })
}

// byScore orders by score, then by age. No two candidates compare equal.
func byScore(a, b *Candidate) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), newerFirst(a, b))
}

// order returns the hits in their order, at most as many as were asked for.
func (x *chooser) order() []*Candidate {
	if x.Newest {
		if ofSeveral(x.hits) {
			slices.SortFunc(x.hits, newerFirst)
		}
		return x.hits[:min(len(x.hits), x.Limit)]
	}
	slices.SortFunc(x.hits, byScore)
	sessions := x.rank()
	if x.Flat {
		return x.hits[:min(len(x.hits), x.Limit)]
	}
	var out []*Candidate
	for _, session := range sessions {
		n := len(session)
		if x.Most > 0 {
			n = min(n, x.Most)
		}
		n = min(n, x.Limit-len(out))
		if n == 0 {
			break
		}
		if x.Most > 0 {
			session[n-1].More = len(session) - n
		}
		out = append(out, session[:n]...)
	}
	return out
}

// rank sets the rank of each hit, and returns the hits of each session, the best session first.
func (x *chooser) rank() [][]*Candidate {
	at := map[string]int{}
	var sessions [][]*Candidate
	for _, c := range x.hits { // the best first
		i, known := at[c.Session]
		if !known {
			i = len(sessions)
			at[c.Session], sessions = i, append(sessions, nil)
		}
		sessions[i] = append(sessions[i], c)
	}
	for _, list := range sessions {
		sum := 0.0
		for i, c := range list[:min(len(list), PerSession)] {
			sum += c.Score * hitWeights[i]
		}
		for _, c := range list {
			c.Rank = sum
		}
	}
	slices.SortStableFunc(sessions, func(a, b []*Candidate) int { return cmp.Compare(b[0].Rank, a[0].Rank) })
	return sessions
}
