package index

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"tape/internal/store/workspace"
	"testing"

	"tape/index/internal/find"
	"tape/index/internal/store"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/internal/text"
	"tape/repo"
)

func TestMain(m *testing.M) {
	testkit.Main(m, map[string]string{
		"GIT_AUTHOR_NAME":     "Test",
		"GIT_AUTHOR_EMAIL":    "test@example.org",
		"GIT_COMMITTER_NAME":  "Test",
		"GIT_COMMITTER_EMAIL": "test@example.org",
	}, runHelper)
}

// warnings collects a store's warnings.
type warnings struct {
	mu   sync.Mutex
	list []string
}

func (w *warnings) add(m string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, m)
}

// take returns the warnings since the last call.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.list
	w.list = nil
	return out
}

// testStore creates a workspace that is verified when the test ends.
func testStore(t testing.TB) *repo.Store {
	t.Helper()
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { storetest.Healthy(t, s.Dir()) })
	return s
}

// reopen returns a second Store on the same workspace, and its warnings.
func reopen(t testing.TB, dir string) (*repo.Store, *warnings) {
	t.Helper()
	w := &warnings{}
	s, err := repo.Open(t.Context(), dir, &repo.Options{Warn: w.add})
	if err != nil {
		t.Fatal(err)
	}
	return s, w
}

// inIndex searches a database without bringing it up to date.
func inIndex(t testing.TB, d *store.DB, targets []*store.Target, s Search) (res *Result, err error) {
	t.Helper()
	err = d.Reading(func() error {
		has, err := d.Has(targets)
		if err == nil {
			res, err = find.InIndex(t.Context(), d, targets, has, s, nil)
		}
		return err
	})
	return res, err
}

// named returns the names of tapes, for Search.Tapes.
func named(tapes ...*repo.Tape) []string {
	names := make([]string, len(tapes))
	for i, t := range tapes {
		names[i] = t.Name()
	}
	return names
}

func openTape(t testing.TB, s *repo.Store, name string) *repo.Tape {
	t.Helper()
	tp, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func newTape(t testing.TB, s *repo.Store, name string) *repo.Tape {
	t.Helper()
	tp, err := s.CreateTape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tp
}

func tapesOf(t testing.TB, s *repo.Store) []*repo.Tape {
	t.Helper()
	tapes, err := s.Tapes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tapes
}

func forksOf(t testing.TB, s *repo.Store) []*repo.Tape {
	t.Helper()
	forks, err := s.Forks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return forks
}

// everything returns all tapes and open forks.
func everything(t testing.TB, s *repo.Store) []*repo.Tape {
	t.Helper()
	return append(tapesOf(t, s), forksOf(t, s)...)
}

func mustFork(t testing.TB, tp *repo.Tape, name, at string) *repo.Tape {
	t.Helper()
	f, err := tp.ForkAt(t.Context(), name, at)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func mustAppend(t testing.TB, tp *repo.Tape, drafts ...repo.Draft) []repo.Entry {
	t.Helper()
	entries, err := tp.Append(t.Context(), nil, drafts...)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

func mustHandoff(t testing.TB, tp *repo.Tape, name string) {
	t.Helper()
	if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: name}); err != nil {
		t.Fatal(err)
	}
}

// testIndex returns an index that is closed when the test ends.
func testIndex(t testing.TB, s *repo.Store) *Index {
	t.Helper()
	x := New(s, nil)
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return x
}

func mustSearch(t testing.TB, x *Index, s Search) *Result {
	t.Helper()
	res, err := x.Search(t.Context(), s)
	if err != nil {
		t.Fatalf("search %q: %v", s.Text, err)
	}
	return res
}

func mustSync(t testing.TB, x *Index) Synced {
	t.Helper()
	out, err := x.Sync(t.Context())
	if err != nil {
		t.Fatalf("sync: %v", err)
	}
	return out
}

// hitIDs returns the ids of hits, in their order.
func hitIDs(hits []Hit) []int64 {
	out := []int64{}
	for _, h := range hits {
		out = append(out, h.ID)
	}
	return out
}

// sortedIDs returns the ids of hits in ascending order.
func sortedIDs(hits []Hit) []int64 {
	out := hitIDs(hits)
	slices.Sort(out)
	return out
}

func wantIDs(t testing.TB, what string, hits []Hit, want ...int64) {
	t.Helper()
	if got := sortedIDs(hits); !slices.Equal(got, append([]int64{}, want...)) {
		t.Errorf("%s: found %v, want %v", what, got, want)
	}
}

// runGit runs git in a folder and returns what it prints, white space trimmed.
func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// wantNoScratch fails if a build left a file behind.
func wantNoScratch(t testing.TB, s *repo.Store) {
	t.Helper()
	dir, err := (*workspace.Store)(s).ScratchDir()
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("the file %s is left in the scratch folder", e.Name())
	}
}

// textOf returns the text of an entry as searches see it.
func textOf(e repo.Entry) []byte { return text.AppendEntry(nil, e.Kind, e.Payload) }

// collect reads a tape without the index.
func collect(ctx context.Context, tp *repo.Tape, q repo.Query) ([]repo.Entry, error) {
	var out []repo.Entry
	for e, err := range tp.Entries(ctx, q) {
		if err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

// key identifies an entry among the entries of all tapes.
func key(e repo.Entry) string { return fmt.Sprintf("%s@%06d", e.Tape, e.ID) }
