package console

import "strings"

// listItem is what a line of a list begins with, below which its text goes on.
func listItem(l string) string {
	_, n := marker(l)
	if n == 0 {
		n = indentOf(l)
		for _, sign := range []string{"• ", "> "} {
			n += len(l[n:]) - len(strings.TrimPrefix(l[n:], sign))
		}
	}
	return l[:n+indentOf(l[n:])]
}

// marker is the sign of a list's item that a line begins with, and how far in its text is.
func marker(l string) (sign string, content int) {
	indent := indentOf(l)
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
	spaces := indentOf(rest[n:])
	if len(rest) > n && spaces == 0 {
		return "", 0
	}
	if spaces > 4 {
		spaces = 1
	}
	return rest[:n], indent + n + spaces
}

// indentOf is how many spaces a line begins with.
func indentOf(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }
