package index

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tape/index/internal/find"
	"tape/index/internal/store"
	"tape/internal/store/relevance"
	"tape/internal/text"
	"tape/internal/text/jsonl"
	"tape/internal/text/query"
	"tape/repo"
)

// matching answers a search by reading every entry.
func matching(t testing.TB, x *Index, s Search) ([]repo.Entry, error) {
	t.Helper()
	return matchingBy(t, x, s, acceptor(t, s))
}

// matchingBy is matching with a function that accepts texts.
func matchingBy(t testing.TB, x *Index, s Search, accepts func([]byte) bool) ([]repo.Entry, error) {
	t.Helper()
	var tapes []*repo.Tape
	for _, name := range s.Tapes {
		tapes = append(tapes, openTape(t, x.store, name))
	}
	var out []repo.Entry
	var missing error
	reached := map[string]bool{}
	read := map[string][]repo.Entry{}
	for _, tp := range tapes {
		q := s.Query
		q.Limit = nil
		all, err := collect(t.Context(), tp, q)
		if errors.Is(err, repo.ErrNotFound) {
			missing = err
			continue
		}
		if err != nil {
			return nil, err
		}
		reached[tp.Name()], read[tp.Name()] = true, all
	}
	counted := map[string]bool{}
	for _, tp := range slices.SortedFunc(slices.Values(tapes), func(a, b *repo.Tape) int {
		return cmp.Or(len(a.Name())-len(b.Name()), cmp.Compare(a.Name(), b.Name()))
	}) {
		writers := writersOf(t, tp)
		for _, e := range read[tp.Name()] {
			if len(s.Tapes) > 1 {
				writer := writers(e.ID)
				entry := fmt.Sprintf("%s@%d", writer, e.ID)
				if counted[entry] || writer != tp.Name() && reached[writer] {
					continue
				}
				counted[entry] = true
			}
			if len(s.Query.Roles) > 0 && (e.Kind != repo.KindMessage || !slices.Contains(s.Query.Roles, jsonl.GetString(e.Payload, "role"))) {
				continue
			}
			if !s.Searches && strings.Contains(string(e.Meta), `"search":true`) {
				continue
			}
			if accepts(textOf(e)) {
				out = append(out, e)
			}
		}
	}
	if len(reached) == 0 {
		return nil, missing
	}
	return out, nil
}

// writersOf returns, for each entry of a fork, the tape or fork that it was written to.
func writersOf(t testing.TB, f *repo.Tape) func(id int64) string {
	t.Helper()
	parent, m, ok, err := store.Begins(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return func(int64) string { return f.Name() }
	}
	before := writersOf(t, parent)
	return func(id int64) string {
		if id <= m.LastID {
			return before(id)
		}
		return f.Name()
	}
}

// acceptor returns a function that reports whether a search's text matches the text of an entry.
func acceptor(t testing.TB, s Search) func([]byte) bool {
	t.Helper()
	switch s.How {
	case Substring:
		if s.IgnoreCase { // the tests ignore case only for ASCII
			return func(body []byte) bool {
				return strings.Contains(strings.ToLower(string(body)), strings.ToLower(s.Text))
			}
		}
		return func(body []byte) bool { return strings.Contains(string(body), s.Text) }
	case Regexp:
		flags := "(?m)"
		if s.IgnoreCase {
			flags = "(?mi)"
		}
		re, err := regexp.Compile(flags + s.Text)
		if err != nil {
			t.Fatal(err)
		}
		return func(body []byte) bool {
			return re.MatchString(strings.ReplaceAll(string(body), string(text.Sep), "\n"))
		}
	}
	q := query.Parse(s.Text, query.Options{Exact: s.Exact})
	if any := q.Any(); any != nil && !s.AllWords && !any.Single() {
		q = any
	} else if any != nil && !s.AllWords {
		q = any.Alone()[0]
	}
	return func(body []byte) bool {
		_, ok := q.Match(body)
		return ok && !q.Empty() // an empty query finds nothing
	}
}

