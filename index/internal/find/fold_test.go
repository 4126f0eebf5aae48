package find_test

import (
	"fmt"
	"slices"
	"testing"

	"tape/index"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

func result(text string) repo.Draft {
	return repo.Draft{Kind: repo.KindToolResult, Payload: []byte(fmt.Sprintf(`{"results":[%q]}`, text))}
}

// TestFolding: entries that differ only in numbers are one hit: the newest, with the number of the others.
func TestFolding(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp, other := storetest.Tape(t, s, ""), newTape(t, s, "other")
	var drafts []repo.Draft
	for i := range 30 {
		drafts = append(drafts, result(fmt.Sprintf("ok tape/repo %d.%03ds at %08x", i, i*7, 1<<20*i)))
	}
	drafts = append(drafts, repo.Message("user", "ok tape/repo 1.5s at 00000000"), result("ok tape/index 3s"), result("OK   tape/repo 99.1s at ffffffff"))
	storetest.Append(t, tp, drafts...)
	storetest.Append(t, other, result("ok tape/repo 2.000s at 00000001"))
	x := testIndex(t, s)
	for _, how := range []index.How{index.Words, index.Substring, index.Regexp} {
		q := index.Search{Text: "repo", How: how, Tapes: named(tp)}
		res := mustSearch(t, x, q)
		wantIDs(t, "folded", res.Hits, 32, 34)
		for _, h := range res.Hits {
			if want := map[int64]int{32: 0, 34: 30}[h.ID]; h.Similar != want {
				t.Errorf("@%d stands for %d more entries, want %d", h.ID, h.Similar, want)
			}
		}
		if res.Matches != 32 || !res.Exact {
			t.Errorf("%d matches, exact %v; want 32, exact", res.Matches, res.Exact)
		}
		q.NoFold = true
		if res := mustSearch(t, x, q); len(res.Hits) != 32 || slices.ContainsFunc(res.Hits, func(h index.Hit) bool { return h.Similar > 0 }) {
			t.Errorf("with NoFold: want 32 hits without similar entries, got %s", shown(res))
		}
		q.NoFold, q.Tapes = false, named(tp, other)
		if res := mustSearch(t, x, q); len(res.Hits) != 3 || res.Matches != 33 {
			t.Errorf("in two tapes: want 3 hits of 33 matches, because entries of different tapes are not folded, got %s", shown(res))
		}
		q.Tapes, q.Query.Limit = q.Tapes[:1], repo.N(1)
		if res := mustSearch(t, x, q); len(res.Hits) != 1 || res.Matches > 32 {
			t.Errorf("with the limit 1: want 1 hit and at most 32 matches, got %s", shown(res))
		}
		q.Query.Limit, q.Count = nil, true
		if res := mustSearch(t, x, q); res.Matches != 32 || len(res.Hits) > 0 {
			t.Errorf("with Count: want 32 matches and no hits, got %s", shown(res))
		}
	}
}

// TestCopiesInASession: what a fork says again is one hit with what its session says, shown where it was said first; what
// another session says is another hit.
func TestCopiesInASession(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp, other := storetest.Tape(t, s, ""), newTape(t, s, "other")
	said := func(text string) repo.Draft {
		d := repo.Message("user", text)
		d.Date = "2026-03-01T00:00:00Z"
		return d
	}
	storetest.Append(t, tp, said("needle in the hay"), said("haystack"))
	copied, err := tp.Fork(t.Context(), "copied")
	storetest.Must(t, err)
	storetest.Append(t, copied, said("needle in the hay"))
	storetest.Append(t, other, said("needle in the hay"))
	x := testIndex(t, s)
	for _, newest := range []bool{false, true} {
		res := mustSearch(t, x, index.Search{Text: "needle hay", Newest: newest})
		if len(res.Hits) != 2 || res.Hits[0].Tape == copied.Name() || res.Hits[1].Tape == copied.Name() || res.Hits[0].Similar+res.Hits[1].Similar != 1 {
			t.Errorf("newest %v: want the entry of each session, one of them for two, got %s", newest, shown(res))
		}
	}
}

// TestTimeBeforeOthers: what was said at the time that a query names comes before very many newer entries with the same words,
// and before a later copy of it, even if the query has no more than one word.
func TestTimeBeforeOthers(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	said := func(date, text string) repo.Draft {
		d := repo.Message("user", text)
		d.Date = date
		return d
	}
	drafts := []repo.Draft{said("2026-03-12T10:00:00Z", "the deploy broke")}
	for i := range 500 {
		drafts = append(drafts, said("2026-04-01T10:00:00Z", fmt.Sprintf("the deploy broke, %c%c%c", 'a'+i%26, 'a'+i/26, 'x')))
	}
	first := storetest.Append(t, tp, append(drafts, said("2026-04-02T10:00:00Z", "the deploy broke"))...)[0].ID
	x := testIndex(t, s)
	for _, text := range []string{"what broke on 12 March 2026", "deploy broke 12 March 2026", "why did the deploy of 12 March 2026 break", "deploys in March 2026"} {
		res := mustSearch(t, x, index.Search{Text: text, Query: repo.Query{Limit: repo.N(5)}})
		if res.Hits[0].ID != first || res.Hits[0].Similar != 1 {
			t.Errorf("%q: the best is @%d with %d like it, want @%d with the copy", text, res.Hits[0].ID, res.Hits[0].Similar, first)
		}
	}
	if (index.Search{Text: "what broke on 12 March 2026"}).AnyWords() || !(index.Search{Text: "deploy broke 12 March 2026"}).AnyWords() {
		t.Error("the words of a time count as words that are searched for")
	}
	if res := mustSearch(t, x, index.Search{Text: `deploy broke -cbx 12 March 2026`}); len(res.Hits) != 0 {
		t.Errorf("a query with an operator means what it says, its time, too: got %s", shown(res))
	}
}

// TestSearchesAreLeftOut: entries by search tools are found only with Search.Searches.
func TestSearchesAreLeftOut(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	marked := func(meta string) repo.Draft {
		d := result("needle " + meta)
		d.Meta = []byte(meta)
		return d
	}
	storetest.Append(t, tp, marked(`{"search":true}`), marked(`{"search":false}`), marked(`{"search":"true"}`),
		marked(`{"a":{"search":true}}`), marked(`{"run_id":"r","search": true }`), marked(`{}`))
	x := testIndex(t, s)
	for _, how := range []index.How{index.Words, index.Substring, index.Regexp} {
		q := index.Search{Text: "needle", How: how, Tapes: named(tp), NoFold: true}
		wantIDs(t, "without", mustSearch(t, x, q).Hits, 3, 4, 5, 7)
		q.Searches = true
		wantIDs(t, "with", mustSearch(t, x, q).Hits, 2, 3, 4, 5, 6, 7)
		q.Count = true
		if n := mustSearch(t, x, q).Matches; n != 6 {
			t.Errorf("counted %d, want 6", n)
		}
	}
}

// TestContext: the neighbours of a hit are entries of the same tape, of any phase and kind.
func TestContext(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "first needle"), repo.Event("usage", nil), repo.Message("user", "x"))
	storetest.Handoff(t, tp, "next")
	storetest.Append(t, tp, repo.Message("user", "last needle"))
	x := testIndex(t, s)
	for _, how := range []index.How{index.Words, index.Substring} {
		res := mustSearch(t, x, index.Search{Text: "needle", How: how, Tapes: named(tp), Newest: true, Context: 2})
		if len(res.Hits) != 2 {
			t.Fatal(shown(res))
		}
		around := func(h index.Hit) string { return fmt.Sprint(keysOf(h.Before), keysOf(h.After)) }
		if got := around(res.Hits[0]); got != "[main@000004 main@000005] []" {
			t.Errorf("around the last: got %s, want 4 and 5 before it", got)
		}
		if got := around(res.Hits[1]); got != "[main@000001] [main@000003 main@000004]" {
			t.Errorf("around the first: got %s, want 1 before it, 3 and 4 after it", got)
		}
	}
}

