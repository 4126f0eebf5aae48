package markup

import "strings"

// inline writes the text of a block, with what is set apart in it.
type inline struct {
	*Marks
	s     string
	run   int // from where on it is not written
	depth int
	link  bool // it is a link's
	// none are the marks that nothing closes from where they were last seen: to look once
	// is enough, and keeps the work in proportion to the text.
	none map[string]bool
}

func (in *inline) write() {
	in.none = map[string]bool{}
	for i := 0; i < len(in.s); {
		n := 0
		switch c := in.s[i]; c {
		case '\\':
			if n = 1; i+1 < len(in.s) && isPunct(in.s[i+1]) {
				in.upTo(i, i+1)
				n = 2
			}
		case '\n':
			in.upTo(i, i+1)
			in.Put("<br>\n")
		case '`':
			n = in.code(i)
		case '*', '_', '~':
			n = in.emphasis(i)
		case '[', '!':
			n = in.namedLink(i)
		case 'h':
			n = in.address(i)
		}
		i += max(n, 1)
	}
	in.upTo(len(in.s), len(in.s))
}

// upTo writes the text in front of a span, and goes on behind it.
func (in *inline) upTo(end, next int) {
	in.Put("{}", in.s[in.run:end])
	in.run = next
}

// nested writes text that is inside of an element.
func (in *inline) nested(tag HTML, text string) {
	in.Put("<{}>", tag)
	inner := inline{Marks: in.Marks, s: text, depth: in.depth + 1, link: in.link}
	inner.write()
	in.Put("</{}>", tag)
}

// code writes the code span at i. It returns how long what is there is, as all of these do.
func (in *inline) code(i int) int {
	n, end := in.span(i)
	if end < 0 {
		return n
	}
	code := strings.ReplaceAll(in.s[i+n:end-n], "\n", " ")
	if trimmed := strings.Trim(code, " "); trimmed != "" && strings.HasPrefix(code, " ") && strings.HasSuffix(code, " ") {
		code = code[1 : len(code)-1]
	}
	in.upTo(i, end)
	in.Put("<code>{}</code>", code)
	return end - i
}

// span is the number of backticks at i, and the end of the code span that they open, or -1.
func (in *inline) span(i int) (n, end int) {
	n = runLength(in.s, i)
	ticks := in.s[i : i+n]
	if in.none[ticks] {
		return n, -1
	}
	if end = CodeEnd(in.s[i+n:], n); end < 0 {
		in.none[ticks] = true
		return n, -1
	}
	return n, i + n + end
}

func runLength(s string, i int) int { return len(s[i:]) - len(strings.TrimLeft(s[i:], s[i:i+1])) }

func (in *inline) emphasis(i int) int {
	n := runLength(in.s, i)
	mark := in.s[i : i+min(n, 2)]
	tag, known := map[string]HTML{"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}[mark]
	after := i + n
	if !known || n > 3 || in.depth >= maxNesting || in.none[mark] || after == len(in.s) || isSpace(in.s[after]) || mark[0] == '_' && i > 0 && IsWord(in.s[i-1]) {
		return n
	}
	end := in.closing(after, mark)
	if end < 0 {
		in.none[mark] = true
		return n
	}
	in.upTo(i, end+len(mark))
	in.nested(tag, in.s[i+len(mark):end])
	return end + len(mark) - i
}

// closing is where a mark is that closes one in front of i, or -1.
func (in *inline) closing(i int, mark string) int {
	for i < len(in.s) {
		switch c := in.s[i]; {
		case c == '\\':
			i += 2
		case c == '`':
			n, end := in.span(i)
			i = max(i+n, end)
		case c == mark[0]:
			n := runLength(in.s, i)
			fits := n == len(mark) || n == 3
			word := c == '_' && i+n < len(in.s) && IsWord(in.s[i+n])
			if fits && !word && !isSpace(in.s[i-1]) {
				return i + n - len(mark)
			}
			i += n
		default:
			i++
		}
	}
	return -1
}

// namedLink writes a link with a text of its own. A picture is a link to it: a page loads nothing.
func (in *inline) namedLink(i int) int {
	const most = 300 // bytes of the text
	at := i
	if in.s[at] == '!' {
		at++
	}
	if in.link || at == len(in.s) || in.s[at] != '[' {
		return 1
	}
	open := 0
	for j, c := range []byte(in.s[at:min(len(in.s), at+most)]) {
		switch c {
		case '[':
			open++
		case ']':
			open--
		}
		if open > 0 {
			continue
		}
		text, rest := in.s[at+1:at+j], in.s[at+j+1:]
		if !strings.HasPrefix(rest, "(") {
			return 1
		}
		n := LinkLength(rest[1:])
		if n == 0 || n+1 >= len(rest) || rest[n+1] != ')' || strings.TrimSpace(text) == "" {
			return 1
		}
		end := at + j + n + 3
		in.upTo(i, end)
		in.anchor(rest[1:n+1], text)
		return end - i
	}
	return 1
}

func (in *inline) anchor(address, text string) {
	in.Put(`<a rel="noopener noreferrer nofollow" href="{}">`, address)
	inner := inline{Marks: in.Marks, s: text, depth: in.depth + 1, link: true}
	inner.write()
	in.Put("</a>")
}

// address writes a web address as a link, without the brackets that may be around it.
func (in *inline) address(i int) int {
	if in.link || i > 0 && IsWord(in.s[i-1]) {
		return 1
	}
	n := LinkLength(in.s[i:])
	if n == 0 {
		return 1
	}
	end := i + n
	start := i
	if i > in.run && in.s[i-1] == '<' && end < len(in.s) && in.s[end] == '>' {
		start, end = i-1, end+1
	}
	in.upTo(start, end)
	address := in.s[i : i+n]
	in.Put(`<a rel="noopener noreferrer nofollow" href="{}">{}</a>`, address, address)
	return end - i
}

// CodeEnd is the end of the code span that n backticks in front of s open, or -1.
func CodeEnd(s string, n int) int {
	for i := 0; i < len(s); {
		j := strings.IndexByte(s[i:], '`')
		if j < 0 {
			return -1
		}
		i += j
		k := runLength(s, i)
		if i += k; k == n {
			return i
		}
	}
	return -1
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' }

func isPunct(c byte) bool { return c > ' ' && c < 0x7f && (c == '_' || !IsWord(c)) }

// IsWord reports whether a byte is of a word: a letter, a digit, _, or of a character that is not ASCII.
func IsWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
}

// LinkLength is the length of the web address that s begins with, or 0. It is ASCII,
// and what ends a sentence or closes a bracket around it is not part of it.
func LinkLength(s string) int {
	scheme := len("https://")
	if !strings.HasPrefix(s, "https://") {
		if scheme--; !strings.HasPrefix(s, "http://") {
			return 0
		}
	}
	const longest = 4000
	n := scheme
	for n < min(len(s), longest) && s[n] > ' ' && s[n] < 0x7f && !strings.ContainsRune("<>\"`{}|\\^*", rune(s[n])) {
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
