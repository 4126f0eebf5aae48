package markup

import (
	"strconv"
	"strings"
)

// Messages are Markdown. A page shows the part of it that messages use: what is not understood
// is the text that it is, and so are HTML, definitions, and links that do not lead to the web.
// Libraries for it make each start of the program longer by a quarter, whatever it does.

// maxNesting bounds lists and quotes, and marks within a line, that are inside of others.
const maxNesting = 8

// Markdown writes Markdown as HTML; what is behind the first lines can be opened.
func (p *Marks) Markdown(text string, show int) {
	lines := strings.Split(strings.TrimRight(Safe(text), "\n"), "\n")
	for i, l := range lines {
		if body := strings.TrimLeft(l, " \t"); strings.Contains(l[:len(l)-len(body)], "\t") {
			lines[i] = strings.ReplaceAll(l[:len(l)-len(body)], "\t", "    ") + body
		}
	}
	folded := false
	for i := 0; i < len(lines); {
		if !folded && i >= show && len(lines)-i > show/4 {
			folded = true
			p.More(strings.Join(lines[i:], "\n"))
		}
		i += p.block(lines[i:], 0)
	}
	if folded {
		p.Put("</details>\n")
	}
}

func (p *Marks) blocks(lines []string, depth int) {
	for len(lines) > 0 {
		lines = lines[p.block(lines, depth):]
	}
}

// block writes the block that lines begin with, and returns how many of them it has.
func (p *Marks) block(lines []string, depth int) int {
	body := strings.TrimSpace(lines[0])
	sign, _ := Marker(lines[0])
	switch {
	case body == "":
		return 1
	case OpeningFence(body) != "":
		return p.code(lines)
	case IsHeading(body):
		n := len(body) - len(strings.TrimLeft(body, "#"))
		p.element(HTML("h"+strconv.Itoa(min(6, n+2))), strings.Trim(strings.TrimRight(body[n:], "#"), " "))
		return 1
	case isRule(body):
		p.Put("<hr>\n")
		return 1
	case depth < maxNesting && body[0] == '>':
		return p.quote(lines, depth)
	case depth < maxNesting && sign != "":
		return p.list(lines, depth)
	case isTable(lines):
		return p.table(lines)
	case IndentOf(lines[0]) >= 4:
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
func (p *Marks) element(tag HTML, text string) {
	p.Put("<{}>", tag)
	in := inline{Marks: p, s: text}
	in.write()
	p.Put("</{}>\n", tag)
}

// interrupts reports whether a paragraph ends in front of these lines.
func interrupts(lines []string) bool {
	body := strings.TrimSpace(lines[0])
	if body == "" || body[0] == '>' || OpeningFence(body) != "" || IsHeading(body) || isRule(body) || isTable(lines) {
		return true
	}
	sign, _ := Marker(lines[0])
	return sign != "" && sign != body && (len(sign) == 1 || sign[:len(sign)-1] == "1")
}

// IndentOf is how many spaces a line begins with.
func IndentOf(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }

// Outdent takes up to so many spaces off a line's beginning.
func Outdent(l string, n int) string { return l[min(n, IndentOf(l)):] }

// OpeningFence is the fence that a line opens a code block with, or "".
func OpeningFence(l string) string {
	n := 0
	for n < len(l) && l[n] == l[0] && (l[0] == '`' || l[0] == '~') {
		n++
	}
	if n < 3 || l[0] == '`' && strings.Contains(l[n:], "`") {
		return ""
	}
	return l[:n]
}

// Closes reports whether a line ends the code block that fence opened.
func Closes(l, fence string) bool {
	return strings.HasPrefix(l, fence) && strings.Trim(l, fence[:1]) == ""
}

// IsHeading reports whether a line is one.
func IsHeading(l string) bool {
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
func (p *Marks) code(lines []string) int {
	fence := OpeningFence(strings.TrimSpace(lines[0]))
	n := 1
	var code []string
	for ; n < len(lines) && !Closes(strings.TrimSpace(lines[n]), fence); n++ {
		code = append(code, Outdent(lines[n], IndentOf(lines[0])))
	}
	if info := strings.TrimSpace(strings.TrimSpace(lines[0])[len(fence):]); info != "" {
		p.Put("<p class=\"info\">{}</p>\n", info)
	}
	p.Put("<pre class=\"code\">\n{}</pre>\n", strings.Join(code, "\n"))
	return min(n+1, len(lines))
}

func (p *Marks) indented(lines []string) int {
	n := 0
	var code []string
	for ; n < len(lines) && IndentOf(lines[n]) >= 4; n++ {
		code = append(code, Outdent(lines[n], 4))
	}
	p.Put("<pre class=\"code\">\n{}</pre>\n", strings.Join(code, "\n"))
	return n
}

func (p *Marks) quote(lines []string, depth int) int {
	n := 0
	var inner []string
	for ; n < len(lines); n++ {
		l, quoted := strings.CutPrefix(strings.TrimLeft(lines[n], " "), ">")
		if !quoted && interrupts(lines[n:]) {
			break
		}
		inner = append(inner, strings.TrimPrefix(l, " "))
	}
	p.Put("<blockquote>\n")
	p.blocks(inner, depth+1)
	p.Put("</blockquote>\n")
	return n
}

// Marker is the sign of a list's item that a line begins with, and how far in its text is.
func Marker(l string) (sign string, content int) {
	indent := IndentOf(l)
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
	spaces := IndentOf(rest[n:])
	if len(rest) > n && spaces == 0 {
		return "", 0
	}
	if spaces > 4 {
		spaces = 1
	}
	return rest[:n], indent + n + spaces
}

func (p *Marks) list(lines []string, depth int) int {
	first, _ := Marker(lines[0])
	kind := first[len(first)-1]
	tag := HTML("ol")
	if number := first[:len(first)-1]; number == "" {
		tag = "ul"
		p.Put("<ul>\n")
	} else {
		p.Put("<ol start=\"{}\">\n", number)
	}
	n := 0
	for n < len(lines) {
		sign, content := Marker(lines[n])
		if sign == "" || sign[len(sign)-1] != kind || isRule(strings.TrimSpace(lines[n])) {
			break
		}
		size := itemSize(lines[n:], min(content, IndentOf(lines[n])+2))
		item := []string{strings.TrimPrefix(Outdent(lines[n], content), sign)}
		item[0] = checkbox(strings.TrimLeft(item[0], " "))
		for _, l := range lines[n+1 : n+size] {
			item = append(item, Outdent(l, content))
		}
		p.Put("<li>")
		p.blocks(item, depth+1)
		p.Put("</li>\n")
		n += size
	}
	p.Put("</{}>\n", tag)
	return n
}

// itemSize is the number of lines of an item: what is indented, and what a paragraph of it
// goes on with. Empty lines are part of it where more of the list follows.
func itemSize(lines []string, indent int) int {
	n, empty := 1, 0
	for i, l := range lines[1:] {
		sign, _ := Marker(l)
		switch {
		case strings.TrimSpace(l) == "":
			empty++
			continue
		case IndentOf(l) >= indent:
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

func (p *Marks) table(lines []string) int {
	p.Put("<div class=\"wide\"><table><tbody>\n")
	p.row("th", lines[0])
	n := 2
	for ; n < len(lines) && strings.Contains(lines[n], "|"); n++ {
		p.row("td", lines[n])
	}
	p.Put("</tbody></table></div>\n")
	return n
}

func (p *Marks) row(tag HTML, l string) {
	p.Put("<tr>")
	for _, c := range cells(l) {
		p.element(tag, c)
	}
	p.Put("</tr>\n")
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
