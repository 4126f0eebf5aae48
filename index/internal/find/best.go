package find

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"tape/internal/store/relevance"
	"tape/internal/text/query"
)

// weighted has the documents of a term of the query.
type weighted struct {
	docs, often   set
	weight, twice float64 // what the term adds to a guess: once, and if the document has it often
}

// Best returns the n best documents that are left.
//
// Most documents cannot be among them: those of kinds that weigh little, or with only frequent words. So the kinds
// come in the order of their weights, and of each kind only documents are looked at that have one of the rarest terms,
// without which the others do not add up to enough.
func (p *picker) Best(ctx context.Context, terms []relevance.Term, n int, full map[string]bool, within relevance.Span) ([]*relevance.Candidate, error) {
	from := p.left
	if len(full) > 0 {
		from = slices.Clone(p.left)
		for i := range p.eval.scopes {
			if sc := p.eval.scopes[i]; full[p.session[sc.rank]] {
				p.eval.dropRange(from, sc, sc.lo, sc.hi)
			}
		}
	}
	var err error
	if within != (relevance.Span{}) {
		from = slices.Clone(from)
		if err = p.dropByDate(from, within.Since, within.Before-1); err != nil {
			return nil, err
		}
	}
	if p.terms == nil {
		if p.terms, err = p.weighted(terms); err != nil {
			return nil, err
		}
	}
	chosen, err := p.best(ctx, from, n)
	if err != nil {
		return nil, err
	}
	if err := p.fetch(p.eval.docs(chosen, mostLines)); err != nil {
		return nil, err
	}
	out := make([]*relevance.Candidate, 0, min(n, 1024))
	for doc, err := range p.newestOf(chosen) {
		if err != nil {
			return nil, err
		}
		c, err := p.asCandidate(doc)
		if err != nil {
			return nil, err
		}
		p.left.drop(p.eval.place(doc))
		out = append(out, c)
	}
	return out, nil
}

