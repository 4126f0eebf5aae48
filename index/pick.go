package index

import (
	"cmp"
	"math"
	"slices"

	"tape/internal/text"
	"tape/repo"
)

// picker takes the best of the documents that were found.
//
// Relevance needs the text of an entry, which takes time to read. So a document is first
// judged by what the index knows of it: which words it has, and which it has often, its
// kind, its length and its age. The best by that are read, and judged by their text. Of
// many documents only some are judged at all: those of what people and agents said that
// have a word often, the newest of what they said, and the newest of all.
type picker struct {
	*finder
	found docs
	sure  bool // what was found matches, without a look at the text

	units  []unit
	judged []*candidate // not read yet
	read   []*candidate // these are hits
	taken  map[int64]bool
	bySign map[signature]*candidate
	hits   int // documents of which it is known that they match

	newest  int64   // date of the newest entry, microseconds since 1970
	entries float64 // in all scopes
	average float64 // bytes of an entry
}

// unit is a word of the query, as the index knows it.
type unit struct {
	docs, often docs
	idf         float64
}

// signature is what entries that are folded into one have in common.
type signature struct {
	sign int64
	kind string
	tape int64
}

const (
	// manyFound is how many documents are judged without a choice of candidates.
	manyFound = 400
	// Candidates, of each sort.
	oftenCandidates = 100
	talkCandidates  = 120
	newCandidates   = 80
	// lateFound is how many of the newest documents are looked through for what was said.
	lateFound = 10_000
	// leastRead is how many of the best are read, if there are as many. It is twice what
	// is wanted, if that is more.
	leastRead = 40
)

func newPicker(f *finder, found docs, sure bool) (*picker, error) {
	p := &picker{finder: f, found: found, sure: sure, taken: map[int64]bool{}, bySign: map[signature]*candidate{}}
	var bytes int64
	for _, s := range f.eval.scopes {
		p.newest = max(p.newest, s.newest)
		p.entries += float64(s.count)
		bytes += s.bytes
	}
	p.average = max(1, float64(bytes)/max(1, p.entries))
	for term, ds := range f.eval.sets {
		often, err := f.eval.with(markOften + term)
		if err != nil {
			return nil, err
		}
		p.units = append(p.units, unit{ds, often, p.idf(len(ds))})
	}
	return p, nil
}

func (p *picker) idf(df int) float64 {
	return math.Log(1 + (p.entries-float64(df)+0.5)/(float64(df)+0.5))
}

func (p *picker) run() error {
	next := p.newestFirst(p.found)
	if p.s.Newest {
		return p.takeNewest(next)
	}
	chosen := p.found
	if len(p.found) > manyFound {
		var err error
		if chosen, err = p.choose(); err != nil {
			return err
		}
	}
	for _, d := range slices.Backward(chosen) { // the newest stands for those folded into it
		if err := p.take(d); err != nil {
			return err
		}
	}
	wanted := max(leastRead, 2*min(p.s.limit(), math.MaxInt/2))
	if err := p.readBest(wanted); err != nil {
		return err
	}
	// Too few: then also what was not chosen, the newest first.
	const more = 64
	for len(p.read) < p.s.limit() && len(p.taken) < len(p.found) {
		for range more {
			d, ok, err := next()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			if err := p.take(d); err != nil {
				return err
			}
		}
		if err := p.readBest(wanted); err != nil {
			return err
		}
	}
	return nil
}

// takeNewest reads documents from the newest on, until there are enough.
func (p *picker) takeNewest(next func() (int64, bool, error)) error {
	for len(p.read) < p.s.limit() {
		d, ok, err := next()
		if err != nil || !ok {
			return err
		}
		if err := p.take(d); err != nil {
			return err
		}
		if err := p.readBest(math.MaxInt); err != nil {
			return err
		}
	}
	return nil
}

// choose returns the candidates of many documents.
func (p *picker) choose() (docs, error) {
	late := newestOf(p.found, lateFound)
	talk, err := p.eval.within(late[0], late[len(late)-1], markKind+repo.KindMessage, markKind+repo.KindAnchor, markKind+repo.KindError)
	if err != nil {
		return nil, err
	}
	out := union(newestOf(intersect(talk, late), talkCandidates), newestOf(late, newCandidates))
	var often docs
	for _, u := range p.units {
		often = union(often, u.often)
	}
	return union(out, newestOf(intersect(often, p.found), oftenCandidates)), nil
}

func newestOf(ds docs, n int) docs { return ds[max(0, len(ds)-n):] }

// newestFirst returns a function that goes through documents from the newest on. Within
// a tape that is the last entry; between tapes the dates decide.
func (p *picker) newestFirst(found docs) func() (int64, bool, error) {
	type run struct {
		docs docs
		date int64
	}
	var runs []run
	started := false
	head := func(r *run) error {
		if len(p.eval.scopes) == 1 {
			return nil
		}
		c, err := p.candidate(r.docs[len(r.docs)-1])
		r.date = c.created
		return err
	}
	start := func() error {
		started = true
		for _, s := range p.eval.scopes {
			from, _ := slices.BinarySearch(found, s.lo)
			to, _ := slices.BinarySearch(found, s.hi+1)
			if from == to {
				continue
			}
			r := run{docs: found[from:to]}
			if err := head(&r); err != nil {
				return err
			}
			runs = append(runs, r)
		}
		return nil
	}
	return func() (int64, bool, error) {
		if !started {
			if err := start(); err != nil {
				return 0, false, err
			}
		}
		if len(runs) == 0 {
			return 0, false, nil
		}
		best := 0
		for i := range runs {
			if runs[i].date > runs[best].date {
				best = i
			}
		}
		r := &runs[best]
		d := r.docs[len(r.docs)-1]
		if r.docs = r.docs[:len(r.docs)-1]; len(r.docs) == 0 {
			runs = slices.Delete(runs, best, best+1)
			return d, true, nil
		}
		return d, true, head(r)
	}
}

