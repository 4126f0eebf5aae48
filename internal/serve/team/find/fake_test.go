package find

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tape/index"
	"tape/internal/serve/team/db"
	"tape/internal/store/layout"
	"tape/internal/text"
	"tape/repo"
)

// rows are entries in memory. Find returns all of them: what the database would select is not of interest here.
type rows struct {
	list  []db.Stored
	kinds []string
	asked []db.Question

	found    int64 // how many entries each word is in, as far as Count says; 0: one
	compared int   // times that Best was asked
}

func (r *rows) add(kind, body, date string) {
	at, _ := time.Parse(time.RFC3339, date)
	id := int64(len(r.list) + 1)
	payload := `{"role":"user","content":` + strconv.Quote(body) + `}`
	line := `{"id":` + strconv.FormatInt(id, 10) + `,"kind":"` + kind + `","payload":` + payload + `,"meta":{},"date":"` + date + `"}`
	r.kinds = append(r.kinds, kind)
	r.list = append(r.list, db.Stored{Key: db.Key{Remote: 1, Tape: 7, ID: id}, Date: at, Author: "Ada", Anchor: "start", Phase: 1,
		Text: string(text.AppendEntry(nil, kind, []byte(payload))), Line: line})
}

func (r *rows) Totals(context.Context) (db.Totals, error) {
	return db.Totals{Entries: max(int64(len(r.list)), 10*r.found), Bytes: int64(100 * len(r.list)), Newest: r.list[len(r.list)-1].Date}, nil
}

func (r *rows) Find(_ context.Context, q db.Question) (out []db.Found, err error) {
	r.asked = append(r.asked, q)
	for i, s := range r.list {
		out = append(out, db.Found{Key: s.Key, Date: s.Date, Kind: r.kinds[i], Sign: s.ID, Bytes: 100})
	}
	slices.SortFunc(out, func(a, b db.Found) int { return cmp.Or(b.Date.Compare(a.Date), cmp.Compare(b.ID, a.ID)) })
	return out[:min(len(out), q.Most)], nil
}

func (r *rows) Best(ctx context.Context, q db.Question) ([]db.Found, error) {
	r.compared++
	return r.Find(ctx, q)
}

func (r *rows) Count(_ context.Context, _ []db.Month, queries []string, _ int) ([]db.Counted, error) {
	return slices.Repeat([]db.Counted{{Found: max(1, r.found), Among: max(int64(len(r.list)), 10*r.found)}}, len(queries)), nil
}

func (r *rows) Read(_ context.Context, dates map[db.Key]time.Time) (map[db.Key]db.Stored, error) {
	out := map[db.Key]db.Stored{}
	for _, s := range r.list {
		if dates[s.Key].Equal(s.Date) {
			out[s.Key] = s
		}
	}
	return out, nil
}

func (r *rows) Entries(context.Context, db.Session, db.Range, func(db.Stored) bool) error { return nil }

func (r *rows) Authors(context.Context) ([]string, error) {
	return []string{"Ada <ada@x>", "Bob <bob@x>"}, nil
}

func (r *rows) WordsFrom(context.Context, string, func(string)) error { return nil }

func (r *rows) KnownWords(_ context.Context, words []string) ([]string, error) { return words, nil }

func (r *rows) ByID(_ context.Context, ids []int64) (map[int64]db.Session, error) {
	return map[int64]db.Session{7: {Remote: "shop", RemoteID: 1, Tape: db.Tape{ID: 7, Name: "main", Title: "A title"}}}, nil
}

