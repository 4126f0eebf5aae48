package export

import (
	"strings"

	"tape/internal/display"
)

// seen are the characters that stay beside those that are safe to show: lines, tabs, and
// the joiners, with which emoji and several scripts are spelt.
const seen = "\n\t\u200c\u200d"

// safe replaces every character that a reader would not see, or that changes how others
// are seen.
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
