package remotes_test

import (
	"context"
	"errors"
	"path/filepath"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// sharedInside makes a remote with the tape as it is, then the tape continues. The remote is in the folder of the
// workspace, and so is restored with it.
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

// TestSoakRemoteFaults makes the disk fail at each step of a push and of a fetch.
func TestSoakRemoteFaults(t *testing.T) {
	storetest.TryFaults(t, []storetest.FaultCase{
		{Name: "push", Setup: func(t *testing.T, s *repo.Store) { sharedInside(t, s) }, Run: func(ctx context.Context, s *repo.Store) error {
			if err := sent(s.Push(ctx, "origin", &repo.PushOptions{Forks: true})); err != nil {
				return err
			}
			return sent(s.Fetch(ctx, "origin", nil)) // what was sent, but not recorded
		}},
		{Name: "fetch", Setup: func(t *testing.T, s *repo.Store) {
			remote := sharedInside(t, s)
			other := storetest.Clone(t, remote)
			storetest.TwoSides(t, other)
			storetest.Push(t, other, &repo.PushOptions{Forks: true})
		}, Run: func(ctx context.Context, s *repo.Store) error { return sent(s.Fetch(ctx, "origin", nil)) }},
	}, storetest.Pace{Alone: testkit.Size(60, 1), Others: testkit.Size(120, 1), GoOn: 1})
}
