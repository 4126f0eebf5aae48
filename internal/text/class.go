package text

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// attr says what a byte of folded text is part of: a class and two flags.
type attr = uint8

const (
	other  attr = iota // punctuation, control characters, what is no text
	space              // white space, always spelt ' '
	symbol             // a term by itself
	lower              // also letters that have no case
	upper              // was a capital
	digit
	dense // of a script without spaces between words

	classMask attr = 7
	joined    attr = 8  // no part of an identifier begins here
	cut       attr = 16 // no run goes on here, though its class may
)

// asciiAttr is other for everything outside ASCII.
var asciiAttr = [256]attr{
	'\t': space, '\n': space, '\v': space, '\f': space, '\r': space, ' ': space,
	'0': digit, '1': digit, '2': digit, '3': digit, '4': digit,
	'5': digit, '6': digit, '7': digit, '8': digit, '9': digit,
	'a': lower, 'b': lower, 'c': lower, 'd': lower, 'e': lower, 'f': lower, 'g': lower,
	'h': lower, 'i': lower, 'j': lower, 'k': lower, 'l': lower, 'm': lower, 'n': lower,
	'o': lower, 'p': lower, 'q': lower, 'r': lower, 's': lower, 't': lower, 'u': lower,
	'v': lower, 'w': lower, 'x': lower, 'y': lower, 'z': lower,
	'A': upper, 'B': upper, 'C': upper, 'D': upper, 'E': upper, 'F': upper, 'G': upper,
	'H': upper, 'I': upper, 'J': upper, 'K': upper, 'L': upper, 'M': upper, 'N': upper,
	'O': upper, 'P': upper, 'Q': upper, 'R': upper, 'S': upper, 'T': upper, 'U': upper,
	'V': upper, 'W': upper, 'X': upper, 'Y': upper, 'Z': upper,
}

// asciiFold is what a byte of ASCII is folded to.
var asciiFold = func() (tab [utf8.RuneSelf * 2]byte) {
	for i := range tab {
		c := byte(i)
		switch asciiAttr[c] {
		case upper:
			c |= 0x20
		case space:
			c = ' '
		}
		tab[i] = c
	}
	return tab
}()

// inWord reports whether a byte belongs to a run that is cut into parts.
func inWord(a attr) bool { return a&classMask >= lower && a&classMask < dense }

// inRun reports whether a byte belongs to a run of any kind.
func inRun(a attr) bool { return a&classMask >= lower }

// sameRun reports whether a byte with attribute b goes on with the run of the
// byte with attribute a in front of it.
func sameRun(a, b attr) bool {
	return b&cut == 0 && inRun(b) && inRun(a) && (a&classMask == dense) == (b&classMask == dense)
}

// isSpace reports whether r is white space between words; the separator of
// fields is, too, in a query.
func isSpace(r rune) bool { return r == Sep || unicode.IsSpace(r) }

// classOf returns the class of a character that is normalized but may be a
// capital.
func classOf(r rune) attr {
	switch {
	case r < utf8.RuneSelf:
		return asciiAttr[r]
	case r == utf8.RuneError:
		return other
	case unicode.IsMark(r):
		if isDense(r) {
			return dense
		}
		return lower | joined
	case unicode.IsLetter(r), unicode.IsNumber(r):
		switch {
		case isDense(r):
			return dense
		case unicode.IsNumber(r):
			return digit
		case unicode.IsUpper(r), unicode.IsTitle(r):
			return upper
		}
		return lower
	case unicode.IsSymbol(r), isEmoji(r):
		return symbol
	case unicode.IsSpace(r):
		return space
	}
	return other
}

// isDense reports whether a letter, digit or mark is of a script that does not
// put spaces between words: Chinese, Japanese, Korean, Thai, Lao, Khmer,
// Myanmar.
func isDense(r rune) bool {
	switch {
	case r < 0x0E00:
		return false
	case r <= 0x0EFF: // Thai, Lao
		return true
	case r < 0x1000:
		return false
	case r <= 0x109F: // Myanmar
		return true
	case r < 0x1100:
		return false
	case r <= 0x11FF: // Hangul Jamo
		return true
	case r >= 0x1780 && r <= 0x17FF, r >= 0x19E0 && r <= 0x19FF: // Khmer
		return true
	case r < 0x2E80:
		return false
	case r <= 0x9FFF && (r < 0x4DC0 || r >= 0x4E00): // radicals, kana, Bopomofo, Han
		return true
	case r >= 0xA960 && r <= 0xA97F, r >= 0xAC00 && r <= 0xD7FF: // Hangul
		return true
	case r >= 0xA9E0 && r <= 0xA9FF, r >= 0xAA60 && r <= 0xAA7F: // Myanmar
		return true
	case r >= 0xF900 && r <= 0xFAFF, r >= 0xFF66 && r <= 0xFFDC: // compatibility, halfwidth
		return true
	case r >= 0x16FE0 && r <= 0x18DFF, r >= 0x1AFF0 && r <= 0x1B2FF: // Tangut, kana
		return true
	}
	return r >= 0x20000 && r <= 0x3FFFF
}

