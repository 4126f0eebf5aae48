package index

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/index/internal/store"
	"tape/internal/testkit"
	"tape/repo"
)

// damageEntries is the number of entries of the tape main. It is large enough for an index of several pages.
const damageEntries = 120

// damageStore returns a workspace whose index a test damages. Every tenth entry of the tape main has the word
// needle, and so has one of the tape other. want has the ids of these entries of main.
func damageStore(t *testing.T, rng *rand.Rand) (s *repo.Store, want []int64) {
	t.Helper()
	s = testStore(t)
	d := &drafter{rng: rng, at: testkit.Clock()}
	tp := openTape(t, s, "")
	var drafts []repo.Draft
	for i := range damageEntries {
		draft := d.draft()
		if i%10 == 0 {
			draft = repo.Message("user", "needle "+d.text())
			want = append(want, int64(i+2))
		}
		drafts = append(drafts, draft)
	}
	mustAppend(t, tp, drafts...)
	mustAppend(t, newTape(t, s, "other"), repo.Message("user", "a needle elsewhere"))
	x := testIndex(t, s)
	mustSync(t, x)
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return s, want
}

// TestDamagedIndex replaces index.db with all sorts of things. Searches still find the right entries, files
// that tape did not make are kept, and the index is made again.
func TestDamagedIndex(t *testing.T) {
	t.Parallel()
	s, want := damageStore(t, testkit.Random(t))
	path := s.IndexFile()
	good := readFile(t, path)
	patched := func(at int, b ...byte) []byte {
		out := bytes.Clone(good)
		copy(out[at:], b)
		return out
	}
	foreign := emptyFile(t, "foreign.db")
	d, err := store.Open(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Script("CREATE TABLE precious (x); INSERT INTO precious VALUES ('keep me')"); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		put   func() error
		state string // what Status says
		warns string // part of the warning; "" for none
		kept  bool   // the file is kept under another name
	}{
		{"nothing", func() error { return nil }, "absent", "", false},
		{"no bytes", func() error { return os.WriteFile(path, nil, 0o600) }, "damaged", "damaged", false},
		{"a text file", func() error { return os.WriteFile(path, []byte("dear diary"), 0o600) }, "foreign", "not made by tape", true},
		{"another database", func() error { return os.WriteFile(path, readFile(t, foreign), 0o600) }, "foreign", "not made by tape", true},
		{"a folder", func() error { return os.MkdirAll(filepath.Join(path, "inside"), 0o700) }, "foreign", "not made by tape", true},
		{"another version", func() error { return os.WriteFile(path, patched(60, 0, 0, 0, 99), 0o600) }, "outdated", "", false},
		{"half of an index", func() error { return os.WriteFile(path, good[:len(good)/2], 0o600) }, "damaged", "damaged", false},
		{"the first page", func() error { return os.WriteFile(path, good[:store.PageSize], 0o600) }, "damaged", "damaged", false},
		{"the header", func() error { return os.WriteFile(path, good[:100], 0o600) }, "damaged", "damaged", false},
		{"zeros after the header", func() error {
			return os.WriteFile(path, append(bytes.Clone(good[:100]), make([]byte, len(good)-100)...), 0o600)
		}, "damaged", "damaged", false},
		{"a journal without a database", func() error { return os.WriteFile(path+"-journal", bytes.Repeat([]byte("x"), 5000), 0o600) }, "absent", "", false},
		{"a stale journal", func() error {
			return os.WriteFile(path, good, 0o600)
		}, "fresh", "", false},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
			if err := c.put(); err != nil {
				t.Fatal(err)
			}
			if c.name == "a stale journal" {
				writeFile(t, path+"-journal", bytes.Repeat([]byte("x"), 5000))
			}
			fresh, warned := reopen(t, s.Dir())
			st, err := New(fresh, nil).Status(t.Context())
			if err != nil || st.State != c.state {
				t.Errorf("the status is %q, %v; want %q", st.State, err, c.state)
			}
			x := testIndex(t, fresh)
			q := Search{Text: "needle", Tapes: named(openTape(t, fresh, "")), NoFold: true, Exact: true}
			wantIDs(t, "main", mustSearch(t, x, q).Hits, want...)
			q.Tapes = named(openTape(t, fresh, "other"))
			wantIDs(t, "other", mustSearch(t, x, q).Hits, 2)
			warning := strings.Join(warned.take(), "; ")
			if c.warns == "" && warning != "" || !strings.Contains(warning, c.warns) {
				t.Errorf("the warning is %q, want %q", warning, c.warns)
			}
			aside, _ := filepath.Glob(path + ".foreign*")
			if (len(aside) == 1) != c.kept {
				t.Errorf("the renamed files are %v, want one: %v", aside, c.kept)
			}
			for _, a := range aside {
				if err := os.RemoveAll(a); err != nil {
					t.Fatal(err)
				}
			}
			mustSync(t, x)
			if st, err = x.Status(t.Context()); err != nil || !st.Fresh() || st.Entries != damageEntries+3 || st.Tapes != 2 {
				t.Errorf("afterwards the status is %+v (%v), want fresh, %d entries of 2 tapes", st, err, damageEntries+3)
			}
			wantEqual(t, "afterwards", path, rebuilt(t, fresh))
			wantSound(t, path)
			wantNoScratch(t, fresh)
		})
	}
}

