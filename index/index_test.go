package index

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/repo"
)

// TestSynced checks what a sync reports, and the state of the index before and after it.
func TestSynced(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp, other := openTape(t, s, ""), newTape(t, s, "other")
	x := testIndex(t, s)
	state := func(what, want, wantTape string) {
		t.Helper()
		st, err := x.Status(t.Context())
		if err != nil || st.State != want || st.Fresh() != (want == "fresh") {
			t.Errorf("%s: the status is %+v, %v; want %s", what, st, err, want)
		}
		if got, err := x.State(t.Context(), tp); err != nil || got != wantTape {
			t.Errorf("%s: the state of main is %s, %v; want %s", what, got, err, wantTape)
		}
	}
	sync := func(what string, want Synced) {
		t.Helper()
		if got := mustSync(t, x); got != want {
			t.Errorf("%s: got %+v, want %+v", what, got, want)
		}
	}
	state("at first", "absent", "absent")
	sync("at first", Synced{Entries: 2, Total: 2, Tapes: 2})
	state("after a sync", "fresh", "fresh")
	sync("again", Synced{Total: 2, Tapes: 2})
	mustAppend(t, other, repo.Message("user", "needle"), repo.Message("user", "b"))
	state("other has grown", "stale", "fresh")
	mustAppend(t, tp, repo.Message("user", "c"))
	state("both have grown", "stale", "stale")
	sync("both have grown", Synced{Entries: 3, Total: 5, Tapes: 2})
	if got, err := x.Rebuild(t.Context()); err != nil || got != (Synced{Entries: 5, Total: 5, Tapes: 2}) {
		t.Errorf("rebuilt: got %+v (%v), want 5 entries of 2 tapes", got, err)
	}
	if _, err := tp.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	sync("after a reset", Synced{Entries: 1, Total: 4, Tapes: 2})
	runGit(t, s.Dir(), "worktree", "remove", "--force", other.WorkTree())
	runGit(t, s.Dir(), "branch", "-q", "-D", other.Branch())
	sync("without the other", Synced{Total: 1, Tapes: 1})
	wantEqual(t, "without the other", s.IndexFile(), rebuilt(t, s))
}

// TestJournalOfAKilledWriter: a process that was killed while it wrote has left a half-written database and
// the journal to roll it back.
func TestJournalOfAKilledWriter(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := openTape(t, s, "")
	mustAppend(t, tp, repo.Message("user", "one needle"))
	x := testIndex(t, s)
	mustSync(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	path := s.IndexFile()
	end := writingElsewhere(t, path)
	half, journal := readFile(t, path), readFile(t, path+"-journal")
	end()
	for what, ask := range map[string]func(x *Index) error{
		"status": func(x *Index) error {
			st, err := x.Status(t.Context())
			if st.State != "fresh" {
				err = errors.Join(err, fmt.Errorf("the state is %q, want fresh", st.State))
			}
			return err
		},
		"state": func(x *Index) error {
			state, err := x.State(t.Context(), tp)
			if state != "fresh" {
				err = errors.Join(err, fmt.Errorf("the state is %q, want fresh", state))
			}
			return err
		},
		"sync": func(x *Index) error { _, err := x.Sync(t.Context()); return err },
		"search": func(x *Index) error {
			res, err := x.Search(t.Context(), Search{Text: "needle", Tapes: named(tp)})
			if err == nil && len(res.Hits) != 1 {
				err = fmt.Errorf("%d hits, want 1", len(res.Hits))
			}
			return err
		},
	} {
		writeFile(t, path, half)
		writeFile(t, path+"-journal", journal)
		fresh, warned := reopen(t, s.Dir())
		x := testIndex(t, fresh)
		if err := ask(x); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if list := warned.take(); len(list) > 0 {
			t.Errorf("%s: got the warnings %v, want none", what, list)
		}
		wantSound(t, path)
		wantEqual(t, what, path, rebuilt(t, s))
	}
}

// TestCancelled cancels a sync, a rebuild and a search. The index stays sound.
func TestCancelled(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := openTape(t, s, "")
	x := testIndex(t, s)
	mustSync(t, x)
	n := testkit.Size(3000, 60_000)
	drafts := make([]repo.Draft, n)
	for i := range drafts {
		drafts[i] = repo.Message("user", fmt.Sprint("needle ", i))
	}
	mustAppend(t, tp, drafts...)
	for what, call := range map[string]func(x *Index, ctx context.Context) error{
		"sync":    func(x *Index, ctx context.Context) error { _, err := x.Sync(ctx); return err },
		"rebuild": func(x *Index, ctx context.Context) error { _, err := x.Rebuild(ctx); return err },
		"search": func(x *Index, ctx context.Context) error {
			_, err := x.Search(ctx, Search{Text: "needle", Tapes: named(tp)})
			return err
		},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		seen := int64(0)
		quick := New(s, &Options{Progress: func(n int64) { seen = n; cancel() }})
		if err := call(quick, ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want context.Canceled", what, err)
		}
		cancel()
		if seen == 0 || seen >= int64(n) {
			t.Errorf("%s: cancelled after %d of %d entries, want in the middle", what, seen, n)
		}
		if err := quick.Close(); err != nil {
			t.Errorf("%s: close: %v", what, err)
		}
		wantSound(t, s.IndexFile())
		wantNoScratch(t, s)
	}
	if res := mustSearch(t, x, Search{Text: "needle", Tapes: named(tp), Count: true}); res.Matches != n {
		t.Errorf("%d matches afterwards, want %d", res.Matches, n)
	}
	wantEqual(t, "afterwards", s.IndexFile(), rebuilt(t, s))
}

// TestWordsOfAResetTape: after a long tape is reset, its words are removed from the index.
func TestWordsOfAResetTape(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := openTape(t, s, "")
	drafts := make([]repo.Draft, 10_500)
	for i := range drafts {
		drafts[i] = repo.Event("n", nil)
		if i%100 == 0 {
			drafts[i] = repo.Message("user", fmt.Sprint("needle ", i))
		}
	}
	mustAppend(t, tp, drafts...)
	x := testIndex(t, s)
	mustSync(t, x)
	wantIDs(t, "before", mustSearch(t, x, Search{Text: `"needle 700"`, Tapes: named(tp)}).Hits, 702)
	if _, err := tp.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, tp, repo.Message("user", "one needle"))
	mustSync(t, x)
	wantIDs(t, "afterwards", mustSearch(t, x, Search{Text: "needle", Tapes: named(tp)}).Hits, 2)
	wantEqual(t, "afterwards", s.IndexFile(), rebuilt(t, s))
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, s.IndexFile(), "SELECT count(*) FROM temp.vocabulary WHERE doc >> 26 NOT IN (SELECT no FROM tapes)"); got[0] != "0 | " {
		t.Errorf("words of tapes that are not in the index: got %s, want 0", got[0])
	}
}

