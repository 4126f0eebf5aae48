package text

import (
	"bytes"
	"encoding/binary"
	"slices"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxSegment is how many marks are folded together with a character: a text may have any
// number of them.
const maxSegment = 32

// Folder folds text one segment at a time: a character with the marks that
// combine with it. The result does not depend on the text around the segment,
// so a word folds to the same in a query and in a text.
type Folder struct {
	Buf  []byte // the folded text, always valid UTF-8
	Attr []Attr // of each byte of Buf

	text []byte
	pos  int     // of the segment to be folded next
	off  []int32 // where the segment of each byte of Buf begins; nil: at the same offset

	cut     bool // the next character begins a new run
	scratch [3][]byte
}

func (f *Folder) reset(text []byte) {
	f.text, f.pos, f.cut = text, 0, false
	f.drop()
}

func (f *Folder) drop() { f.Buf, f.Attr, f.off = f.Buf[:0], f.Attr[:0], f.off[:0] }

// FoldAll folds all of text. It keeps no offsets for ASCII, where they stay the same.
func (f *Folder) FoldAll(text []byte) {
	f.reset(text)
	if i := asciiLen(text); i < len(text) {
		f.Buf = slices.Grow(f.Buf, len(text))
		f.Attr = slices.Grow(f.Attr, len(text))
		f.off = slices.Grow(f.off, len(text))
		for f.pos < len(text) {
			// A mark after the ASCII text may change its last character.
			if end := f.pos + asciiLen(text[f.pos:]) - 1; end > f.pos {
				f.plain(end)
			}
			f.step()
		}
		return
	}
	f.foldASCII(len(text))
}

// plain folds the text up to end, which is ASCII and followed by no mark.
func (f *Folder) plain(end int) {
	from, start := f.pos, len(f.Buf)
	f.foldASCII(end)
	f.off = slices.Grow(f.off, end-from)[:start+end-from]
	for i, off := 0, f.off[start:]; i < len(off); i++ {
		off[i] = int32(from + i)
	}
	if f.cut && from < end {
		f.Attr[start] |= cut
		f.cut = false
	}
}

// foldASCII is plain without offsets.
func (f *Folder) foldASCII(end int) {
	from, start := f.pos, len(f.Buf)
	f.pos = end
	n := end - from
	f.Buf = slices.Grow(f.Buf, n)[:start+n]
	f.Attr = slices.Grow(f.Attr, n)[:start+n]
	text := f.text[from:end]
	buf, attrs := f.Buf[start:][:len(text)], f.Attr[start:][:len(text)]
	for i, c := range text {
		buf[i], attrs[i] = asciiFold[c], asciiAttr[c]
	}
}

// asciiLen is the length of the text before its first byte that is not ASCII.
func asciiLen(text []byte) int {
	const high = 0x8080808080808080
	i := 0
	for i+8 <= len(text) && binary.LittleEndian.Uint64(text[i:])&high == 0 {
		i += 8
	}
	for i < len(text) && text[i] < utf8.RuneSelf {
		i++
	}
	return i
}

// Start returns where in the text the folded byte i begins.
func (f *Folder) Start(i int) int {
	if len(f.off) == 0 {
		return i
	}
	if i >= len(f.off) {
		return f.pos
	}
	return int(f.off[i])
}

// End returns where in the text the folded bytes up to i end. i is more than 0.
func (f *Folder) End(i int) int {
	if len(f.off) == 0 {
		return i
	}
	last := f.off[i-1]
	for ; i < len(f.off); i++ {
		if f.off[i] != last {
			return int(f.off[i])
		}
	}
	return f.pos
}

// step folds the segment at pos, which is not the end.
func (f *Folder) step() {
	text, start := f.text, f.pos
	c := text[start]
	if c < utf8.RuneSelf && (start+1 == len(text) || text[start+1] < utf8.RuneSelf) {
		f.pos++
		f.ascii(c, start)
		return
	}
	r, n := utf8.DecodeRune(text[start:])
	f.pos += n
	if hasEntry(r) {
		e := lookup(r)
		if e.carries && f.extend(r) || e.general {
			f.general(text[start:f.pos], start)
			return
		}
		for i := range e.n {
			f.add(e.runes[i], e.attrs[i], start)
		}
		return
	}
	switch {
	case r == utf8.RuneError:
		f.add(r, other, start)
	case isPlainDense(r) && !f.extend(r):
		f.add(r, Dense, start)
	case isEmoji(r) && !f.extend(r):
		f.add(r, Symbol, start)
	default:
		if carries(r) {
			f.extend(r)
		}
		f.general(text[start:f.pos], start)
	}
}

// extend moves pos over the marks that belong to base, the character before
// them, and reports whether any of them changes base.
func (f *Folder) extend(base rune) bool {
	changes := false
	for range maxSegment {
		if f.pos >= len(f.text) || f.text[f.pos] < utf8.RuneSelf {
			break
		}
		r, n := utf8.DecodeRune(f.text[f.pos:])
		if !extends(r) || IsDense(r) != IsDense(base) && !isIgnored(r) {
			break
		}
		f.pos += n
		changes = changes || !isIgnored(r)
	}
	return changes
}

func (f *Folder) ascii(c byte, start int) {
	a := asciiAttr[c]
	if f.cut {
		a |= cut
		f.cut = false
	}
	f.Buf = append(f.Buf, asciiFold[c])
	f.Attr = append(f.Attr, a)
	f.off = append(f.off, int32(start))
}

func (f *Folder) add(r rune, a Attr, start int) {
	n := len(f.Buf)
	f.Buf = utf8.AppendRune(f.Buf, r)
	first := a
	if f.cut {
		first |= cut
		f.cut = false
	}
	f.Attr = append(f.Attr, first)
	f.off = append(f.off, int32(start))
	for n++; n < len(f.Buf); n++ {
		f.Attr = append(f.Attr, a|joined)
		f.off = append(f.off, int32(start))
	}
}

// general folds a segment by the rules of Unicode, without the table.
func (f *Folder) general(seg []byte, start int) {
	first, _ := utf8.DecodeRune(seg)
	switch {
	case unicode.IsSpace(first):
		f.add(' ', Space, start)
		return
	case isIgnored(first):
		return
	}
	out := f.normalize(seg, first)
	n := utf8.RuneCount(out)
	only, _ := utf8.DecodeRune(out)
	// ™ and ½ must not join the word or number beside them.
	apart := first >= utf8.RuneSelf && unicode.IsSymbol(first) && (n > 1 || classOf(only).InRun()) ||
		n > 1 && unicode.In(first, unicode.No)
	f.cut = f.cut || apart
	for i := 0; i < len(out); {
		r, size := utf8.DecodeRune(out[i:])
		a := classOf(r)
		if i > 0 {
			a |= joined // a character of the text is never split into parts
		}
		i += size
		if r == utf8.RuneError {
			f.add(r, other, start)
			continue
		}
		r, second := foldCase(asTyped(r))
		f.add(r, a, start)
		if second != 0 {
			f.add(second, a|joined, start)
		}
	}
	f.cut = apart
}

// isIgnored covers invisible characters: joiners, soft hyphens, variation selectors.
func isIgnored(r rune) bool {
	switch r {
	case 0x00AD, 0x034F, 0x200D, 0x2060, 0xFEFF:
		return true
	}
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF
}

// normalize returns the segment in NFKC, without the accents that searches ignore.
// A segment that would become white space stays as it is.
func (f *Folder) normalize(seg []byte, first rune) []byte {
	d := norm.NFKD.Append(f.scratch[0][:0], seg...)
	f.scratch[0] = d
	if bytes.ContainsFunc(d, unicode.IsSpace) {
		d = norm.NFD.Append(d[:0], seg...)
		if bytes.ContainsFunc(d, unicode.IsSpace) {
			d = append(d[:0], seg...)
		}
		f.scratch[0] = d
	}
	kept := f.scratch[1][:0]
	var base rune
	for i := 0; i < len(d); {
		r, n := utf8.DecodeRune(d[i:])
		mark := unicode.IsMark(r)
		if !isIgnored(r) && (!mark || !dropsMark(base, r)) {
			kept = append(kept, d[i:i+n]...)
		}
		if !mark && !isIgnored(r) {
			base = r
		}
		i += n
	}
	out := norm.NFC.Append(f.scratch[2][:0], kept...)
	f.scratch[1], f.scratch[2] = kept, out
	if unicode.IsSymbol(first) {
		// Drop the marks that did not become part of the symbol.
		kept = kept[:0]
		for i := 0; i < len(out); {
			r, n := utf8.DecodeRune(out[i:])
			if !unicode.IsMark(r) {
				kept = append(kept, out[i:i+n]...)
			}
			i += n
		}
		return kept
	}
	return out
}

// dropsMark reports whether searches ignore a mark on base, which is 0 if there is no
// character before the mark.
func dropsMark(base, mark rune) bool {
	if unicode.Is(unicode.Me, mark) {
		return true
	}
	switch {
	case IsDense(base):
		return !IsDense(mark)
	case base == 0:
		return unicode.Is(unicode.Inherited, mark) && !IsDense(mark)
	case base < utf8.RuneSelf && !unicode.IsLetter(base):
		return !isASCIISymbol(byte(base))
	case unicode.In(base, unicode.Latin, unicode.Greek):
		return true
	case unicode.Is(unicode.Hebrew, base):
		return true
	case unicode.Is(unicode.Arabic, base):
		return mark < 0x653 || mark > 0x655 // vowels are dropped, hamza and madda stay
	case unicode.Is(unicode.Cyrillic, base):
		// й and ї are letters of their own, so their marks stay; the dots of ё and stress marks
		// are dropped.
		return mark == 0x300 || mark == 0x301 || mark == 0x308 && (base == 'е' || base == 'Е')
	}
	return false
}

// asTyped replaces typographic quotes and hyphens, which models write, by those of
// keyboards, which people type.
func asTyped(r rune) rune {
	switch {
	case r == 0x2018 || r == 0x2019 || r == 0x201B:
		return '\''
	case r >= 0x201C && r <= 0x201F:
		return '"'
	case r >= 0x2010 && r <= 0x2013:
		return '-'
	}
	return r
}

// spelt has the spelling of Latin letters that most keyboards lack and that have no accent
// to strip.
var spelt = map[rune][2]rune{
	'ß': {'s', 's'}, 'ẞ': {'s', 's'}, 'æ': {'a', 'e'}, 'Æ': {'a', 'e'}, 'œ': {'o', 'e'}, 'Œ': {'o', 'e'},
	'ø': {'o'}, 'Ø': {'o'}, 'ł': {'l'}, 'Ł': {'l'}, 'đ': {'d'}, 'Đ': {'d'}, 'ħ': {'h'}, 'Ħ': {'h'}, 'ı': {'i'},
}

// foldCase folds the case of a character. The second result is 0 unless it becomes two.
func foldCase(r rune) (rune, rune) {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'A' && r <= 'Z' {
			r |= 0x20
		}
		return r, 0
	case unicode.IsMark(r), IsDense(r):
		return r, 0
	}
	if s, ok := spelt[r]; ok {
		return s[0], s[1]
	}
	return unicode.ToLower(unicode.ToUpper(r)), 0
}
