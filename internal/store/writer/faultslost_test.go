//go:build !race

// Thousands of steps, one after another: slow, and nothing for the race detector to find.

package writer_test

import (
	"path/filepath"
	"slices"
	"tape/internal/git/disk"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestSoakFaultsInit makes the disk fail at each step of creating a workspace: afterwards it does not exist, or a
// second Init completes it.
func TestSoakFaultsInit(t *testing.T) {
	t.Parallel()
	rng := testkit.Random(t)
	for _, gap := range []int{0, 1, storetest.PowerCut} {
		if gap == storetest.PowerCut && !storetest.HasLossyDisk {
			continue
		}
		step := testkit.Size(8, 1)
		if gap == storetest.PowerCut {
			step = testkit.Size(40, 1)
		}
		for n := 1 + rng.IntN(step); ; n += step {
			f := &storetest.Faulty{N: n, Gap: gap}
			root := t.TempDir()
			dir := filepath.Join(root, "ws")
			if gap == storetest.PowerCut {
				f.Gap, f.Lossy = 1, storetest.NewLossyDisk(t, root)
			}
			_, _, err := repo.Init(t.Context(), dir, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock, Fs: &disk.FS{Fault: f.Fault}}})
			if !f.Hit() {
				if err != nil {
					t.Errorf("without a fault: %v", err)
				}
				t.Logf("gap %d: about %d operations", gap, n-1)
				break
			}
			if f.Lossy != nil {
				f.Lossy.Restart(t)
				f.Lossy.Close()
			}
			if err == nil {
				storetest.Tape(t, storetest.OpenFaulty(t, dir, nil), "main")
			}
			s, _, err2 := repo.Init(t.Context(), dir, &repo.InitOptions{Options: repo.Options{Now: testkit.Clock}})
			if err2 != nil {
				t.Fatalf("operation %d (%s) failed with %v; the next Init says: %v", n, f.Log[0], err, err2)
			}
			tp := storetest.Tape(t, s, "")
			storetest.Append(t, tp, repo.Message("user", "on we go"))
			if got := storetest.IDs(storetest.Entries(t, tp, repo.Query{})); !slices.Equal(got, []int64{1, 2}) {
				t.Fatalf("operation %d (%s) failed; then the tape has the entries %v, want 1 and 2", n, f.Log[0], got)
			}
			storetest.Healthy(t, dir)
			if t.Failed() {
				t.Fatalf("operation %d (%s) failed with: %v", n, f.Log[0], err)
			}
		}
	}
}

// TestSoakFaultsClone makes the disk fail for good during a clone, and then lose what was never synced. A clone
// that was reported as done is complete; otherwise a second one succeeds. A setting that was acknowledged is set.
func TestSoakFaultsClone(t *testing.T) {
	if !storetest.HasLossyDisk {
		t.Skip("needs a disk that loses unsynced writes")
	}
	t.Parallel()
	remote := storetest.HealthyRemote(t)
	rng := testkit.Random(t)
	step := testkit.Size(40, 1)
	for n := 1 + rng.IntN(step); ; n += step {
		root := t.TempDir()
		dir := filepath.Join(root, "ws")
		f := &storetest.Faulty{N: n, Gap: 1, Lossy: storetest.NewLossyDisk(t, root)}
		o := &repo.CloneOptions{Options: repo.Options{Now: testkit.Clock, Fs: &disk.FS{Fault: f.Fault}}}
		s, _, err := repo.Clone(t.Context(), remote, dir, o)
		if err == nil {
			err = s.SetSetting("commit", "turn")
		}
		f.Lossy.Restart(t)
		f.Lossy.Close()
		if s == nil {
			if _, err := repo.Open(t.Context(), dir, nil); err != nil {
				_, _, err := repo.Clone(t.Context(), remote, dir, nil)
				storetest.Must(t, err)
			}
		}
		s = storetest.OpenFaulty(t, dir, nil)
		if value, _ := s.Setting("commit"); err == nil && value != "turn" {
			t.Errorf("commit was set to turn without an error, but is %q", value)
		}
		if got := len(storetest.Entries(t, storetest.Tape(t, s, "main"), repo.Query{})); got != 10 {
			t.Errorf("the clone has %d entries, want 10", got)
		}
		storetest.Healthy(t, dir)
		if t.Failed() {
			t.Fatalf("operation %d failed: %v: %v", n, f.Log, err)
		}
		if !f.Hit() {
			t.Logf("about %d operations", n)
			return
		}
	}
}