// TestMissingAnchors searches from anchors that not every tape has.
func TestMissingAnchors(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp, other := openTape(t, s, ""), newTape(t, s, "other")
	mustAppend(t, tp, repo.Message("user", "needle"))
	mustHandoff(t, tp, "here")
	mustAppend(t, other, repo.Message("user", "needle"))
	both := []*repo.Tape{tp, other}
	x := testIndex(t, s)
	for _, how := range []How{Words, Substring} {
		ask := func(tapes []*repo.Tape, anchor string) (int, error) {
			res, err := x.Search(t.Context(), Search{Text: "needle", How: how, Tapes: named(tapes...), Query: repo.Query{After: anchor}})
			if err != nil {
				return 0, err
			}
			return len(res.Hits), nil
		}
		// Nothing is after the anchor yet; that another tape lacks it is not an error.
		if n, err := ask(both, "here"); n != 0 || err != nil {
			t.Errorf("one tape has the anchor: got %d hits (%v), want 0", n, err)
		}
		for _, tapes := range [][]*repo.Tape{both, both[1:]} {
			if _, err := ask(tapes, "nowhere"); !errors.Is(err, repo.ErrNotFound) {
				t.Errorf("no tape has the anchor: got %v, want ErrNotFound", err)
			}
		}
	}
	mustAppend(t, tp, repo.Message("user", "needle"))
	res := mustSearch(t, x, Search{Text: "needle", Tapes: named(both...), Query: repo.Query{After: "here"}})
	if got := keysOf(hitEntries(res)); !slices.Equal(got, []string{"main@000004"}) {
		t.Errorf("after the anchor: got %v, want main@000004", got)
	}
}

// TestInvalidSearches: invalid searches are refused.
func TestInvalidSearches(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	x := testIndex(t, s)
	tapes := tapesOf(t, s)
	for what, q := range map[string]Search{
		"a negative limit":      {Text: "a", Tapes: named(tapes...), Query: repo.Query{Limit: repo.N(-1)}},
		"negative neighbours":   {Text: "a", Tapes: named(tapes...), Context: -1},
		"an invalid expression": {Text: "a(", How: Regexp, Tapes: named(tapes...)},
		"dates in wrong order":  {Text: "a", Tapes: named(tapes...), Query: repo.Query{Since: testkit.Clock(), Until: testkit.Clock().Add(-1)}},
		"After and Phase":       {Text: "a", Tapes: named(tapes...), Query: repo.Query{After: "a", Phase: "b"}},
	} {
		if _, err := x.Search(t.Context(), q); !errors.Is(err, repo.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", what, err)
		}
	}
	for _, how := range []How{Words, Substring, Regexp} {
		if res := mustSearch(t, x, Search{Text: "a", How: how, Tapes: []string{}}); len(res.Hits) > 0 || res.Matches > 0 || !res.Exact {
			t.Errorf("in no tape: got %s, want no match", shown(res))
		}
	}
}

// TestUncommitted finds entries that are only in a working tree or only in git, and lines written
// with an editor and committed with git.
func TestUncommitted(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := newTape(t, s, "other")
	x := testIndex(t, s)
	ask := func(what string, want ...int64) {
		t.Helper()
		for _, how := range []How{Words, Substring, Regexp} {
			wantIDs(t, what, mustSearch(t, x, Search{Text: "needle", How: how, Tapes: named(tp)}).Hits, want...)
		}
	}
	ask("at first")
	mustAppend(t, tp, repo.Message("user", "first needle"))
	ask("uncommitted", 2)
	mustHandoff(t, tp, "next")
	mustAppend(t, tp, repo.Event("needle of an event", nil))
	if _, _, err := tp.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	ask("committed", 2, 4)
	runGit(t, s.Dir(), "worktree", "remove", tp.WorkTree())
	ask("only in git", 2, 4)
	runGit(t, s.Dir(), "gc", "--quiet", "--prune=now")
	ask("packed", 2, 4)
	if _, err := tp.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	ask("reset")
	if _, _, err := tp.Restore(t.Context(), repo.Latest); err != nil {
		t.Fatal(err)
	}
	ask("restored", 2, 4)
	if out, err := exec.Command("git", "-C", s.Dir(), "status", "--porcelain").Output(); err != nil || strings.TrimSpace(string(out)) != "" {
		t.Errorf("git status in a workspace with an index: got %q (%v), want clean", out, err)
	}
}
