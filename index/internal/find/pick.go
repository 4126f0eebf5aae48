package find

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"

	"tape/internal/store/relevance"
	"tape/internal/text"
	"tape/internal/text/query"
	"tape/repo"
)

// picker picks the best of the found documents.
//
// Relevance needs the text of an entry, which takes time to read. So a document is first judged by what
// the index has: which words it contains and whether often, its kind, length and age. The best are then
// read and judged by their text. If there are many documents, only some are judged at all: documents that
// contain a word often, the newest messages, and the newest of all.
type picker struct {
	*finder
	found set
	total int  // how many documents are in found
	sure  bool // every found document matches, so texts need not be read to count them
	early bool // the index alone tells which documents match and which to fold

	units  []unit
	judged []*candidate   // judged but not read yet
	read   []*candidate   // read: these are hits
	taken  map[int64]bool // documents that were judged or folded
	bySign map[signature]*candidate
	hits   int // how many documents are known to match

	relevance.Corpus
}

// unit has the documents of a word of the query.
type unit struct {
	docs, often set // with the word, and with the word often
	idf         float64
}

// briefDivisor divides the limits of a brief search.
const briefDivisor = 4

// fewer returns n, or a part of it in a brief search.
func (p *picker) fewer(n int) int {
	if p.s.Brief {
		return n / briefDivisor
	}
	return n
}

func newPicker(f *finder, found set, sure bool) (*picker, error) {
	p := &picker{finder: f, Corpus: relevance.Corpus{Even: !f.db.View.Plain()}, found: found, total: found.count(), sure: sure, early: sure && !relevance.DigitsMatter(f.s.Text), taken: map[int64]bool{}, bySign: map[signature]*candidate{}}
	var bytes int64
	for _, s := range f.eval.tapes {
		p.Newest = max(p.Newest, s.newest)
		p.Entries += float64(s.count)
		bytes += s.bytes
	}
	p.Average = max(1, float64(bytes)/max(1, p.Entries))
	if p.total == 0 {
		return p, nil
	}
	for _, term := range slices.Sorted(maps.Keys(f.eval.terms)) {
		ts := f.eval.terms[term]
		often, err := f.eval.with(relevance.MarkOften + term)
		if err != nil {
			return nil, err
		}
		p.units = append(p.units, unit{ts.set, often, p.IDF(ts.n)})
	}
	return p, nil
}

