package web

import (
	"html/template"
	"strings"
	"time"
	"unicode"

	"github.com/sergi/go-diff/diffmatchpatch"

	"tape/internal/show/prose"
)

// words are two texts with the words marked that only one of them has.
func words(a, b string) (left, right template.HTML) {
	if len(a) > bodyMost {
		a = strings.ToValidUTF8(a[:bodyMost], "") + "…"
	}
	if len(b) > bodyMost {
		b = strings.ToValidUTF8(b[:bodyMost], "") + "…"
	}
	codes, list := map[string]rune{}, []string{}
	ra, rb := numbered(a, codes, &list), numbered(b, codes, &list)
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 200 * time.Millisecond
	var l, r strings.Builder
	for _, d := range dmp.DiffMainRunes(ra, rb, false) {
		var text strings.Builder
		for _, c := range d.Text {
			text.WriteString(list[c-firstCode])
		}
		t := prose.Escape(text.String())
		switch d.Type {
		case diffmatchpatch.DiffDelete:
			l.WriteString("<del>" + t + "</del>")
		case diffmatchpatch.DiffInsert:
			r.WriteString("<ins>" + t + "</ins>")
		default:
			l.WriteString(t)
			r.WriteString(t)
		}
	}
	return template.HTML(l.String()), template.HTML(r.String()) //nolint:gosec // each piece is escaped
}

const firstCode = 0xF0000 // a private plane: a rune a word, more than a body has

// numbered writes a text as a rune for each of its words and what is between.
func numbered(text string, codes map[string]rune, list *[]string) []rune {
	var out []rune
	for text != "" {
		n := strings.IndexFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if n < 0 {
			n = len(text)
		}
		if n == 0 { // one that is no letter
			for i := range text {
				if n = i; i > 0 {
					break
				}
			}
			if n == 0 {
				n = len(text)
			}
		}
		w := text[:n]
		if _, ok := codes[w]; !ok {
			codes[w] = firstCode + rune(len(*list))
			*list = append(*list, w)
		}
		out = append(out, codes[w])
		text = text[n:]
	}
	return out
}
