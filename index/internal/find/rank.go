package find

import (
	"math"

	"tape/index/internal/store"
	"tape/repo"
)

// Weights of relevance. k1 and b are the usual ones of BM25.
const (
	k1 = 1.2
	b  = 0.75
	// literal is the factor for entries that contain the query as it was typed.
	literal = 1.3
	// Age takes off up to ageShare of the score, half of that after halfLife.
	ageShare = 0.35
	halfLife = 14 * 24 * 3600e6 // microseconds
)

// kindWeight weighs what was said more than what was printed.
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

// guess is the score without the text.
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

// score is BM25 over the words of the query, weighed by kind and age.
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

// saturated is BM25's term for n occurrences in an entry with a line of the given length in bytes.
func (p *picker) saturated(n float64, length int) float64 {
	if p.even { // masked entries do not have the lengths of their lines
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
