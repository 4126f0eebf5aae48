package export

import "strings"

// indentOf is how many spaces a line begins with.
func indentOf(l string) int { return len(l) - len(strings.TrimLeft(l, " ")) }

// outdent removes up to n spaces from the beginning of a line.
func outdent(l string, n int) string { return l[min(n, indentOf(l)):] }

// closes reports whether a line ends the code block that a fence opened.
func closes(l, fence string) bool {
	return strings.HasPrefix(l, fence) && strings.Trim(l, fence[:1]) == ""
}

// isHeading reports whether a line is a Markdown heading.
func isHeading(l string) bool {
	rest := strings.TrimLeft(l, "#")
	n := len(l) - len(rest)
	return n >= 1 && n <= 6 && (rest == "" || rest[0] == ' ')
}

// codeEnd is the end of the code span that n backticks before s open, or -1.
func codeEnd(s string, n int) int {
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

func runLength(s string, i int) int { return len(s[i:]) - len(strings.TrimLeft(s[i:], s[i:i+1])) }

// isWord reports whether a byte is an ASCII letter, a digit or _.
func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_'
}

// linkLength is the length of the web address in ASCII that s begins with, or 0. Punctuation
// of the sentence and brackets around the address do not belong to it.
func linkLength(s string) int {
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