// inParts returns what accepts a text that has the only word of a search in parts, if there is one: each is tried if nothing
// has what was tried before.
func inParts(s Search) (list []func([]byte) bool) {
	any := query.Parse(s.Text, query.Options{Exact: s.Exact}).Any()
	if any == nil || s.AllWords || s.How != Words || !any.Single() || s.AsSpelt {
		return nil
	}
	for _, q := range any.Alone()[1:] {
		list = append(list, func(body []byte) bool {
			_, ok := q.Match(body)
			return ok
		})
	}
	return list
}

// alike returns the same key for entries that are folded into one hit. What people and agents said must be the
// same; what was printed may differ in numbers, unless the search contains numbers.
func alike(s Search, e repo.Entry) string {
	body := textOf(e)
	same := slices.Contains([]string{"message", "anchor", "error", "system"}, e.Kind)
	of := e.Tape
	if s.How == Words {
		of = sessionOf(e.Tape)
		same = same || strings.ContainsAny(s.Text, "0123456789*")
	} else {
		scanner := find.NewSubstring(s.Text, s.IgnoreCase)
		if s.How == Regexp {
			scanner, _ = find.NewRegexp(s.Text, s.IgnoreCase)
		}
		spans, _ := scanner.Match(body)
		for _, span := range spans {
			same = same || bytes.ContainsAny(body[span.Start:span.End], "0123456789")
		}
	}
	if same {
		return fmt.Sprintf("%s %s %s", of, e.Kind, body)
	}
	return fmt.Sprintf("%s %s %x", of, e.Kind, text.Signature(body))
}

// limitOf returns the limit of a search.
func limitOf(s Search) int {
	if s.Query.Limit == nil {
		return math.MaxInt
	}
	return *s.Query.Limit
}

// wantAnswer fails unless a search gives the same as reading everything.
func wantAnswer(t testing.TB, x *Index, s Search) {
	t.Helper()
	what := describe(s)
	res, err := x.Search(t.Context(), s)
	want, wantErr := matching(t, x, s)
	if (err != nil) != (wantErr != nil) || wantErr != nil && !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("%s: got the error %v, want %v", what, err, wantErr)
		return
	}
	if err != nil {
		return
	}
	for _, parts := range inParts(s) {
		if len(want) == 0 && res.Instead == "" {
			if want, err = matchingBy(t, x, s, parts); err != nil {
				t.Fatal(err)
			}
		}
	}
	if res.Instead != "" {
		if strict := s.AllWords || query.Parse(s.Text, query.Options{}).Any() == nil; strict && len(want) > 0 || s.Exact || s.How != Words {
			t.Errorf("%s: answered %q instead, though %d entries match", what, res.Instead, len(want))
			return
		}
		chain := query.Parse(s.Text, query.Options{}).Any()
		s.Text = res.Instead
		want, err = matching(t, x, s)
		for _, parts := range inParts(s) {
			if err == nil && len(want) == 0 {
				want, err = matchingBy(t, x, s, parts)
			}
		}
		if err != nil || len(want) == 0 {
			t.Errorf("%s: answered %q instead, which nothing matches (%v)", what, res.Instead, err)
			return
		}
		// The parts of one word are not taken apart again, as they are when they are typed as words.
		if chain != nil && chain.Single() && slices.ContainsFunc(query.Parse(res.Instead, query.Options{}).Any().Every(), func(f query.Feature) bool { return !f.Whole }) {
			if res.Matches == 0 || res.Matches > len(want) {
				t.Errorf("%s: answered %q instead with %d matches, want at most %d", what, res.Instead, res.Matches, len(want))
			}
			return
		}
	}
	groups, entries := map[string]int{}, map[string]repo.Entry{}
	for _, e := range want {
		groups[alike(s, e)]++
		entries[key(e)] = e
	}
	if res.Matches > len(want) || res.Exact && res.Matches != len(want) {
		t.Errorf("%s: got %d matches, exact %v; want %d", what, res.Matches, res.Exact, len(want))
	}
	limit := limitOf(s)
	if s.Count {
		if len(res.Hits) > 0 || !res.Exact {
			t.Errorf("%s: a count has %d hits, exact %v; want no hits, exact", what, len(res.Hits), res.Exact)
		}
		return
	}
	wanted := len(groups)
	if s.NoFold {
		wanted = len(want)
	}
	if s.PerSession > 0 && !s.Flat && !s.Newest && s.How == Words && severalSessions(t, x, s) {
		of := map[string]int{}
		counted := map[string]bool{}
		for _, e := range want {
			id := key(e)
			if !s.NoFold {
				id = alike(s, e)
			}
			if session := sessionOf(e.Tape); !counted[id] && of[session] < s.PerSession {
				counted[id] = true
				of[session]++
			}
		}
		wanted = 0
		for _, n := range of {
			wanted += n
		}
	}
	if len(res.Hits) != min(wanted, limit) {
		t.Errorf("%s: %d hits, want %d of %d\ngot  %v\nwant %v", what, len(res.Hits), min(wanted, limit), wanted, keysOf(hitEntries(res)), keysOf(want))
		return
	}
	// A search that has enough hits need not look at the remaining entries.
	allSeen := limit > wanted || limit == wanted && res.Exact && !s.Newest && len(want) <= relevance.Candidates
	seen := map[string]bool{}
	for _, h := range res.Hits {
		id := key(h.Entry)
		if !s.NoFold {
			id = alike(s, h.Entry)
		}
		if stored, ok := entries[key(h.Entry)]; seen[id] || !ok {
			t.Errorf("%s: %s is not a match, or comes twice", what, key(h.Entry))
		} else if !reflect.DeepEqual(h.Entry, stored) {
			t.Errorf("%s: the hit is %+v, want the entry %+v", what, h.Entry, stored)
		}
		seen[id] = true
		if n := groups[alike(s, h.Entry)]; s.NoFold && h.Similar != 0 || h.Similar >= n || allSeen && !s.NoFold && h.Similar != n-1 {
			t.Errorf("%s: %s stands for %d more entries, but %d are alike", what, key(h.Entry), h.Similar, n)
		}
		wantShown(t, what, h)
	}
	wantOrder(t, what, s, res, want)
}

