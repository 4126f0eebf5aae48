//go:build !race

// Thousands of steps, one after another: slow, and nothing for the race detector to find.

package purge_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"tape/internal/store/projects"
	"tape/internal/store/purge"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestSoakForgetFaults makes the N-th disk operation of forgetting a tape fail: once, with all later ones, as
// if killed, or followed by a power cut. The other tapes stay as they are, and the same call, or one for
// another tape, finishes it.
func TestSoakForgetFaults(t *testing.T) {
	rng := testkit.Random(t)
	s, _ := aTapeToForget(t)
	dir, kept := s.Dir(), filepath.Join(t.TempDir(), "ws")
	_, err := s.CreateTape(t.Context(), "another")
	storetest.Must(t, err)
	storetest.CopyTree(t, dir, kept)
	forget := func(s *repo.Store, name string) error {
		_, err := purge.Forget(t.Context(), storetest.Inner(s), name, purge.ForgetOptions{})
		return err
	}
	main := storetest.AllLines(t, s)["main"]

	interrupted := func(n, gap int) (over bool) {
		f := &storetest.Faulty{N: n, Gap: gap}
		if gap == storetest.PowerCut {
			f.Gap, f.Lossy = 1, storetest.NewLossyDisk(t, dir)
			defer f.Lossy.Close()
		}
		err := forget(storetest.OpenFaulty(t, dir, f), "Gone")
		if f.Lossy != nil {
			f.Lossy.Restart(t)
		}
		defer func() {
			if t.Failed() {
				t.Logf("operation %d failed, gap %d: %v; the call returned %v", n, gap, f.Log, err)
			}
		}()
		if f.Hit() && err != nil && !errors.Is(err, storetest.ErrFault) {
			t.Errorf("the error hides its cause: %v", err)
		}
		if !f.Hit() || err == nil {
			storetest.Must(t, err)
			storetest.WantNowhere(t, dir, theWord)
			return !f.Hit()
		}
		s := storetest.OpenFaulty(t, dir, nil)
		known, err2 := projects.ReadForgotten(storetest.Inner(s))
		storetest.Must(t, err2)
		if _, ok := storetest.AllLines(t, s)["Gone"]; !ok && !known.Has("Gone") {
			t.Error("the tape is gone, but is not noted as forgotten")
		}
		if known.Has("Gone") && rng.IntN(3) == 0 {
			storetest.Must(t, forget(s, "another")) // finishes forgetting Gone first
		} else {
			storetest.Must(t, forget(s, "Gone"))
		}
		storetest.WantNowhere(t, dir, theWord)
		if got := storetest.AllLines(t, s)["main"]; !slices.Equal(got, main) {
			t.Errorf("main has become %q", got)
		}
		if rng.IntN(4) == 0 {
			storetest.Healthy(t, dir)
		}
		return false
	}
	for _, gap := range []int{0, 1, storetest.PowerCut} {
		if gap == storetest.PowerCut && !storetest.HasLossyDisk {
			continue
		}
		step := testkit.Size(120, 1) // each gap begins at another operation
		for n := 1 + rng.IntN(step); ; n += step {
			storetest.Must(t, os.RemoveAll(dir))
			storetest.CopyTree(t, kept, dir)
			if interrupted(n, gap) || t.Failed() {
				t.Logf("gap %d: about %d operations", gap, n)
				break
			}
		}
	}
}
