package plain

import "strings"

// listItem is the indent that a line begins with, and the marker of a list. Wrapped text is indented by its width.
func listItem(l string) string {
	n := marker(l)
	if n == 0 {
		n = indentOf(l)
		for _, sign := range []string{"• ", "> "} {
			n += len(l[n:]) - len(strings.TrimPrefix(l[n:], sign))
		}
	}
	return l[:n+indentOf(l[n:])]
}

// marker is the length of the Markdown list marker that a line begins with, and of the spaces
// around it; 0 if there is none.
func marker(l string) int {
	indent := indentOf(l)
	rest := l[indent:]
	n := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
	switch {
	case n == len(rest), n > 9:
		return 0
	case n > 0 && (rest[n] == '.' || rest[n] == ')'), n == 0 && strings.IndexByte("-+*", rest[0]) >= 0:
		n++
	default:
		return 0
	}
	spaces := indentOf(rest[n:])
	if len(rest) > n && spaces == 0 {
		return 0
	}
	if spaces > 4 {
		spaces = 1
	}
	return indent + n + spaces
}

// indentOf is how many spaces a line begins with.
func indentOf(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }
