package find

import (
	"context"
	"iter"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"tape/index/internal/store"
	"tape/internal/store/relevance"
	"tape/repo"
)

// picker is the source of candidates for [relevance.Choose].
type picker struct {
	*finder
	left    set // documents that match, as far as the index knows, and were not returned
	classes []class
	newest  func() (int64, error, bool) // the next document, see newestOf
	stop    func()
	session []string   // of each tape, by rank
	terms   []weighted // of the query
}

// class are the documents of kinds with the same weight.
type class struct {
	weight float64
	docs   set
}

func (f *finder) corpus() relevance.Corpus {
	c := relevance.Corpus{Even: !f.db.View.Plain()}
	var bytes int64
	for _, s := range f.eval.tapes {
		c.Newest = max(c.Newest, s.newest)
		c.Entries += float64(s.count)
		bytes += s.bytes
	}
	c.Average = max(1, float64(bytes)/max(1, c.Entries))
	return c
}

// pick chooses the hits among the found documents. sure says that all of them match.
func (f *finder) pick(ctx context.Context, found set, sure bool) (*Result, error) {
	total := found.count()
	out := &Result{Matches: total, Exact: true}
	if total == 0 {
		return out, nil
	}
	corpus := f.corpus()
	if f.s.Among != nil {
		corpus = f.s.Among.Corpus
	}
	terms, err := f.terms(&corpus)
	if err != nil {
		return nil, err
	}
	p := &picker{finder: f, left: found, session: sessionsOf(f.eval.tapes)}
	defer func() {
		if p.stop != nil {
			p.stop()
		}
	}()
	chosen, err := relevance.Choose(ctx, p, relevance.Choice{Query: f.query, Terms: terms, Corpus: corpus, Limit: f.s.limit(), Sure: sure, Text: f.s.Text,
		Newest: f.s.Newest, NoFold: f.s.NoFold, Flat: f.s.Flat, Most: p.most(), Brief: f.s.Brief})
	if err != nil {
		return nil, err
	}
	if !sure {
		out.Matches, out.Exact = chosen.Matches, chosen.Every
	}
	for _, c := range chosen.Hits {
		d := c.Key.(*candidate)
		switch {
		case f.s.Stored:
			d.entry = d.stored
		case c.Call != 0:
			d.entry = d.call
		}
		h := newHit(d.entry, c.Text, c.Match.Spans, f.s.Width)
		h.Score, h.Rank = rounded(c.Score), rounded(c.Rank)
		h.Similar, h.Session, h.More = c.Like, c.Session, c.More
		h.Has, h.Lacks = f.query.Found(c.Match)
		out.Hits = append(out.Hits, h)
	}
	return out, nil
}

func rounded(x float64) float64 { return math.Round(x*1000) / 1000 }

// most is how many hits of a session are wanted. Of a search in one session, all are.
func (p *picker) most() int {
	if slices.ContainsFunc(p.session, func(name string) bool { return name != p.session[0] }) {
		return p.s.PerSession
	}
	return 0
}

// terms returns the features of the query with their weights.
func (f *finder) terms(corpus *relevance.Corpus) ([]relevance.Term, error) {
	var out []relevance.Term
	for _, feature := range f.query.Features() {
		docs, err := f.eval.featured(feature)
		if err != nil {
			return nil, err
		}
		n := docs.n
		if f.s.Among != nil {
			n = max(n, f.s.Among.Found[feature.ID])
		}
		if docs.n > 0 {
			out = append(out, relevance.Term{Feature: feature, Weight: feature.Factor * corpus.IDF(n)})
		}
	}
	return out, nil
}

// sessionsOf returns the sessions of tapes.
func sessionsOf(tapes []searchedTape) []string {
	out := make([]string, len(tapes))
	for i, t := range tapes {
		out[i] = relevance.SessionOf(t.tape.Name(), t.tape.IsFork())
	}
	return out
}

// asCandidate returns a document as a candidate.
func (p *picker) asCandidate(doc int64) (*relevance.Candidate, error) {
	c, err := p.candidate(doc)
	if err != nil {
		return nil, err
	}
	return &relevance.Candidate{Kind: c.Kind, Created: c.Created, Length: c.At.Length, Sign: c.Sign,
		Tape: int64(c.rank), ID: c.doc, Guess: p.guess(p.eval.place(doc)), Beside: p.session[c.rank] != p.eval.tapes[c.rank].tape.Name(), Session: p.session[c.rank], Key: &c}, nil
}

// Newest returns the newest documents that are left.
func (p *picker) Newest(ctx context.Context, n int) (out []*relevance.Candidate, err error) {
	if p.newest == nil {
		p.newest, p.stop = iter.Pull2(p.newestOf(slices.Clone(p.left)))
	}
	for len(out) < n {
		doc, err, ok := p.newest()
		if !ok || err != nil {
			return out, err
		}
		if len(out)%64 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c, err := p.asCandidate(doc)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// Read reads the texts of candidates. Reading takes as long as judging what was read, so they run beside each other.
func (p *picker) Read(ctx context.Context, list []*relevance.Candidate, f func(*relevance.Candidate)) error {
	done := make(chan *relevance.Candidate, len(list))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		defer close(done)
		for _, c := range list {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			var err error
			if c.Text, err = p.read(ctx, c.Key.(*candidate)); err != nil {
				return err
			}
			c.Weight = relevance.WeightOf(c.Key.(*candidate).entry)
			done <- c
		}
		return nil
	})
	for c := range done {
		f(c)
	}
	return g.Wait()
}

// Calls finds the calls that events tell more about, shortly before them.
func (p *picker) Calls(ctx context.Context, list []*relevance.Candidate) error {
	if !p.db.View.Plain() || p.seen != nil || p.s.Stored {
		return nil
	}
	for _, c := range list {
		if id := relevance.CallOf(c.Key.(*candidate).entry); id != "" {
			if err := p.call(ctx, c, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// call finds the call of an event, with its result.
func (p *picker) call(ctx context.Context, c *relevance.Candidate, id string) error {
	d := c.Key.(*candidate)
	result, all := int64(0), p.eval.tapes[d.rank].all
	for n := d.entry.ID - 1; n >= max(1, d.entry.ID-relevance.CallBack); n-- {
		part := all.part(n)
		before := candidate{doc: store.DocOf(part.no, n), holder: part.holder, rank: d.rank}
		var err error
		if before.Line, err = p.line(before.doc); err != nil {
			return err
		}
		if before.Kind != repo.KindToolCall && before.Kind != repo.KindToolResult {
			continue
		}
		e, err := p.entry(ctx, &before)
		if err != nil {
			return err
		}
		switch {
		case !relevance.HasCall(e, id):
		case e.Kind == repo.KindToolResult:
			result = before.doc
		case p.s.keeps(e):
			c.Call, c.Result, d.call = before.doc, result, e
			return nil
		default:
			return nil // the call is filtered out
		}
	}
	return nil
}
