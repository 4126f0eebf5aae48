package text

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// A signature looks at the beginning of a text: at so many characters that
// count, which do not depend on how long numbers are, as long as they are among
// so many bytes.
const (
	signedRunes = 2 << 10
	signedBytes = 8 << 10
)

// Signature returns the same number for texts that differ in nothing but
// numbers, runs of eight or more hexadecimal digits, white space and case: the
// output of a tool that was run again. Of a long text the beginning counts,
// and roughly how long it is.
func Signature(text []byte) uint64 {
	s := signer{hash: 14695981039346656037}
	for i := 0; i < len(text); {
		if s.whole == 0 && (i >= signedBytes || s.n >= signedRunes) {
			s.whole = s.hash
		}
		i += s.next(text[i:])
	}
	if s.whole == 0 {
		return s.hash
	}
	return (s.whole ^ uint64(bits.Len(uint(s.n)))) * fnvPrime
}

const fnvPrime = 1099511628211

// signer hashes what counts of a text.
type signer struct {
	hash   uint64
	n      int    // characters that count
	number bool   // the last one was a number
	whole  uint64 // the hash when enough was read; 0 before
}

func (s *signer) add(r rune) {
	s.hash = (s.hash ^ uint64(r)) * fnvPrime
	s.number = false
	s.n++
}

// addNumber adds a number, or a run of them, whatever it is.
func (s *signer) addNumber() {
	if !s.number {
		s.add('0')
		s.number = true
	}
}

// next takes one word or character from the beginning of text and returns its
// length.
func (s *signer) next(text []byte) int {
	c := text[0]
	if asciiAttr[c] >= lower {
		end, hex := 0, true
		for end < len(text) && asciiAttr[text[end]] >= lower {
			hex = hex && hexValue(text[end]) >= 0
			end++
		}
		if hex && end >= 8 {
			s.addNumber()
			return end
		}
		for _, c := range text[:end] {
			if asciiAttr[c] == digit {
				s.addNumber()
			} else {
				s.add(rune(c | 0x20))
			}
		}
		return end
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case isSpace(r):
	case unicode.IsDigit(r):
		s.addNumber()
	default:
		s.add(unicode.ToLower(r))
	}
	return n
}
