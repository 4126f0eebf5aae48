package join_test

import (
	"context"
	"tape/internal/store/join"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// mergedByHost leaves a merge that needs completing, beside an uncommitted entry.
func mergedByHost(t *testing.T, s *repo.Store) {
	storetest.CommittedSides(t, s)
	storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "not committed"))
	storetest.MergeWithGit(t, s.Dir(), "host, our tree")
}

func joinFaults() []storetest.FaultCase {
	on := storetest.OnTape
	merge := func(o join.Options) func(context.Context, *repo.Store) error {
		return on("main/x", func(ctx context.Context, f *repo.Tape) error {
			_, err := join.Merge(ctx, storetest.InnerTape(f), o)
			return err
		})
	}
	complete := on("main", func(ctx context.Context, tp *repo.Tape) error { return join.Complete(ctx, storetest.InnerTape(tp)) })
	return []storetest.FaultCase{
		{Name: "merge", Setup: storetest.TwoSides, Run: merge(join.Options{}), Between: merge(join.Options{Keep: true})},
		{Name: "merge with artifacts", Setup: func(t *testing.T, s *repo.Store) {
			storetest.TwoSides(t, s)
			storetest.WithArtifact(t, s)
			storetest.AppendArtifact(t, storetest.Tape(t, s, "main/x"), "of the fork")
		}, Run: merge(join.Options{Keep: true})},
		{Name: "merge, and keep", Setup: storetest.TwoSides, Run: merge(join.Options{Keep: true})},
		{Name: "merge a summary", Setup: storetest.TwoSides, Run: merge(join.Options{Keep: true, Summary: "tried"})},
		{Name: "complete", Setup: mergedByHost, Run: complete},
		{Name: "pull a fast-forward", Setup: func(t *testing.T, s *repo.Store) { storetest.Published(t, s, false) }, Run: storetest.Join},
		{Name: "pull a diverged tape", Setup: func(t *testing.T, s *repo.Store) { storetest.Published(t, s, true) }, Run: storetest.Join},
		{Name: "pull artifacts", Setup: func(t *testing.T, s *repo.Store) {
			storetest.Published(t, s, true)
			storetest.WithArtifact(t, s)
		}, Run: storetest.Join},
		{Name: "continue", Merging: true, Setup: stoppedMerge, Run: on("main", func(ctx context.Context, tp *repo.Tape) error {
			_, err := join.ContinueMerge(ctx, storetest.InnerTape(tp))
			return err
		})},
	}
}

// TestSoakJoinFaults makes the disk fail at each step of combining two sides.
func TestSoakJoinFaults(t *testing.T) {
	storetest.TryFaults(t, joinFaults(), storetest.Pace{Alone: testkit.Size(100, 1), Others: testkit.Size(200, 1), GoOn: 1})
}