// sessionOf returns the session of a tape: in the tests, forks have a slash in their names, and tapes do not.
func sessionOf(tape string) string {
	if i := strings.LastIndexByte(tape, '/'); i > 0 {
		return tape[:i]
	}
	return tape
}

// wantShown fails unless a hit's snippet is one line of valid UTF-8, with spans in order inside it.
func wantShown(t testing.TB, what string, h Hit) {
	t.Helper()
	if !utf8.ValidString(h.Snippet) || strings.ContainsAny(h.Snippet, "\n\x1e") {
		t.Errorf("%s: %s has the snippet %q, want one line of valid UTF-8", what, key(h.Entry), h.Snippet)
	}
	last := 0
	for _, s := range h.Spans {
		if s[0] < last || s[1] <= s[0] || s[1] > len(h.Snippet) {
			t.Errorf("%s: %s has the spans %v in %q, want them in order and inside", what, key(h.Entry), h.Spans, h.Snippet)
			return
		}
		last = s[1]
	}
}

func wantOrder(t testing.TB, what string, s Search, res *Result, want []repo.Entry) {
	t.Helper()
	hits := hitEntries(res)
	if s.How == Words && !s.Newest {
		for i := 1; i < len(res.Hits); i++ {
			if !s.Flat && res.Hits[i].Session != res.Hits[i-1].Session {
				if res.Hits[i].Rank > res.Hits[i-1].Rank || slices.ContainsFunc(res.Hits[:i], func(h Hit) bool { return h.Session == res.Hits[i].Session }) {
					t.Errorf("%s: the session %s comes too late", what, res.Hits[i].Session)
				}
				continue
			}
			if res.Hits[i].Score > res.Hits[i-1].Score {
				t.Errorf("%s: a score of %v comes before one of %v", what, res.Hits[i-1].Score, res.Hits[i].Score)
			}
		}
		return
	}
	byAge := func(a, b repo.Entry) int {
		if len(s.Tapes) > 1 {
			if c := cmp.Compare(micros(b), micros(a)); c != 0 {
				return c
			}
		}
		if a.Tape != b.Tape {
			return 0
		}
		return cmp.Compare(b.ID, a.ID)
	}
	sorted := slices.IsSortedFunc(hits, byAge)
	if len(hits) > 0 && !slices.ContainsFunc(hits, func(e repo.Entry) bool { return e.Tape != hits[0].Tape }) {
		// Within a tape, ids tell the age, even if dates are out of order.
		sorted = sorted || slices.IsSortedFunc(hits, func(a, b repo.Entry) int { return cmp.Compare(b.ID, a.ID) })
	}
	if !sorted {
		t.Errorf("%s: not the newest first: %v", what, keysOf(hits))
	}
	if len(s.Tapes) == 1 && s.NoFold {
		slices.SortFunc(want, byAge)
		if want := want[:min(len(want), limitOf(s))]; !slices.Equal(keysOf(hits), keysOf(want)) {
			t.Errorf("%s: got %v, want the newest: %v", what, keysOf(hits), keysOf(want))
		}
	}
}

