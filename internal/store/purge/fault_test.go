//go:build !race

// Thousands of steps, one after another: slow, and nothing for the race detector to find.

package purge_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"tape/internal/store/join"
	"tape/internal/store/purge"
	"tape/internal/store/rewrite"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// purgeFaultStore is a workspace with the same secret in many places.
func purgeFaultStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
	storetest.Must(t, err)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", storetest.Leak(1)))
	storetest.Handoff(t, m, "second")
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "x "+storetest.Leak(1)))
	storetest.Handoff(t, x, "in the fork")
	storetest.Fork(t, x, "y", "")
	storetest.Merge(t, x, join.Options{Keep: true})
	storetest.Git(t, dir, "branch", "mine", "tape/main")
	storetest.Git(t, dir, "update-ref", "refs/remotes/origin/tape/main", "tape/main")
	storetest.Append(t, m, repo.Message("user", "not committed"))
	return dir
}

// TestSoakPurgeFaults makes the N-th disk operation of a purge fail: once, with all later ones, as if killed, or
// followed by a power cut. Each tape is the old or the new one, and purging again finishes the purge.
func TestSoakPurgeFaults(t *testing.T) {
	rng := testkit.Random(t)
	purge := func(s *repo.Store) error {
		_, err := storetest.Tape(t, s, "main").Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}, Find: storetest.LeakFinder{}})
		return err
	}
	dir, kept := purgeFaultStore(t), filepath.Join(t.TempDir(), "ws") // restored at the same path, which linked trees name
	storetest.CopyTree(t, dir, kept)
	s := storetest.OpenFaulty(t, dir, nil)
	old := storetest.AllLines(t, s)
	storetest.Must(t, purge(s))
	storetest.Healthy(t, dir)
	done := storetest.AllLines(t, s)

	for _, gap := range []int{0, 1, storetest.PowerCut} {
		if gap == storetest.PowerCut && !storetest.HasLossyDisk {
			continue
		}
		step := testkit.Size(400, 9) // each gap begins at another operation
		for n := 1 + rng.IntN(step); ; n += step {
			storetest.Must(t, os.RemoveAll(dir))
			storetest.CopyTree(t, kept, dir)
			if purgeInterrupted(t, rng, purge, dir, n, gap, old, done) || t.Failed() {
				t.Logf("gap %d: about %d operations", gap, n)
				break
			}
		}
	}
}

func purgeInterrupted(t *testing.T, rng *rand.Rand, purge func(*repo.Store) error, dir string, n, gap int, old, done map[string][]string) (over bool) {
	f := &storetest.Faulty{N: n, Gap: gap}
	if gap == storetest.PowerCut {
		f.Gap, f.Lossy = 1, storetest.NewLossyDisk(t, dir)
		defer f.Lossy.Close()
	}
	err := purge(storetest.OpenFaulty(t, dir, f))
	if f.Lossy != nil {
		f.Lossy.Restart(t)
	}
	if !f.Hit() {
		storetest.Must(t, err)
		storetest.WantNowhere(t, dir, storetest.Leak(1))
		return true
	}
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, gap %d: %v; the call returned %v", n, gap, f.Log, err)
		}
	}()
	if err != nil && !errors.Is(err, storetest.ErrFault) {
		t.Errorf("the error hides its cause: %v", err)
	}
	s := storetest.OpenFaulty(t, dir, nil)
	for name, lines := range storetest.AllLines(t, s) {
		if !slices.Equal(lines, old[name]) && !slices.Equal(lines, withoutIDs(done[name], lines)) {
			t.Errorf("%s is neither the old nor the new one:\n%s", name, strings.Join(lines, "\n"))
		}
	}
	if rng.IntN(3) == 0 {
		// Somebody appends before the purge is finished.
		storetest.Append(t, storetest.Tape(t, s, "main/x"), repo.Message("user", "meanwhile"))
		storetest.Checkpoint(t, storetest.Tape(t, s, "main/x"))
	}
	if rng.IntN(3) == 0 {
		storetest.Healthy(t, dir)
	}
	if err := purge(s); err != nil && !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("purging again: %v", err)
	}
	storetest.WantNowhere(t, dir, storetest.Leak(1))
	if storetest.IsPurging(t, s) {
		t.Error("a purge is still unfinished")
	}
	storetest.Healthy(t, dir)
	storetest.WantClean(t, dir)
	return false
}

// withoutIDs replaces purge records in want with those in like. Their commit ids differ if another call committed
// entries.
func withoutIDs(want, like []string) []string {
	out := slices.Clone(want)
	for i := range min(len(out), len(like)) {
		if strings.Contains(out[i], rewrite.PurgedEvent) && bytes.Contains([]byte(like[i]), []byte(rewrite.PurgedEvent)) {
			out[i] = like[i]
		}
	}
	return out
}

