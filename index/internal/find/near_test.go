package find_test

import (
	"fmt"
	"strings"
	"testing"

	"tape/index"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// TestNearWords: after a typing error, the intended word is found, and the result says so.
func TestNearWords(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp,
		repo.Message("user", "the deployment of the scheduler failed"), // 2
		repo.Message("user", "cache invalidation, again"),              // 3
		repo.Message("user", "fix it now"),                             // 4
		repo.Message("user", "the cache of the scheduler"),             // 5
	)
	elsewhere := newTape(t, s, "elsewhere")
	storetest.Append(t, elsewhere, repo.Message("user", "kubernetes cluster"))
	storetest.Handoff(t, tp, "later")
	storetest.Append(t, tp, repo.Message("user", "nothing but migration")) // 7
	x := testIndex(t, s)
	mustSync(t, x)
	for _, c := range []struct {
		text, instead string
		want          []int64
	}{
		{"cahce", "cache", []int64{3, 5}},                                          // two letters swapped
		{"cachee", "cache", []int64{3, 5}},                                         // a letter too many
		{"cche", "cache", []int64{3, 5}},                                           // a letter missing
		{"cashe", "cache", []int64{3, 5}},                                          // a wrong letter
		{"CASHE", "cache", []int64{3, 5}},                                          // case does not matter
		{"schedular", "scheduler", []int64{2, 5}},                                  // a slip in a long word
		{"schedlar", "scheduler", []int64{2, 5}},                                   // two slips in a long word
		{"deplyomnet", "deployment", []int64{2}},                                   // two swaps
		{"cacxy", "", nil},                                                         // two slips in a short word are too many
		{"acche", "cache", []int64{3, 5}},                                          // the first two letters swapped
		{"ache", "cache", []int64{3, 5}},                                           // the first letter missing
		{"xcache", "cache", []int64{3, 5}},                                         // a letter in front
		{"vache", "cache", []int64{3, 5}},                                          // the first letter wrong
		{"fxi", "", nil},                                                           // too short
		{"nwo", "", nil},                                                           // too short
		{"cahce scheduler", "cache scheduler", []int64{2, 3, 5}},                   // together with a word that is found
		{"cahce schedular", "cache scheduler", []int64{2, 3, 5}},                   // two words with slips
		{"cahce migration", "cache migration", []int64{3, 5, 7}},                   // no entry has both
		{"cahce qqqqqqqq", "cache qqqqqqqq", []int64{3, 5}},                        // the other word has no similar one
		{"migration schedulerfehler", "migration scheduler", []int64{2, 5, 7}},     // a compound, by a part
		{"migration clusterdeployment", "migration deployment", []int64{2, 7}},     // by its ending
		{"failed sched", "failed scheduler", []int64{2, 5}},                        // by a word that begins with it
		{"schedulerfehler", "", nil},                                               // one word alone is not taken apart
		{"cacheing", "cache", []int64{3, 5}},                                       // an ending
		{"cache -cahce", "", []int64{3, 5}},                                        // an excluded word is not replaced
		{`"cahce of"`, "", nil},                                                    // a phrase is not replaced
		{"cahc*", "", nil},                                                         // a prefix is not replaced
		{"kubernetse", "", nil},                                                    // a word of another tape
		{"migraton", "migration", []int64{7}},                                      // a word of a later phase
		{"cache", "", []int64{3, 5}},                                               // a word that is found
		{"deployments OR qqqqqqqqq", "", nil},                                      // one word has no similar one
		{"deploymnet OR invalidaton", "deployment OR invalidation", []int64{2, 3}}, // both words are replaced
	} {
		res := mustSearch(t, x, index.Search{Text: c.text, Tapes: named(tp), NoFold: true})
		wantIDs(t, c.text, res.Hits, c.want...)
		if res.Instead != c.instead {
			t.Errorf("%s: answered %q instead, want %q", c.text, res.Instead, c.instead)
		}
		for _, h := range res.Hits {
			if len(h.Spans) == 0 {
				t.Errorf("%s: the snippet %q has no spans", c.text, h.Snippet)
			}
		}
		if c.instead == "" {
			continue
		}
		exact := mustSearch(t, x, index.Search{Text: c.text, Tapes: named(tp), Exact: true})
		if len(exact.Hits) > 0 || exact.Instead != "" {
			t.Errorf("%s, exact: want no hit, got %s", c.text, shown(exact))
		}
		if n := mustSearch(t, x, index.Search{Text: c.text, Tapes: named(tp), Count: true}); n.Matches != len(c.want) || n.Instead != c.instead {
			t.Errorf("%s: counted %d for %q, want %d for %q", c.text, n.Matches, n.Instead, len(c.want), c.instead)
		}
	}
	res := mustSearch(t, x, index.Search{Text: "kubernetse", Tapes: []string{"main", "elsewhere"}})
	if len(res.Hits) != 1 || res.Hits[0].Tape != "elsewhere" || res.Instead != "kubernetes" {
		t.Errorf("in both tapes: want a hit in elsewhere for kubernetes, got %s", shown(res))
	}
	for _, q := range []repo.Query{{After: "later"}, {Phase: "later"}} {
		if res := mustSearch(t, x, index.Search{Text: "cahce", Tapes: named(tp), Query: q}); len(res.Hits) > 0 || res.Instead != "" {
			t.Errorf("after the anchor: want no hit, because the similar word is before it, got %s", shown(res))
		}
	}
}

// TestNearestWord: of several similar words, three are used: those with the fewest slips, then the most frequent, then the
// first in the alphabet. Other tapes, former entries, and the way the index grew do not matter.
func TestNearestWord(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	elsewhere := newTape(t, s, "elsewhere")
	tp := storetest.Tape(t, s, "")
	x := testIndex(t, s)
	say := func(tp *repo.Tape, word string, times int) {
		var drafts []repo.Draft
		for i := range times {
			drafts = append(drafts, repo.Message("user", fmt.Sprint(word, " ", strings.Repeat("x", i))))
		}
		storetest.Append(t, tp, drafts...)
	}
	ask := func(what, text, want string) {
		t.Helper()
		q := index.Search{Text: text, Tapes: named(tp)}
		if got := mustSearch(t, x, q).Instead; got != want {
			t.Errorf("%s: %s is replaced by %q, want %q", what, text, got, want)
		}
		if got := mustSearch(t, newIndex(t, s), q).Instead; got != want {
			t.Errorf("%s, in a new index: %s is replaced by %q, want %q", what, text, got, want)
		}
	}
	// After a reset, the words of the former entries stay in the index for a while.
	say(tp, "roads", 60)
	mustSync(t, x)
	if _, err := tp.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	say(tp, "roads", 2)
	mustSync(t, x)
	say(tp, "roast", 5)
	mustSync(t, x)
	ask("more entries", "roaqs", "roads")
	ask("as near", "roasd", "roast roads")
	say(tp, "roaps", 4)
	mustSync(t, x)
	ask("after a reset", "roaqs", "roaps roads")
	say(elsewhere, "roans", 80)
	say(elsewhere, "roads", 80)
	mustSync(t, x)
	ask("with another tape", "roaqs", "roaps roads")
	say(tp, "roals", 4)
	mustSync(t, x)
	ask("as many", "roaqs", "roals roaps roads")
}
