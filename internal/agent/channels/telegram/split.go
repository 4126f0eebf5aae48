package telegram

import (
	"strings"
	"unicode/utf8"
)

// maxUnits is the longest text of a message, in UTF-16 units.
const maxUnits = 4096

// fence is a line that opens a block of code; the zero value means no block.
type fence struct {
	mark string // ``` or longer, or ~~~
	info string // the language
}

// maxInfo is the longest name of a language, in bytes. A line with a longer one opens no block.
const maxInfo = 64

// piece is the part of a text that goes into one message. The pieces, joined, are the text.
type piece struct {
	text string
	open fence // the block in which text begins
	mid  bool  // text begins within a line, which cannot open a block
}

// split cuts a text into pieces of at most limit UTF-16 units: at the end of a line unless that would
// halve the piece, else of a word, else between two characters.
func split(text string, limit int) []piece {
	var out []piece
	p := piece{text: text}
	for {
		rest := ""
		if units(p.text) > limit {
			at := cut(p.text, limit)
			p.text, rest = p.text[:at], p.text[at:]
		}
		out = append(out, p)
		if rest == "" {
			return out
		}
		p = piece{text: rest, open: p.after(), mid: !strings.HasSuffix(p.text, "\n")}
	}
}

// cut returns the length, in bytes, of the first piece of a text that has more than limit units.
func cut(text string, limit int) int {
	end, n := 0, 0
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if n += width(r); n > limit && end > 0 {
			break
		}
		end += size
	}
	line := strings.LastIndexByte(text[:end], '\n') + 1
	last, _, _ := strings.Cut(text[line:], "\n")
	_, isFence := parseFence(last) // a fence must not be cut
	if line > 0 && (isFence || line >= end/2) {
		return line
	}
	if word := strings.LastIndexAny(text[:end], " \n\t") + 1; word > 0 {
		return word
	}
	return end
}

// after returns the block in which the text ends.
func (p *piece) after() fence {
	open, mid := p.open, p.mid
	for line := range strings.SplitSeq(p.text, "\n") {
		if !mid {
			open = open.next(line)
		}
		mid = false
	}
	return open
}

// next returns the block after a line.
func (f fence) next(line string) fence {
	g, ok := parseFence(line)
	switch {
	case !ok:
		return f
	case f.mark == "":
		return g
	case g.info == "" && g.mark[0] == f.mark[0] && len(g.mark) >= len(f.mark):
		return fence{}
	}
	return f
}

// parseFence parses a line that may open or close a block of code.
func parseFence(line string) (fence, bool) {
	line = strings.TrimSpace(line)
	rest := strings.TrimLeft(line, "`")
	if rest == line {
		rest = strings.TrimLeft(line, "~")
	}
	mark, info := line[:len(line)-len(rest)], strings.TrimSpace(rest)
	ok := len(mark) >= 3 && len(info) <= maxInfo && !strings.Contains(info, "`")
	return fence{mark, info}, ok
}

// units returns a text's length in UTF-16 units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += width(r)
	}
	return n
}

// width returns how many UTF-16 units a character has.
func width(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}
