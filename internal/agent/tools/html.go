package tools

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// fromHTML returns a page's text, with headings, lists and links as in Markdown, without scripts
// and styles. It reads the page once, without building a tree.
func fromHTML(page string) string {
	t := html.NewTokenizer(strings.NewReader(page))
	w := &htmlText{}
	for {
		switch kind := t.Next(); kind {
		case html.ErrorToken:
			return strings.TrimSpace(w.out.String())
		case html.TextToken:
			w.text(string(t.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			w.start(t, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := t.TagName()
			w.end(atom.Lookup(name))
		}
	}
}

// htmlText collects the text.
type htmlText struct {
	out   strings.Builder
	lines int      // newlines to write before the next text
	space bool     // a space to write before the next text
	skip  int      // depth in elements that are not shown
	pre   int      // depth in preformatted text
	links []string // targets of the open links
}

// isHidden reports whether an element's content is not for readers.
func isHidden(a atom.Atom) bool {
	switch a {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Textarea:
		return true
	}
	return false
}

// breaks returns how many newlines are around an element.
func breaks(a atom.Atom) int {
	switch a {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P, atom.Pre, atom.Ul, atom.Ol, atom.Table, atom.Blockquote, atom.Section,
		atom.Article, atom.Title:
		return 2
	case atom.Div, atom.Li, atom.Tr, atom.Dt, atom.Dd, atom.Header, atom.Footer, atom.Nav, atom.Main, atom.Aside, atom.Form, atom.Option, atom.Hr:
		return 1
	}
	return 0
}

func (w *htmlText) start(t *html.Tokenizer, closed bool) {
	name, more := t.TagName()
	a := atom.Lookup(name)
	if isHidden(a) {
		if !closed {
			w.skip++
		}
		return
	}
	w.lines = max(w.lines, breaks(a))
	switch a {
	case atom.Br:
		w.lines++
	case atom.Td, atom.Th:
		w.write(" | ")
	case atom.Li:
		w.write("- ")
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.write(strings.Repeat("#", int(name[1]-'0')) + " ")
	case atom.Pre:
		w.write("```\n")
		w.pre++
	case atom.A:
		w.links = append(w.links, target(t, more))
		if w.links[len(w.links)-1] != "" {
			w.write("[")
		}
	}
}

// target returns where a link leads; "" if that is of no use to a reader.
func target(t *html.Tokenizer, more bool) string {
	for more {
		var key, value []byte
		key, value, more = t.TagAttr()
		if v := string(value); string(key) == "href" && len(v) < 500 && !strings.HasPrefix(v, "#") && !strings.HasPrefix(strings.ToLower(v), "javascript:") {
			return v
		}
	}
	return ""
}

func (w *htmlText) end(a atom.Atom) {
	if isHidden(a) {
		w.skip = max(0, w.skip-1)
		return
	}
	switch a {
	case atom.Pre:
		if w.pre > 0 {
			w.pre--
			w.lines = max(w.lines, 1)
			w.write("```")
		}
	case atom.A:
		if n := len(w.links); n > 0 {
			if w.links[n-1] != "" {
				w.space, w.lines = false, 0
				w.write("](" + w.links[n-1] + ")")
			}
			w.links = w.links[:n-1]
		}
	}
	w.lines = max(w.lines, breaks(a))
}

func (w *htmlText) text(s string) {
	if w.pre > 0 {
		w.write(s)
		return
	}
	for i, word := range strings.Fields(s) {
		if i > 0 || strings.TrimLeft(s, " \t\r\n\f") != s {
			w.space = true
		}
		w.write(word)
	}
	if strings.TrimRight(s, " \t\r\n\f") != s {
		w.space = true
	}
}

// write writes the newlines or the space that are due, and s.
func (w *htmlText) write(s string) {
	if w.skip > 0 || s == "" {
		return
	}
	if w.out.Len() > 0 {
		switch {
		case w.lines > 0:
			w.out.WriteString(strings.Repeat("\n", min(w.lines, 2)))
		case w.space && !strings.HasPrefix(s, " "):
			w.out.WriteByte(' ')
		}
	}
	w.lines, w.space = 0, false
	w.out.WriteString(s)
}
