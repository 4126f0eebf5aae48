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

// sharedInside pushes the tape to a new remote, then adds entries that the remote lacks. The remote is inside the
// workspace, so that it is restored with it.
func sharedInside(t *testing.T, s *repo.Store) (remote string) {
	t.Helper()
	remote = filepath.Join(s.Dir(), ".git", "remote.git")
	storetest.Git(t, s.Dir(), "init", "-q", "--bare", remote)
	storetest.Must(t, s.AddRemote(t.Context(), "origin", remote))
	storetest.Push(t, s, nil)
	storetest.TwoSides(t, s)
	return remote
}

// failure joins err with the errors of the statuses.
func failure(all []repo.RefStatus, err error) error {
	for _, one := range all {
		err = errors.Join(err, one.Err)
	}
	return err
}

// TestSoakRemoteFaults makes the disk fail at each step of a push and of a fetch.
func TestSoakRemoteFaults(t *testing.T) {
	storetest.TryFaults(t, []storetest.FaultCase{
		{Name: "push", Setup: func(t *testing.T, s *repo.Store) { sharedInside(t, s) }, Run: func(ctx context.Context, s *repo.Store) error {
			if err := failure(s.Push(ctx, "origin", &repo.PushOptions{Forks: true})); err != nil {
				return err
			}
			return failure(s.Fetch(ctx, "origin", nil)) // records what was sent but not noted
		}},
		{Name: "fetch", Setup: func(t *testing.T, s *repo.Store) {
			remote := sharedInside(t, s)
			other := storetest.Clone(t, remote)
			storetest.TwoSides(t, other)
			storetest.Push(t, other, &repo.PushOptions{Forks: true})
		}, Run: func(ctx context.Context, s *repo.Store) error { return failure(s.Fetch(ctx, "origin", nil)) }},
	}, storetest.Pace{Alone: testkit.Size(100, 1), Others: testkit.Size(200, 1), GoOn: 1})
}
