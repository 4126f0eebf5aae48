package export

import (
	"strings"

	"tape/internal/display"
)

// text writes recorded text. What would not be seen is shown as a sign of its own.
func (p *page) text(s string) {
	for s != "" {
		i, n, shown := display.Unsafe(s, seen)
		p.plain(s[:i])
		if shown != "" {
			p.w.text("<b class=\"c\">")
			p.plain(shown)
			p.w.text("</b>")
		}
		s = s[i+n:]
	}
}

var inHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;")

// plain writes text that has nothing in it that is not seen.
func (p *page) plain(s string) { p.w.text(inHTML.Replace(s)) }

// data writes text as it is spaced; what is long can be opened.
func (p *page) data(text string) {
	text = strings.TrimRight(text, "\r\n")
	head, rest := cut(text, shownLines, shownBytes)
	p.pre(head)
	if rest != "" {
		p.more(rest)
		p.pre(rest)
		p.put("</details>\n")
	}
}

// pre writes a block of text. The line end behind the tag is for the parser, which drops it.
func (p *page) pre(text string) {
	p.put("<pre{}>\n{}</pre>\n", language(text), text)
}

// more opens the fold that has the rest of a text.
func (p *page) more(rest string) {
	what := size(len(rest)) + " more"
	if n := strings.Count(rest, "\n"); n > 0 {
		what = count(n+1, "more line", "more lines") + ", " + size(len(rest))
	}
	p.put("<details class=\"more\"><summary>{}</summary>\n", what)
}

// prose writes a message's text: every character of it, with code, headings, tables
// and links set apart as far as they can be told line by line.
func (p *page) prose(text string, lines int) {
	text = strings.TrimRight(text, "\r\n")
	head, rest := cut(text, lines, proseBytes)
	fence := p.marked(head, "")
	if rest != "" {
		p.more(rest)
		p.marked(rest, fence)
		p.put("</details>\n")
	}
}

// marked writes text that begins inside the code block of fence, if that is not "". It
// returns the fence of the block in which it ends.
func (p *page) marked(text, fence string) string {
	p.put("<div class=\"text\" dir=\"auto\"{}>", language(text))
	block := byte(0) // in a code block: its fence's character; in a table: '|'
	if fence != "" {
		block = fence[0]
		p.put("<pre class=\"code\">\n")
	}
	for l := range strings.SplitAfterSeq(text, "\n") {
		body := strings.TrimSpace(l)
		switch {
		case block == '`' || block == '~':
			p.text(l)
			if closes(body, fence) {
				block, fence = 0, ""
				p.put("</pre>")
			}
			continue
		case block == '|' && !strings.HasPrefix(body, "|"):
			block = 0
			p.put("</pre>")
		}
		if f := openingFence(body); f != "" {
			block, fence = f[0], f
			p.put("<pre class=\"code\">\n")
			p.text(l)
			continue
		}
		switch {
		case strings.HasPrefix(body, "|"):
			if block == 0 {
				block = '|'
				p.put("<pre class=\"code\">\n")
			}
			p.text(l)
		case isHeading(body):
			p.put("<b class=\"h\">")
			p.inline(l)
			p.put("</b>")
		default:
			p.inline(l)
		}
	}
	if block != 0 {
		p.put("</pre>")
	}
	p.put("</div>\n")
	return fence
}

// openingFence is the fence that a line opens a code block with, or "".
func openingFence(l string) string {
	n := 0
	for n < len(l) && l[n] == l[0] && (l[0] == '`' || l[0] == '~') {
		n++
	}
	if n < 3 || l[0] == '`' && strings.Contains(l[n:], "`") {
		return ""
	}
	return l[:n]
}

// closes reports whether a line ends the code block that fence opened.
func closes(l, fence string) bool {
	return strings.HasPrefix(l, fence) && strings.Trim(l, fence[:1]) == ""
}

func isHeading(l string) bool {
	rest := strings.TrimLeft(l, "#")
	n := len(l) - len(rest)
	return n >= 1 && n <= 6 && (rest == "" || rest[0] == ' ')
}

// inline writes a line with its code, its strong text and its links.
func (p *page) inline(s string) {
	run, i := 0, 0
	mark := func(end int, tag markup) {
		p.put("{}<{}>{}</{}>", s[run:i], tag, s[i:end], tag)
		run, i = end, end
	}
	for i < len(s) {
		switch c := s[i]; {
		case c == '`':
			n := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
			if end := codeEnd(s[i+n:], n); end >= 0 {
				mark(i+n+end, "code")
			} else {
				i += n
			}
		case c == '*' && strings.HasPrefix(s[i:], "**"):
			if end := strings.Index(s[i+2:], "**"); end > 0 && s[i+2] != ' ' && !strings.Contains(s[i:i+2+end], "`") {
				mark(i+end+4, "strong")
			} else {
				i += 2
			}
		case c == 'h' && (i == 0 || !isWord(s[i-1])):
			n := linkLength(s[i:])
			if n == 0 {
				i++
				continue
			}
			link := s[i : i+n]
			p.put(`{}<a rel="noopener noreferrer nofollow" href="{}">{}</a>`, s[run:i], link, link)
			i += n
			run = i
		default:
			i++
		}
	}
	p.text(s[run:])
}

// codeEnd is the end of the code span that n backticks in front of s open, or -1.
func codeEnd(s string, n int) int {
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			return -1
		}
		i += j
		k := i
		for k < len(s) && s[k] == '`' {
			k++
		}
		if k-i == n {
			return k
		}
		i = k
	}
	return -1
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
}

// linkLength is the length of the web address that s begins with, or 0. It is ASCII,
// and what ends a sentence or closes a bracket around it is not part of it.
func linkLength(s string) int {
	scheme := len("https://")
	if !strings.HasPrefix(s, "https://") {
		if scheme--; !strings.HasPrefix(s, "http://") {
			return 0
		}
	}
	n := scheme
	for n < len(s) && s[n] > ' ' && s[n] < 0x7f && !strings.ContainsRune("<>\"`{}|\\^*", rune(s[n])) {
		n++
	}
	for n > scheme && strings.IndexByte(".,;:!?)]'_~", s[n-1]) >= 0 {
		if s[n-1] == ')' && strings.Count(s[:n], "(") >= strings.Count(s[:n], ")") {
			break
		}
		n--
	}
	if n == scheme {
		return 0
	}
	return n
}

// language is the attribute that tells which of the languages written with Han
// characters a text is in, so that it is shown with their forms of them. Text in any
// other language is not said to be in one: nobody knows.
func language(s string) markup {
	const enough = 4096
	han, seen := false, 0
	for _, r := range s {
		if seen++; seen > enough {
			break
		}
		switch {
		case r < 0x1100:
		case r >= 0x3040 && r <= 0x30ff && r != 0x30fb:
			return " lang=\"ja\""
		case r >= 0xac00 && r <= 0xd7a3 || r < 0x1200:
			return " lang=\"ko\""
		case r >= 0x4e00 && r <= 0x9fff:
			han = true
		}
	}
	if han {
		return " lang=\"zh\""
	}
	return " lang=\"\""
}