func search(t *testing.T, r *rows, s index.Search) *Result {
	t.Helper()
	res, err := Search(t.Context(), r, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func ids(res *Result) (out []int64) {
	for _, h := range res.Hits {
		out = append(out, h.ID)
	}
	return out
}

// TestRanking: messages come before results of tools, new entries before old ones, and a word that occurs often
// before one that occurs once.
func TestRanking(t *testing.T) {
	t.Parallel()
	r := &rows{}
	r.add(repo.KindMessage, "the latency of a request", "2026-01-01T00:00:00Z")
	r.add(repo.KindMessage, "the latency of our request", "2026-11-01T00:00:00Z")
	r.add(repo.KindToolResult, "the latency of one request", "2026-11-01T00:00:00Z")
	r.add(repo.KindMessage, "latency is latency, latency!", "2026-11-01T00:00:00Z")
	r.add(repo.KindMessage, "nothing of the kind", "2026-11-02T00:00:00Z") // the database may return too many
	res := search(t, r, index.Search{Text: "latency"})
	if got := ids(res); !slices.Equal(got, []int64{4, 2, 1, 3}) && !slices.Equal(got, []int64{4, 2, 3, 1}) {
		t.Errorf("by relevance: %v, want [4 2 1 3] or [4 2 3 1]", got)
	}
	h := res.Hits[0]
	if h.Workspace != "shop" || h.Tape != "main" || h.Title != "A title" || h.Author != "Ada" || h.Snippet == "" || len(h.Spans) != 3 || h.Anchor != "start" {
		t.Errorf("the best hit lacks something of its session or entry: %+v", h)
	}
	if got := ids(search(t, r, index.Search{Text: "latency", Newest: true, Query: repo.Query{Limit: repo.N(2)}})); !slices.Equal(got, []int64{4, 3}) {
		t.Errorf("the newest first: %v, want [4 3]", got)
	}
}

// TestPhrase: if very many entries have the words of a phrase, older ones are read until there are hits.
func TestPhrase(t *testing.T) {
	t.Parallel()
	r := &rows{}
	r.add(repo.KindMessage, "connection reset by peer", "2026-01-01T00:00:00Z")
	for range 1500 {
		r.add(repo.KindMessage, "reset the connection", "2026-11-01T00:00:00Z")
	}
	if got := ids(search(t, r, index.Search{Text: `"connection reset"`})); !slices.Equal(got, []int64{1}) {
		t.Errorf("the hits are %v, want [1]", got)
	}
	for _, q := range r.asked {
		if q.Most > 4000 {
			t.Errorf("a query asks for %d entries, want at most 4000", q.Most)
		}
	}
}

// TestFilters: filters become words that an entry must have. If no entry can pass a filter, the database is not
// asked.
func TestFilters(t *testing.T) {
	t.Parallel()
	r := &rows{}
	r.add(repo.KindMessage, "word", "2026-01-01T00:00:00Z")
	search(t, r, index.Search{Text: "word", Query: repo.Query{Kinds: []string{"message", "error"}, Roles: []string{"user"}, Authors: []string{"ada"}}})
	want := "('word' & ('\ue000kmessage' | '\ue000kerror') & '\ue000ruser' & '\ue000aAda <ada@x>' & !'\ue000s')"
	if r.asked[0].Words != want {
		t.Errorf("the condition is %q, want %q", r.asked[0].Words, want)
	}
	r.asked = nil
	if res := search(t, r, index.Search{Text: "word", Query: repo.Query{Authors: []string{"nobody"}}}); len(res.Hits) > 0 || len(r.asked) > 0 {
		t.Errorf("for an unknown author, the result is %v, and the database is asked %v; want nothing", res, r.asked)
	}
}

// TestRefused: a search that only a workspace can answer is refused, with a hint.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []index.Search{{Text: "x", How: index.Substring}, {Text: "x", How: index.Regexp}, {Text: "x", Context: 1}, {Text: "x", Count: true},
		{Text: "x", Query: repo.Query{Phase: "a"}}} {
		if _, err := Search(t.Context(), &rows{}, s, nil); !errors.Is(err, layout.ErrInvalid) || len(layout.Hints(err)) == 0 {
			t.Errorf("%+v: %v, want ErrInvalid with a hint", s, err)
		}
	}
}

// TestCommonWord: for a word that very many entries have, the database need not compare all of them: it is asked for the
// newest of the first kinds.
func TestCommonWord(t *testing.T) {
	t.Parallel()
	r := &rows{found: 100_000}
	for i := range 40 {
		r.add("message", "error "+strconv.Itoa(i), "2026-05-01T00:00:"+strconv.Itoa(10+i)+"Z")
	}
	res := search(t, r, index.Search{Text: "error", Query: repo.Query{Limit: repo.N(5)}})
	if len(res.Hits) != 5 || r.compared > 0 {
		t.Fatalf("%d hits, and all entries were compared %d times; want 5 and 0", len(res.Hits), r.compared)
	}
	first := r.asked[0]
	if want := "'\ue000oerror'"; !strings.Contains(first.Words, want) || !strings.Contains(first.Words, "'\ue000kmessage'") {
		t.Errorf("first asked for %q, want messages with %s", first.Words, want)
	}
	if first.Most > 1000 {
		t.Errorf("asked for %d entries", first.Most)
	}
}

// TestCommonAndRareWord: of a query for all words, only entries that match it are compared, not all that have its rarest
// word: those that have it often would take the places of matches.
func TestCommonAndRareWord(t *testing.T) {
	t.Parallel()
	r := &rows{found: 2000} // so the second word is one too many
	r.add(repo.KindMessage, "alpha beta", "2026-01-01T00:00:00Z")
	search(t, r, index.Search{Text: "alpha beta", AllWords: true})
	if r.compared == 0 || len(r.asked) == 0 {
		t.Fatalf("compared %d times, want at least once", r.compared)
	}
	for _, q := range r.asked {
		if !strings.Contains(q.Words, "('alpha' & 'beta')") {
			t.Errorf("asked for %q, want entries with both words", q.Words)
		}
	}
}
