package export

import (
	"slices"
	"strings"

	"tape/internal/show/display"
)

// writeQuote writes a message as a Markdown quote. Its Markdown stays Markdown, within
// limits: code blocks get new fences, headings go below those of the document, and HTML,
// images, definitions and links that do not lead to the web are escaped.
//
// Each line is handled by itself, and written so that all Markdown parsers agree: a code
// block begins at the margin, and a code span ends on its line.
func writeQuote(w *output, text string) {
	lines := strings.Split(display.Page(text), "\n")
	put := func(l string) {
		w.text(strings.TrimRight("> "+l, " "))
		w.text("\n")
	}
	for i := 0; i < len(lines); i++ {
		body := strings.TrimSpace(lines[i])
		open := display.Fence(body)
		if open == "" {
			l := escapeProse(lines[i], i > 0 && strings.Trim(lines[i-1], " \t") != "")
			if i+1 < len(lines) && isPlain(lines[i]) && isPlain(lines[i+1]) {
				w.text("> " + strings.TrimRight(l, " ") + "  \n") // otherwise the two lines become one
				continue
			}
			put(l)
			continue
		}
		indent := len(lines[i]) - len(strings.TrimLeft(lines[i], " "))
		var code []string
		for i++; i < len(lines) && !closes(strings.TrimSpace(lines[i]), open); i++ {
			code = append(code, outdent(lines[i], indent))
		}
		fence := fenceFor(strings.Join(code, "\n"))
		put(fence + infoOf(body[len(open):]))
		for _, l := range code {
			put(l)
		}
		put(fence)
	}
}

// isPlain reports whether a line is plain text of a paragraph.
func isPlain(l string) bool {
	body := strings.TrimLeft(l, " ")
	return body != "" && len(l)-len(body) < 4 && !strings.ContainsAny(body[:1], "-+*>#=`~_0123456789\t") && !strings.Contains(body, "|")
}

// infoOf returns the language of a code block; "" if git hosts render it as a picture, or if it is no plain word.
func infoOf(info string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	if len(name) > 20 || strings.IndexFunc(name, func(r rune) bool {
		return r >= 0x80 || !isWord(byte(r)) && !strings.ContainsRune("+#-.", r)
	}) >= 0 {
		return ""
	}
	switch strings.ToLower(name) {
	case "mermaid", "math", "geojson", "topojson", "stl":
		return ""
	}
	return name
}

// escapeProse makes a line of Markdown harmless. after says whether it follows a line of a
// paragraph, of which an underline would make a heading.
func escapeProse(l string, after bool) string {
	if strings.Trim(l, " \t") == "" {
		return ""
	}
	body := strings.TrimLeft(l, "> \t")
	start := l[:len(l)-len(body)]
	switch {
	case isHeading(strings.TrimRight(body, "\t")):
		n := min(6, len(body)-len(strings.TrimLeft(body, "#"))+3)
		return start + strings.Repeat("#", n) + escapeInline(strings.TrimLeft(body, "#"))
	case strings.Trim(body, "= \t") == "", after && strings.Trim(body, "- \t") == "":
		// An underline makes a heading of the text above it.
		return start + `\` + body
	}
	return start + escapeInline(body)
}

// escapeInline escapes the dangerous characters of a line, except in code spans.
func escapeInline(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		if c == '`' {
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			end := codeEnd(s[i+n:], n)
			if end >= 0 && isCode(s[:i], s[i:i+n+end]) {
				b.WriteString(s[i : i+n+end])
				i += n + end
				continue
			}
			b.WriteString(strings.Repeat("\\`", n))
			i += n
			continue
		}
		if c == '\\' {
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], `\`))
			b.WriteString(s[i : i+n])
			if i += n; i < len(s) && strings.IndexByte("`<&$~![]", s[i]) >= 0 {
				// Otherwise the last one would escape the replacement of the next character.
				b.WriteString(strings.Repeat(`\`, n))
			}
			continue
		}
		switch {
		case c == '<':
			b.WriteString("&lt;")
		case c == '&' && i+1 < len(s) && (isWord(s[i+1]) || s[i+1] == '#'):
			b.WriteString("&amp;")
		case c == '$', c == '#' && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t'), c == '~' && strings.HasPrefix(s[i:], "~~~"),
			c == '!' && strings.HasPrefix(s[i:], "!["), c == '[' && strings.HasPrefix(s[i:], "[!"),
			c == ']' && dangles(s[i+1:]):
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
		i++
	}
	return b.String()
}

// isCode reports whether a code span can stay: after the text before it, all parsers see a
// code span, or its content is harmless as text, too. Parsers disagree about a bar in it, which
// may end a table's cell, and about an address before it, which may include the backtick.
func isCode(before, span string) bool {
	if !strings.ContainsAny(span, "<[]&") {
		return true
	}
	word := strings.ToLower(before[strings.LastIndexAny(before, " \t")+1:])
	return !strings.Contains(span, "|") &&
		!slices.ContainsFunc([]string{"://", "www.", "@", "mailto:", "xmpp:"}, func(sign string) bool { return strings.Contains(word, sign) })
}

// dangles reports whether a closing bracket before s would make a definition, or a link that
// does not lead to the web.
func dangles(s string) bool {
	if strings.HasPrefix(s, ":") {
		return true
	}
	dest, ok := strings.CutPrefix(s, "(")
	return ok && linkLength(dest) == 0
}

// escapeLine escapes all Markdown in a line, also for a title.
func escapeLine(s string) string {
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c == '<':
			b.WriteString("&lt;")
			continue
		case c == '&':
			b.WriteString("&amp;")
			continue
		case strings.IndexByte("\\`*[]#~|$!", c) >= 0,
			c == '_' && (i == 0 || i == len(s)-1 || !isWord(s[i-1]) || !isWord(s[i+1])),
			i == 0 && strings.IndexByte("-+=>", c) >= 0:
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func codeSpan(s string) string {
	if s == "" || strings.ContainsAny(s, "`") {
		return escapeLine(s)
	}
	return "`" + s + "`"
}
