package find

import (
	"math"

	"tape/index/internal/store"
	"tape/repo"
)

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
	place := p.eval.place(c.doc)
	for _, u := range p.units {
		if u.docs.has(place) {
			n := 1.0
			if u.often.has(place) {
				n = store.OftenTimes
			}
			sum += u.idf * p.saturated(n, c.At.Length)
		}
	}
	return p.weigh(c, sum)
}

// score is BM25 over the units of the query, by kind and age.
func (p *picker) score(c *candidate) float64 {
	sum := 0.0
	for _, t := range c.match.Terms {
		df := p.total
		if ts := p.eval.terms[t.Term]; ts != nil {
			df = ts.n
		}
		sum += p.idf(df) * p.saturated(float64(t.N), c.At.Length)
	}
	if c.match.Literal {
		sum *= literal
	}
	return p.weigh(c, sum)
}

// saturated is BM25's measure of n occurrences in an entry of a length in bytes.
func (p *picker) saturated(n float64, length int) float64 {
	if p.even { // the lengths of lines are not those of what is seen of them
		return n * (k1 + 1) / (n + k1)
	}
	return n * (k1 + 1) / (n + k1*(1-b+b*float64(length)/p.average))
}

func (p *picker) weigh(c *candidate, sum float64) float64 {
	fresh := 0.0
	if c.Created > 0 {
		fresh = math.Exp2(-float64(max(0, p.newest-c.Created)) / halfLife)
	}
	return sum * kindWeight(c.Kind) * (1 - ageShare + ageShare*fresh)
}
