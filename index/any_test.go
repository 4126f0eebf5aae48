package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/repo"
)

// The vocabulary of TestAnyWords, with what each word stands for by the rules of docs/decisions/0048: the words that a text
// must have, one of which is enough. Other words of the texts are not asked for.
var anyVocabulary = map[string][]string{
	"redis": {"redis"}, "timeout": {"timeout"}, "Deploy": {"deploy"}, "café": {"cafe"},
	"cache.go":   {"cache"},                        // "go" carries nothing
	"pool/size":  {"pool", "size"},                 // a path, by its parts
	"ParseQuery": {"parse", "query", "parsequery"}, // an identifier, by its parts
	"数据库":        {"数据", "据库"}, "重试": {"重试"},
	"rediss":   {"redis"}, // no text has it
	"qqqqqqqq": nil,       // nothing is like it
	"the":      nil, "why": nil, "für": nil, "donde": nil, "为什么": nil,
}

// anyTexts are what texts are made of, each with the terms that it has.
var anyTexts = map[string][]string{
	"redis": {"redis"}, "Redis!": {"redis"}, "timeout": {"timeout"}, "deploy": {"deploy"}, "CAFE": {"cafe"},
	"cache": {"cache"}, "cache.go": {"cache", "go"}, "pool": {"pool"}, "size": {"size"}, "pool/size": {"pool", "size"},
	"parseQuery": {"parsequery", "parse", "query"}, "query": {"query"}, "数据": {"数据"}, "数据库": {"数据", "据库"}, "重试": {"重试"},
	"the": {"the"}, "why": {"why"}, "word": {"word"}, "unrelated": {"unrelated"}, "other-text": {"other", "text"},
}

// TestAnyWords: a query of any words finds what a scan by an independent reading of the rules finds, in any history, and
// says which words a hit has.
func TestAnyWords(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	s := testStore(t)
	tapes := tapesOf(t, s)
	for i := range 3 {
		tapes = append(tapes, newTape(t, s, fmt.Sprint("t", i)))
	}
	x := New(s, nil)
	defer x.Close()
	has := map[string]map[string]bool{} // the terms of each entry
	pick := func(from map[string][]string) string {
		keys := make([]string, 0, len(from))
		for k := range from {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		return keys[rng.IntN(len(keys))]
	}
	for range testkit.Size(12, 200) {
		grow(t, rng, tapes[rng.IntN(len(tapes))], pick, has)
		var asked []string
		for range 2 + rng.IntN(5) {
			if w := pick(anyVocabulary); !slices.Contains(asked, w) {
				asked = append(asked, w)
			}
		}
		content := slices.DeleteFunc(slices.Clone(asked), func(w string) bool { return anyVocabulary[w] == nil && w != "qqqqqqqq" })
		if len(content) < 2 { // one word means what it says, and stop words alone count
			continue
		}
		q := Search{Text: strings.Join(asked, " "), NoFold: true, Flat: rng.IntN(2) == 0}
		want := map[string]bool{}
		for entry, terms := range has {
			for _, w := range content {
				if slices.ContainsFunc(anyVocabulary[w], func(term string) bool { return terms[term] }) {
					want[entry] = true
				}
			}
		}
		for _, index := range []*Index{x, New(s, nil)} {
			res := mustSearch(t, index, q)
			for _, h := range res.Hits {
				if k := key(h.Entry); !want[k] {
					t.Errorf("%q: %s should not be a hit", q.Text, k)
				}
				for _, w := range content {
					some := slices.ContainsFunc(anyVocabulary[w], func(term string) bool { return has[key(h.Entry)][term] })
					if some == slices.Contains(h.Lacks, w) {
						t.Errorf("%q: %s lacks %q, and has %v", q.Text, key(h.Entry), h.Lacks, has[key(h.Entry)])
					}
				}
			}
			if len(res.Hits) != len(want) || res.Matches != len(want) || !res.Exact {
				t.Errorf("%q: %d hits of %d matches (exact %v), want %d", q.Text, len(res.Hits), res.Matches, res.Exact, len(want))
			}
			if index != x {
				_ = index.Close()
			}
		}
	}
}

// grow appends entries to a tape, and notes their terms.
func grow(t *testing.T, rng *rand.Rand, tp *repo.Tape, pick func(map[string][]string) string, has map[string]map[string]bool) {
	t.Helper()
	var drafts []repo.Draft
	var terms []map[string]bool
	for range 1 + rng.IntN(60) {
		var words []string
		found := map[string]bool{}
		for range 1 + rng.IntN(4) {
			w := pick(anyTexts)
			words = append(words, w)
			for _, term := range anyTexts[w] {
				found[term] = true
			}
		}
		terms = append(terms, found)
		text := strings.Join(words, " ")
		if rng.IntN(2) == 0 {
			drafts = append(drafts, repo.Message("user", text))
		} else {
			drafts = append(drafts, repo.Draft{Kind: repo.KindToolResult, Payload: fmt.Appendf(nil, `{"results":[%q]}`, text)})
		}
	}
	stored, err := tp.Append(t.Context(), nil, drafts...)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range stored {
		e.Tape = tp.Name()
		has[key(e)] = terms[i]
	}
}
