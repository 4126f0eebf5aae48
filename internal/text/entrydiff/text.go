package entrydiff

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

const (
	// longText is from how many bytes on a text is looked into.
	longText = 40
	// maxRunes bounds both sides of a change compared by characters; longer ones go by words.
	maxRunes = 400
	// maxTokens is how many lines or words are compared at once. It also keeps
	// the characters that stand for them below those that are none.
	maxTokens = 20_000
)

// text compares two texts, if they are long: by lines, the lines that changed by
// words, and what is short then by characters.
func (d *differ) text(old, new string) []Span {
	if max(len(old), len(new)) < longText || !utf8.ValidString(old) || !utf8.ValidString(new) {
		return nil
	}
	var j joiner
	start := commonPrefix(old, new)
	end := commonSuffix(old[start:], new[start:])
	j.add(Equal, old[:start])
	d.tokens(&j, old[start:len(old)-end], new[start:len(new)-end], func(s string) []string { return strings.SplitAfter(s, "\n") }, splitWords)
	j.add(Equal, old[len(old)-end:])
	return j
}

// splitter cuts a text into tokens.
type splitter func(string) []string

// tokens compares what differs of two texts by the finest tokens their length admits.
func (d *differ) tokens(j *joiner, old, new string, by ...splitter) {
	left := time.Until(d.deadline)
	if old == "" || new == "" || left <= 0 {
		j.replace(old, new)
		return
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = left
	if utf8.RuneCountInString(old) <= maxRunes && utf8.RuneCountInString(new) <= maxRunes {
		for _, x := range dmp.DiffCleanupSemantic(dmp.DiffMain(old, new, false)) {
			j.add(Op(x.Type), x.Text)
		}
		return
	}
	if len(by) == 0 {
		j.replace(old, new)
		return
	}
	a, b := by[0](old), by[0](new)
	if len(a) > maxTokens || len(b) > maxTokens {
		j.replace(old, new)
		return
	}
	n := numbering{of: make(map[string]rune)}
	diffs := dmp.DiffCleanupSemantic(dmp.DiffMainRunes(n.encode(a), n.encode(b), false))
	var gone, come string // a run of changes has one of either at most
	for _, x := range diffs {
		text := n.decode(x.Text)
		switch x.Type {
		case diffmatchpatch.DiffDelete:
			gone += text
		case diffmatchpatch.DiffInsert:
			come += text
		case diffmatchpatch.DiffEqual:
			d.tokens(j, gone, come, by[1:]...)
			gone, come = "", ""
			j.add(Equal, text)
		}
	}
	d.tokens(j, gone, come, by[1:]...)
}

// numbering lets characters stand for tokens.
type numbering struct {
	of   map[string]rune
	text []string
}

func (n *numbering) encode(tokens []string) []rune {
	all := make([]rune, len(tokens))
	for i, s := range tokens {
		r, ok := n.of[s]
		if !ok {
			r = rune(len(n.text))
			n.of[s] = r
			n.text = append(n.text, s)
		}
		all[i] = r
	}
	return all
}

func (n *numbering) decode(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(n.text[r])
	}
	return b.String()
}

// splitWords cuts into words, and into single characters where there are none.
func splitWords(s string) (all []string) {
	start, inWord := 0, false
	for i, r := range s {
		word := isWord(r)
		if i > start && !(inWord && word) {
			all = append(all, s[start:i])
			start = i
		}
		inWord = word
	}
	return append(all, s[start:])
}

// isWord reports whether a character is one of a word that is separated from others;
// Han, Kana and Thai are written without spaces.
func isWord(r rune) bool {
	return r == '_' || (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) &&
		!unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// joiner puts spans together: no two of one operation behind each other, and what
// was deleted before what came in its place.
type joiner []Span

func (j *joiner) add(o Op, text string) {
	at := len(*j)
	if o == Delete && at > 0 && (*j)[at-1].Op == Insert {
		at-- // of the same change
	}
	switch {
	case text == "":
	case at > 0 && (*j)[at-1].Op == o:
		(*j)[at-1].Text += text
	default:
		*j = slices.Insert(*j, at, Span{o, text})
	}
}

func (j *joiner) replace(old, new string) {
	j.add(Delete, old)
	j.add(Insert, new)
}

// commonPrefix returns how many bytes both begin with, in whole characters.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	return n
}

// commonSuffix is the same at the end.
func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}
