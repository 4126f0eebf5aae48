package text

import "unicode/utf8"

// Reducer folds only the characters outside ASCII, which are few. It copies a
// text only if it has to change it.
type Reducer struct {
	Loose bool // the result of Reduce does not show every border of a run

	f    Folder
	copy []byte
}

// Reduce returns text with every character outside ASCII folded, and each ASCII
// character that a mark combines with. ASCII keeps its case.
func (s *Reducer) Reduce(text []byte) []byte {
	f := &s.f
	f.reset(text)
	s.copy, s.Loose = s.copy[:0], false
	done := 0       // end of the text that is copied
	last := 0       // start of the last character
	changed := true // whether that one is in the copy, folded
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
func (s *Reducer) fold() {
	f := &s.f
	f.drop()
	f.step()
	for i, c := range f.Buf {
		if f.Attr[i].Class() == Upper && c >= 'a' && c <= 'z' {
			c &^= 0x20
		}
		s.copy = append(s.copy, c)
		s.Loose = s.Loose || f.Attr[i].IsCut()
	}
	s.Loose = s.Loose || f.cut
	f.cut = false
}

// isItself reports whether a character of n bytes folds to itself if no mark follows.
func isItself(r rune, n int) bool {
	if hasEntry(r) {
		return lookup(r).itself
	}
	return r == utf8.RuneError && n > 1 || isPlainDense(r) || isEmoji(r)
}