// TestOrder: messages come before printed output, new entries before old ones, and entries that contain a word
// often before entries that contain it once.
func TestOrder(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	dated := func(d repo.Draft, date string) repo.Draft { d.Date = date; return d }
	storetest.Append(t, tp,
		dated(repo.Message("user", "the latency of a request"), "2026-01-01T00:00:00Z"),     // 2: old
		dated(repo.Message("user", "the latency of our request"), "2026-11-01T00:00:00Z"),   // 3
		dated(result("the latency of one request"), "2026-11-01T00:00:00Z"),                 // 4: printed
		dated(repo.Message("user", "latency is latency, latency!"), "2026-11-01T00:00:00Z"), // 5: often
	)
	res := mustSearch(t, testIndex(t, s), index.Search{Text: "latency", Tapes: named(tp)})
	if got := hitIDs(res.Hits); !slices.Equal(got, []int64{5, 3, 2, 4}) {
		t.Errorf("by relevance: want 5 3 2 4, got %s", shown(res))
	}
	res = mustSearch(t, testIndex(t, s), index.Search{Text: "latency", Tapes: named(tp), Newest: true})
	if got := hitIDs(res.Hits); !slices.Equal(got, []int64{5, 4, 3, 2}) {
		t.Errorf("the newest first: want 5 4 3 2, got %s", shown(res))
	}
}