func (p *picker) run(ctx context.Context) error {
	step, wanted := 1, math.MaxInt // documents to judge at a time, and hits to read
	if !p.s.Newest {
		step, wanted = 64, max(p.fewer(relevance.LeastRead), 2*min(p.s.limit(), math.MaxInt/2))
		if err := p.judgeChosen(ctx); err != nil {
			return err
		}
		if err := p.readBest(ctx, wanted); err != nil {
			return err
		}
	}
	enough := func() bool { return len(p.read) >= p.s.limit() || len(p.taken) == p.total }
	if enough() {
		return nil
	}
	// Too few hits: go on with documents that were not chosen, the newest first.
	n := 0
	for doc, err := range p.newestOf(p.found) {
		if err == nil {
			err = p.judge(ctx, doc)
		}
		if n++; err == nil && n%step == 0 {
			if err = p.readBest(ctx, wanted); err == nil && enough() {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
	return p.readBest(ctx, wanted)
}

// judgeChosen judges all found documents, or some if there are many. It begins with the newest, because
// others are folded into the newest.
func (p *picker) judgeChosen(ctx context.Context) error {
	chosen := map[int64]bool{}
	choose := func(from set, n int) error {
		for doc, err := range p.newestOf(from) {
			if chosen[doc] = true; err != nil {
				return err
			}
			if n--; n == 0 {
				break
			}
		}
		return nil
	}
	if p.total <= p.fewer(relevance.ManyFound) {
		if err := choose(p.found, p.total); err != nil {
			return err
		}
	} else if err := p.chooseOfMany(choose); err != nil {
		return err
	}
	for _, doc := range slices.Backward(slices.Sorted(maps.Keys(chosen))) {
		if err := p.judge(ctx, doc); err != nil {
			return err
		}
	}
	return nil
}

// chooseOfMany chooses some documents of each sort: with a word often, messages, and the newest.
func (p *picker) chooseOfMany(choose func(from set, n int) error) error {
	talk, err := p.newestTalk()
	if err != nil {
		return err
	}
	often := p.eval.none()
	for _, u := range p.units {
		often.or(u.often)
	}
	return errors.Join(choose(often.and(p.found), p.fewer(relevance.OftenCandidates)), choose(talk, p.fewer(relevance.TalkCandidates)), choose(p.found, p.fewer(relevance.NewCandidates)))
}

// newestTalk returns the found documents of the kinds relevance.TalkKinds, or enough of the newest of them. It
// goes back step by step, so that a search for a frequent word need not read the list of all messages.
func (p *picker) newestTalk() (set, error) {
	const first, factor = 512, 4
	out := p.eval.none()
	rest := make([][]scope, len(p.eval.tapes))
	for i, t := range p.eval.tapes {
		rest[i] = p.eval.scopesOf(t)
	}
	for n := first; ; n *= factor {
		var step []scope
		for i := range rest {
			step, rest[i] = p.stepBack(step, rest[i], n)
		}
		if len(step) == 0 {
			return out, nil
		}
		for _, s := range p.eval.joined(step) {
			for _, kind := range relevance.TalkKinds {
				if err := p.eval.x.Each([]byte(relevance.MarkKind+kind), s.lo, s.hi, func(docs []int64) { p.eval.add(out, docs) }); err != nil {
					return nil, err
				}
			}
		}
		if out.and(p.found).count() >= p.fewer(relevance.TalkCandidates) {
			return out, nil
		}
	}
}

// stepBack moves the newest n found documents of a tape, as scopes, from rest to list.
func (p *picker) stepBack(list, rest []scope, n int) (longer, left []scope) {
	for n > 0 && len(rest) > 0 {
		sc := &rest[len(rest)-1]
		from := sc.lo
		p.eval.last(p.found, *sc, func(doc int64) bool {
			if n--; n == 0 {
				from = doc
			}
			return n > 0
		})
		part := *sc
		part.lo = from
		list = append(list, part)
		if sc.hi = from - 1; sc.hi < sc.lo {
			rest = rest[:len(rest)-1]
		}
	}
	return list, rest
}

// tapeQueue has the remaining documents of one tape. The queues are in a heap, the newest first.
type tapeQueue struct {
	rank  int
	rest  []scope
	docs  []int64 // the next documents
	date  int64   // of docs[0], or an upper bound until the document is read
	dated bool    // date is exact
	begun bool    // rest has been set
}

type tapeQueues []*tapeQueue

func (h tapeQueues) Len() int { return len(h) }

// Less puts a queue with an upper bound before one with the same exact date, because its next document may have
// that date, too.
func (h tapeQueues) Less(i, j int) bool {
	a, b := h[i], h[j]
	switch {
	case a.date != b.date:
		return a.date > b.date
	case a.dated != b.dated:
		return b.dated
	}
	return a.rank < b.rank
}

func (h tapeQueues) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *tapeQueues) Push(r any)   { *h = append(*h, r.(*tapeQueue)) }

func (h *tapeQueues) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}

// step makes sure that a queue has a next document, and returns false if there is none.
func (r *tapeQueue) step(l placement, from set) bool {
	const several = 128
	for len(r.docs) == 0 && len(r.rest) > 0 {
		sc := &r.rest[len(r.rest)-1]
		l.last(from, *sc, func(doc int64) bool {
			r.docs = append(r.docs, doc)
			return len(r.docs) < several
		})
		if len(r.docs) > 0 {
			sc.hi = r.docs[len(r.docs)-1] - 1
		}
		if len(r.docs) == 0 || sc.hi < sc.lo {
			r.rest = r.rest[:len(r.rest)-1]
		}
	}
	return len(r.docs) > 0
}

// newestOf yields the documents of a set, the newest first. Within a tape, the last entry is the newest;
// between tapes, dates decide. A tape's documents are listed only when one of them may be the next.
func (p *picker) newestOf(from set) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		left := make(tapeQueues, 0, len(p.eval.tapes))
		for i, t := range p.eval.tapes {
			left = append(left, &tapeQueue{rank: i, date: max(0, t.newest)})
		}
		alone := len(left) == 1
		heap.Init(&left)
		for len(left) > 0 {
			r := left[0]
			if !r.begun {
				r.rest, r.begun = p.eval.scopesOf(p.eval.tapes[r.rank]), true
			}
			if !r.step(p.eval.placement, from) {
				heap.Pop(&left)
				continue
			}
			if !r.dated && !alone {
				c, err := p.candidate(r.docs[0])
				if err != nil {
					yield(0, err)
					return
				}
				r.date, r.dated = c.Created, true
				heap.Fix(&left, 0)
				continue
			}
			doc := r.docs[0]
			if r.docs, r.dated = r.docs[1:], false; !alone {
				r.date = max(0, p.eval.tapes[r.rank].newest)
				heap.Fix(&left, 0)
			}
			if !yield(doc, nil) {
				return
			}
		}
	}
}

