package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/relevance"
	"tape/internal/store/workspace"
	"testing"

	"tape/index/internal/store"
	"tape/internal/testkit"
	"tape/repo"
)

// fork makes, merges or discards a fork.
func (w *world) fork(tp *repo.Tape) string {
	t := w.t
	forks := forksOf(t, w.s)
	if len(forks) < 5 && w.rng.IntN(2) == 0 || len(forks) == 0 {
		entries, err := collect(t.Context(), tp, repo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		at := []string{"", repo.Latest, fmt.Sprint("@", 1+w.rng.IntN(len(entries)))}[w.rng.IntN(3)]
		w.names++
		f, err := tp.ForkAt(t.Context(), fmt.Sprint("f", w.names), at)
		if errors.Is(err, repo.ErrNotFound) { // the tape had no commit yet
			return "no fork of " + tp.Name()
		}
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("fork %s at %q", f.Name(), at)
	}
	f := forks[w.rng.IntN(len(forks))]
	if _, _, ok, err := store.Begins(t.Context(), f); err != nil {
		t.Fatal(err)
	} else if !ok {
		return "nothing to merge " + f.Name() + " into"
	}
	if children, err := f.Forks(t.Context()); err != nil {
		t.Fatal(err)
	} else if len(children) == 0 && w.rng.IntN(2) == 0 {
		if err := f.Discard(t.Context()); err != nil {
			t.Fatal(err)
		}
		return "discarded " + f.Name()
	}
	if _, err := join.Merge(t.Context(), (*workspace.Tape)(f), join.Options{Keep: w.rng.IntN(2) == 0}); err != nil {
		t.Fatal(err)
	}
	return "merged " + f.Name()
}

// family makes a tape with forks and a fork of a fork, all with random entries, and another tape. It returns them
// and their entries.
func family(t testing.TB, s *repo.Store, d *drafter, n int) (all []*repo.Tape, entries []repo.Entry) {
	t.Helper()
	write := func(tp *repo.Tape) {
		for i := range n {
			drafts := make([]repo.Draft, 1+d.rng.IntN(12))
			for i := range drafts {
				drafts[i] = d.draft()
			}
			mustAppend(t, tp, drafts...)
			if i%3 == 2 {
				mustHandoff(t, tp, fmt.Sprint("phase/", d.rng.IntN(4)))
			}
		}
	}
	at := func(tp *repo.Tape) string {
		read, err := collect(t.Context(), tp, repo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint("@", len(read)-d.rng.IntN(len(read)/2))
	}
	main := openTape(t, s, "")
	write(main)
	// In the index, the number of the tape between is between the numbers of main and its forks.
	between := newTape(t, s, "between")
	write(between)
	x := mustFork(t, main, "x", at(main))
	y := mustFork(t, main, "y", "")
	write(main)
	write(x)
	z := mustFork(t, x, "z", at(x))
	write(z)
	write(x)
	all = []*repo.Tape{main, between, x, y, z}
	for _, tp := range all {
		read, err := collect(t.Context(), tp, repo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, read...)
	}
	return all, entries
}

// emptyFile makes an empty file for a new database, and returns its path.
func emptyFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// storedWhole makes an index that stores forks in full, without sharing entries with their parents.
func storedWhole(t testing.TB, tapes []*repo.Tape) *store.DB {
	t.Helper()
	d, err := store.Open(emptyFile(t, "whole.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := d.Fill(t.Context(), alone(tapes), func(int64) {}); err != nil {
		t.Fatal(err)
	}
	return d
}

// alone returns targets without their ancestors, so that forks are stored in full.
func alone(tapes []*repo.Tape) (out []*store.Target) {
	for _, tp := range tapes {
		out = append(out, &store.Target{Tape: tp})
	}
	return out
}

// TestForksAreSearchedWhole: a search in a fork finds the same as reading all its entries, including its
// parents', with the scores of an index that stores the fork in full.
func TestForksAreSearchedWhole(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for range testkit.Size(1, 20) {
		s := testStore(t)
		all, entries := family(t, s, &drafter{rng: rng, at: testkit.Clock()}, 6)
		x := testIndex(t, s)
		whole := storedWhole(t, all)
		for range testkit.Size(40, 600) {
			wantAnswer(t, x, search(rng, all, entries))
			wantAnswer(t, x, scanSearch(rng, all, entries))
			one := search(rng, all, entries)
			tp := all[rng.IntN(len(all))]
			one.Tapes = named(tp)
			if got, err := x.Search(t.Context(), one); err == nil {
				want, err := inIndex(t, whole, alone([]*repo.Tape{tp}), one)
				if err != nil {
					t.Fatal(err)
				}
				wantSame(t, describe(one), got, want)
			}
			if t.Failed() {
				return
			}
		}
	}
}

// TestManyMatchesInAFork: if a word is in so many entries of a fork and its parents that only some
// are judged, the same entries are judged wherever they are stored.
func TestManyMatchesInAFork(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	s := testStore(t)
	d := &drafter{rng: rng, at: testkit.Clock()}
	main := openTape(t, s, "")
	mustAppend(t, main, d.common(900)...)
	x := mustFork(t, main, "x", "@700")
	mustAppend(t, x, d.common(300)...)
	mustAppend(t, newTape(t, s, "between"), d.common(50)...)
	y := mustFork(t, x, "y", "@900")
	mustAppend(t, y, d.common(5)...)
	all := []*repo.Tape{main, x, y}
	index, whole := testIndex(t, s), storedWhole(t, all)
	for _, tp := range all {
		for _, text := range []string{"common", "common words", "comm*", "common -redis", "common OR redis"} {
			for _, limit := range []*int{nil, repo.N(1), repo.N(20), repo.N(300)} {
				if !testkit.Soak() && rng.IntN(testkit.Size(6, 1)) > 0 {
					continue
				}
				q := Search{Text: text, Tapes: named(tp), Query: repo.Query{Limit: limit}, NoFold: rng.IntN(2) == 0, Newest: rng.IntN(3) == 0}
				want, err := inIndex(t, whole, alone([]*repo.Tape{tp}), q)
				if err != nil {
					t.Fatal(err)
				}
				wantSame(t, describe(q), mustSearch(t, index, q), want)
			}
		}
	}
	if n := mustSearch(t, index, Search{Text: "common", Tapes: named(y), Count: true}).Matches; n <= 2*relevance.Candidates {
		t.Errorf("only %d entries have the word, want more than %d: the test shows nothing", n, 2*relevance.Candidates)
	}
}

// TestNeighboursInAFork: around a hit near the base, the entries of the parent and of the fork are shown.
func TestNeighboursInAFork(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	s := testStore(t)
	all, entries := family(t, s, &drafter{rng: rng, at: testkit.Clock()}, 4)
	x := testIndex(t, s)
	checked := 0
	for range testkit.Size(20, 200) {
		one := search(rng, all, entries)
		one.Context = 1 + rng.IntN(3)
		tp := all[rng.IntN(len(all))]
		one.Tapes = named(tp)
		if rng.IntN(2) == 0 {
			one.Text, one.How = "e", Substring
		}
		res, err := x.Search(t.Context(), one)
		if err != nil {
			continue
		}
		read, err := collect(t.Context(), tp, repo.Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range res.Hits {
			checked++
			from, to := max(0, int(h.ID)-1-one.Context), min(len(read), int(h.ID)+one.Context)
			if got, want := append(h.Before, h.After...), slices.Concat(read[from:h.ID-1], read[h.ID:to]); !reflect.DeepEqual(got, want) {
				t.Errorf("around %s: got %v, want %v", key(h.Entry), keysOf(got), keysOf(want))
			}
		}
	}
	if checked == 0 {
		t.Error("no search had a hit: the test shows nothing")
	}
}

// TestForkCosts: the index stores rows and words only of a fork's own entries.
func TestForkCosts(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	d := &drafter{rng: testkit.Random(t), at: testkit.Clock()}
	main := openTape(t, s, "")
	for range 300 {
		mustAppend(t, main, d.draft())
	}
	x := testIndex(t, s)
	mustSync(t, x)
	f := mustFork(t, main, "x", "")
	mustAppend(t, f, repo.Message("user", "giraffe one"), repo.Message("user", "giraffe two"))
	if got := mustSync(t, x); got.Entries != 2 || got.Tapes != 2 || got.Total != 303 {
		t.Errorf("after a fork with two entries: got %+v, want 2 entries, 303 in 2 tapes", got)
	}
	res := mustSearch(t, x, Search{Text: "giraffe", Tapes: named(main, f)})
	if len(res.Hits) != 2 || res.Hits[0].Tape != "main/x" {
		t.Errorf("found %v, want 2 entries of main/x", keysOf(hitEntries(res)))
	}
	if got := rowsOf(t, s.IndexFile(), "SELECT tape, anchor_name, id FROM entries WHERE tape = 'main/x' ORDER BY id"); !slices.Equal(got, []string{
		"main/x | session/start | 302 | ", "main/x | session/start | 303 | "}) {
		t.Errorf("the view entries has %v of the fork, want 302 and 303", got)
	}
	if err := f.Discard(t.Context()); err != nil {
		t.Fatal(err)
	}
	if st, err := x.Status(t.Context()); err != nil || st.Fresh() {
		t.Errorf("after a discard the index is %s (%v), want stale", st.State, err)
	}
	if got := mustSync(t, x); got.Entries != 0 || got.Tapes != 1 || got.Total != 301 {
		t.Errorf("after a discard and a sync: got %+v, want 301 entries in 1 tape", got)
	}
}

// TestForkOfAChangedParent: whatever happens to its parent, a fork is found with all its entries.
func TestForkOfAChangedParent(t *testing.T) {
	t.Parallel()
	changes := map[string]func(t *testing.T, s *repo.Store, main *repo.Tape){
		"grown": func(t *testing.T, _ *repo.Store, main *repo.Tape) {
			mustAppend(t, main, repo.Message("user", "heron three"))
		},
		"reset": func(t *testing.T, _ *repo.Store, main *repo.Tape) {
			if _, err := main.Reset(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		},
		"rewound": func(t *testing.T, _ *repo.Store, main *repo.Tape) {
			runGit(t, main.WorkTree(), "reset", "-q", "--hard", "HEAD~1")
			runGit(t, main.WorkTree(), "clean", "-q", "-f", "-d", "anchors")
		},
		"deleted": func(t *testing.T, s *repo.Store, main *repo.Tape) {
			runGit(t, s.Dir(), "worktree", "remove", "--force", main.WorkTree())
			runGit(t, s.Dir(), "branch", "-q", "-D", main.Branch())
		},
	}
	for what, change := range changes {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := testStore(t)
			other := newTape(t, s, "other")
			mustAppend(t, other, repo.Message("user", "heron one"))
			mustHandoff(t, other, "phase/1")
			mustAppend(t, other, repo.Message("user", "heron two"))
			x := mustFork(t, other, "x", "")
			y := mustFork(t, x, "y", "")
			mustAppend(t, x, repo.Message("user", "giraffe one"))
			mustAppend(t, y, repo.Message("user", "giraffe two"))
			again, warn := reopen(t, s.Dir())
			index := testIndex(t, again)
			mustSync(t, index)
			change(t, s, other)
			for _, f := range []*repo.Tape{y, x} {
				wantIDs(t, f.Name(), mustSearch(t, index, Search{Text: "heron OR giraffe", Tapes: named(f)}).Hits, 2, 4, 5)
			}
			mustSync(t, index)
			wantEqual(t, what, s.IndexFile(), rebuilt(t, s))
			for _, m := range warn.take() {
				if strings.Contains(m, "index") {
					t.Errorf("got the warning %q, want none about the index", m)
				}
			}
			if st, err := index.Status(t.Context()); err != nil || !st.Fresh() {
				t.Errorf("after a sync the index is %s (%v), want fresh", st.State, err)
			}
		})
	}
}

// TestForkSharesAgain: a fork is stored in full when its parent is rewound to before the base. When the parent is
// restored, the fork shares entries with it again.
func TestForkSharesAgain(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	main := openTape(t, s, "")
	mustAppend(t, main, repo.Message("user", "heron one"))
	mustHandoff(t, main, "phase/1")
	x := mustFork(t, main, "x", "")
	mustAppend(t, x, repo.Message("user", "heron two"))
	dir := main.WorkTree()
	head := runGit(t, dir, "rev-parse", "HEAD")
	runGit(t, dir, "reset", "-q", "--hard", "HEAD~1")
	runGit(t, dir, "clean", "-q", "-f", "-d", "anchors")
	index := testIndex(t, s)
	if got := mustSync(t, index); got.Total != 5 {
		t.Errorf("with the parent rewound: got %+v, want 5 entries", got)
	}
	runGit(t, dir, "merge", "-q", "--ff-only", head)
	wantIDs(t, "x", mustSearch(t, index, Search{Text: "heron", Tapes: named(x)}).Hits, 2, 4)
	if got := mustSync(t, index); got.Total != 4 {
		t.Errorf("with the parent restored: got %+v, want 4 entries", got)
	}
	wantEqual(t, "with the parent restored", s.IndexFile(), rebuilt(t, s))
}
