package query

import (
	"bytes"
	"slices"

	"tape/internal/text"
	"tape/internal/text/needle"
)

// screen rules out texts without folding them. It looks for units in the reduced text,
// in which ASCII keeps its case and other characters are folded.
type screen struct {
	text.Reducer
	finder  needle.Finder
	reduced []byte
}

// rulesOut reports whether the text certainly lacks a unit of each group of q.
func (s *screen) rulesOut(q *Query, body []byte) bool {
	s.reduced = s.Reduce(body)
	return !slices.ContainsFunc(q.groups, func(units []unit) bool {
		return !slices.ContainsFunc(units, func(u unit) bool { return !u.not && !s.has(&u) })
	})
}

// has reports whether the unit may be in the text: its pieces are there, and their
// words are not parts of longer words.
func (s *screen) has(u *unit) bool {
	s.finder.Reset(u.needles, s.reduced)
	for from := 0; from < len(s.reduced); from++ {
		if from, _ = s.finder.Next(from); from < len(s.reduced) && s.forward(u, from) && s.backward(u, from) {
			return true
		}
	}
	return false
}

// forward reports whether the probe and the pieces after it are at i.
func (s *screen) forward(u *unit, i int) bool {
	for k := u.probe; ; k++ {
		lit := u.pieces[k].lit
		if !s.pieceAt(u, k, i) {
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

// backward reports whether the pieces before the probe are before i.
func (s *screen) backward(u *unit, i int) bool {
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
		if !s.pieceAt(u, k, i) {
			return false
		}
	}
	return true
}

// pieceAt reports whether piece k of the unit may be at i. It checks the borders first,
// so that a long word is not compared at every place of a longer one.
func (s *screen) pieceAt(u *unit, k int, i int) bool {
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
		if continues(s.reduced, i+r.Start) {
			return false
		}
		prefix := u.prefix && k == len(u.pieces)-1 && j == len(runs)-1
		if !prefix && continues(s.reduced, i+r.End) {
			return false
		}
	}
	return true
}

// continues reports whether the bytes before and at i certainly belong to the same
// part of the same word.
func continues(body []byte, i int) bool {
	if i == 0 || i == len(body) {
		return false
	}
	a, b := text.ASCII(body[i-1]), text.ASCII(body[i])
	return b == text.Lower && (a == text.Lower || a == text.Upper) || a == text.Digit && b == text.Digit
}
