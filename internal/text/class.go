package text

import (
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Attr describes a byte of folded text: a class and two flags.
type Attr uint8

// The classes.
const (
	other  Attr = iota // punctuation, control characters, invalid UTF-8
	Space              // white space, always folded to ' '
	Symbol             // a term by itself
	Lower              // also letters without case
	Upper              // a capital before folding
	Digit
	Dense // of a script without spaces between words

	classMask Attr = 7
	joined    Attr = 8  // no part of an identifier begins here
	cut       Attr = 16 // a new run begins here, even if the class is the same as before
)

// Class is the attribute without its flags.
func (a Attr) Class() Attr { return a & classMask }

// InWord reports whether a byte belongs to a run that may be split into parts.
func (a Attr) InWord() bool { return a.Class() >= Lower && a.Class() < Dense }

// InRun reports whether a byte belongs to a run of any kind.
func (a Attr) InRun() bool { return a.Class() >= Lower }

// IsCut reports whether a run before the byte ends there, even if the byte has the
// same class.
func (a Attr) IsCut() bool { return a&cut != 0 }

// SameRun reports whether a byte with attribute b continues the run of the
// byte before it, with attribute a.
func SameRun(a, b Attr) bool {
	return b&cut == 0 && b.InRun() && a.InRun() && (a.Class() == Dense) == (b.Class() == Dense)
}

// ASCII returns the class of an ASCII byte, and 0 for any other byte.
func ASCII(c byte) Attr { return asciiAttr[c] }

// asciiAttr is other for everything outside ASCII.
var asciiAttr = func() (tab [256]Attr) {
	for attr, bytes := range map[Attr]string{
		Space: "\t\n\v\f\r ", Digit: "0123456789",
		Lower: "abcdefghijklmnopqrstuvwxyz", Upper: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
	} {
		for _, c := range []byte(bytes) {
			tab[c] = attr
		}
	}
	return tab
}()

var asciiFold = func() (tab [256]byte) {
	for i := range tab {
		c := byte(i)
		switch asciiAttr[c] {
		case Upper:
			c |= 0x20
		case Space:
			c = ' '
		}
		tab[i] = c
	}
	return tab
}()

// IsSpace reports whether r is white space or the separator of fields.
func IsSpace(r rune) bool { return r == Sep || unicode.IsSpace(r) }

// classOf is the class of a normalized character before its case is folded.
func classOf(r rune) Attr {
	switch {
	case r < utf8.RuneSelf:
		return asciiAttr[r]
	case r == utf8.RuneError:
		return other
	case unicode.IsMark(r):
		if IsDense(r) {
			return Dense
		}
		return Lower | joined
	case unicode.IsLetter(r), unicode.IsNumber(r):
		switch {
		case IsDense(r):
			return Dense
		case unicode.IsNumber(r):
			return Digit
		case unicode.IsUpper(r), unicode.IsTitle(r):
			return Upper
		}
		return Lower
	case unicode.IsSymbol(r), isEmoji(r):
		return Symbol
	case unicode.IsSpace(r):
		return Space
	}
	return other
}

// IsDense reports whether a character is of a script without spaces between words:
// Chinese, Japanese, Korean, Thai, Lao, Khmer, Myanmar.
func IsDense(r rune) bool { return r >= 0x0E00 && unicode.Is(dense, r) }

var dense = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0E00, 0x0EFF, 1}, {0x1000, 0x109F, 1}, {0x1100, 0x11FF, 1}, // Thai and Lao; Myanmar; Hangul Jamo
		{0x1780, 0x17FF, 1}, {0x19E0, 0x19FF, 1}, // Khmer
		{0x2E80, 0x4DBF, 1}, {0x4E00, 0x9FFF, 1}, // radicals, kana, Bopomofo, Han
		{0xA960, 0xA97F, 1}, {0xA9E0, 0xA9FF, 1}, {0xAA60, 0xAA7F, 1}, {0xAC00, 0xD7FF, 1}, // Hangul, Myanmar
		{0xF900, 0xFAFF, 1}, {0xFF66, 0xFFDC, 1}, // compatibility, halfwidth
	},
	R32: []unicode.Range32{{0x16FE0, 0x18DFF, 1}, {0x1AFF0, 0x1B2FF, 1}, {0x20000, 0x3FFFF, 1}}, // Tangut, kana, Han
}

// isPlainDense covers most characters of dense scripts that folding leaves
// alone and that do not combine with the character before them.
func isPlainDense(r rune) bool {
	return r >= 0x4E00 && r <= 0x9FFF || r >= 0x3041 && r <= 0x3096 ||
		r >= 0xAC00 && r <= 0xD7A3 || r >= 0x30A1 && r <= 0x30FA || r == 0x30FC
}

// isEmoji covers blocks that contain only symbols which folding leaves alone.
func isEmoji(r rune) bool { return r >= 0x1F300 && r <= 0x1F6FF || r >= 0x1F900 && r <= 0x1F9FF }

// carries reports whether marks that follow r are folded together with it.
func carries(r rune) bool {
	if r < utf8.RuneSelf {
		return asciiAttr[r] >= Lower || isASCIISymbol(byte(r))
	}
	return isEmoji(r) || unicode.In(r, unicode.L, unicode.N, unicode.M, unicode.S)
}

// isASCIISymbol covers the ASCII symbols that a mark can change, as in ≠.
func isASCIISymbol(c byte) bool { return c == '<' || c == '=' || c == '>' }

// extends reports whether r is folded together with the character before it.
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

// maxEntry is how many characters an entry can hold: … becomes three dots.
const maxEntry = 3

// entry is the result of folding a single character.
type entry struct {
	n       uint8 // how many characters; 0 if it is dropped
	general bool  // the result does not fit in here: use Folder.general
	carries bool
	extends bool
	attrs   [maxEntry]Attr
	runes   [maxEntry]rune
}

// The table of entries has all characters below tableEnd, and after them the halfwidth and fullwidth forms from formsStart
// to formsEnd. The others are rare, or of dense scripts that need no entry.
const (
	tableEnd   = 0x3100
	formsStart = 0xFF00
	formsEnd   = 0xFFF0
)

// pages are filled when one of their characters is met: filling all takes longer than
// most searches.
const pageSize = 32

var pages [(tableEnd + formsEnd - formsStart + pageSize - 1) / pageSize]struct {
	once sync.Once
	tab  *[pageSize]entry
}

func hasEntry(r rune) bool { return r < tableEnd || r >= formsStart && r < formsEnd }

func lookup(r rune) *entry {
	at := r
	if r >= formsStart {
		at = r - formsStart + tableEnd
	}
	p := &pages[at/pageSize]
	p.once.Do(func() {
		tab := new([pageSize]entry)
		for i := range tab {
			tab[i] = describe(r - r%pageSize + rune(i))
		}
		p.tab = tab
	})
	return &p.tab[r%pageSize]
}

// describe makes the entry of a character by folding it without the table.
func describe(r rune) entry {
	var f Folder
	seg := utf8.AppendRune(nil, r)
	f.general(seg, 0)
	e := entry{carries: carries(r)}
	if r >= 0x300 {
		e.extends = isIgnored(r) || r == 0xFF9E || r == 0xFF9F || !norm.NFKC.Properties(seg).BoundaryBefore()
	}
	e.general = f.cut
	for i := 0; i < len(f.Buf); {
		c, n := utf8.DecodeRune(f.Buf[i:])
		if e.n == maxEntry {
			e.general = true
			break
		}
		e.runes[e.n], e.attrs[e.n] = c, f.Attr[i]
		e.n++
		i += n
	}
	return e
}
