package tools

import (
	"strconv"
	"strings"
)

// asShown returns what a terminal would show at the end of a program's output: of a progress bar its last state, and no
// colours. redrawn says that something was overwritten. Line ends of Windows are no reason to change anything.
// (yvgude/lean-ctx#1140, github/copilot-cli#3191)
func asShown(text string) (shown string, redrawn bool) {
	if !strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\b\x1b") {
		return text, false
	}
	s := screen{rows: []string{""}}
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
			s.down(1)
			s.back = false
		case '\r':
			s.back = true
		case '\b':
			row := []rune(s.rows[s.at])
			s.write("")
			s.rows[s.at] = string(row[:max(0, len(row)-1)])
			s.redrawn = s.redrawn || len(row) > 0
		case '\x1b':
			text = s.escape(text)
			continue
		}
		text = text[1:]
	}
	return strings.Join(s.rows, "\n"), s.redrawn
}

// screen is a terminal of any height, on which text is written by rows.
type screen struct {
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

// down moves by some rows; those that are new are empty. The text of others is overwritten.
func (s *screen) down(n int) {
	s.at = max(0, s.at+n)
	for len(s.rows) <= s.at {
		s.rows = append(s.rows, "")
	}
}

// escape obeys an escape sequence that moves between rows or clears one, and drops all others. It returns the text
// after it.
func (s *screen) escape(text string) string {
	if len(text) < 2 {
		return ""
	}
	switch text[1] {
	case '[': // ECMA-48, control sequences
		end := 2
		for end < len(text) && (text[end] < '@' || text[end] > '~') && text[end] >= ' ' {
			end++
		}
		if end == len(text) {
			return ""
		}
		n, err := strconv.Atoi(text[2:end])
		if err != nil || n < 1 || n > 10_000 {
			n = 1
		}
		switch text[end] {
		case 'A', 'F':
			s.down(-n)
			s.back = true
		case 'B', 'E':
			s.down(n)
			s.back = true
		case 'G':
			s.back = true
		case 'K':
			if s.back || text[2:end] == "2" {
				s.redrawn = s.redrawn || s.rows[s.at] != ""
				s.rows[s.at] = ""
			}
		}
		return text[end+1:]
	case ']', 'P', '_', '^': // up to BEL or ESC \
		for i := 2; i < len(text); i++ {
			if text[i] == '\a' {
				return text[i+1:]
			}
			if text[i] == '\x1b' || text[i] == '\n' {
				return strings.TrimPrefix(text[i:], "\x1b\\")
			}
		}
		return ""
	}
	return text[2:]
}
