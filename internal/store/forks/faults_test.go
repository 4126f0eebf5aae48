package forks_test

import (
	"context"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestSoakForkFaults makes the disk fail at each step of beginning, filling and closing forks.
func TestSoakForkFaults(t *testing.T) {
	on := storetest.OnTape
	fork := func(at string) func(context.Context, *repo.Store) error {
		return on("main", func(ctx context.Context, tp *repo.Tape) error { _, err := tp.ForkAt(ctx, "y", at); return err })
	}
	storetest.TryFaults(t, []storetest.FaultCase{
		{Name: "fork", Setup: storetest.TwoSides, Run: fork("")},
		{Name: "fork at an entry", Setup: storetest.CommittedSides, Run: fork("@2")},
		{Name: "append in the fork", Setup: storetest.TwoSides, Run: on("main/x", func(ctx context.Context, f *repo.Tape) error {
			_, err := f.Append(ctx, nil, repo.Message("user", "x4"), repo.Event("x5", nil), repo.System("x6"))
			return err
		})},
		{Name: "first append after gc", Setup: func(t *testing.T, s *repo.Store) {
			storetest.CommittedSides(t, s)
			if _, err := s.GC(t.Context(), &repo.GCOptions{Idle: -1, WorktreesOnly: true}); err != nil {
				t.Fatal(err)
			}
		}, Run: on("main/x", func(ctx context.Context, f *repo.Tape) error {
			_, err := f.Append(ctx, nil, repo.Message("user", "x4"))
			return err
		})},
		{Name: "discard", Setup: storetest.TwoSides, Run: on("main/x", func(ctx context.Context, f *repo.Tape) error { return f.Discard(ctx) })},
		{Name: "remove", Setup: func(t *testing.T, s *repo.Store) {
			other, err := s.CreateTape(t.Context(), "other")
			if err != nil {
				t.Fatal(err)
			}
			storetest.Append(t, other, repo.Message("user", "one"))
		}, Run: on("other", func(ctx context.Context, tp *repo.Tape) error { _, err := tp.Remove(ctx, true); return err })},
	}, storetest.Pace{Alone: testkit.Size(100, 1), Others: testkit.Size(200, 1), GoOn: 1})
}