// TestSoakPurgeCutOffThenAppend makes all disk operations of a purge fail from the N-th on, as if it was killed.
// Then somebody appends, perhaps the same secret again, and purges again. No entry is lost or doubled, and nothing
// of the secret is left, even where the scanner does not detect it.
func TestSoakPurgeCutOffThenAppend(t *testing.T) {
	rng := testkit.Random(t)
	dir := filepath.Join(t.TempDir(), "ws")
	s, _, err := repo.Init(t.Context(), dir, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
	storetest.Must(t, err)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one "+storetest.Leak(1)))
	storetest.Handoff(t, m, "with "+storetest.Leak(1))
	storetest.Append(t, m, repo.Message("user", "the key="+storetest.Leak(1)))
	storetest.Checkpoint(t, m)
	storetest.Git(t, dir, "branch", "mine", "tape/main")
	storetest.Append(t, m, repo.Message("user", "two "+storetest.Leak(1)))
	step := testkit.Size(150, 9)
	for n := 1 + rng.IntN(step); ; n += step {
		if purgeContinued(t, dir, n, rng.IntN(2) == 0) || t.Failed() {
			t.Logf("about %d operations", n)
			break
		}
	}
}

func purgeContinued(t *testing.T, template string, n int, again bool) (over bool) {
	dir := filepath.Join(t.TempDir(), "ws")
	storetest.CopyTree(t, template, dir)
	purge := func(s *repo.Store) error {
		_, err := storetest.Tape(t, s, "main").Purge(t.Context(), repo.PurgeOptions{Rules: []string{purge.AllRules}, Find: keyFinder{}})
		return err
	}
	f := &storetest.Faulty{N: n, Gap: 1}
	err := purge(storetest.OpenFaulty(t, dir, f))
	defer func() {
		if t.Failed() {
			t.Logf("operation %d failed, leaked again: %v; the call returned %v", n, again, err)
		}
	}()
	if n%2 == 0 { // the purge's record protects what it needs to continue; locks that were left may be in the way
		_ = exec.Command("git", "-C", dir, "gc", "-q", "--prune=now").Run()
	}
	s := storetest.OpenFaulty(t, dir, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "three"))
	if again {
		storetest.Checkpoint(t, m)
		storetest.Append(t, m, repo.Message("user", "four "+storetest.Leak(1)+", and the key="+storetest.Leak(1)))
	}
	if err := purge(s); err != nil && !errors.Is(err, repo.ErrNotFound) {
		t.Errorf("purging again: %v", err)
	}
	mark := "[redacted:key:" + storetest.Print("key", storetest.Leak(1)) + "]"
	want := []string{"[session/start]", "one " + mark, "[with " + mark + "]", "the key=" + mark, "two " + mark, "three"}
	if again {
		want = append(want, "four "+mark+", and the key="+mark)
	}
	if got := storetest.Said(t, m); !slices.Equal(got, want) {
		t.Errorf("the tape has %q, want %q", got, want)
	}
	storetest.WantNowhere(t, dir, storetest.Leak(1))
	if storetest.IsPurging(t, s) {
		t.Error("a purge is still unfinished")
	}
	storetest.Healthy(t, dir)
	storetest.WantClean(t, dir)
	return !f.Hit()
}

// TestPurgeOtherCutOff interrupts a purge after it has begun, and purges another tape: the first purge is finished
// completely, with its working tree.
func TestPurgeOtherCutOff(t *testing.T) {
	template := purgeFaultStore(t)
	s := storetest.OpenFaulty(t, template, nil)
	other, err := s.CreateTape(t.Context(), "other")
	storetest.Must(t, err)
	storetest.Append(t, other, repo.Message("user", "other "+storetest.Leak(2)))
	storetest.Checkpoint(t, other)
	purge := func(s *repo.Store, name string) error {
		_, err := storetest.Tape(t, s, name).Purge(t.Context(), repo.PurgeOptions{IDs: []int64{2}, Find: storetest.LeakFinder{}})
		return err
	}
	cut := 0
	step := testkit.Size(200, 5)
	for n := 1 + testkit.Random(t).IntN(step); !t.Failed(); n += step {
		dir := filepath.Join(t.TempDir(), "ws")
		storetest.CopyTree(t, template, dir)
		f := &storetest.Faulty{N: n, Gap: 1}
		_ = purge(storetest.OpenFaulty(t, dir, f), "main")
		s := storetest.OpenFaulty(t, dir, nil)
		if !f.Hit() {
			break
		}
		if !storetest.IsPurging(t, s) {
			continue
		}
		cut++
		if err := purge(s, "other"); err != nil {
			t.Errorf("operation %d failed, and another purge says: %v", n, err)
		}
		storetest.WantNowhere(t, dir, storetest.Leak(1))
		storetest.WantNowhere(t, dir, storetest.Leak(2))
		storetest.Healthy(t, dir)
		storetest.WantClean(t, dir)
	}
	if cut == 0 {
		t.Error("no purge was cut off once it had begun")
	}
}
