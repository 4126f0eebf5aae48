package text

import (
	"bytes"
	"unicode/utf8"
)

// screen rules out texts without folding all of them. It looks for units in
// the text itself, in which most characters are what they are folded to but
// for the case of ASCII. Only if there are others it takes a copy in which they
// are folded.
type screen struct {
	f     folder
	copy  []byte
	loose bool // borders of runs are not to be seen in the copy
}

// cannot reports whether it is certain that text does not satisfy q.
func (s *screen) cannot(q *Query, text []byte) bool {
	text = s.reduce(text)
	for _, units := range q.groups {
		if s.may(units, text) {
			return false
		}
	}
	return true
}

// may reports whether the reduced text may have all units that it has to have.
func (s *screen) may(units []unit, text []byte) bool {
	for i := range units {
		if u := &units[i]; !u.not && !s.has(u, text) {
			return false
		}
	}
	return true
}

// reduce returns text with every character folded that is not ASCII, and of
// ASCII what a mark combines with. Letters of ASCII stay capitals.
func (s *screen) reduce(text []byte) []byte {
	f := &s.f
	f.reset(text)
	s.copy, s.loose = s.copy[:0], false
	done := 0       // up to where the copy is made
	last := 0       // where the last character begins
	changed := true // it is in the copy, folded
	for i := 0; ; {
		if n := asciiLen(text[i:]); n > 0 {
			i += n
			last, changed = i-1, false
		}
		if i == len(text) {
			break
		}
		r, n := utf8.DecodeRune(text[i:])
		if isItself(r, n) {
			last, changed = i, false
			i += n
			continue
		}
		f.pos = i
		if !changed && extends(r) {
			f.pos = last
		}
		s.copy = append(s.copy, text[done:f.pos]...)
		s.fold()
		i, done, changed = f.pos, f.pos, true
	}
	if done == 0 {
		return text
	}
	s.copy = append(s.copy, text[done:]...)
	return s.copy
}

// fold adds the next segment to the copy.
func (s *screen) fold() {
	f := &s.f
	f.drop()
	f.step()
	for i, c := range f.buf {
		if f.attr[i]&classMask == upper && c >= 'a' && c <= 'z' {
			c &^= 0x20
		}
		s.copy = append(s.copy, c)
		s.loose = s.loose || f.attr[i]&cut != 0
	}
	s.loose = s.loose || f.cut
	f.cut = false
}

// isItself reports whether a character of n bytes that is not ASCII is folded to
// itself, unless a mark follows.
func isItself(r rune, n int) bool {
	if hasEntry(r) {
		return lookup(r).itself
	}
	return r == utf8.RuneError && n > 1 || isPlainDense(r) || isEmoji(r)
}

// has reports whether the unit may be in a reduced text: its pieces are, and
// words in them are not parts of longer words.
func (s *screen) has(u *unit, text []byte) bool {
	// In blocks that grow, for the same reason as those of a filter.
	const least, most = 256, 32 << 10
	for from, size := 0, least; from < len(text); {
		end := min(from+size, len(text))
		i := u.probe.core.index(text, from, end)
		if i < 0 {
			from, size = end, min(size*2, most)
			continue
		}
		if s.front(u, text, i) && s.back(u, text, i) {
			return true
		}
		from, size = i+1, least
	}
	return false
}

// probe is the piece of a unit to look for first.
type probe struct {
	piece int
	core  core // the beginning of the piece
}

func newProbe(pieces []piece) *probe {
	var best *probe
	for i, p := range pieces {
		c := newCore(string(p.lit[:min(len(p.lit), maxChoice)]), true)
		if best == nil || c.cost < best.core.cost {
			best = &probe{i, c}
		}
	}
	return best
}

// front reports whether the pieces from the probe's on stand at i.
func (s *screen) front(u *unit, text []byte, i int) bool {
	for k := u.probe.piece; ; k++ {
		lit := u.pieces[k].lit
		if !s.at(u, k, text, i) {
			return false
		}
		if i += len(lit); k == len(u.pieces)-1 {
			return true
		}
		gap := i
		for i < len(text) && asciiAttr[text[i]] == space {
			i++
		}
		if i == gap {
			return false
		}
	}
}

// back reports whether the pieces before the probe's stand in front of i.
func (s *screen) back(u *unit, text []byte, i int) bool {
	for k := u.probe.piece - 1; k >= 0; k-- {
		gap := i
		for i > 0 && asciiAttr[text[i-1]] == space {
			i--
		}
		lit := u.pieces[k].lit
		if i == gap || i < len(lit) {
			return false
		}
		i -= len(lit)
		if !s.at(u, k, text, i) {
			return false
		}
	}
	return true
}

// at reports whether piece k of the unit may stand at i. Borders are looked at
// first: they keep a long word from being compared at every place of a longer.
func (s *screen) at(u *unit, k int, text []byte, i int) bool {
	lit := u.pieces[k].lit
	return len(text)-i >= len(lit) && s.borders(u, k, text, i) && equalButCase(text[i:i+len(lit)], lit)
}

// borders reports whether the words of a piece that stands at i may be words or
// parts of identifiers there.
func (s *screen) borders(u *unit, k int, text []byte, i int) bool {
	if s.loose {
		return true
	}
	runs := u.pieces[k].runs
	for j := range runs {
		r := &runs[j]
		if r.class != lower {
			continue
		}
		if goesOn(text, i+r.start) {
			return false
		}
		prefix := u.prefix && k == len(u.pieces)-1 && j == len(runs)-1
		if !prefix && goesOn(text, i+r.end) {
			return false
		}
	}
	return true
}

// goesOn reports whether it is certain that the word in front of i and the one
// at i are the same, and the same part of it.
func goesOn(text []byte, i int) bool {
	if i == 0 || i == len(text) {
		return false
	}
	a, b := asciiAttr[text[i-1]], asciiAttr[text[i]]
	return b == lower && (a == lower || a == upper) || a == digit && b == digit
}

// equalButCase reports whether b is lit, which has no capitals of ASCII and is
// as long.
func equalButCase(b, lit []byte) bool {
	if bytes.Equal(b, lit) {
		return true
	}
	for i, c := range lit {
		d := b[i]
		if asciiAttr[d] == upper {
			d |= 0x20
		}
		if c != d {
			return false
		}
	}
	return true
}
