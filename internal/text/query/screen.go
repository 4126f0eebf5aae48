package query

import (
	"slices"

	"tape/internal/text"
	"tape/internal/text/needle"
)

// screen rules texts out without folding them. It looks for units in the reduced text,
// in which most characters are folded but for the case of ASCII.
type screen struct{ text.Reducer }

// cannot reports whether text certainly lacks, reduced, a unit of each group of q.
func (s *screen) cannot(q *Query, body []byte) bool {
	reduced := s.Reduce(body)
	return !slices.ContainsFunc(q.groups, func(units []unit) bool {
		return !slices.ContainsFunc(units, func(u unit) bool { return !u.not && !s.has(&u, reduced) })
	})
}

// has reports whether the unit may be in a reduced text: its pieces are, and
// words in them are not parts of longer words.
func (s *screen) has(u *unit, body []byte) bool {
	// In blocks that grow, for the same reason as those of a filter.
	const least, most = 256, 32 << 10
	for from, size := 0, least; from < len(body); {
		end := min(from+size, len(body))
		i := u.probe.core.Index(body, from, end)
		if i < 0 {
			from, size = end, min(size*2, most)
			continue
		}
		if s.front(u, body, i) && s.back(u, body, i) {
			return true
		}
		from, size = i+1, least
	}
	return false
}

// probe is the piece of a unit to look for first.
type probe struct {
	piece int
	core  needle.Needle // the beginning of the piece
}

func newProbe(pieces []piece) *probe {
	var best *probe
	for i, p := range pieces {
		c := needle.New(string(p.lit[:min(len(p.lit), needle.MaxChoice)]), true)
		if best == nil || c.Cost < best.core.Cost {
			best = &probe{i, c}
		}
	}
	return best
}

// front reports whether the pieces from the probe's on stand at i.
func (s *screen) front(u *unit, body []byte, i int) bool {
	for k := u.probe.piece; ; k++ {
		lit := u.pieces[k].lit
		if !s.at(u, k, body, i) {
			return false
		}
		if i += len(lit); k == len(u.pieces)-1 {
			return true
		}
		gap := i
		for i < len(body) && text.ASCII(body[i]) == text.Space {
			i++
		}
		if i == gap {
			return false
		}
	}
}

// back reports whether the pieces before the probe's stand in front of i.
func (s *screen) back(u *unit, body []byte, i int) bool {
	for k := u.probe.piece - 1; k >= 0; k-- {
		gap := i
		for i > 0 && text.ASCII(body[i-1]) == text.Space {
			i--
		}
		lit := u.pieces[k].lit
		if i == gap || i < len(lit) {
			return false
		}
		i -= len(lit)
		if !s.at(u, k, body, i) {
			return false
		}
	}
	return true
}

// at reports whether piece k of the unit may stand at i. Borders are looked at
// first: they keep a long word from being compared at every place of a longer.
func (s *screen) at(u *unit, k int, body []byte, i int) bool {
	lit := u.pieces[k].lit
	return len(body)-i >= len(lit) && s.borders(u, k, body, i) && needle.EqualFold(body[i:i+len(lit)], lit)
}

// borders reports whether a piece's words, at i, may be words or parts of identifiers.
func (s *screen) borders(u *unit, k int, body []byte, i int) bool {
	if s.Loose {
		return true
	}
	runs := u.pieces[k].runs
	for j := range runs {
		r := &runs[j]
		if r.class != text.Lower {
			continue
		}
		if goesOn(body, i+r.Start) {
			return false
		}
		prefix := u.prefix && k == len(u.pieces)-1 && j == len(runs)-1
		if !prefix && goesOn(body, i+r.End) {
			return false
		}
	}
	return true
}

// goesOn reports whether it is certain that the word in front of i and the one
// at i are the same, and the same part of it.
func goesOn(body []byte, i int) bool {
	if i == 0 || i == len(body) {
		return false
	}
	a, b := text.ASCII(body[i-1]), text.ASCII(body[i])
	return b == text.Lower && (a == text.Lower || a == text.Upper) || a == text.Digit && b == text.Digit
}