// isPlainDense picks the bulk of the characters of dense scripts that folding
// leaves alone and that do not combine with what is in front of them.
func isPlainDense(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3041 && r <= 0x3096 ||
		r >= 0xAC00 && r <= 0xD7A3 || r >= 0x30A1 && r <= 0x30FA || r == 0x30FC
}

// isEmoji picks blocks that have nothing but symbols which folding leaves alone.
func isEmoji(r rune) bool { return r >= 0x1F300 && r <= 0x1F6FF || r >= 0x1F900 && r <= 0x1F9FF }

// carries reports whether marks that follow r are folded together with it.
func carries(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiAttr[r] >= lower || isASCIISymbol(byte(r))
	}
	if isEmoji(r) {
		return true
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.S)
}

// isASCIISymbol picks the symbols of ASCII that a mark can change, as in ≠.
func isASCIISymbol(c byte) bool { return c == '<' || c == '=' || c == '>' }

// extends reports whether r is folded together with what is in front of it.
func extends(r rune) bool {
	switch {
	case r < 0x300:
		return isIgnored(r)
	case hasEntry(r):
		return lookup(r).extends
	case isPlainDense(r), r >= 0x1F000 && r <= 0x1FAFF:
		return false
	case isIgnored(r):
		return true
	}
	var b [utf8.UTFMax]byte
	return !norm.NFKC.Properties(b[:utf8.EncodeRune(b[:], r)]).BoundaryBefore()
}

// maxEntry is how many characters an entry holds: as many as … becomes.
const maxEntry = 3

// entry is what becomes of a character that stands alone.
type entry struct {
	n       uint8 // how many characters; 0 when it is dropped
	general bool  // the fields below do not tell
	carries bool
	extends bool
	itself  bool // when nothing combines with it
	attrs   [maxEntry]attr
	runes   [maxEntry]rune
}

// pagesEnd is where the table of entries ends: behind it there are dense
// scripts, which need none, the forms of halfwidth and fullwidth, which have
// the table's last page, and what is rare.
const (
	pagesEnd  = 0x3100
	formsPage = 0xFF00
)

// pages are filled in as characters turn up: a table for all of them would
// take longer to make than most searches.
var pages [pagesEnd>>8 + 1]struct {
	once sync.Once
	tab  *[256]entry
}

// hasEntry reports whether there is an entry for r.
func hasEntry(r rune) bool { return r < pagesEnd || r&^0xFF == formsPage && r < 0xFFF0 }

// lookup returns the entry of a character that has one.
func lookup(r rune) *entry {
	p := &pages[min(r>>8, pagesEnd>>8)]
	p.once.Do(func() {
		tab := new([256]entry)
		for i := range tab {
			tab[i] = describe(r&^0xFF | rune(i))
		}
		p.tab = tab
	})
	return &p.tab[r&0xFF]
}

// describe makes an entry by folding the character.
func describe(r rune) entry {
	var f folder
	seg := utf8.AppendRune(nil, r)
	f.general(seg, 0)
	e := entry{carries: carries(r)}
	if r >= 0x300 {
		e.extends = isIgnored(r) || r == 0xFF9E || r == 0xFF9F || !norm.NFKC.Properties(seg).BoundaryBefore()
	}
	e.general = f.cut
	for i := 0; i < len(f.buf); {
		c, n := utf8.DecodeRune(f.buf[i:])
		if e.n == maxEntry {
			e.general = true
			break
		}
		e.runes[e.n], e.attrs[e.n] = c, f.attr[i]
		e.n++
		i += n
	}
	e.itself = !e.general && !e.extends && string(f.buf) == string(seg)
	return e
}
