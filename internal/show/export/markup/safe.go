package markup

import (
	"strings"

	"tape/internal/show/display"
)

// Seen are the characters that stay beside those that are safe to show: lines, tabs, and
// the joiners, with which emoji and several scripts are spelt.
const Seen = "\n\t\u200c\u200d"

// Safe replaces characters that are not seen, or that change how others are seen.
func Safe(s string) string { return display.Safe(s, Seen) }

// Line makes text fit for one line, of at most so many bytes.
func Line(s string, most int) string {
	if len(s) > 4*most {
		s = strings.ToValidUTF8(s[:4*most], "")
	}
	s = strings.Join(strings.Fields(Safe(s)), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
