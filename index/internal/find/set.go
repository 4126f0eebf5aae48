package find

import (
	"cmp"
	"math/bits"
	"slices"

	"tape/index/internal/store"
)

// set is a set of documents of some scopes, with a bit for each. The ids of a tape have no gaps, so a
// million documents take 125 KB.
type set []uint64

// placement gives every document of some scopes a place: its bit in a set. The places of one tape are adjacent.
type placement struct {
	scopes []scope // ordered by document
	tapes  []searchedTape
	spans  []span
	size   int
}

// span is a range of documents that is read at once.
type span struct{ lo, hi int64 }

// newPlacement places scopes, given in any order, each with the rank of its tape.
func newPlacement(tapes []searchedTape, scopes []scope) placement {
	l := placement{scopes: scopes, tapes: tapes}
	slices.SortFunc(scopes, func(a, b scope) int { return cmp.Compare(a.lo, b.lo) })
	for i, sc := range scopes {
		l.tapes[sc.rank].scopes = append(l.tapes[sc.rank].scopes, i)
	}
	for _, t := range l.tapes {
		for _, i := range t.scopes {
			scopes[i].at = l.size
			l.size += int(scopes[i].hi - scopes[i].lo + 1)
		}
	}
	l.spans = spansOf(scopes)
	return l
}

// spansOf joins adjacent scopes. It does not join scopes with other tapes between them, which may be large,
// unless there would be many spans: each costs a search for its beginning.
func spansOf(scopes []scope) []span {
	const many = 8
	var out []span
	for _, sc := range scopes {
		if n := len(out); n > 0 && sc.no-store.TapeOf(out[n-1].hi) <= 1 {
			out[n-1].hi = sc.hi
			continue
		}
		out = append(out, span{sc.lo, sc.hi})
	}
	if len(out) > many {
		return []span{{out[0].lo, out[len(out)-1].hi}}
	}
	return out
}

func (l placement) none() set { return make(set, (l.size+63)/64) }

func (l placement) all() set {
	s := l.none()
	for i := range s {
		s[i] = ^uint64(0)
	}
	if rest := l.size % 64; rest > 0 {
		s[len(s)-1] = 1<<rest - 1
	}
	return s
}

// add puts ascending documents into a set, and skips those in no scope.
func (l placement) add(s set, docs []int64) {
	for i := 0; len(docs) > 0 && i < len(l.scopes); i++ {
		sc := &l.scopes[i]
		shift := int64(sc.at) - sc.lo
		n := len(docs)
		if docs[n-1] > sc.hi {
			n, _ = slices.BinarySearch(docs, sc.hi+1)
		}
		in := docs[:n]
		if n > 0 && in[0] < sc.lo {
			skipped, _ := slices.BinarySearch(in, sc.lo)
			in = in[skipped:]
		}
		s.mark(in, shift)
		docs = docs[n:]
	}
}

// mark adds ascending documents, whose places are shift further. Neighbours are often in the same word.
func (s set) mark(docs []int64, shift int64) {
	at, w := int64(-1), uint64(0)
	for _, d := range docs {
		d += shift
		if d>>6 != at {
			if w != 0 {
				s[at] |= w
			}
			at, w = d>>6, 0
		}
		w |= 1 << (d & 63)
	}
	if w != 0 {
		s[at] |= w
	}
}

// scopesOf returns the scopes of a tape, the oldest first.
func (l placement) scopesOf(t searchedTape) []scope {
	out := make([]scope, len(t.scopes))
	for i, n := range t.scopes {
		out[i] = l.scopes[n]
	}
	return out
}

// scopeOf returns the scope that a document is in, or nil.
func (l placement) scopeOf(doc int64) *scope {
	i, _ := slices.BinarySearchFunc(l.scopes, doc, func(sc scope, doc int64) int { return cmp.Compare(sc.hi, doc) })
	if i == len(l.scopes) || doc < l.scopes[i].lo {
		return nil
	}
	return &l.scopes[i]
}

// place returns the place of a document; -1 if it is in no scope.
func (l placement) place(doc int64) int {
	if sc := l.scopeOf(doc); sc != nil {
		return sc.at + int(doc-sc.lo)
	}
	return -1
}

// last calls f with a scope's documents in a set, from the last to the first, until f returns false.
func (l placement) last(s set, sc scope, f func(doc int64) bool) {
	low, high := sc.at, sc.at+int(sc.hi-sc.lo) // places, both included
	for i := high >> 6; i >= low>>6; i-- {
		w := s[i]
		if i == high>>6 {
			w &= ^uint64(0) >> (63 - high&63)
		}
		if i == low>>6 {
			w &= ^uint64(0) << (low & 63)
		}
		for w != 0 {
			bit := 63 - bits.LeadingZeros64(w)
			w &^= 1 << bit
			if !f(sc.lo + int64(i<<6+bit-low)) {
				return
			}
		}
	}
}

// docs returns the documents of a set, at most as many as given.
func (l placement) docs(s set, most int) (out []int64) {
	for _, sc := range l.scopes {
		l.last(s, sc, func(doc int64) bool {
			if len(out) < most {
				out = append(out, doc)
			}
			return len(out) < most
		})
	}
	return out
}

// dropRange removes a scope's documents in [from, to] from a set.
func (l placement) dropRange(s set, sc scope, from, to int64) {
	from, to = max(from, sc.lo), min(to, sc.hi)
	low, high := sc.at+int(from-sc.lo), sc.at+int(to-sc.lo)
	for low <= high {
		if low&63 == 0 && low+63 <= high {
			s[low>>6] = 0
			low += 64
			continue
		}
		s.drop(low)
		low++
	}
}

func (s set) has(place int) bool { return place >= 0 && s[place>>6]>>(place&63)&1 != 0 }

func (s set) drop(place int) { s[place>>6] &^= 1 << (place & 63) }

func (s set) count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// and, or and without change the set that they are called on.
func (s set) and(o set) set {
	for i, w := range o {
		s[i] &= w
	}
	return s
}

func (s set) or(o set) {
	for i, w := range o {
		s[i] |= w
	}
}

func (s set) without(o set) {
	for i, w := range o {
		s[i] &^= w
	}
}
