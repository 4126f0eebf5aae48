// Package needle finds strings in stored lines and texts. It looks for what is rarest of
// them first, several places at a time.
package needle

import (
	"bytes"
	"unicode/utf8"
)

// Needle is bytes to look for, by what is rarest of them.
type Needle struct {
	Cost int // of looking for it; only ratios matter

	s    string  // in lower case if fold
	fold bool    // but for the case of ASCII
	next [2]byte // the first and the last byte of those that may follow; 0: any

	rare  int      // the offset of what is looked for first
	reach int      // bytes of that behind its first
	seek  []seeker // a byte, in both cases if fold, or one of the others
}

// seeker finds one byte, a couple or lanes. It may also stop elsewhere.
type seeker interface {
	// index returns the first offset at which to look at a text, or -1.
	index(b []byte) int
}

type oneByte byte

func (c oneByte) index(b []byte) int { return bytes.IndexByte(b, byte(c)) }

// New makes a needle of s, which is not empty.
func New(s string, fold bool) Needle {
	n := Needle{s: s, fold: fold}
	if fold {
		n.s = Lower(s)
	}
	n.choose()
	return n
}

// Escape is a \u that stands for printable ASCII.
func Escape() Needle {
	// What follows is in every date; a backslash before a u is rare.
	return Needle{s: `\u00`, next: [2]byte{'2', '7'}, reach: 1, seek: []seeker{newCouple('\\', 'u', 1, false)}}
}

// What it costs to look for a byte, for lanes and for a couple: to pass over a
// byte, and to stop at one. Only the ratios matter.
const (
	bytePass, lanesPass, couplePass = 20, 50, 90
	stop                            = 15000
	perByte                         = 1 << 16 // frequencies are of so many bytes
)

// MaxChoice bounds the part of a needle that is considered, in bytes.
const MaxChoice = 64

// choose decides what of the needle to look for first.
func (n *Needle) choose() {
	s := n.s[:min(len(n.s), MaxChoice)]
	rare := 0
	for i := range len(s) {
		if n.frequency(i) < n.frequency(rare) {
			rare = i
		}
	}
	b := s[rare]
	n.rare, n.seek = rare, []seeker{oneByte(b)}
	if bit := caseBit(b); n.fold && bit > 0 {
		n.seek = append(n.seek, oneByte(b&^bit))
	}
	n.Cost = len(n.seek)*bytePass + n.frequency(rare)*stop/perByte
	for i := range len(s) {
		// Neighbours depend on each other.
		often := n.frequency(i) * n.frequency(rare) / perByte
		if i == rare+1 || i == rare-1 {
			often *= 4
		}
		if cost := couplePass + often*stop/perByte; i != rare && cost < n.Cost {
			from, to := min(i, rare), max(i, rare)
			n.Cost, n.rare, n.reach, n.seek = cost, from, to-from, []seeker{newCouple(s[from], s[to], to-from, n.fold)}
		}
	}
	for i := 0; i+3 <= len(s); i++ {
		l := newLanes(s[i], s[i+1], s[i+2], n.fold)
		if cost := lanesPass + l.frequency()*stop/perByte; cost < n.Cost {
			n.Cost, n.rare, n.reach, n.seek = cost, i, 2, []seeker{l}
		}
	}
}

func (n *Needle) frequency(i int) int {
	c := n.s[i]
	often := Frequency(c)
	if bit := caseBit(c); n.fold && bit > 0 {
		often += Frequency(c &^ bit)
	}
	return often
}

// frequencies says how many of perByte bytes of stored entries, which are prose
// and source code in JSON, are the same as each byte.
var frequencies = func() (tab [256]uint16) {
	for i := range tab {
		switch c := byte(i); {
		case c >= 0xE2 && c <= 0xE9:
			tab[i] = 800 // the first byte of Han and of typographic signs
		case c >= utf8.RuneSelf:
			tab[i] = 100
		case c-'0' < 10:
			tab[i] = 450
		case c-'A' < 26:
			tab[i] = 180
		default:
			tab[i] = 90
		}
	}
	for often, bytes := range map[uint16]string{5000: " et", 2700: `nisrao\"`, 1300: "cldmhpu/", 800: "fg,:.", 450: "kbvwy-_=()"} {
		for _, c := range []byte(bytes) {
			tab[c] = often
		}
	}
	return tab
}()

// Frequency says how many of 1<<16 bytes of stored entries are that one.
func Frequency(c byte) int { return int(frequencies[c]) }

// Index is the first place of the needle that begins in file[from:end], or -1.
func (n *Needle) Index(file []byte, from, end int) int {
	best := -1
	for _, s := range n.seek {
		if i := n.index(s, file, from, end); i >= 0 {
			best, end = i, i
		}
	}
	return best
}

func (n *Needle) index(s seeker, file []byte, from, end int) int {
	_, paired := s.(*lanes)
	for lo, hi := from+n.rare, min(end+n.rare+n.reach, len(file)); lo < hi; lo++ {
		i := s.index(file[lo:hi])
		if i < 0 {
			break
		}
		lo += i
		at := lo - n.rare
		if paired { // its first two bytes, or its last two
			if at > from && n.at(file[at-1:]) {
				return at - 1
			}
			lo++
		}
		if at < end && n.at(file[at:]) {
			return at
		}
	}
	return -1
}

// at reports whether b begins with the needle.
func (n *Needle) at(b []byte) bool {
	if len(b) < len(n.s) {
		return false
	}
	if first, last := n.next[0], n.next[1]; last > 0 {
		if len(b) == len(n.s) || b[len(n.s)] < first || b[len(n.s)] > last {
			return false
		}
	}
	if !n.fold {
		return string(b[:len(n.s)]) == n.s
	}
	return EqualFold(b[:len(n.s)], n.s)
}

// EqualFold reports whether b and s, which is as long and has no capitals of ASCII, are
// the same but for the case of ASCII.
func EqualFold[T string | []byte](b []byte, s T) bool {
	for i, c := range b {
		if lower(c) != s[i] {
			return false
		}
	}
	return true
}

// lower is the small letter of a capital of ASCII, and any other byte.
func lower(c byte) byte {
	if c-'A' < 26 {
		c |= 0x20
	}
	return c
}

// Lower is s with small letters for the capitals of ASCII.
func Lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}
