package display

import (
	"strings"
	"unicode/utf8"
)

// KeptInPages are the characters that Page keeps, though they are not shown: newlines, tabs, and
// the joiners, which emoji and several scripts need.
const KeptInPages = "\n\t" + joiners

const joiners = "\u200c\u200d"

// Page makes text safe to show in a page or a document. What only moves a terminal's cursor or sets its colours is
// dropped; see Styled.
func Page(s string) string { return Safe(withoutControls(s), KeptInPages) }

// PageLine makes a name or a line of text safe to show in a page.
func PageLine(s string) string {
	return Safe(strings.ReplaceAll(withoutControls(s), "\n", " "), joiners)
}

// Title makes one line of text for a page, and cuts it to the given number of bytes.
func Title(s string, most int) string {
	if len(s) > 4*most {
		s = strings.ToValidUTF8(s[:4*most], "")
	}
	s = strings.Join(strings.Fields(Page(s)), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// SkipBlankLines returns a text without the blank lines at its beginning.
func SkipBlankLines(text string) string {
	for {
		line, rest, more := strings.Cut(text, "\n")
		if !more || strings.Trim(line, " \t\r") != "" { // other white space, such as a form feed, is shown
			return text
		}
		text = rest
	}
}

// Cut splits text so that head has at most the given numbers of lines and bytes. Text that is only a
// little longer stays whole.
func Cut(text string, lines, bytes int) (head, rest string) {
	end := 0
	for n := 0; n < lines && end < len(text); n++ {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			end = len(text)
			break
		}
		end += i + 1
	}
	if end > bytes {
		end = bytes
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		if i := strings.LastIndexByte(text[:end], '\n'); i > bytes/2 {
			end = i + 1
		}
	}
	if rest := text[end:]; len(rest) < bytes/8 && strings.Count(rest, "\n") < lines/4 {
		return text, ""
	}
	return text[:end], text[end:]
}

// Amount describes text that was left out: "12 more lines (3.1 KiB)".
func Amount(rest string) string {
	if n := strings.Count(strings.TrimRight(rest, "\n"), "\n"); n > 0 {
		return Count(n+1, "more line", "more lines") + " (" + Bytes(int64(len(rest))) + ")"
	}
	return Bytes(int64(len(rest))) + " more"
}

// Fence returns the marks with which a line of Markdown, without the spaces before it, opens a code block; "" if it
// opens none.
func Fence(line string) string {
	for _, mark := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, mark))
		if n >= 3 && (mark == "~" || !strings.Contains(line[n:], mark)) {
			return line[:n]
		}
	}
	return ""
}
