package telegram

import (
	"strings"
	"unicode/utf8"
)

// maxUnits is the longest text of a message, in UTF-16 units.
const maxUnits = 4096

// fence is a line that opens a block of code; the zero value: there is none.
type fence struct {
	mark string // ``` or longer, or ~~~
	info string // the language
}

// maxInfo is the longest name of a language; a line with more opens no block.
const maxInfo = 64

// piece is a part of a text that goes into one message.
type piece struct {
	text string // the texts of all pieces, joined, are the whole
	open fence  // the block that text begins in, where one was cut
	mid  bool   // text begins within a line, which opens no block
}

// split cuts a text into pieces of at most limit UTF-16 units: at the end of a line, else of a
// word, else between two characters.
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

// cut finds where a text that is too long ends in a piece with room for a number of units.
func cut(text string, room int) int {
	end, n := 0, 0
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		if n += width(r); n > room && end > 0 {
			break
		}
		end += size
	}
	line := strings.LastIndexByte(text[:end], '\n') + 1
	last, _, _ := strings.Cut(text[line:], "\n")
	_, isFence := parseFence(last) // which stays whole
	if line > 0 && (isFence || line >= end/2) {
		return line
	}
	if word := strings.LastIndexAny(text[:end], " \n\t") + 1; word > 0 {
		return word
	}
	return end
}

// after is the block that the text ends in.
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

// next is the block that follows after a line.
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

// parseFence reports whether a line may open or close a block of code.
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

// units is a text's length in UTF-16.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += width(r)
	}
	return n
}

func width(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}
