package query

import (
	"bytes"
	"slices"

	"tape/internal/text"
	"tape/internal/text/needle"
)

// screen rules texts out without folding them. It looks for units in the reduced text,
// in which most characters are folded but for the case of ASCII.
type screen struct {
	text.Reducer
	finder  needle.Finder
	reduced []byte
}

// cannot reports whether text certainly lacks, reduced, a unit of each group of q.
func (s *screen) cannot(q *Query, body []byte) bool {
	s.reduced = s.Reduce(body)
	return !slices.ContainsFunc(q.groups, func(units []unit) bool {
		return !slices.ContainsFunc(units, func(u unit) bool { return !u.not && !s.has(&u) })
	})
}

// has reports whether the unit may be in the text: its pieces are, and words in
// them are not parts of longer words.
func (s *screen) has(u *unit) bool {
	s.finder.Reset(u.needles, s.reduced)
	for from := 0; from < len(s.reduced); from++ {
		if from, _ = s.finder.Next(from); from < len(s.reduced) && s.front(u, from) && s.back(u, from) {
			return true
		}
	}
	return false
}

// front reports whether the pieces from the probe's on stand at i.
func (s *screen) front(u *unit, i int) bool {
	for k := u.probe; ; k++ {
		lit := u.pieces[k].lit
		if !s.at(u, k, i) {
			return false
		}
		if i += len(lit); k == len(u.pieces)-1 {
			return true
		}
		gap := i
		for i < len(s.reduced) && text.ASCII(s.reduced[i]) == text.Space {
			i++
		}
		if i == gap {
			return false
		}
	}
}

// back reports whether the pieces before the probe's stand in front of i.
func (s *screen) back(u *unit, i int) bool {
	for k := u.probe - 1; k >= 0; k-- {
		gap := i
		for i > 0 && text.ASCII(s.reduced[i-1]) == text.Space {
			i--
		}
		lit := u.pieces[k].lit
		if i == gap || i < len(lit) {
			return false
		}
		i -= len(lit)
		if !s.at(u, k, i) {
			return false
		}
	}
	return true
}

// at reports whether piece k of the unit may stand at i. Borders are looked at
// first: they keep a long word from being compared at every place of a longer.
func (s *screen) at(u *unit, k int, i int) bool {
	lit := u.pieces[k].lit
	return len(s.reduced)-i >= len(lit) && s.borders(u, k, i) && bytes.EqualFold(s.reduced[i:i+len(lit)], lit)
}

// borders reports whether a piece's words, at i, may be words or parts of identifiers.
func (s *screen) borders(u *unit, k int, i int) bool {
	if s.Loose {
		return true
	}
	runs := u.pieces[k].runs
	for j := range runs {
		r := &runs[j]
		if r.class != text.Lower {
			continue
		}
		if goesOn(s.reduced, i+r.Start) {
			return false
		}
		prefix := u.prefix && k == len(u.pieces)-1 && j == len(runs)-1
		if !prefix && goesOn(s.reduced, i+r.End) {
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
