package export

import (
	"strconv"
	"strings"
)

// Messages are Markdown. A page shows the part of it that messages use: what is not understood
// is the text that it is, and so are HTML, definitions, and links that do not lead to the web.
// Libraries for it make each start of the program longer by a quarter, whatever it does.

// maxNesting bounds lists and quotes, and marks within a line, that are inside of others.
const maxNesting = 8

// markdown writes Markdown as HTML; what is behind the first lines can be opened.
func (p *page) markdown(text string, show int) {
	lines := strings.Split(strings.TrimRight(safe(text), "\n"), "\n")
	for i, l := range lines {
		if body := strings.TrimLeft(l, " \t"); strings.Contains(l[:len(l)-len(body)], "\t") {
			lines[i] = strings.ReplaceAll(l[:len(l)-len(body)], "\t", "    ") + body
		}
	}
	folded := false
	for i := 0; i < len(lines); {
		if !folded && i >= show && len(lines)-i > show/4 {
			folded = true
			p.more(strings.Join(lines[i:], "\n"))
		}
		i += p.block(lines[i:], 0)
	}
	if folded {
		p.put("</details>\n")
	}
}

func (p *page) blocks(lines []string, depth int) {
	for len(lines) > 0 {
		lines = lines[p.block(lines, depth):]
	}
}

// block writes the block that lines begin with, and returns how many of them it has.
func (p *page) block(lines []string, depth int) int {
	body := strings.TrimSpace(lines[0])
	sign, _ := marker(lines[0])
	switch {
	case body == "":
		return 1
	case openingFence(body) != "":
		return p.code(lines)
	case isHeading(body):
		n := len(body) - len(strings.TrimLeft(body, "#"))
		p.element(markup("h"+strconv.Itoa(min(6, n+2))), strings.Trim(strings.TrimRight(body[n:], "#"), " "))
		return 1
	case isRule(body):
		p.put("<hr>\n")
		return 1
	case depth < maxNesting && body[0] == '>':
		return p.quote(lines, depth)
	case depth < maxNesting && sign != "":
		return p.list(lines, depth)
	case isTable(lines):
		return p.table(lines)
	case indentOf(lines[0]) >= 4:
		return p.indented(lines)
	}
	n := 1
	for n < len(lines) && !interrupts(lines[n:]) {
		n++
	}
	p.element("p", strings.TrimSpace(strings.Join(lines[:n], "\n")))
	return n
}

// element writes an element of one line, or of lines that stay such.
func (p *page) element(tag markup, text string) {
	p.put("<{}>", tag)
	in := inline{page: p, s: text}
	in.write()
	p.put("</{}>\n", tag)
}

// interrupts reports whether a paragraph ends in front of these lines.
func interrupts(lines []string) bool {
	body := strings.TrimSpace(lines[0])
	if body == "" || body[0] == '>' || openingFence(body) != "" || isHeading(body) || isRule(body) || isTable(lines) {
		return true
	}
	sign, _ := marker(lines[0])
	return sign != "" && sign != body && (len(sign) == 1 || sign[:len(sign)-1] == "1")
}

func indentOf(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }

// outdent takes up to so many spaces off a line's beginning.
func outdent(l string, n int) string { return l[min(n, indentOf(l)):] }

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

func isRule(l string) bool {
	signs := strings.ReplaceAll(l, " ", "")
	return len(signs) >= 3 && strings.IndexByte("-*_", signs[0]) >= 0 && strings.Trim(signs, signs[:1]) == ""
}

// code writes a block between fences. The line that opens it stays where it says more than
// a language.
func (p *page) code(lines []string) int {
	fence := openingFence(strings.TrimSpace(lines[0]))
	n := 1
	var code []string
	for ; n < len(lines) && !closes(strings.TrimSpace(lines[n]), fence); n++ {
		code = append(code, outdent(lines[n], indentOf(lines[0])))
	}
	if info := strings.TrimSpace(strings.TrimSpace(lines[0])[len(fence):]); info != "" {
		p.put("<p class=\"info\">{}</p>\n", info)
	}
	p.put("<pre class=\"code\">\n{}</pre>\n", strings.Join(code, "\n"))
	return min(n+1, len(lines))
}

func (p *page) indented(lines []string) int {
	n := 0
	var code []string
	for ; n < len(lines) && indentOf(lines[n]) >= 4; n++ {
		code = append(code, outdent(lines[n], 4))
	}
	p.put("<pre class=\"code\">\n{}</pre>\n", strings.Join(code, "\n"))
	return n
}

