package text

import (
	"bytes"
	"unicode/utf8"
)

// core is bytes to look for, by what is rarest of them.
type core struct {
	s    string  // in lower case if fold
	fold bool    // but for the case of ASCII
	next [2]byte // the first and the last byte of those that may follow; 0: any

	rare   int     // the offset of what is looked for first: one of
	find   []byte  // a byte, in both cases if fold
	lanes  *lanes  // three bytes
	couple *couple // two bytes apart
	pair   *pair   // its first two bytes
	cost   int     // of looking for it
}

// newCore makes a core of s, which is not empty.
func newCore(s string, fold bool) core {
	c := core{s: s, fold: fold}
	if fold {
		c.s = asciiLower(s)
	}
	c.choose()
	return c
}

// What it costs to look for a byte, for lanes and for a couple: to pass over a
// byte, and to stop at one. Only the ratios matter.
const (
	bytePass, lanesPass, couplePass = 20, 50, 90
	stop                            = 15000
	perByte                         = 1 << 16 // frequencies are of so many bytes
)

// maxChoice bounds the part of a core that is considered.
const maxChoice = 64

// choose decides what of the core to look for first.
func (c *core) choose() {
	s := c.s[:min(len(c.s), maxChoice)]
	rare := 0
	for i := range len(s) {
		if c.frequency(i) < c.frequency(rare) {
			rare = i
		}
	}
	b := s[rare]
	c.rare, c.find = rare, []byte{b}
	if c.fold && asciiAttr[b] == lower {
		c.find = append(c.find, b&^0x20)
	}
	c.cost = len(c.find)*bytePass + c.frequency(rare)*stop/perByte
	for i := range len(s) {
		// Neighbours depend on each other.
		often := c.frequency(i) * c.frequency(rare) / perByte
		if i == rare+1 || i == rare-1 {
			often *= 4
		}
		if cost := couplePass + often*stop/perByte; i != rare && cost < c.cost {
			from, to := min(i, rare), max(i, rare)
			p := newCouple(s[from], s[to], to-from, c.fold)
			c.cost, c.rare, c.find, c.lanes, c.couple = cost, from, nil, nil, &p
		}
	}
	for i := 0; i+3 <= len(s); i++ {
		l := newLanes(s[i], s[i+1], s[i+2], c.fold)
		if cost := lanesPass + l.frequency()*stop/perByte; cost < c.cost {
			c.cost, c.rare, c.find, c.lanes, c.couple = cost, i, nil, &l, nil
		}
	}
}

// frequency returns that of the core's byte i.
func (c *core) frequency(i int) int {
	n := frequency(c.s[i])
	if c.fold && asciiAttr[c.s[i]] == lower {
		n += frequency(c.s[i] &^ 0x20)
	}
	return n
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
		case asciiAttr[c] == digit:
			tab[i] = 450
		case asciiAttr[c] == upper:
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

func frequency(c byte) int { return int(frequencies[c]) }

// index returns the first place of the core that begins in file[from:end], or
// -1.
func (c *core) index(file []byte, from, end int) int {
	switch {
	case c.pair != nil:
		return c.indexPair(file, from, end)
	case c.couple != nil:
		return c.indexCouple(file, from, end)
	case c.lanes != nil:
		return c.indexTriple(file, from, end)
	}
	best := -1
	for _, b := range c.find {
		if i := c.indexByte(file, from, end, b); i >= 0 {
			best, end = i, i
		}
	}
	return best
}

// indexByte is index by one byte.
func (c *core) indexByte(file []byte, from, end int, b byte) int {
	for lo, hi := from+c.rare, min(end+c.rare, len(file)); lo < hi; {
		i := bytes.IndexByte(file[lo:hi], b)
		if i < 0 {
			break
		}
		if at := lo + i - c.rare; c.at(file[at:]) {
			return at
		}
		lo += i + 1
	}
	return -1
}

// indexCouple is index by two bytes.
func (c *core) indexCouple(file []byte, from, end int) int {
	for lo, hi := from+c.rare, min(end+c.rare+c.couple.distance, len(file)); lo < hi; {
		i := c.couple.index(file[lo:hi])
		if i < 0 {
			break
		}
		if at := lo + i - c.rare; c.at(file[at:]) {
			return at
		}
		lo += i + 1
	}
	return -1
}

// indexTriple is index by three bytes.
func (c *core) indexTriple(file []byte, from, end int) int {
	for lo, hi := from+c.rare, min(end+c.rare+2, len(file)); lo < hi; {
		i := c.lanes.index(file[lo:hi])
		if i < 0 {
			break
		}
		// Its first two bytes, or its last two.
		at := lo + i - c.rare
		if at > from && c.at(file[at-1:]) {
			return at - 1
		}
		if at < end && c.at(file[at:]) {
			return at
		}
		lo += i + 2
	}
	return -1
}

// indexPair is index by the first two bytes.
func (c *core) indexPair(file []byte, from, end int) int {
	for hi := min(end+1, len(file)); from < hi; {
		i := c.pair.index(file[from:hi])
		if i < 0 {
			break
		}
		if c.at(file[from+i:]) {
			return from + i
		}
		from += i + 1
	}
	return -1
}

// at reports whether b begins with the core.
func (c *core) at(b []byte) bool {
	if len(b) < len(c.s) {
		return false
	}
	if first, last := c.next[0], c.next[1]; last > 0 {
		if len(b) == len(c.s) || b[len(c.s)] < first || b[len(c.s)] > last {
			return false
		}
	}
	if !c.fold {
		return string(b[:len(c.s)]) == c.s
	}
	for i := range len(c.s) {
		d := b[i]
		if asciiAttr[d] == upper {
			d |= 0x20
		}
		if d != c.s[i] {
			return false
		}
	}
	return true
}

func asciiLower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if asciiAttr[c] == upper {
			b[i] = c | 0x20
		}
	}
	return string(b)
}