// TestForeignIsKept puts two foreign files in the index's place: both are kept.
func TestForeignIsKept(t *testing.T) {
	t.Parallel()
	s, want := damageStore(t, testkit.Random(t))
	for _, content := range []string{"first", "second"} {
		writeFile(t, s.IndexFile(), []byte(content))
		q := Search{Text: "needle", Tapes: named(openTape(t, s, "")), NoFold: true}
		wantIDs(t, content, mustSearch(t, testIndex(t, s), q).Hits, want...)
	}
	if a, b := readFile(t, s.IndexFile()+".foreign"), readFile(t, s.IndexFile()+".foreign-2"); string(a) != "first" || string(b) != "second" {
		t.Errorf("the kept files are %q and %q, want first and second", a, b)
	}
}

// TestSoakFlippedBytes damages the index at random places. Nothing crashes or hangs, and no wrong hit
// is shown. If a damaged list of documents still decodes, the damage is not noticed and a hit may be missing;
// after a rebuild it is found again.
func TestSoakFlippedBytes(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	s, want := damageStore(t, rng)
	path := s.IndexFile()
	good := readFile(t, path)
	tapes := []*repo.Tape{openTape(t, s, "")}
	missed, noticed := 0, 0
	rounds := testkit.Size(30, 4000)
	for i := range rounds {
		bad := bytes.Clone(good)
		for range 1 + rng.IntN(4) {
			from := rng.IntN(len(bad))
			if rng.IntN(3) == 0 {
				from = rng.IntN(min(len(bad), 2*store.PageSize))
			}
			if i == 0 {
				from = 0 // the first damage is in the file's header, and is noticed
			}
			for j := from; j < min(from+1+rng.IntN(12), len(bad)); j++ {
				bad[j] ^= byte(1 + rng.IntN(255))
			}
		}
		writeFile(t, path, bad)
		fresh, warned := reopen(t, s.Dir())
		x := New(fresh, nil)
		for _, text := range []string{"needle", "needle AND error", "need*", "nedle"} {
			res, err := x.Search(t.Context(), Search{Text: text, Tapes: named(tapes...), NoFold: true})
			if err != nil {
				t.Fatalf("round %d: search %q: %v", i, text, err)
			}
			for _, h := range res.Hits {
				if _, ok := slices.BinarySearch(want, h.ID); !ok {
					t.Errorf("round %d: search %q: @%d should not be a hit", i, text, h.ID)
				}
			}
			if text == "needle" && len(res.Hits) != len(want) {
				missed++
			}
		}
		if len(warned.take()) > 0 {
			noticed++
		}
		if err := x.Close(); err != nil {
			t.Errorf("round %d: close: %v", i, err)
		}
		for _, name := range []string{path + ".foreign", path + "-journal"} {
			_ = os.Remove(name)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("of %d damaged indexes, %d were noticed, and %d searches missed a hit", rounds, noticed, missed)
	if noticed == 0 {
		t.Error("no damage was noticed, not even the damage to the header")
	}
	x := testIndex(t, s)
	if _, err := x.Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, "after a rebuild", mustSearch(t, x, Search{Text: "needle", Tapes: named(tapes...), NoFold: true}).Hits, want...)
}

// TestResetBehindTheIndex resets a tape after the index was found fresh and before its entries are read. That
// search notices it, and the next search is right.
func TestResetBehindTheIndex(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp := openTape(t, s, "")
	mustAppend(t, tp, repo.Message("user", "an old needle"), repo.Event("usage", nil), repo.Message("user", "an old needle again"))
	x := testIndex(t, s)
	mustSync(t, x)
	if _, err := tp.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, tp, repo.Event("filler", nil), repo.Message("user", "a new needle, as one can see"))
	targets := []*store.Target{{Tape: tp}}
	if _, err := inIndex(t, x.db, targets, Search{Text: "needle", Tapes: named(tp)}); !store.IsDamage(err) {
		t.Errorf("searching an index whose entries no longer exist: got %v, want a damage", err)
	}
	fresh, warned := reopen(t, s.Dir())
	wantIDs(t, "the search", mustSearch(t, testIndex(t, fresh), Search{Text: "needle", Tapes: named(openTape(t, fresh, ""))}).Hits, 3)
	if list := warned.take(); len(list) > 0 {
		t.Errorf("got the warnings %v, want none", list)
	}
}

