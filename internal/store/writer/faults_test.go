//go:build !race

// Thousands of steps, one after another: slow, and nothing for the race detector to find.

package writer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"tape/internal/store/layout"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func almostSealed(t *testing.T, s *repo.Store) {
	storetest.Append(t, storetest.Tape(t, s, "main"), storetest.Big(layout.SealSize, "fills the file "))
}

// commitsEvery returns a setup with uncommitted entries and a commit policy.
func commitsEvery(policy string) func(t *testing.T, s *repo.Store) {
	return func(t *testing.T, s *repo.Store) {
		storetest.SomeEntries(t, s)
		storetest.Must(t, s.SetSetting("commit", policy))
	}
}

func faultCases() []storetest.FaultCase {
	appending := func(drafts ...repo.Draft) func(context.Context, *repo.Store) error {
		return storetest.OnTape("main", func(ctx context.Context, tp *repo.Tape) error {
			_, err := tp.Append(ctx, nil, drafts...)
			return err
		})
	}
	var batch []repo.Draft
	for i := range 6 { // enough to fill a file
		batch = append(batch, storetest.Big(60_000, fmt.Sprint(i)), repo.Event("step", nil))
	}
	handoff := storetest.OnTape("main", func(ctx context.Context, tp *repo.Tape) error {
		_, err := tp.Handoff(ctx, repo.Anchor{Name: "third", Summary: "all done", State: []byte(`{"n":1.0}`)})
		return err
	})
	return []storetest.FaultCase{
		{Name: "append/one", Setup: storetest.SomeEntries, Run: appending(repo.Message("user", "three"))},
		{Name: "append/new-file", Setup: storetest.SomeEntries, Run: appending(repo.Event("three", nil))},
		{Name: "append/sealed", Setup: almostSealed, Run: appending(repo.Message("user", "next file"))},
		{Name: "append/batch", Setup: storetest.SomeEntries, Run: appending(batch...)},
		{Name: "append/then-commit", Late: true, Extra: true, Setup: commitsEvery("2"), Run: appending(repo.Message("user", "three"))},
		{Name: "append/commit-before", Extra: true, Setup: commitsEvery("turn"), Run: appending(repo.Message("user", "three"))},
		{Name: "append/batch-and-commit", Extra: true, Setup: commitsEvery("5"), Run: appending(batch...)},
		{Name: "handoff", Setup: storetest.SomeEntries, Run: handoff},
		{Name: "handoff/after-seal", Extra: true, Setup: func(t *testing.T, s *repo.Store) {
			almostSealed(t, s)
			storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "in the second file"))
		}, Run: handoff},
		{Name: "update/many-phases", Extra: true, Setup: storetest.SomeEntries, Run: storetest.OnTape("main", func(ctx context.Context, tp *repo.Tape) error {
			_, err := tp.Update(ctx, func(tx *repo.Tx) error {
				for i := range 2 {
					if _, err := tx.AppendEntry(ctx, repo.Message("user", fmt.Sprint(i))); err != nil {
						return err
					}
					if _, err := tx.Handoff(ctx, repo.Anchor{Name: fmt.Sprint("step-", i)}); err != nil {
						return err
					}
				}
				_, err := tx.AppendEntry(ctx, repo.Event("end", nil))
				return err
			})
			return err
		})},
		{Name: "artifact/add", Setup: storetest.SomeEntries, Run: storetest.OnTape("main", func(ctx context.Context, tp *repo.Tape) error {
			a, err := tp.AddArtifact(ctx, repo.Artifact{}, strings.NewReader("a new one"))
			if err == nil {
				_, err = tp.Append(ctx, nil, storetest.ReferTo("see", a))
			}
			return err
		})},
		{Name: "artifact/refer", Setup: storetest.WithArtifact, Run: appending(storetest.ReferTo("again", storetest.ArtifactNamed("late", storetest.LateContent)))},
		{Name: "artifact/refer-to-older", Setup: func(t *testing.T, s *repo.Store) {
			storetest.WithArtifact(t, s)
			storetest.Handoff(t, storetest.Tape(t, s, "main"), "third")
		}, Run: appending(repo.Event("before", nil), storetest.ReferTo("again", storetest.ArtifactNamed("late", storetest.LateContent)))},
		{Name: "artifact/handoff", Setup: storetest.WithArtifact, Run: handoff},
		{Name: "artifact/checkpoint", Extra: true, Setup: storetest.WithArtifact, Run: storetest.OnTape("main", func(ctx context.Context, tp *repo.Tape) error {
			_, _, err := tp.Checkpoint(ctx)
			return err
		})},
		{Name: "checkpoint", Setup: storetest.SomeEntries, Run: storetest.OnTape("main", func(ctx context.Context, tp *repo.Tape) error {
			_, _, err := tp.Checkpoint(ctx)
			return err
		})},
		{Name: "reset", Setup: func(t *testing.T, s *repo.Store) {
			storetest.SomeEntries(t, s)
			storetest.Checkpoint(t, storetest.Tape(t, s, "main"))
		}, Run: storetest.OnTape("main", func(ctx context.Context, tp *repo.Tape) error {
			_, err := tp.Reset(ctx, false)
			return err
		})},
		{Name: "restore", Setup: func(t *testing.T, s *repo.Store) {
			storetest.SomeEntries(t, s)
			if _, err := storetest.Tape(t, s, "main").Reset(t.Context(), true); err != nil {
				t.Fatal(err)
			}
		}, Run: storetest.OnTape("main", func(ctx context.Context, tp *repo.Tape) error {
			_, _, err := tp.Restore(ctx, repo.Latest)
			return err
		})},
		{Name: "create-tape", Setup: storetest.SomeEntries, Run: func(ctx context.Context, s *repo.Store) error {
			_, err := s.CreateTape(ctx, "other/tape")
			return err
		}},
		{Name: "first-write", Setup: func(t *testing.T, s *repo.Store) {
			if _, err := s.CreateTape(t.Context(), "other/tape"); err != nil {
				t.Fatal(err)
			}
		}, Run: storetest.OnTape("other/tape", func(ctx context.Context, tp *repo.Tape) error {
			_, err := tp.Append(ctx, nil, repo.Message("user", "hello"))
			return err
		})},
		{Name: "linked/handoff", Extra: true, Setup: func(t *testing.T, s *repo.Store) {
			tp, err := s.CreateTape(t.Context(), "other/tape")
			storetest.Must(t, err)
			storetest.Append(t, tp, repo.Message("user", "hello"))
		}, Run: storetest.OnTape("other/tape", func(ctx context.Context, tp *repo.Tape) error {
			_, err := tp.Handoff(ctx, repo.Anchor{Name: "second"})
			return err
		})},
	}
}

