package text

import (
	"hash/fnv"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// A signature is made of the first characters that count, within the first bytes. A
// number counts as one character, however long it is.
const (
	signedRunes = 2 << 10
	signedBytes = 8 << 10
)

// Signature returns the same number for texts that differ only in numbers, runs of
// eight or more hexadecimal digits, white space and case: the output of a tool that
// ran twice. Of a long text, only its beginning and rough length count.
func Signature(text []byte) uint64 {
	s := signer{hash: fnvOffset}
	for i := 0; i < len(text); {
		if i >= signedBytes || s.n >= signedRunes {
			return (s.hash ^ uint64(bits.Len(uint(len(text)-i)))) * fnvPrime
		}
		i += s.next(text[i:])
	}
	return s.hash
}

// Identity returns the 64-bit FNV-1a hash of the text.
func Identity(text []byte) uint64 {
	h := fnv.New64a()
	h.Write(text)
	return h.Sum64()
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

type signer struct {
	hash   uint64
	n      int  // characters that count
	number bool // the last one was a number
}

func (s *signer) add(r rune) {
	s.hash = (s.hash ^ uint64(r)) * fnvPrime
	s.number = false
	s.n++
}

// addNumber adds a number of any value; several in a row count as one.
func (s *signer) addNumber() {
	if !s.number {
		s.add('0')
		s.number = true
	}
}

// next hashes the word or character at the beginning of text; n is its length.
func (s *signer) next(text []byte) int {
	switch c := text[0]; {
	case asciiAttr[c] >= Lower:
		return s.word(text)
	case c > ' ' && c < utf8.RuneSelf:
		s.add(rune(c))
		return 1
	case c == ' ':
		return 1
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case IsSpace(r):
	case unicode.IsDigit(r):
		s.addNumber()
	default:
		s.add(unicode.ToLower(r))
	}
	return n
}

// word hashes a run of ASCII letters and digits. Whether it is hexadecimal is known
// only at its end.
func (s *signer) word(text []byte) int {
	hash, n, number := s.hash, s.n, s.number
	hex, end := true, 0
	for ; end < len(text); end++ {
		c := text[end]
		attr := asciiAttr[c]
		if attr < Lower {
			break
		}
		if attr == Digit {
			if number {
				continue
			}
			c, number = '0', true
		} else {
			c, number = c|0x20, false
			hex = hex && c <= 'f'
		}
		hash = (hash ^ uint64(c)) * fnvPrime
		n++
	}
	if hex && end >= 8 {
		s.addNumber()
	} else {
		s.hash, s.n, s.number = hash, n, number
	}
	return end
}
