package find

import (
	"bytes"
	"math"
	"strings"
)

// needle is a string to look for, by its rarest byte: bytes.IndexByte uses the vector instructions of the processor.
type needle struct {
	s     []byte
	fold  bool // ASCII in any case
	at    int  // the offset of the rarest byte
	c     byte // the rarest byte
	ascii bool // the digit after s is 2 to 7, as in an escape of printable ASCII
}

// appendNeedles appends the needles that find s, which must not be empty. With fold, ASCII letters match
// in any case, and there is one needle for each case of the rarest byte.
func appendNeedles(to []needle, s string, fold bool) []needle {
	n := needle{s: []byte(s), fold: fold}
	for i := range len(s) {
		if frequency(s[i]) < frequency(s[n.at]) {
			n.at = i
		}
	}
	n.c = s[n.at]
	to = append(to, n)
	if c := n.c | 0x20; fold && c-'a' < 26 {
		n.c ^= 0x20
		to = append(to, n)
	}
	return to
}

// escapeNeedle returns the needle for a \u escape of printable ASCII. Such escapes are rare. Escapes of
// control characters are frequent, and the needle does not find them.
func escapeNeedle() needle { return needle{s: []byte(`\u00`), at: 2, c: '0', ascii: true} }

// frequency orders bytes by how often they occur in stored entries, which are prose and
// source code in JSON.
func frequency(c byte) int {
	const rising = `0123456789=_-)(yvwkb.:,gf/uphmdlc"\oarsint e`
	return strings.IndexByte(rising, c)
}

// index returns the first offset of the needle in b, or -1.
func (n *needle) index(b []byte) int {
	for i := n.at; i < len(b); i++ {
		next := bytes.IndexByte(b[i:], n.c)
		if next < 0 {
			break
		}
		if i += next; n.begins(b[i-n.at:]) {
			return i - n.at
		}
	}
	return -1
}

func (n *needle) begins(b []byte) bool {
	if len(b) < len(n.s) {
		return false
	}
	if n.ascii && len(b) > len(n.s) && (b[len(n.s)] < '2' || b[len(n.s)] > '7') {
		return false
	}
	b = b[:len(n.s)]
	return bytes.Equal(b, n.s) || n.fold && bytes.EqualFold(b, n.s)
}

// needleFinder finds several needles in one text. It searches the text once for each needle.
type needleFinder struct {
	needles []needle
	text    []byte
	at      []int // the next place of each needle
}

// reset starts over with needles and a text.
func (f *needleFinder) reset(needles []needle, text []byte) {
	f.needles, f.text, f.at = needles, text, f.at[:0]
	for range needles {
		f.at = append(f.at, -1)
	}
}

// next returns the first offset of a needle at or after from, and the needle's index. If
// there is none, it returns the length of the text. from must not be less than in the last call.
func (f *needleFinder) next(from int) (at, which int) {
	at = len(f.text)
	for k := range f.needles {
		if f.at[k] < from {
			f.at[k] = math.MaxInt
			if i := f.needles[k].index(f.text[from:]); i >= 0 {
				f.at[k] = from + i
			}
		}
		if f.at[k] < at {
			at, which = f.at[k], k
		}
	}
	return at, which
}
