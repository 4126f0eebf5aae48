package text

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// literal is text that has to occur.
type literal struct {
	s    string
	fold bool // but for case
}

// filter looks for what a line has to contain, in the line as it is stored. A
// line with \u in it may contain anything.
type filter struct {
	any   bool // every line is a candidate
	cores []core
	extra []string // makes a candidate of a line, as \u does
}

// core is a part of a literal that a line cannot spell in another way than
// with \u.
type core struct {
	s    string // in lower case if fold
	fold bool   // but for the case of ASCII
	rare int    // the offset of the byte, or of the first of two, to look for
	find []byte // that byte, in both cases if fold; nil to look for two
	pair pair
}

// maxCores bounds how many literals are looked for; each takes its own pass.
const maxCores = 8

// newFilter makes a filter for lines with at least one of the literals.
func newFilter(lits []literal) filter {
	var f filter
	if len(lits) == 0 || len(lits) > maxCores {
		return filter{any: true}
	}
	var long, kelvin bool
	for _, l := range lits {
		c := newCore(l)
		if c.s == "" {
			return filter{any: true}
		}
		f.cores = append(f.cores, c)
		long = long || c.fold && strings.Contains(c.s, "s")
		kelvin = kelvin || c.fold && strings.Contains(c.s, "k")
	}
	// The two characters outside ASCII that are letters of ASCII but for
	// case.
	if long {
		f.extra = append(f.extra, "ſ")
	}
	if kelvin {
		f.extra = append(f.extra, "\u212A")
	}
	return f
}

// newCore chooses the part of a literal to look for.
func newCore(l literal) core {
	best, bestScore := "", -1
	start, score := 0, 0
	consider := func(end int) {
		if end > start && score > bestScore {
			best, bestScore = l.s[start:end], score
		}
		score = 0
	}
	for i := 0; i < len(l.s); {
		r, n := utf8.DecodeRuneInString(l.s[i:])
		if isEscapable(r) || l.fold && r >= utf8.RuneSelf && unicode.SimpleFold(r) != r {
			consider(i)
			start = i + n
		} else {
			score += 8*n + rarity(l.s[i])
		}
		i += n
	}
	consider(len(l.s))
	c := core{s: best, fold: l.fold}
	if best == "" {
		return c
	}
	if c.fold {
		c.s = asciiLower(best)
	}
	c.choose()
	return c
}

// verySeldom is the rarity from which looking for a single byte is faster than
// looking for two at once.
const verySeldom = 26

// choose decides what of the core to look for first.
func (c *core) choose() {
	top, topPair, pairAt := -1, -1, 0
	for i := range len(c.s) {
		r := rarity(c.s[i])
		if r > top {
			c.rare, top = i, r
		}
		if i > 0 {
			if sum := r + rarity(c.s[i-1]); sum > topPair {
				pairAt, topPair = i-1, sum
			}
		}
	}
	if top < verySeldom && len(c.s) > 1 {
		c.rare = pairAt
		c.pair = newPair(c.s[pairAt], c.s[pairAt+1], c.fold)
		return
	}
	b := c.s[c.rare]
	c.find = []byte{b}
	if c.fold && asciiAttr[b] == lower {
		c.find = append(c.find, b&^0x20)
	}
}

// isEscapable picks the characters that a string of JSON may spell, without
// \u, in another way than as they are.
func isEscapable(r rune) bool {
	return r < ' ' || r == '"' || r == '\\' || r == '/' || r == utf8.RuneError
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

// rarity says how rare a byte is in stored entries, from 0 up.
func rarity(c byte) int {
	const common = "\" ,:etaonirslducmpfhgybw_vkxzqj" // the rarer last
	switch {
	case c >= 0xE2 && c <= 0xE9:
		return 12 // the first byte of Han and of typographic signs
	case c >= utf8.RuneSelf:
		return 40
	case asciiAttr[c] == digit:
		return 16
	case asciiAttr[c] == upper:
		return 30
	}
	if i := strings.IndexByte(common, c); i >= 0 {
		return i
	}
	return 24
}

// next returns the offset of the first place in file at which a line may be
// one, or -1.
func (f *filter) next(file []byte) int {
	if len(file) == 0 {
		return -1
	}
	if f.any {
		return 0
	}
	// Every pattern takes its own pass. They go over the file together, in
	// blocks that grow: one that is everywhere must not make the others run
	// ahead to the end of the file each time.
	const least, most = 1 << 10, 256 << 10
	size := least
	escapeU := newPair('\\', 'u', false)
	for from := 0; from < len(file); {
		end := min(from+size, len(file))
		best := -1
		if i := escapeU.index(file[from:min(end+1, len(file))]); i >= 0 {
			best = from + i
		}
		for _, s := range f.extra {
			limit := min(end+len(s)-1, len(file))
			if best >= 0 {
				limit = min(limit, best+len(s)-1)
			}
			if i := bytes.Index(file[from:limit], []byte(s)); i >= 0 {
				best = from + i
			}
		}
		for k := range f.cores {
			limit := end
			if best >= 0 {
				limit = best
			}
			if i := f.cores[k].index(file, from, limit); i >= 0 {
				best = i
			}
		}
		if best >= 0 {
			return best
		}
		from = end
		size = min(size*2, most)
	}
	return -1
}

// index returns the first place of the core that begins in file[from:end], or
// -1.
func (c *core) index(file []byte, from, end int) int {
	if c.find == nil {
		for lo, hi := from+c.rare, min(end+c.rare+1, len(file)); lo < hi; {
			i := c.pair.index(file[lo:hi])
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
	best := -1
	for _, b := range c.find {
		lo, hi := from+c.rare, min(end+c.rare, len(file))
		if best >= 0 {
			hi = min(hi, best+c.rare)
		}
		for lo < hi {
			i := bytes.IndexByte(file[lo:hi], b)
			if i < 0 {
				break
			}
			at := lo + i - c.rare
			if c.at(file[at:]) {
				best = at
				break
			}
			lo += i + 1
		}
	}
	return best
}

// at reports whether b begins with the core.
func (c *core) at(b []byte) bool {
	if len(b) < len(c.s) {
		return false
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

// required returns literals at least one of which is in everything that the
// expression matches; none if there are no such.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		return []literal{{string(re.Rune), re.Flags&syntax.FoldCase != 0}}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if lits := required(sub); weight(lits) > weight(best) {
				best = lits
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			lits := required(sub)
			if len(lits) == 0 {
				return nil
			}
			all = append(all, lits...)
		}
		return all
	}
	return nil
}

// weight is the more the faster literals are to look for: the length of the
// shortest core.
func weight(lits []literal) int {
	if len(lits) == 0 || len(lits) > maxCores {
		return 0
	}
	w := 1 << 30
	for _, l := range lits {
		w = min(w, len(newCore(l).s))
	}
	return w
}