func (p *page) quote(lines []string, depth int) int {
	n := 0
	var inner []string
	for ; n < len(lines); n++ {
		l, quoted := strings.CutPrefix(strings.TrimLeft(lines[n], " "), ">")
		if !quoted && interrupts(lines[n:]) {
			break
		}
		inner = append(inner, strings.TrimPrefix(l, " "))
	}
	p.put("<blockquote>\n")
	p.blocks(inner, depth+1)
	p.put("</blockquote>\n")
	return n
}

// marker is the sign of a list's item that a line begins with, and how far in its text is.
func marker(l string) (sign string, content int) {
	indent := indentOf(l)
	rest := l[indent:]
	n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	switch {
	case n == len(rest), n > 9:
		return "", 0
	case n > 0 && (rest[n] == '.' || rest[n] == ')'), n == 0 && strings.IndexByte("-+*", rest[0]) >= 0:
		n++
	default:
		return "", 0
	}
	spaces := indentOf(rest[n:])
	if len(rest) > n && spaces == 0 {
		return "", 0
	}
	if spaces > 4 {
		spaces = 1
	}
	return rest[:n], indent + n + spaces
}

func (p *page) list(lines []string, depth int) int {
	first, _ := marker(lines[0])
	kind := first[len(first)-1]
	tag := markup("ol")
	if number := first[:len(first)-1]; number == "" {
		tag = "ul"
		p.put("<ul>\n")
	} else {
		p.put("<ol start=\"{}\">\n", number)
	}
	n := 0
	for n < len(lines) {
		sign, content := marker(lines[n])
		if sign == "" || sign[len(sign)-1] != kind || isRule(strings.TrimSpace(lines[n])) {
			break
		}
		size := itemSize(lines[n:], min(content, indentOf(lines[n])+2))
		item := []string{strings.TrimPrefix(outdent(lines[n], content), sign)}
		item[0] = checkbox(strings.TrimLeft(item[0], " "))
		for _, l := range lines[n+1 : n+size] {
			item = append(item, outdent(l, content))
		}
		p.put("<li>")
		p.blocks(item, depth+1)
		p.put("</li>\n")
		n += size
	}
	p.put("</{}>\n", tag)
	return n
}

// itemSize is the number of lines of an item: what is indented, and what a paragraph of it
// goes on with. Empty lines are part of it where more of the list follows.
func itemSize(lines []string, indent int) int {
	n, empty := 1, 0
	for i, l := range lines[1:] {
		sign, _ := marker(l)
		switch {
		case strings.TrimSpace(l) == "":
			empty++
			continue
		case indentOf(l) >= indent:
		case sign != "":
			return i + 1
		case empty > 0, interrupts(lines[i+1:]):
			return n
		}
		n, empty = i+2, 0
	}
	return n
}

// checkbox shows what is done and what is to be done.
func checkbox(item string) string {
	for sign, box := range map[string]string{"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "} {
		if rest, ok := strings.CutPrefix(item, sign); ok {
			return box + rest
		}
	}
	return item
}

// isTable reports whether lines begin with a table: its head, and a line of dashes.
func isTable(lines []string) bool {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") || !strings.Contains(lines[1], "-") || strings.Trim(lines[1], "|:- ") != "" {
		return false
	}
	return len(cells(lines[0])) == len(cells(lines[1]))
}

func (p *page) table(lines []string) int {
	p.put("<div class=\"wide\"><table><tbody>\n")
	p.row("th", lines[0])
	n := 2
	for ; n < len(lines) && strings.Contains(lines[n], "|"); n++ {
		p.row("td", lines[n])
	}
	p.put("</tbody></table></div>\n")
	return n
}

func (p *page) row(tag markup, l string) {
	p.put("<tr>")
	for _, c := range cells(l) {
		p.element(tag, c)
	}
	p.put("</tr>\n")
}

// cells divides a table's line at the bars that are not escaped.
func cells(l string) []string {
	l = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(l), "|"), "|")
	var out []string
	for _, c := range strings.Split(strings.ReplaceAll(l, `\|`, "\x00"), "|") {
		out = append(out, strings.ReplaceAll(strings.TrimSpace(c), "\x00", "|"))
	}
	return out
}