// micros returns an entry's date in microseconds since 1970, 0 if it has none.
func micros(e repo.Entry) int64 {
	at, ok := e.Time()
	if !ok {
		return 0
	}
	return at.UnixMicro()
}

func hitEntries(r *Result) []repo.Entry {
	var out []repo.Entry
	for _, h := range r.Hits {
		out = append(out, h.Entry)
	}
	return out
}

func keysOf(entries []repo.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = key(e)
	}
	return out
}

func describe(s Search) string {
	limit := "none"
	if s.Query.Limit != nil {
		limit = fmt.Sprint(*s.Query.Limit)
	}
	q := s.Query
	q.Limit = nil
	return fmt.Sprintf("%q how %d (ignore case %v, exact %v) in %v, limit %s, newest %v, no fold %v, searches %v, count %v, all %v, flat %v, per session %d, %+v",
		s.Text, s.How, s.IgnoreCase, s.Exact, s.Tapes, limit, s.Newest, s.NoFold, s.Searches, s.Count, s.AllWords, s.Flat, s.PerSession, q)
}

// Words for the tests' texts. Some are frequent, some rare.
var (
	plainWords  = strings.Fields("the error timeout retry cache build server index token merge branch commit history search reader writer anchor phase deploy redis")
	fancyWords  = strings.Fields("SetReference parseHTTPRequest snake_case_name repo/mark.go ./cmd/tape/main.go E_CONN_42 ECONNRESET user@example.org https://example.org/a?b=c 150ms 3.14 v1.60.1 naïve café ΑΒΓδ ＷＩＤＥ ﬁne don't foo-bar x86_64 #123 -flag --long C++ 🚀 𝒳")
	denseGlyphs = []rune("数据库查询超时错误重试検索する日本語カタカナ한국어검색テスト中文全文")
)

// drafter makes random entries.
type drafter struct {
	rng *rand.Rand
	at  time.Time
	n   int
}

func (d *drafter) word() string {
	switch n := d.rng.IntN(20); {
	case n < 11:
		return plainWords[int(float64(len(plainWords))*d.rng.Float64()*d.rng.Float64())]
	case n < 15:
		return fancyWords[d.rng.IntN(len(fancyWords))]
	case n < 17:
		var b strings.Builder
		for range 1 + d.rng.IntN(6) {
			b.WriteRune(denseGlyphs[d.rng.IntN(len(denseGlyphs))])
		}
		return b.String()
	case n < 18:
		return fmt.Sprint("word", d.rng.IntN(400))
	case n < 19:
		return fmt.Sprint(d.rng.IntN(2000))
	}
	w := []byte("xxxxxxxx")
	for i := range w {
		w[i] = "abcdefghijklmnopqrstuvwxyz"[d.rng.IntN(26)]
	}
	return string(w)
}

func (d *drafter) text() string {
	words := make([]string, 1+d.rng.IntN(12))
	for i := range words {
		words[i] = d.word()
	}
	if d.rng.IntN(10) == 0 {
		words[0] = strings.Repeat(words[0]+" ", 5)
	}
	return strings.Join(words, []string{" ", " ", " ", "\n", ", ", "。"}[d.rng.IntN(6)])
}

