package find

import (
	"slices"
	"testing"

	"tape/internal/testkit"
)

// TestBestIsExact: the documents above the n-th best guess, and those with that guess, are those that sorting all of them
// gives.
func TestBestIsExact(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for range testkit.Size(60, 3000) {
		size := 1 + rng.IntN(200_000>>rng.IntN(12))
		words := (size + 63) / 64
		random := func(one int) set {
			s := make(set, words)
			for range size / one {
				at := rng.IntN(size)
				s[at>>6] |= 1 << (at & 63)
			}
			return s
		}
		list := make([]weighted, rng.IntN(6))
		for i := range list {
			l := &list[i]
			l.docs, l.weight = random(1+rng.IntN(300)), float64(1+rng.IntN(9))
			if l.twice = l.weight; rng.IntN(2) == 0 {
				l.often, l.twice = random(50).and(l.docs), l.weight*1.5
			}
		}
		slices.SortStableFunc(list, func(a, b weighted) int { return int(2*b.twice) - int(2*a.twice) })
		classes := []class{{weight: 1, docs: random(3)}, {weight: 0.6, docs: random(2)}, {weight: 0.4}}
		classes[1].docs.without(classes[0].docs)
		classes[2].docs = random(1)
		for _, c := range classes[:2] {
			classes[2].docs.without(c.docs)
		}
		from := random(1 + rng.IntN(3))
		var guesses []float64
		of := map[int]float64{}
		for place := range size {
			for _, c := range classes {
				if !from.has(place) || !c.docs.has(place) {
					continue
				}
				guess := 0.0
				for _, l := range list {
					if l.docs.has(place) {
						if l.often != nil && l.often.has(place) {
							guess += l.twice
						} else {
							guess += l.weight
						}
					}
				}
				of[place] = guess * c.weight
				guesses = append(guesses, of[place])
			}
		}
		n := 1 + rng.IntN(300)
		if len(guesses) <= n {
			continue
		}
		slices.Sort(guesses)
		least := guesses[len(guesses)-n]
		tally := newTally(n)
		for _, c := range classes {
			tally.class(from, c, list)
		}
		out, ties, above := make(set, words), make(set, words), 0
		for _, c := range classes {
			above += tally.collect(from, c, list, out, ties)
		}
		for place := range size {
			guess, ok := of[place]
			if out.has(place) != (ok && guess > least) || ties.has(place) != (ok && guess == least) {
				t.Fatalf("%d of %d documents: the one at %d (%v) has the guess %v, the last of the best %v: above %v, equal %v", n, len(guesses), place, ok, guess, least, out.has(place), ties.has(place))
			}
		}
		if above >= n || above+ties.count() < n {
			t.Fatalf("%d above and %d equal, want %d", above, ties.count(), n)
		}
	}
}
