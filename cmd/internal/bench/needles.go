package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tape/internal/text"
	"tape/internal/text/jsonl"
)

// needles are what the long tape is searched for. They are taken from the first entries
// of the tape itself, by how many of them have each.
type needles struct {
	rare       string // in a few entries of a million
	often      string // in a fifth of all
	two, three []string
	phrase     string // of frequent words
	seldom     string // a phrase of words that few entries have
	prefix     string // of a word, without the star
	cjk2, cjk4 string
	name       string // an identifier
	typo       string // meant is the word right
	right      string
	code       string // of an error
}

const sampled = 20_000

// census counts in how many entries things are.
type census struct {
	words, pairs, cjk2, cjk4, names, codes map[string]int
}

// pickNeedles looks at the beginning of what entries(n) gives for any larger n.
func pickNeedles() (*needles, error) {
	g := newGen(workspaceSeed)
	c := &census{words: map[string]int{}, pairs: map[string]int{}, cjk2: map[string]int{}, cjk4: map[string]int{}, names: map[string]int{}, codes: map[string]int{}}
	var raw, what []byte
	for range sampled {
		raw = g.entry(raw[:0])
		line := bytes.TrimSpace(raw)
		what = text.AppendEntry(what[:0], jsonl.GetString(line, "kind"), jsonl.Get(line, "payload"))
		c.take(string(what))
	}
	long := func(n int) func(string) bool { return func(s string) bool { return len(s) >= n && isLower(s) } }
	n := &needles{
		rare:   g.words.words[len(g.words.words)-1],
		often:  nearest(c.words, 0.20, 1, long(2))[0],
		two:    nearest(c.words, 0.04, 2, long(3)),
		three:  nearest(c.words, 0.08, 3, long(3)),
		phrase: nearest(c.pairs, 0.001, 1, func(s string) bool { return len(s) > 8 && !c.isSeldom(strings.Fields(s)) })[0],
		seldom: nearest(c.pairs, 0.0001, 1, func(s string) bool { return c.isSeldom(strings.Fields(s)) })[0],
		prefix: nearest(c.words, 0.005, 1, long(5))[0][:4],
		cjk2:   nearest(c.cjk2, 0.001, 1, nil)[0],
		cjk4:   nearest(c.cjk4, 0.0005, 1, nil)[0],
		name:   nearest(c.names, 0.001, 1, func(s string) bool { return len(s) > 8 })[0],
		code:   nearest(c.codes, 0.0005, 1, nil)[0],
		right:  nearest(c.words, 0.01, 1, long(7))[0],
	}
	at := len(n.right) / 2
	for r := 'z'; r >= 'a'; r-- { // one letter wrong, and not another word
		n.typo = n.right[:at] + string(r) + n.right[at+1:]
		if !slices.Contains(g.words.words, n.typo) {
			return n, nil
		}
	}
	return nil, fmt.Errorf("every misspelling of %s is a word", n.right)
}

// isSeldom reports whether each of the words is in less than a fiftieth of the entries.
func (c *census) isSeldom(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return c.words[w] > sampled/50 })
}

func (c *census) take(s string) {
	seen := map[string]bool{}
	count := func(to map[string]int, s string) {
		if !seen[s] {
			seen[s] = true
			to[s]++
		}
	}
	for _, field := range strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != ' '
	}) {
		last := ""
		for _, w := range strings.Split(field, " ") {
			switch {
			case w == "":
			case strings.HasPrefix(w, "E_"):
				count(c.codes, w)
			case !isLower(w):
				count(c.names, w)
			case last != "":
				count(c.pairs, last+" "+w)
			}
			count(c.words, w)
			if last = w; !isLower(w) {
				last = ""
			}
		}
	}
	han := 0 // Chinese characters in a row, up to i
	runes := []rune(s)
	for i, r := range runes {
		if !unicode.Is(unicode.Han, r) {
			han = 0
			continue
		}
		if han++; han >= 2 {
			count(c.cjk2, string(runes[i-1:i+1]))
		}
		if han >= 4 {
			count(c.cjk4, string(runes[i-3:i+1]))
		}
	}
}

func isLower(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
}

// nearest gives the n strings whose share of the sampled entries is next to share.
func nearest(counts map[string]int, share float64, n int, ok func(string) bool) []string {
	var found []string
	for s := range counts {
		if utf8.ValidString(s) && (ok == nil || ok(s)) {
			found = append(found, s)
		}
	}
	far := func(s string) float64 {
		return max(share*sampled/float64(counts[s]), float64(counts[s])/(share*sampled))
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(cmp.Compare(far(a), far(b)), cmp.Compare(a, b)) })
	return found[:min(n, len(found))]
}
