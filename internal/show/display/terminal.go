package display

import (
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AsShown returns what a terminal would show at the end of a program's output: of a progress bar its last state. redrawn
// says that something was overwritten. Line ends of Windows are no reason to change anything. The sequences that set
// colours and the like stay if colours is true. (yvgude/lean-ctx#1140, github/copilot-cli#3191)
func AsShown(text string, colours bool) (shown string, redrawn bool) {
	if !strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\b\x1b") {
		return text, false
	}
	s := screen{rows: []string{""}, colours: colours}
	for len(text) > 0 {
		n := strings.IndexAny(text, "\n\r\b\x1b")
		if n < 0 {
			n = len(text)
		}
		s.write(text[:n])
		if text = text[n:]; text == "" {
			break
		}
		switch text[0] {
		case '\n':
			if s.at++; s.at == len(s.rows) {
				s.rows = append(s.rows, "")
			}
			s.back = false
		case '\r':
			s.back = true
		case '\b':
			row := s.rows[s.at]
			for isSGR(row) {
				row = row[:strings.LastIndexByte(row, '\x1b')]
			}
			_, size := utf8.DecodeLastRuneInString(row)
			s.rows[s.at] = row[:len(row)-size] + s.rows[s.at][len(row):]
			s.redrawn = s.redrawn || size > 0
		case '\x1b':
			text = s.escape(text)
			continue
		}
		text = text[1:]
	}
	return strings.Join(s.rows, "\n"), s.redrawn
}

// isSGR reports whether a row ends with a sequence that sets colours.
func isSGR(row string) bool {
	i := strings.LastIndexByte(row, '\x1b')
	return i >= 0 && strings.HasPrefix(row[i:], "\x1b[") && strings.Trim(row[i+2:], "0123456789;:") == "m"
}

// screen is a terminal of any height, on which text is written by rows.
type screen struct {
	colours bool // sequences that set them stay
	rows    []string
	at      int
	back    bool // the next text begins the row again
	redrawn bool
}

func (s *screen) write(text string) {
	switch {
	case text == "":
	case s.back:
		s.redrawn = s.redrawn || strings.TrimSpace(s.rows[s.at]) != ""
		s.rows[s.at], s.back = text, false
	default:
		s.rows[s.at] += text
	}
}

// down moves by some rows. The text of those that are there is overwritten.
func (s *screen) down(n int) { s.at = min(max(0, s.at+n), len(s.rows)-1) }

// escape obeys an escape sequence that moves between rows or clears one, and drops all others. It returns the text
// after it.
func (s *screen) escape(text string) string {
	body, final, rest := sequence(text)
	n, err := strconv.Atoi(body)
	if err != nil || n < 1 || n > 10_000 {
		n = 1
	}
	switch final {
	case 'm':
		if s.colours {
			s.write(text[:len(text)-len(rest)])
		}
	case 'A', 'F':
		s.down(-n)
		s.back = true
	case 'B', 'E':
		s.down(n)
		s.back = true
	case 'G':
		s.back = true
	case 'K':
		if s.back || body == "2" {
			s.redrawn = s.redrawn || s.rows[s.at] != ""
			s.rows[s.at] = ""
		}
	}
	return rest
}

// sequence reads the escape sequence at the beginning of a text (ECMA-48). Of a control sequence it returns the
// parameters and the byte that ends it; of others, which end with BEL or ESC \ or after one byte, 0.
func sequence(text string) (body string, final byte, rest string) {
	if len(text) < 2 {
		return "", 0, ""
	}
	switch text[1] {
	case '[':
		end := 2
		for end < len(text) && (text[end] < '@' || text[end] > '~') && text[end] >= ' ' {
			end++
		}
		switch {
		case end == len(text):
			return "", 0, ""
		case text[end] < ' ': // it was not finished
			return "", 0, text[end:]
		}
		return text[2:end], text[end], text[end+1:]
	case ']', 'P', '_', '^':
		for i := 2; i < len(text); i++ {
			if text[i] == '\a' {
				return "", 0, text[i+1:]
			}
			if text[i] == '\x1b' || text[i] == '\n' {
				return "", 0, strings.TrimPrefix(text[i:], "\x1b\\")
			}
		}
		return "", 0, ""
	}
	if text[1] < ' ' || text[1] >= utf8.RuneSelf { // not a sequence
		return "", 0, text[1:]
	}
	return "", 0, text[2:]
}

// controls are the bytes that do something on a terminal and have no form of their own.
const controls = "\x00\x01\x02\x03\x04\x05\x06\a\b\v\f\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f"

