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
	// longText is the least length in bytes of a text whose changes are listed in Difference.Text.
	longText = 40
	// maxRunes is how long each side of a change may be, in characters, to be compared by characters.
	maxRunes = 400
	// maxTokens is how many lines or words are compared at once. It also keeps the
	// runes that stand for them below the surrogates, which are not valid runes.
	maxTokens = 20_000
)

// text compares two long texts: by lines, changed lines by words, and short changes by
// characters. It returns nil for short texts.
func (d *differ) text(old, new string) []Span {
	if max(len(old), len(new)) < longText || !utf8.ValidString(old) || !utf8.ValidString(new) {
		return nil
	}
	var j spanList
	start := commonPrefix(old, new)
	end := commonSuffix(old[start:], new[start:])
	j.add(Equal, old[:start])
	splitLines := func(s string) []string { return strings.SplitAfter(s, "\n") }
	d.tokens(&j, old[start:len(old)-end], new[start:len(new)-end], splitLines, splitWords)
	j.add(Equal, old[len(old)-end:])
	return j
}

// Words compares two texts of valid UTF-8 word by word. Each may have maxTokens words. After the
// time limit, the rest counts as replaced.
func Words(old, new string, limit time.Duration) []Span {
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = limit
	table := tokenTable{runes: make(map[string]rune)}
	var j spanList
	for _, x := range dmp.DiffMainRunes(table.encode(splitWords(old)), table.encode(splitWords(new)), false) {
		j.add(Op(x.Type), table.decode(x.Text))
	}
	return j
}

// tokens compares two texts by characters if they are short, otherwise by the tokens of
// the first splitter, and then each change in the same way, with the other splitters.
func (d *differ) tokens(j *spanList, old, new string, splitters ...func(string) []string) {
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
	if len(splitters) == 0 {
		j.replace(old, new)
		return
	}
	a, b := splitters[0](old), splitters[0](new)
	if len(a) > maxTokens || len(b) > maxTokens {
		j.replace(old, new)
		return
	}
	table := tokenTable{runes: make(map[string]rune)}
	diffs := dmp.DiffCleanupSemantic(dmp.DiffMainRunes(table.encode(a), table.encode(b), false))
	var deleted, inserted string // since the last equal run
	for _, x := range diffs {
		text := table.decode(x.Text)
		switch x.Type {
		case diffmatchpatch.DiffDelete:
			deleted += text
		case diffmatchpatch.DiffInsert:
			inserted += text
		case diffmatchpatch.DiffEqual:
			d.tokens(j, deleted, inserted, splitters[1:]...)
			deleted, inserted = "", ""
			j.add(Equal, text)
		}
	}
	d.tokens(j, deleted, inserted, splitters[1:]...)
}

// tokenTable has a rune for each token, since diffmatchpatch compares runes.
type tokenTable struct {
	runes  map[string]rune
	tokens []string // by rune
}

func (t *tokenTable) encode(tokens []string) []rune {
	all := make([]rune, len(tokens))
	for i, s := range tokens {
		r, ok := t.runes[s]
		if !ok {
			r = rune(len(t.tokens))
			t.runes[s] = r
			t.tokens = append(t.tokens, s)
		}
		all[i] = r
	}
	return all
}

func (t *tokenTable) decode(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteString(t.tokens[r])
	}
	return b.String()
}

// splitWords splits a text into words and the single characters between them.
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

// isWord reports whether a character belongs to a word. Han, Kana and Thai, which are
// written without spaces, are compared by characters.
func isWord(r rune) bool {
	return r == '_' || (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) &&
		!unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// spanList joins neighbouring spans of the same operation, and keeps deletions before the
// insertions of the same change.
type spanList []Span

func (j *spanList) add(o Op, text string) {
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

func (j *spanList) replace(old, new string) {
	j.add(Delete, old)
	j.add(Insert, new)
}

// commonPrefix returns the length of the common prefix, in whole characters.
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

// commonSuffix returns the length of the common suffix, in whole characters.
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
