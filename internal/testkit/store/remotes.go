package storetest

import (
	"context"
	"errors"
	"path/filepath"
	"tape/internal/store/join"
	"tape/internal/testkit"
	"tape/repo"
	"testing"
)

// HealthyRemote makes a bare repository with a tape that has handoffs, a merged fork and
// an open fork. It returns the repository's folder.
func HealthyRemote(t testing.TB) string {
	t.Helper()
	s := New(t, nil)
	tp := Tape(t, s, "main")
	Append(t, tp, repo.Message("user", "one"), repo.Event("started", nil))
	Handoff(t, tp, "second")
	Append(t, tp, repo.Message("user", "two"))
	Handoff(t, tp, "third")
	Append(t, tp, repo.Message("user", "three"), repo.Message("assistant", "four"))
	merged := Fork(t, tp, "merged", "")
	Append(t, merged, repo.Message("user", "of the fork"))
	Append(t, tp, repo.Message("user", "five"))
	Merge(t, merged, join.Options{})
	open := Fork(t, tp, "try", "")
	Append(t, open, repo.Message("user", "tried"))
	Handoff(t, open, "tried")
	dir := filepath.Join(t.TempDir(), "good.git")
	Git(t, s.Dir(), "clone", "-q", "--mirror", "--no-hardlinks", ".", dir)
	return dir
}

// Published publishes main to a remote, where somebody else appends to it, and fetches
// that. If both is set, main has also grown here: by a phase, and by entries that are
// not committed.
func Published(t *testing.T, s *repo.Store, both bool) (remote string) {
	t.Helper()
	m := Tape(t, s, "main")
	Append(t, m, repo.Message("user", "one"))
	Handoff(t, m, "second")
	remote = Remote(t, s)
	Push(t, s, nil)
	other := Clone(t, remote)
	theirs := Tape(t, other, "main")
	Append(t, theirs, repo.Message("user", "theirs"))
	Handoff(t, theirs, "third")
	Append(t, theirs, repo.Message("user", "theirs again"))
	Push(t, other, nil)
	if both {
		Append(t, m, repo.Message("user", "ours"))
		Handoff(t, m, "ours")
		Append(t, m, repo.Message("user", "ours again"))
	}
	_, err := s.Fetch(t.Context(), "origin", nil)
	Must(t, err)
	return remote
}

// Join merges the main that was fetched from origin into main, as a pull does.
func Join(ctx context.Context, s *repo.Store) error {
	status, err := join.Join(ctx, Inner(s), "origin", "main")
	return errors.Join(err, status.Err)
}

// Push pushes to origin, which must reject nothing.
func Push(t testing.TB, s *repo.Store, o *repo.PushOptions) []repo.RefStatus {
	t.Helper()
	done, err := s.Push(t.Context(), "origin", o)
	Must(t, err)
	for _, d := range done {
		Must(t, d.Err)
	}
	return done
}

// Clone clones a remote to a workspace, which Healthy checks when the test ends.
func Clone(t testing.TB, remote string) *repo.Store {
	t.Helper()
	s, _, err := repo.Clone(t.Context(), remote, filepath.Join(t.TempDir(), "clone"), &repo.CloneOptions{Options: repo.Options{Now: testkit.Clock}})
	Must(t, err)
	HealthyAtEnd(t, s.Dir())
	return s
}

// Remote makes a bare repository, which is the store's remote origin.
func Remote(t testing.TB, s *repo.Store) (remote string) {
	t.Helper()
	remote = filepath.Join(t.TempDir(), "remote.git")
	Git(t, s.Dir(), "init", "-q", "--bare", remote)
	Must(t, s.AddRemote(t.Context(), "origin", remote))
	return remote
}