// best returns the set of the n best documents of a set.
func (p *picker) best(ctx context.Context, from set, n int) (set, error) {
	if from.count() <= n {
		return slices.Clone(from), nil
	}
	list := p.terms
	if len(list) == 1 && list[0].often != nil {
		if out, err := p.talkWith(from, list[0].often, n); out != nil || err != nil {
			return out, err
		}
	}
	t := newTally(n)
	for i := 0; t.reaches(i, list); i++ {
		c, err := p.class(i)
		if err != nil {
			return nil, err
		}
		if c == nil {
			break
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		t.class(from, *c, list)
	}
	out, ties := p.eval.none(), p.eval.none()
	rest := n
	for i := range p.classes {
		rest -= t.collect(from, p.classes[i], list, out, ties)
	}
	for doc, err := range p.newestOf(ties) {
		if err != nil {
			return nil, err
		}
		if rest--; rest < 0 {
			break
		}
		at := p.eval.place(doc)
		out[at>>6] |= 1 << (at & 63)
	}
	return out, nil
}

// talkWith returns the n newest messages and anchors that have the only term of a query often: no document has a greater
// guess. It returns nil if these are not found among the newest documents with the term, whose rows have to be read anyway.
// The lists of all messages are long.
func (p *picker) talkWith(from, often set, n int) (set, error) {
	const chunk = 128
	with := slices.Clone(from).and(often)
	if with.count() < n || n > 2*relevance.Candidates {
		return nil, nil
	}
	out, rest, left := p.eval.none(), n, 3*n
	var docs []int64
	judge := func() error {
		if err := p.fetch(docs); err != nil {
			return err
		}
		for _, doc := range docs {
			l, err := p.line(doc)
			if err != nil {
				return err
			}
			if slices.Contains(relevance.ByWeight[0].Names, l.Kind) && rest > 0 {
				at := p.eval.place(doc)
				out[at>>6] |= 1 << (at & 63)
				rest--
			}
		}
		docs = docs[:0]
		return nil
	}
	for doc, err := range p.newestOf(with) {
		if err != nil {
			return nil, err
		}
		if docs = append(docs, doc); len(docs) == chunk {
			if err := judge(); err != nil {
				return nil, err
			}
			if left -= chunk; left <= 0 || rest == 0 {
				break
			}
		}
	}
	if err := judge(); err != nil || rest > 0 {
		return nil, err
	}
	return out, nil
}

// guess is the sum over the terms of a document.
func (p *picker) guess(place int) (sum float64) {
	for i := range p.terms {
		if t := &p.terms[i]; t.docs.has(place) {
			if t.often != nil && t.often.has(place) {
				sum += t.twice
			} else {
				sum += t.weight
			}
		}
	}
	return sum
}

// weighted returns the documents of terms, the rarest first.
func (p *picker) weighted(terms []relevance.Term) ([]weighted, error) {
	var out []weighted
	for _, t := range terms {
		docs, err := p.eval.featured(t.Feature)
		if err != nil {
			return nil, err
		}
		w := weighted{docs: docs.set, weight: relevance.Guess(t.Weight, false)}
		if w.twice = w.weight; t.Expr.Op == query.Term {
			if w.often, err = p.eval.with(relevance.MarkOften + t.Expr.Term); err != nil {
				return nil, err
			}
			w.twice = relevance.Guess(t.Weight, true)
		}
		out = append(out, w)
	}
	slices.SortStableFunc(out, func(a, b weighted) int { return cmp.Compare(b.twice, a.twice) })
	return out, nil
}

// class returns the documents of the kinds with the i-th weight; nil after the last.
func (p *picker) class(i int) (*class, error) {
	if i < len(p.classes) {
		return &p.classes[i], nil
	}
	if i > len(relevance.ByWeight) {
		return nil, nil
	}
	c := class{weight: relevance.OtherWeight}
	if i == len(relevance.ByWeight) {
		c.docs = p.eval.all()
		for _, known := range p.classes {
			c.docs.without(known.docs)
		}
	} else {
		kinds := relevance.ByWeight[i]
		var terms []string
		for _, name := range kinds.Names {
			terms = append(terms, relevance.MarkKind+name)
		}
		var err error
		if c.docs, err = p.eval.with(terms...); err != nil {
			return nil, err
		}
		c.weight = kinds.Weight
	}
	p.classes = append(p.classes, c)
	return &p.classes[i], nil
}

// tally finds out which guess the n-th best document has.
type tally struct {
	n      int
	counts map[float64]int // documents by guess, of those that may be among the best
	held   int             // all of them, and
	before int             // how many there were when the lowest were forgotten
	least  float64         // the guess of the n-th best, as far as is known
	last   float64         // the guess that was counted last, and
	times  int             // how often, not in counts yet
}

func newTally(n int) *tally { return &tally{n: n, counts: map[float64]int{}, least: math.Inf(-1)} }

// class counts the documents of a class.
func (t *tally) class(from set, c class, list []weighted) {
	t.each(from, c, list, func(guess float64, _ int) {
		if guess != t.last {
			t.flush()
			t.last = guess
		}
		if t.times++; t.held+t.times-t.before > 8*t.n {
			t.flush()
			t.trim()
		}
	})
	t.flush()
	t.trim()
}

// reaches reports whether documents of the kinds with the i-th weight can be among the best. An index knows only of talk
// whether it has a term often.
func (t *tally) reaches(i int, list []weighted) bool {
	if i >= len(relevance.ByWeight) {
		return true
	}
	kinds, sum := relevance.ByWeight[i], 0.0
	for _, l := range list {
		if relevance.IsTalk(kinds.Names[0]) {
			sum += l.twice
		} else {
			sum += l.weight
		}
	}
	return sum*kinds.Weight >= t.least*(1-1e-9)
}

func (t *tally) flush() {
	if t.times > 0 && t.last >= t.least {
		t.counts[t.last] += t.times
		t.held += t.times
	}
	t.times = 0
}

// trim forgets the guesses that are too low.
func (t *tally) trim() {
	guesses := make([]float64, 0, len(t.counts))
	for g := range t.counts {
		guesses = append(guesses, g)
	}
	slices.SortFunc(guesses, func(a, b float64) int { return cmp.Compare(b, a) })
	sum := 0
	for _, g := range guesses {
		if sum >= t.n {
			delete(t.counts, g)
			continue
		}
		sum += t.counts[g]
		t.least = g
	}
	if t.held, t.before = sum, sum; sum < t.n {
		t.least = math.Inf(-1)
	}
}

// essential returns how many of the terms are needed: a document without any of them has too little, even with all
// others. It returns -1 if documents without any are among the best, too.
func (t *tally) essential(c class, list []weighted) int {
	if t.least <= 0 {
		return -1
	}
	rest := 0.0
	for n := len(list); n > 0; n-- {
		if rest += list[n-1].twice * c.weight; rest >= t.least*(1-1e-9) {
			return n
		}
	}
	return 0
}

// each calls f with the documents of a class that have one of the essential terms.
func (t *tally) each(from set, c class, list []weighted, f func(guess float64, place int)) {
	const often = 1024 // words of a set after which to look again
	essential := 0
	for i, w := range from {
		if i%often == 0 {
			if essential = t.essential(c, list); essential == 0 {
				return
			}
		}
		if w &= c.docs[i]; w == 0 {
			continue
		}
		some := uint64(0)
		if essential < 0 {
			some = ^some
		}
		for k := range list[:max(0, essential)] {
			some |= list[k].docs[i]
		}
		for w &= some; w != 0; w &= w - 1 {
			bit := uint64(1) << bits.TrailingZeros64(w)
			guess := 0.0
			for k := range list {
				if l := &list[k]; l.docs[i]&bit != 0 {
					if l.often != nil && l.often[i]&bit != 0 {
						guess += l.twice
					} else {
						guess += l.weight
					}
				}
			}
			if guess *= c.weight; guess >= t.least {
				f(guess, i<<6+bits.TrailingZeros64(w))
			}
		}
	}
}

// collect adds the documents above the n-th best guess to out, and those with that guess to ties. It returns how many
// are in out.
func (t *tally) collect(from set, c class, list []weighted, out, ties set) (n int) {
	t.each(from, c, list, func(guess float64, place int) {
		if guess > t.least {
			out[place>>6] |= 1 << (place & 63)
			n++
		} else {
			ties[place>>6] |= 1 << (place & 63)
		}
	})
	return n
}
