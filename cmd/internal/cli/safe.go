package cli

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Recorded text is written by anybody. Before it reaches a terminal, everything in it
// that could move the cursor, change colours, reorder or hide other text is replaced
// by a visible escape.

// safeText makes text safe to show; newlines and tabs stay.
func safeText(s string) string { return makeSafe(s, "\n\t") }

// safeLine makes text safe to show on one line.
func safeLine(s string) string { return makeSafe(s, "") }

func makeSafe(s, keep string) string {
	i := firstUnsafe(s, keep)
	if i == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for {
		b.WriteString(s[:i])
		if s = s[i:]; s == "" {
			return b.String()
		}
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case strings.HasPrefix(s, "\r\n") && keep != "": // the line's end, as Windows writes it
		case r == utf8.RuneError && n == 1, r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
		s = s[n:]
		i = firstUnsafe(s, keep)
	}
}

// firstUnsafe returns the position of the first character that must not be shown, or
// the length of s.
func firstUnsafe(s, keep string) int {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			if strings.IndexByte(keep, c) < 0 {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || unsafeRune(r) {
			return i
		}
		i += n
	}
	return len(s)
}

// unsafeRune reports C1 controls, format characters (bidi controls, zero-width
// characters, tags), and separators that some terminals take for a line's end.
func unsafeRune(r rune) bool {
	return r < 0xa0 || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
