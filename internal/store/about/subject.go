package about

import (
	"strings"
	"unicode/utf8"

	"tape/internal/store/layout"
)

// Continued comes before the subject of a commit that has a later part of a turn.
const Continued = "continued: "

// AndMore comes before the number of further turns that a commit has.
const AndMore = " (and "

// maxSubject is how many characters of a request are in a commit's subject, as git's own advice is.
const maxSubject = 72

// TurnSubject returns the subject of the commit of a turn that an entry begins, with secrets masked; "" if the entry is
// not a person's message.
func TurnSubject(e layout.Entry, m Masker) string { return Brief(Prompt(e), maxSubject, m) }

// Brief masks the secrets of a line, and cuts it to a number of characters. It cuts between words: purge would not
// recognise half a secret.
func Brief(line string, most int, m Masker) string {
	line = layout.OneLine(Masked(line, m))
	whole, wasCut := strings.CutSuffix(line, "…")
	if !wasCut && utf8.RuneCountInString(line) <= most {
		return line
	}
	runes := []rune(whole)
	cut := string(runes[:min(len(runes), most-1)])
	if head := strings.TrimRight(wholeWords(cut), " ,"); head != "" {
		return head + "…"
	}
	if strings.IndexFunc(cut, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return "…"
	}
	return cut + "…" // such as Chinese, which has no blanks
}