// judge scores a document by what the index has of it, or folds it.
func (p *picker) judge(ctx context.Context, doc int64) error {
	if p.taken[doc] {
		return nil
	}
	p.taken[doc] = true
	if len(p.taken)%64 == 0 && ctx.Err() != nil {
		return ctx.Err()
	}
	c, err := p.candidate(doc)
	if err != nil {
		return err
	}
	if p.early && p.folds(&c) {
		return nil
	}
	c.score = p.guess(&c)
	p.judged = append(p.judged, &c)
	return nil
}

// folds counts a matching document. It folds the document into an earlier one that says nearly the same, and
// returns true if there is one. Otherwise later documents may be folded into this one.
func (p *picker) folds(c *candidate) bool {
	p.hits++
	if p.s.NoFold {
		return false
	}
	key := signature{c.Sign, c.Kind, c.rank}
	if same := p.bySign[key]; same != nil {
		same.more++
		return true
	}
	p.bySign[key] = c
	return false
}

// byScore orders by score, then by age. No two candidates compare equal.
func byScore(a, b *candidate) int { return cmp.Or(cmp.Compare(b.score, a.score), byAge(a, b)) }

func byAge(a, b *candidate) int {
	return cmp.Or(cmp.Compare(b.Created, a.Created), cmp.Compare(a.rank, b.rank), cmp.Compare(b.doc, a.doc))
}

// readBest reads the best judged documents until there are n hits, or all were read.
func (p *picker) readBest(ctx context.Context, n int) error {
	slices.SortFunc(p.judged, byScore)
	for len(p.judged) > 0 && len(p.read) < n {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		c := p.judged[0]
		p.judged = p.judged[1:]
		ok, err := p.match(ctx, c)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if relevance.DigitsMatter(p.s.Text) {
			c.Sign = int64(text.Identity(c.text))
		}
		if !p.early && p.folds(c) {
			continue
		}
		c.score = p.score(c)
		if p.s.Stored {
			c.snippet = newHit(repo.Entry{}, c.text, c.match.Spans, p.s.Width).Snippet
			c.entry, c.text, c.match = c.stored, nil, query.Match{}
		}
		p.read = append(p.read, c)
	}
	return nil
}

func (p *picker) result() *Result {
	out := &Result{Matches: p.hits, Exact: len(p.taken) == p.total && len(p.judged) == 0}
	if p.sure {
		out.Matches, out.Exact = p.total, true
	}
	switch {
	case !p.s.Newest:
		slices.SortFunc(p.read, byScore)
	case len(p.eval.tapes) > 1: // entries of one tape are already in order
		slices.SortFunc(p.read, byAge)
	}
	for _, c := range p.read[:min(len(p.read), p.s.limit())] {
		h := newHit(c.entry, c.text, c.match.Spans, p.s.Width)
		h.Snippet = cmp.Or(c.snippet, h.Snippet)
		h.Score, h.Similar = math.Round(c.score*1000)/1000, c.more
		out.Hits = append(out.Hits, h)
	}
	return out
}
