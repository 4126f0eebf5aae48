package upkeep_test

import (
	"context"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// TestSoakGCFaults makes the disk fail at each step of GC: readers and writers must not notice.
func TestSoakGCFaults(t *testing.T) {
	storetest.TryFaults(t, []storetest.FaultCase{
		{Name: "gc", Unseen: true, Setup: storetest.CommittedSides, Run: func(ctx context.Context, s *repo.Store) error {
			_, err := s.GC(ctx, &repo.GCOptions{Idle: -1})
			return err
		}},
	}, storetest.Pace{Alone: testkit.Size(100, 1), Others: testkit.Size(200, 1), GoOn: 1})
}