// TestSoakFaults makes the N-th disk operation of every change fail: only that one; that one and all that follow; the
// same and then a power cut; or a disk that fails for good while the change is being undone. Whatever fails, the
// change has happened or not, nothing needs a repair, and the next call works. Long runs try every N.
func TestSoakFaults(t *testing.T) {
	storetest.TryFaults(t, faultCases(), storetest.Pace{Alone: testkit.Size(20, 1), Others: testkit.Size(60, 1), GoOn: testkit.Size(8, 1)})
}

// A call that refers to an artifact from a failed call does not assume that the artifact was synced.
func TestReferAfterFault(t *testing.T) {
	if !storetest.HasLossyDisk {
		t.Skip("needs a disk that loses unsynced writes")
	}
	cases := faultCases()
	tm := cases[slices.IndexFunc(cases, func(c storetest.FaultCase) bool { return c.Name == "artifact/refer-to-older" })].Template(t)
	for n, over := 1, false; !over && !t.Failed(); n++ {
		over = tm.Interrupted(t, n, storetest.LatePowerCut)
	}
}

// Whichever operation fails, and whatever a power cut loses, each tape exists with all its entries or not at all.
func TestSoakBulkFaults(t *testing.T) {
	storetest.TryFaults(t, []storetest.FaultCase{
		{Name: "new", Setup: storetest.SomeEntries, Run: func(ctx context.Context, s *repo.Store) error {
			_, err := createBulk(ctx, s, bulkTapes...)
			return err
		}},
		{Name: "grown", Setup: func(t *testing.T, s *repo.Store) {
			if lost, err := createBulk(t.Context(), s, bulkTapes...); err != nil || lost != nil {
				t.Fatalf("creating tapes in bulk: lost %v, error %v", lost, err)
			}
		}, Run: func(ctx context.Context, s *repo.Store) error { return addBare(ctx, s, "other/tape") }},
	}, storetest.Pace{Alone: testkit.Size(15, 1), Others: testkit.Size(60, 1), GoOn: testkit.Size(8, 1)})
}