// TestInconsistentIndex changes the tables of a fresh index, so that they contradict each other or the tape.
// Searches still find the right entries, and wrong lines are reported.
func TestInconsistentIndex(t *testing.T) {
	t.Parallel()
	s, want := damageStore(t, testkit.Random(t))
	for i, change := range []string{
		"UPDATE lines SET offset = offset + 7",
		"UPDATE labels SET kind = kind || 's'",
		"UPDATE lines SET length = length * 100",
		"UPDATE lines SET offset = -5",
		"UPDATE lines SET length = -1",
		"UPDATE lines SET length = 1 << 60",
		"UPDATE files SET name = '../../../etc/passwd' WHERE name = 'messages.jsonl' AND seq = 1",
		"UPDATE phases SET folder = '../..'",
		"UPDATE lines SET sign = 'x'",
		"UPDATE lines SET created = 'x'",
		"UPDATE tapes SET entries = 'x'",
		"DELETE FROM lines",
		"DELETE FROM labels",
		"DELETE FROM phases",
		"DELETE FROM files",
		"DELETE FROM entries_fts_data",
		"DELETE FROM entries_fts_data WHERE id > 10",
		"DROP TABLE lines",
		"UPDATE tapes SET mark = 'nonsense'",
		"UPDATE tapes SET mark = '{}'",
		`UPDATE tapes SET mark = replace(mark, '"file":1', '"file":0')`,
		`UPDATE tapes SET mark = replace(mark, '"lines":', '"lines":1')`,
		"UPDATE tapes SET entries = 1 << 40",
		"UPDATE tapes SET entries = -1",
		"DELETE FROM tapes",
	} {
		if i%testkit.Size(4, 1) > 0 {
			continue
		}
		d, err := store.Open(s.IndexFile())
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Script(change); err != nil {
			t.Fatalf("%s: %v", change, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		fresh, warned := reopen(t, s.Dir())
		x := testIndex(t, fresh)
		q := Search{Text: "needle", Tapes: named(openTape(t, fresh, "")), NoFold: true}
		res, err := x.Search(t.Context(), q)
		if err != nil {
			t.Errorf("%s: %v", change, err)
			continue
		}
		wantIDs(t, change, res.Hits, want...)
		if list := warned.take(); len(list) == 0 && strings.HasPrefix(change, "UPDATE l") {
			t.Errorf("%s: no warning, want one about a damaged index", change)
		}
		if _, err := x.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}
