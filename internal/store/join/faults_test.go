package join_test

import (
	"context"
	"errors"
	"path/filepath"
	"tape/internal/store/join"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

func committedSides(t *testing.T, s *repo.Store) {
	storetest.TwoSides(t, s)
	storetest.Checkpoint(t, storetest.Tape(t, s, "main"))
	storetest.Checkpoint(t, storetest.Tape(t, s, "main/x"))
}

// mergedByHost leaves a merge that has to be completed, beside an entry that was not
// committed.
func mergedByHost(t *testing.T, s *repo.Store) {
	committedSides(t, s)
	storetest.Append(t, storetest.Tape(t, s, "main"), repo.Message("user", "not committed"))
	storetest.MergeWithGit(t, s.Dir(), "host, our tree")
}

func forkFaults() []storetest.FaultCase {
	on := storetest.OnTape
	merge := func(o join.Options) func(context.Context, *repo.Store) error {
		return on("main/x", func(ctx context.Context, f *repo.Tape) error {
			_, err := join.Merge(ctx, storetest.InnerTape(f), o)
			return err
		})
	}
	fork := func(at string) func(context.Context, *repo.Store) error {
		return on("main", func(ctx context.Context, tp *repo.Tape) error { _, err := tp.ForkAt(ctx, "y", at); return err })
	}
	read := on("main", func(ctx context.Context, tp *repo.Tape) error { return join.Complete(ctx, storetest.InnerTape(tp)) })
	return []storetest.FaultCase{
		{Name: "fork", Setup: storetest.TwoSides, Run: fork("")},
		{Name: "fork at an entry", Setup: committedSides, Run: fork("@2")},
		{Name: "append in the fork", Setup: storetest.TwoSides, Run: on("main/x", func(ctx context.Context, f *repo.Tape) error {
			_, err := f.Append(ctx, nil, repo.Message("user", "x4"), repo.Event("x5", nil), repo.System("x6"))
			return err
		})},
		{Name: "first append after gc", Setup: func(t *testing.T, s *repo.Store) {
			committedSides(t, s)
			if _, err := s.GC(t.Context(), &repo.GCOptions{Idle: -1, WorktreesOnly: true}); err != nil {
				t.Fatal(err)
			}
		}, Run: on("main/x", func(ctx context.Context, f *repo.Tape) error {
			_, err := f.Append(ctx, nil, repo.Message("user", "x4"))
			return err
		})},
		{Name: "merge", Setup: storetest.TwoSides, Run: merge(join.Options{}), Between: merge(join.Options{Keep: true})},
		{Name: "merge with artifacts", Setup: func(t *testing.T, s *repo.Store) {
			storetest.TwoSides(t, s)
			storetest.WithArtifact(t, s)
			storetest.AppendArtifact(t, storetest.Tape(t, s, "main/x"), "of the fork")
		}, Run: merge(join.Options{Keep: true})},
		{Name: "merge, and keep", Setup: storetest.TwoSides, Run: merge(join.Options{Keep: true})},
		{Name: "merge a summary", Setup: storetest.TwoSides, Run: merge(join.Options{Keep: true, Summary: "tried"})},
		{Name: "discard", Setup: storetest.TwoSides, Run: on("main/x", func(ctx context.Context, f *repo.Tape) error { return f.Discard(ctx) })},
		{Name: "remove", Setup: func(t *testing.T, s *repo.Store) {
			other, err := s.CreateTape(t.Context(), "other")
			if err != nil {
				t.Fatal(err)
			}
			storetest.Append(t, other, repo.Message("user", "one"))
		}, Run: on("other", func(ctx context.Context, tp *repo.Tape) error { _, err := tp.Remove(ctx, true); return err })},
		{Name: "complete", Setup: mergedByHost, Run: read},
		{Name: "pull what goes on", Setup: func(t *testing.T, s *repo.Store) { storetest.Published(t, s, false) }, Run: storetest.Join},
		{Name: "pull what went apart", Setup: func(t *testing.T, s *repo.Store) { storetest.Published(t, s, true) }, Run: storetest.Join},
		{Name: "pull artifacts", Setup: func(t *testing.T, s *repo.Store) {
			storetest.Published(t, s, true)
			storetest.WithArtifact(t, s)
		}, Run: storetest.Join},
		{Name: "push", Setup: func(t *testing.T, s *repo.Store) { sharedInside(t, s) }, Run: func(ctx context.Context, s *repo.Store) error {
			if err := sent(s.Push(ctx, "origin", &repo.PushOptions{Forks: true})); err != nil {
				return err
			}
			return sent(s.Fetch(ctx, "origin", nil)) // what was sent, but not noted
		}},
		{Name: "fetch", Setup: func(t *testing.T, s *repo.Store) {
			remote := sharedInside(t, s)
			other := storetest.Clone(t, remote)
			storetest.TwoSides(t, other)
			storetest.Push(t, other, &repo.PushOptions{Forks: true})
		}, Run: func(ctx context.Context, s *repo.Store) error { return sent(s.Fetch(ctx, "origin", nil)) }},
		{Name: "gc", Unseen: true, Setup: committedSides, Run: func(ctx context.Context, s *repo.Store) error {
			_, err := s.GC(ctx, &repo.GCOptions{Idle: -1})
			return err
		}},
		{Name: "continue", Merging: true, Setup: stoppedMerge, Run: on("main", func(ctx context.Context, tp *repo.Tape) error {
			_, err := join.ContinueMerge(ctx, storetest.InnerTape(tp))
			return err
		})},
	}
}

// sharedInside makes a remote that has the tape as it is, and goes on. It is in the folder of
// the workspace, and so put back with it.
func sharedInside(t *testing.T, s *repo.Store) (remote string) {
	t.Helper()
	remote = filepath.Join(s.Dir(), ".git", "remote.git")
	storetest.Git(t, s.Dir(), "init", "-q", "--bare", remote)
	storetest.Must(t, s.AddRemote(t.Context(), "origin", remote))
	storetest.Push(t, s, nil)
	storetest.TwoSides(t, s)
	return remote
}

func sent(all []repo.RefStatus, err error) error {
	for _, one := range all {
		err = errors.Join(err, one.Err)
	}
	return err
}

// TestSoakForkFaults does what TestSoakFaults does with the changes around forks.
func TestSoakForkFaults(t *testing.T) {
	storetest.TryFaults(t, forkFaults(), storetest.Pace{Alone: testkit.Size(60, 1), Others: testkit.Size(120, 1), GoOn: 1})
}
