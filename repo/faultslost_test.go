package repo

import (
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/git/disk"
	"tape/internal/testkit"
	"testing"
)

// goesOn records more on every tape and fork.
func (tm *template) goesOn(t *testing.T) {
	t.Helper()
	s := openFaulty(t, tm.dir, nil)
	for _, tp := range mustTapesAndForks(t, s) {
		mustAppend(t, tp, Message("user", "on we go"))
	}
	healthy(t, tm.dir)
}

// goesOnThenForgets records more on every tape and fork after a fault, and then the power
// goes: what was acknowledged is there, once.
func (tm *template) goesOnThenForgets(t *testing.T, f *faulty, err error) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, and the call returned %v; warnings: %s", f.n, err, f.warned)
		}
	}()
	s := openFaulty(t, tm.dir, &faulty{lossy: f.lossy})
	if outcomeOf(t, s).picture == tm.old.picture && tm.old.picture != tm.new.picture {
		mustDo(t, tm.run(t.Context(), s))
	}
	want := map[string][]string{}
	for _, tp := range mustTapesAndForks(t, s) {
		mustAppend(t, tp, Message("user", "on we go"))
		want[tp.Name()] = lines(entriesOf(t, tp, Query{}))
	}
	f.lossy.Restart(t)
	s = openFaulty(t, tm.dir, nil)
	got := map[string][]string{}
	for _, tp := range mustTapesAndForks(t, s) {
		got[tp.Name()] = lines(entriesOf(t, tp, Query{}))
		mustAppend(t, tp, Message("user", "and on"))
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("of %s there is\n%s\nwant\n%s", name, strings.Join(got[name], "\n"), strings.Join(want[name], "\n"))
		}
	}
	// A fork may be back whose removal was never acknowledged.
	if len(got) != len(want) && err == nil {
		t.Errorf("there are %d tapes and forks, %d were written to", len(got), len(want))
	}
	verified(t, tm.dir)
}

func mustTapesAndForks(t *testing.T, s *Store) []*Tape {
	t.Helper()
	all, err := tapesAndForks(t.Context(), s)
	mustDo(t, err)
	return all
}

// TestSoakFaultsInit does the same to the creation of a workspace: afterwards there is
// none, or a second Init completes it.
func TestSoakFaultsInit(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for _, gap := range []int{0, 1, forgets} {
		if gap == forgets && !testkit.Forgets {
			continue
		}
		step := testkit.Size(4, 1)
		if gap == forgets {
			step = testkit.Size(20, 1)
		}
		for n := 1 + rng.IntN(step); ; n += step {
			f := &faulty{n: n, gap: gap}
			root := t.TempDir()
			dir := filepath.Join(root, "ws")
			if gap == forgets {
				f.gap, f.lossy = 1, testkit.NewLossyDisk(t, root)
			}
			_, _, err := Init(t.Context(), dir, &InitOptions{Options: Options{Now: testkit.Clock, Fs: &disk.FS{Fault: f.fault}}})
			if !f.hit() {
				if err != nil {
					t.Errorf("without a fault: %v", err)
				}
				t.Logf("gap %d: about %d operations", gap, n-1)
				break
			}
			if f.lossy != nil {
				f.lossy.Restart(t)
				f.lossy.Close()
			}
			if err == nil {
				openTape(t, openFaulty(t, dir, nil), "main")
			}
			s, _, err2 := Init(t.Context(), dir, &InitOptions{Options: Options{Now: testkit.Clock}})
			if err2 != nil {
				t.Fatalf("operation %d (%s) failed with %v; the next Init says: %v", n, f.log[0], err, err2)
			}
			tp := openTape(t, s, "")
			mustAppend(t, tp, Message("user", "on we go"))
			if got := ids(entriesOf(t, tp, Query{})); !slices.Equal(got, []int64{1, 2}) {
				t.Fatalf("operation %d (%s) failed; then there are the entries %v", n, f.log[0], got)
			}
			verified(t, dir)
			if t.Failed() {
				t.Fatalf("operation %d (%s) failed with: %v", n, f.log[0], err)
			}
		}
	}
}

// TestSoakFaultsClone has the disk fail for good while a clone is made, and then forget what
// was never synced: a clone that was made is there, whole, and another one can be made
// otherwise. A setting that was made is one.
func TestSoakFaultsClone(t *testing.T) {
	if !testkit.Forgets {
		t.Skip("a disk cannot be made to forget here")
	}
	t.Parallel()
	remote := healthyRemote(t)
	rng := testkit.Random(t)
	step := testkit.Size(40, 1)
	for n := 1 + rng.IntN(step); ; n += step {
		root := t.TempDir()
		dir := filepath.Join(root, "ws")
		f := &faulty{n: n, gap: 1, lossy: testkit.NewLossyDisk(t, root)}
		o := &CloneOptions{Options: Options{Now: testkit.Clock, Fs: &disk.FS{Fault: f.fault}}}
		s, _, err := Clone(t.Context(), remote, dir, o)
		if err == nil {
			err = s.SetSetting("commit", "turn")
		}
		f.lossy.Restart(t)
		f.lossy.Close()
		if s == nil {
			if _, err := Open(t.Context(), dir, nil); err != nil {
				_, _, err := Clone(t.Context(), remote, dir, nil)
				mustDo(t, err)
			}
		}
		s = openFaulty(t, dir, nil)
		if is, _ := s.Setting("commit"); err == nil && is != "turn" {
			t.Errorf("the setting was made, and is %q", is)
		}
		if got := len(entriesOf(t, openTape(t, s, "main"), Query{})); got != 10 {
			t.Errorf("the clone has %d entries", got)
		}
		verified(t, dir)
		if t.Failed() {
			t.Fatalf("operation %d failed: %v: %v", n, f.log, err)
		}
		if !f.hit() {
			t.Logf("about %d operations", n)
			return
		}
	}
}