// draft makes an entry of any kind. Some differ from an earlier one only in numbers, some have a very old date,
// some are by a search tool.
func (d *drafter) draft() repo.Draft {
	d.n++
	d.at = d.at.Add(time.Duration(d.rng.IntN(3600_000_000)-600_000_000) * time.Microsecond)
	quoted := func(s string) string { return string(jsonl.AppendString(nil, s)) }
	var out repo.Draft
	switch d.rng.IntN(9) {
	case 0, 1:
		out = repo.Message("user", d.text())
	case 2:
		out = repo.Message("assistant", d.text())
	case 3:
		out = repo.Draft{Kind: repo.KindToolCall, Payload: []byte(`{"calls":[{"id":"c1","type":"function","function":{"name":"run_shell","arguments":` +
			quoted(`{"command":`+quoted(d.text())+`}`) + `}}]}`)}
	case 4:
		out = repo.Draft{Kind: repo.KindToolResult, Payload: []byte(`{"results":[` + quoted(d.text()) + `,{"code":7}]}`)}
	case 5:
		out = repo.Draft{Kind: repo.KindToolResult, Payload: []byte(`{"results":[` + quoted(fmt.Sprintf("ok  	tape/repo	%d.%03ds", d.rng.IntN(100), d.rng.IntN(1000))) + `]}`)}
	case 6:
		out = repo.Event("usage", []byte(`{"note":`+quoted(d.text())+`}`))
	case 7:
		out = repo.Draft{Kind: repo.KindError, Payload: []byte(`{"kind":"io","message":` + quoted(d.text()) + `}`)}
	default:
		out = repo.Draft{Kind: "custom", Payload: []byte(`{"a":{"b":[` + quoted(d.text()) + `]}}`)}
	}
	switch d.rng.IntN(15) {
	case 0:
		out.Meta = []byte(`{"search":true}`)
	case 1:
		out.Meta = []byte(`{"author":"Ada <ada@example.com>"}`)
	case 2:
		out.Meta = []byte(`{"author":"Bob"}`)
	}
	out.Date = repo.FormatDate(d.at)
	if d.rng.IntN(60) == 0 {
		out.Date = "1969-07-20T20:17:40.250001Z"
	}
	return out
}

// randomQuery makes a query from the texts of entries.
func randomQuery(rng *rand.Rand, all []repo.Entry) string {
	pick := func() string { return string(textOf(all[rng.IntN(len(all))])) }
	word := func() string {
		words := strings.FieldsFunc(pick(), func(r rune) bool { return r <= ' ' || r == text.Sep })
		if len(words) == 0 {
			return "session"
		}
		return words[rng.IntN(len(words))]
	}
	part := func(s string, most int) string {
		runes := []rune(s)
		from := rng.IntN(len(runes))
		return string(runes[from : from+1+rng.IntN(min(most, len(runes)-from))])
	}
	switch rng.IntN(12) {
	case 0, 1:
		return word()
	case 2:
		return word() + " " + word() + []string{"", " " + word(), " the", " " + word() + " " + word()}[rng.IntN(4)]
	case 3:
		return word() + " OR " + word() + " " + word()
	case 4:
		return word() + " -" + word()
	case 5:
		return `"` + strings.ReplaceAll(strings.TrimSpace(part(pick(), 30)), `"`, "") + `"`
	case 6:
		return part(word(), 5) + "*"
	case 7:
		return part(word(), 4)
	case 8:
		return string(denseGlyphs[rng.IntN(len(denseGlyphs))])
	case 9:
		w := []rune(word())
		w[rng.IntN(len(w))] = 'q'
		return string(w)
	case 10:
		return part(pick(), 12)
	}
	return []string{"", "-", `"`, "a AND", "NOT " + word(), "(" + word() + ")", word() + `"`, "*"}[rng.IntN(8)]
}

