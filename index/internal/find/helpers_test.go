package find_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/index"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

func newTape(t testing.TB, s *repo.Store, name string) *repo.Tape {
	t.Helper()
	tp, err := s.CreateTape(t.Context(), name)
	storetest.Must(t, err)
	return tp
}

func named(tapes ...*repo.Tape) (out []string) {
	for _, t := range tapes {
		out = append(out, t.Name())
	}
	return out
}

// testIndex returns an index that is closed when the test ends.
func testIndex(t testing.TB, s *repo.Store) *index.Index {
	t.Helper()
	x := index.New(s, nil)
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return x
}

// newIndex returns a new index, built in a copy of the workspace.
func newIndex(t testing.TB, s *repo.Store) *index.Index {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	storetest.CopyTree(t, s.Dir(), dir)
	x := testIndex(t, storetest.Reopen(t, dir))
	_, err := x.Rebuild(t.Context())
	storetest.Must(t, err)
	return x
}

func mustSearch(t testing.TB, x *index.Index, s index.Search) *index.Result {
	t.Helper()
	res, err := x.Search(t.Context(), s)
	if err != nil {
		t.Fatalf("search %q: %v", s.Text, err)
	}
	return res
}

func mustSync(t testing.TB, x *index.Index) {
	t.Helper()
	_, err := x.Sync(t.Context())
	storetest.Must(t, err)
}

func hitIDs(hits []index.Hit) []int64 {
	out := []int64{}
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

func wantIDs(t testing.TB, what string, hits []index.Hit, want ...int64) {
	t.Helper()
	got := hitIDs(hits)
	slices.Sort(got)
	if !slices.Equal(got, append([]int64{}, want...)) {
		t.Errorf("%s: found %v, want %v", what, got, want)
	}
}

// key identifies an entry among the entries of all tapes.
func key(e repo.Entry) string { return fmt.Sprintf("%s@%06d", e.Tape, e.ID) }

func keysOf(entries []repo.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = key(e)
	}
	return out
}

func shown(r *index.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d matches, exact %v, instead %q\n", r.Matches, r.Exact, r.Instead)
	for _, h := range r.Hits {
		fmt.Fprintf(&b, "%s %v +%d %q %v\n", key(h.Entry), h.Score, h.Similar, h.Snippet, h.Spans)
	}
	return b.String()
}