// TestFoldingKeepsAnswers: messages are folded only if they are the same, and entries whose matches differ in
// numbers are not folded.
func TestFoldingKeepsAnswers(t *testing.T) {
	t.Parallel()
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "")
	storetest.Append(t, tp, repo.Message("user", "the port should be 8080"), repo.Message("user", "the port should be 9090"),
		repo.Message("user", "the port should be 9090"), result("listen on port 8080"), result("listen on port 9090"))
	x := testIndex(t, s)
	for _, c := range []struct {
		how  index.How
		text string
		want []int64
	}{
		{index.Words, "port", []int64{2, 4, 6}},
		{index.Words, "8080 OR 9090", []int64{2, 4, 5, 6}},
		{index.Words, "90*", []int64{4, 6}},
		{index.Substring, "port", []int64{2, 4, 6}},
		{index.Substring, "port 8", []int64{5}},
		{index.Regexp, `port \d`, []int64{5, 6}},
		{index.Regexp, `port`, []int64{2, 4, 6}},
	} {
		res := mustSearch(t, x, index.Search{Text: c.text, How: c.how, Tapes: named(tp)})
		wantIDs(t, c.text, res.Hits, c.want...)
	}
}

// TestFrequentWord: of very many entries that have a word, messages with it several times come before errors with it as
// often, and before all that have it once, wherever they are among the newest.
func TestFrequentWord(t *testing.T) {
	t.Parallel()
	const talk, others, seen = 250, 900, 150
	for name, messagesLast := range map[string]bool{"the newest are messages": true, "the newest are errors": false} {
		s := storetest.New(t, nil)
		var messages, rest []repo.Draft
		longer := slices.Repeat([]repo.Draft{repo.Message("user", "none")}, 1000) // so that all ids have the same length
		for i := range talk {
			messages = append(messages, repo.Message("user", fmt.Sprintf("needle needle needle m%d", i+1000)))
		}
		for i := range others {
			rest = append(rest, repo.Draft{Kind: repo.KindError, Payload: fmt.Appendf(nil, `{"kind":"bash","message":"needle needle needle e%d"}`, i+1000)},
				repo.Message("assistant", fmt.Sprintf("needle once a%d", i+1000)))
		}
		drafts := slices.Concat(messages, rest)
		first := int64(2 + len(longer))
		if messagesLast {
			drafts = slices.Concat(rest, messages)
			first += int64(len(rest))
		}
		for i := range drafts {
			drafts[i].Date = "2026-03-01T00:00:00Z"
		}
		storetest.Append(t, storetest.Tape(t, s, ""), append(longer, drafts...)...)
		res := mustSearch(t, testIndex(t, s), index.Search{Text: "needle", NoFold: true, Query: repo.Query{Limit: repo.N(seen)}})
		for i, h := range res.Hits {
			if want := first + talk - 1 - int64(i); h.ID != want {
				t.Errorf("%s: hit %d of %d is @%d, a %s, want the message @%d", name, i+1, len(res.Hits), h.ID, h.Kind, want)
				break
			}
		}
		if len(res.Hits) != seen || res.Matches != len(drafts) {
			t.Errorf("%s: %d hits of %d, want %d of %d", name, len(res.Hits), res.Matches, seen, len(drafts))
		}
	}
}