// search makes a random search with random filters.
func search(rng *rand.Rand, tapes []*repo.Tape, all []repo.Entry) Search {
	s := Search{Text: randomQuery(rng, all), Tapes: named(tapes...)}
	switch n := rng.IntN(6); {
	case len(tapes) == 1:
	case n < 3:
		s.Tapes = s.Tapes[rng.IntN(len(tapes)):][:1]
	case n < 4:
		some := rng.Perm(len(tapes))
		s.Tapes = named(tapes[some[0]], tapes[some[1]])
	}
	kinds := []string{repo.KindMessage, repo.KindToolCall, repo.KindToolResult, repo.KindEvent, repo.KindError, repo.KindAnchor, "custom", "none"}
	if rng.IntN(4) == 0 {
		s.Query.Kinds = kinds[rng.IntN(len(kinds)):]
	}
	if rng.IntN(6) == 0 {
		s.Query.Roles = []string{"user", "assistant", "tool"}[rng.IntN(3):]
	}
	if rng.IntN(6) == 0 {
		s.Query.Authors = []string{"ADA", "@", "nobody"}[rng.IntN(3):]
	}
	moment := func() time.Time { at, _ := all[rng.IntN(len(all))].Time(); return at }
	if rng.IntN(4) == 0 {
		s.Query.Since = moment()
	}
	if rng.IntN(4) == 0 {
		s.Query.Until = moment()
	}
	if s.Query.Since.After(s.Query.Until) && !s.Query.Until.IsZero() {
		s.Query.Since, s.Query.Until = s.Query.Until, s.Query.Since
	}
	name := func() string { return fmt.Sprint("phase/", rng.IntN(5)) }
	switch rng.IntN(12) {
	case 0:
		s.Query.After = name()
	case 1:
		s.Query.Phase = name()
	case 2:
		s.Query.From, s.Query.To, s.Query.Inclusive = name(), name(), rng.IntN(2) == 0
	case 3:
		s.Query.After = repo.Latest
	}
	switch rng.IntN(4) {
	case 0:
		s.Query.Limit = repo.N(rng.IntN(12))
	case 1:
		s.Query.Limit = repo.N(20)
	}
	s.NoFold, s.Searches, s.Newest = rng.IntN(2) == 0, rng.IntN(4) == 0, rng.IntN(4) == 0
	s.Exact, s.Count = rng.IntN(3) == 0, rng.IntN(8) == 0
	s.AllWords, s.Flat = rng.IntN(4) == 0, rng.IntN(3) == 0
	if rng.IntN(3) == 0 {
		s.PerSession = 1 + rng.IntN(3)
	}
	return s
}

// scanSearch makes a random search of files.
func scanSearch(rng *rand.Rand, tapes []*repo.Tape, all []repo.Entry) Search {
	s := search(rng, tapes, all)
	s.Exact, s.AllWords, s.Flat, s.PerSession, s.IgnoreCase = false, false, false, 0, rng.IntN(3) == 0
	runes := []rune(strings.ReplaceAll(string(textOf(all[rng.IntN(len(all))])), string(text.Sep), " "))
	s.Text = "error"
	if len(runes) > 0 {
		from := rng.IntN(len(runes))
		s.Text = string(runes[from : from+1+rng.IntN(min(10, len(runes)-from))])
	}
	s.How = Substring
	if s.IgnoreCase && strings.ContainsFunc(s.Text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		s.IgnoreCase = false
	}
	if rng.IntN(2) == 0 {
		s.How, s.IgnoreCase = Regexp, false
		forms := []string{`\b%s`, `%s\w*`, `^%s`, `%s$`, `(%s|redis)`, `[a-z]+%s`, `%s.+e`, `\d+.?%s?`}
		s.Text = fmt.Sprintf(forms[rng.IntN(len(forms))], regexp.QuoteMeta(s.Text))
	}
	return s
}

// severalSessions reports whether the entries that a search selects by anchors are of more than one session.
func severalSessions(t testing.TB, x *Index, s Search) bool {
	t.Helper()
	q := s.Query
	selected := Search{Tapes: s.Tapes, Searches: true, Query: repo.Query{After: q.After, From: q.From, To: q.To, Inclusive: q.Inclusive, Phase: q.Phase,
		FirstID: q.FirstID, LastID: q.LastID, SkipFirst: q.SkipFirst}}
	list, err := matchingBy(t, x, selected, func([]byte) bool { return true })
	return err == nil && slices.ContainsFunc(list, func(e repo.Entry) bool { return sessionOf(e.Tape) != sessionOf(list[0].Tape) })
}
