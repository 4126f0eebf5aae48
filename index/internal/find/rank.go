package find

import "tape/internal/store/relevance"

// guess estimates the score from the index alone.
func (p *picker) guess(c *candidate) float64 {
	sum := 0.0
	place := p.eval.place(c.doc)
	for _, u := range p.units {
		if u.docs.has(place) {
			n := 1.0
			if u.often.has(place) {
				n = relevance.OftenTimes
			}
			sum += u.idf * p.Saturated(n, c.At.Length)
		}
	}
	return p.Weigh(c.Kind, c.Created, sum)
}

// score is BM25 over the words of the query, weighed by kind, age, and whether the text has the query as typed.
func (p *picker) score(c *candidate) float64 {
	sum := 0.0
	for _, t := range c.match.Terms {
		df := p.total
		if ts := p.eval.terms[t.Term]; ts != nil {
			df = ts.n
		}
		sum += p.IDF(df) * p.Saturated(float64(t.N), c.At.Length)
	}
	if c.match.Literal {
		sum *= relevance.Literal
	}
	return p.Weigh(c.Kind, c.Created, sum)
}