// withoutControls returns a text without escape sequences and other control bytes, except for newlines and tabs. A
// carriage return alone ends a line.
func withoutControls(text string) string {
	if !strings.ContainsAny(text, controls) {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		n := strings.IndexAny(text, controls)
		if n < 0 {
			n = len(text)
		}
		b.WriteString(text[:n])
		switch text = text[n:]; {
		case text == "":
		case text[0] == '\x1b':
			_, _, text = sequence(text)
		case text[0] == '\r' && !strings.HasPrefix(text, "\r\n"):
			b.WriteByte('\n')
			text = text[1:]
		default:
			text = text[1:]
		}
	}
	return b.String()
}

// Style is how a terminal shows a piece of text. Colours are those of ECMA-48 and the bright ones: 1 to 16; 0 is the
// usual one.
type Style struct {
	Bold, Dim, Italic, Underlined, Struck, Inverse bool
	Colour, Ground                                 int
}

// Styled yields the pieces of a text and how a terminal shows them. The pieces have no control bytes but newlines and
// tabs.
func Styled(text string) iter.Seq2[Style, string] {
	return func(yield func(Style, string) bool) {
		var style Style
		for len(text) > 0 {
			n := 0
			for { // up to the next colour
				i := strings.Index(text[n:], "\x1b[")
				if i < 0 {
					n = len(text)
					break
				}
				n += i
				if _, final, _ := sequence(text[n:]); final == 'm' {
					break
				}
				n += len("\x1b[")
			}
			piece := withoutControls(text[:n])
			text = text[n:]
			if piece != "" && !yield(style, piece) {
				return
			}
			if text != "" {
				var body string
				body, _, text = sequence(text)
				style.set(body)
			}
		}
	}
}

// set obeys the parameters of a sequence.
func (s *Style) set(body string) {
	list := strings.Split(body, ";")
	for len(list) > 0 {
		first, more, sub := strings.Cut(list[0], ":") // parameters of a parameter
		if list = list[1:]; sub && (first == "38" || first == "48") {
			list = append(strings.FieldsFunc(more, func(r rune) bool { return r == ':' }), list...)
		}
		n, err := strconv.Atoi(first)
		if err != nil && first != "" {
			continue
		}
		if n == 4 && more == "0" { // of no form
			n = 24
		}
		switch {
		case n == 0:
			*s = Style{}
		case n == 1:
			s.Bold = true
		case n == 2:
			s.Dim = true
		case n == 3:
			s.Italic = true
		case n == 4:
			s.Underlined = true
		case n == 7:
			s.Inverse = true
		case n == 9:
			s.Struck = true
		case n == 22:
			s.Bold, s.Dim = false, false
		case n == 23:
			s.Italic = false
		case n == 24:
			s.Underlined = false
		case n == 27:
			s.Inverse = false
		case n == 29:
			s.Struck = false
		case n == 38:
			s.Colour, list = colour(list)
		case n == 48:
			s.Ground, list = colour(list)
		default:
			s.setColour(n)
		}
	}
}

func (s *Style) setColour(n int) {
	switch {
	case n >= 30 && n <= 37:
		s.Colour = n - 30 + 1
	case n >= 90 && n <= 97:
		s.Colour = n - 90 + 9
	case n == 39:
		s.Colour = 0
	case n >= 40 && n <= 47:
		s.Ground = n - 40 + 1
	case n >= 100 && n <= 107:
		s.Ground = n - 100 + 9
	case n == 49:
		s.Ground = 0
	}
}

// colour reads a colour of 256 (5;N) or of three bytes (2;R;G;B), and returns the one of 16 that is like it, and the
// parameters after it.
func colour(list []string) (c int, rest []string) {
	var v [4]int
	for i := range v {
		if i < len(list) {
			n, _ := strconv.Atoi(list[i]) // 0 if it is no number
			v[i] = max(0, n)
		}
	}
	switch {
	case len(list) < 2 || v[1] > 255:
		return 0, nil
	case v[0] == 5 && v[1] < 16:
		return v[1] + 1, list[min(2, len(list)):]
	case v[0] == 5 && v[1] >= 232:
		grey := 8 + 10*(v[1]-232)
		return like(grey, grey, grey), list[min(2, len(list)):]
	case v[0] == 5:
		n, levels := v[1]-16, [...]int{0, 95, 135, 175, 215, 255}
		return like(levels[n/36], levels[n/6%6], levels[n%6]), list[min(2, len(list)):]
	case v[0] == 2:
		return like(v[1], v[2], v[3]), list[min(4, len(list)):]
	}
	return 0, nil
}

// like returns the colour of 16 that is like one of red, green and blue up to 255.
func like(r, g, b int) int {
	most, least := max(r, g, b), min(r, g, b)
	if most-least < 48 { // grey
		return [...]int{1, 9, 8, 16}[min(most/64, 3)]
	}
	n := 1
	for i, v := range [...]int{r, g, b} {
		if v > (most+least)/2 {
			n += 1 << i
		}
	}
	return n
}
