package export

import (
	"strings"

	"tape/internal/display"
)

// seen are the characters that stay beside those that are safe to show: lines, tabs, and
// the joiners, with which emoji and several scripts are spelt.
const seen = "\n\t\u200c\u200d"

// safe replaces characters that are not seen, or that change how others are seen.
func safe(s string) string { return display.Safe(s, seen) }

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