// take judges a document by what the index knows of it.
func (p *picker) take(doc int64) error {
	if p.taken[doc] {
		return nil
	}
	p.taken[doc] = true
	if len(p.taken)%64 == 0 && p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	c, err := p.candidate(doc)
	if err != nil {
		return err
	}
	if p.sure && p.folds(&c) {
		return nil
	}
	c.score = p.guess(&c)
	p.judged = append(p.judged, &c)
	return nil
}

// folds adds a document that matches to a hit that says nearly the same, if there is one;
// otherwise others may be folded into it.
func (p *picker) folds(c *candidate) bool {
	p.hits++
	if p.s.NoFold {
		return false
	}
	key := signature{c.sign, c.kind, tapeOf(c.doc)}
	if same := p.bySign[key]; same != nil {
		same.more++
		return true
	}
	p.bySign[key] = c
	return false
}

// readBest reads the best of those that were judged, until n hits are read, or all.
func (p *picker) readBest(n int) error {
	slices.SortStableFunc(p.judged, func(a, b *candidate) int { return cmp.Compare(b.score, a.score) })
	for len(p.judged) > 0 && len(p.read) < n {
		if p.ctx.Err() != nil {
			return p.ctx.Err()
		}
		c := p.judged[0]
		p.judged = p.judged[1:]
		ok, err := p.match(c)
		if err != nil {
			return err
		}
		if !ok || !p.sure && p.folds(c) {
			continue
		}
		c.score = p.score(c)
		p.read = append(p.read, c)
	}
	return nil
}

func (p *picker) result() *Result {
	out := &Result{Matches: p.hits, Exact: len(p.taken) == len(p.found) && len(p.judged) == 0}
	if p.sure {
		out.Matches, out.Exact = len(p.found), true
	}
	slices.SortStableFunc(p.read, func(a, b *candidate) int {
		switch {
		case p.s.Newest && len(p.eval.scopes) == 1:
			return cmp.Compare(b.doc, a.doc)
		case p.s.Newest:
			return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(b.doc, a.doc))
		}
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.created, a.created), cmp.Compare(b.doc, a.doc))
	})
	for _, c := range p.read[:min(len(p.read), p.s.limit())] {
		out.Hits = append(out.Hits, newHit(c))
	}
	return out
}

// The weights of relevance. BM25's k1 and b are the usual ones.
const (
	k1 = 1.2
	b  = 0.75
	// literal rewards an entry that has the query as it was typed.
	literal = 1.3
	// Age takes up to ageShare of the score, half of it after halfLife.
	ageShare = 0.35
	halfLife = 14 * 24 * 3600e6 // microseconds
)

// kindWeight puts what was said above what was printed.
func kindWeight(kind string) float64 {
	switch kind {
	case repo.KindMessage, repo.KindAnchor:
		return 1
	case repo.KindError:
		return 0.9
	case repo.KindToolCall:
		return 0.6
	case repo.KindSystem:
		return 0.5
	case repo.KindToolResult:
		return 0.45
	}
	return 0.4
}

// guess is the score as far as the index knows.
func (p *picker) guess(c *candidate) float64 {
	sum := 0.0
	for _, u := range p.units {
		if u.docs.has(c.doc) {
			n := 1.0
			if u.often.has(c.doc) {
				n = oftenTimes
			}
			sum += u.idf * p.saturated(n, c.at.Length)
		}
	}
	return p.weigh(c, sum)
}

// score is BM25 over the units of the query, by kind and age.
func (p *picker) score(c *candidate) float64 {
	sum := 0.0
	for _, t := range c.match.Terms {
		df := len(p.found)
		if ds, ok := p.eval.sets[t.Term]; ok {
			df = len(ds)
		}
		sum += p.idf(df) * p.saturated(float64(t.N), c.at.Length)
	}
	if c.match.Literal {
		sum *= literal
	}
	return p.weigh(c, sum)
}

// saturated is BM25's measure of n occurrences in an entry of a length in bytes.
func (p *picker) saturated(n float64, length int) float64 {
	return n * (k1 + 1) / (n + k1*(1-b+b*float64(length)/p.average))
}

func (p *picker) weigh(c *candidate, sum float64) float64 {
	fresh := 0.0
	if c.created > 0 {
		fresh = math.Exp2(-float64(max(0, p.newest-c.created)) / halfLife)
	}
	return sum * kindWeight(c.kind) * (1 - ageShare + ageShare*fresh)
}

// snippetWidth is about how many characters a snippet has.
const snippetWidth = 160

func newHit(c *candidate) Hit {
	snippet, spans := text.Snippet(c.text, c.match.Spans, snippetWidth)
	h := Hit{Entry: c.entry, Score: math.Round(c.score*1000) / 1000, Snippet: snippet, Similar: c.more}
	for _, s := range spans {
		h.Spans = append(h.Spans, [2]int{s.Start, s.End})
	}
	return h
}
