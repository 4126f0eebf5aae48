// Package markup writes HTML in which recorded text stays text: what is said as Markdown, and
// what is set beside it.
package markup

import (
	"strings"

	"tape/internal/show/display"
)

// HTML is markup of the program's own; recorded text never becomes one.
type HTML string

// Marks writes HTML. A failed write is remembered by W.
type Marks struct{ W *Output }

// Put writes markup with an argument in the place of each {}: markup as it is, numbers,
// and recorded text, which stays text.
func (p *Marks) Put(format HTML, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(string(format), "{}")
		p.W.Text(before)
		switch arg := arg.(type) {
		case HTML:
			p.W.Text(string(arg))
		case string:
			p.W.Text(InHTML.Replace(Safe(arg)))
		default:
			p.W.Printf("%d", arg)
		}
		format = HTML(after)
	}
	p.W.Text(string(format))
}

// InHTML escapes text for HTML.
var InHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;")

// More opens the fold that has the rest of a text.
func (p *Marks) More(rest string) {
	p.Put("<details class=\"more\"><summary>{}</summary>\n", Amount(rest))
}

// Amount says how much text was left out.
func Amount(rest string) string {
	if n := strings.Count(strings.TrimRight(rest, "\n"), "\n"); n > 0 {
		return display.Count(n+1, "more line", "more lines") + " (" + display.Bytes(int64(len(rest))) + ")"
	}
	return display.Bytes(int64(len(rest))) + " more"
}
