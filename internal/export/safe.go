package export

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// nextUnseen finds the first character of s that a reader would not see, or that
// changes how others are seen: where it is, how long it is, and what to show instead,
// which is nothing for the \r of a line's end. It returns len(s) if there is none.
func nextUnseen(s string) (i, n int, shown string) {
	for i < len(s) {
		c := s[i]
		if c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case strings.HasPrefix(s[i:], "\r\n"):
			return i, 1, "" // a line's end, as Windows writes it
		case r < utf8.RuneSelf, r == utf8.RuneError && n == 1:
			return i, 1, fmt.Sprintf("\\x%02x", c)
		case unseen(r):
			return i, n, fmt.Sprintf("<U+%04X>", r)
		}
		i += n
	}
	return len(s), 0, ""
}

// unseen reports C1 controls, format characters and separators. The joiners stay:
// emoji and several scripts are spelt with them.
func unseen(r rune) bool {
	return r < 0xa0 || r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) ||
		r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe
}

// safe replaces every character that is not seen.
func safe(s string) string {
	i, n, shown := nextUnseen(s)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i < len(s) {
		b.WriteString(s[:i])
		b.WriteString(shown)
		s = s[i+n:]
		i, n, shown = nextUnseen(s)
	}
	b.WriteString(s)
	return b.String()
}

// line makes text fit for one line, of at most so many bytes.
func line(s string, most int) string {
	if len(s) > 4*most {
		s = strings.ToValidUTF8(s[:4*most], "")
	}
	s = strings.Join(strings.Fields(safe(s)), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
