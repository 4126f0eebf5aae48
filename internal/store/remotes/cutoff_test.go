package remotes_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"tape/internal/git/disk"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/remotes"
	"tape/internal/store/workspace"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// Operations with remotes, cut off at any step.

// TestSoakPullCutOff makes all disk operations of a pull fail from the N-th on, as if it was killed. It pulls a new tape, a
// new fork, a tape that is fast-forwarded and one that has diverged. The workspace is valid afterwards, and the next pull
// brings the rest.
func TestSoakPullCutOff(t *testing.T) {
	rng := testkit.Random(t)
	ada := storetest.New(t, nil)
	remote := storetest.Published(t, ada, true)
	storetest.Must(t, storetest.Join(t.Context(), ada))
	mustCreate := func(name string) *repo.Tape {
		tp, err := ada.CreateTape(t.Context(), name)
		storetest.Must(t, err)
		return tp
	}
	old := mustCreate("old")
	storetest.Push(t, ada, nil)
	bob := storetest.Clone(t, remote)
	storetest.Append(t, storetest.Tape(t, ada, "main"), repo.Message("user", "of ada"))
	storetest.Handoff(t, storetest.Tape(t, ada, "main"), "ada's")
	x := storetest.Fork(t, storetest.Tape(t, ada, "main"), "x", "")
	for _, tp := range []*repo.Tape{old, mustCreate("new"), x} {
		storetest.Append(t, tp, repo.Message("user", "in "+tp.Name()))
		storetest.Handoff(t, tp, "step")
		storetest.Append(t, tp, repo.Message("user", "more in "+tp.Name()))
	}
	storetest.Push(t, ada, &repo.PushOptions{Forks: true})
	storetest.Append(t, storetest.Tape(t, bob, "main"), repo.Message("user", "of bob"))
	storetest.Handoff(t, storetest.Tape(t, bob, "main"), "bob's")
	_, err := bob.Fetch(t.Context(), "origin", nil)
	storetest.Must(t, err)

	dir, kept := bob.Dir(), filepath.Join(t.TempDir(), "ws") // restored at the same path, which linked trees name
	storetest.CopyTree(t, dir, kept)
	var want string
	step := testkit.Size(25, 1)
	for n := rng.IntN(step) + 1; ; n += step {
		f := &storetest.Faulty{N: n, Gap: 1}
		cut := joinAll(t.Context(), storetest.OpenFaulty(t, dir, f))
		if storetest.Healthy(t, dir); rng.IntN(2) == 0 {
			storetest.Recovered(t, dir)
		}
		storetest.Must(t, joinAll(t.Context(), storetest.OpenFaulty(t, dir, nil)))
		storetest.Healthy(t, dir)
		storetest.WantClean(t, dir)
		got := storetest.History(t, dir)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("after pulling again the history is\n%s\nwant\n%s", got, want)
		}
		if t.Failed() {
			t.Fatalf("operation %d failed: %v; the pull said %v", n, f.Log, cut)
		}
		if !f.Hit() {
			t.Logf("about %d operations", n)
			break
		}
		storetest.Must(t, os.RemoveAll(dir))
		storetest.CopyTree(t, kept, dir)
	}
}

// If a clone is interrupted while it is moved into an existing folder, the next clone into that folder succeeds.
func TestSoakCloneCutOff(t *testing.T) {
	s := storetest.New(t, nil)
	remote := storetest.Remote(t, s)
	storetest.Push(t, s, nil)
	clone := func(n int) (dir string, f *storetest.Faulty, err error) {
		dir, f = filepath.Join(t.TempDir(), "ws"), &storetest.Faulty{N: n, Gap: 1}
		storetest.Must(t, os.Mkdir(dir, 0o700))
		_, _, err = repo.Clone(t.Context(), remote, dir, &repo.CloneOptions{Options: repo.Options{Now: testkit.Clock, Fs: &disk.FS{Fault: f.Fault}}})
		return dir, f, err
	}
	_, whole, err := clone(1 << 30)
	storetest.Must(t, err)
	for n := whole.Seen; n > max(0, whole.Seen-testkit.Size(15, 1000)); n-- { // it is moved in at the end
		dir, f, err := clone(n)
		if err == nil || workspace.IsWorkspace(dir) {
			continue // the clone was complete
		}
		if _, _, err := repo.Clone(t.Context(), remote, dir, nil); err != nil {
			t.Errorf("operation %d (%s) failed, and the next clone failed too: %v", n, f.Log[0], err)
		}
	}
}

// An interrupted removal of a remote can be repeated, and leaves nothing.
func TestRemoveRemoteCutOff(t *testing.T) {
	made := storetest.New(t, nil)
	storetest.Published(t, made, false)
	for n := 1; ; n++ {
		dir := filepath.Join(t.TempDir(), "ws")
		storetest.CopyTree(t, made.Dir(), dir)
		f := &storetest.Faulty{N: n, Gap: 1}
		err := storetest.OpenFaulty(t, dir, f).RemoveRemote(t.Context(), "origin")
		if !f.Hit() {
			storetest.Must(t, err)
			break
		}
		s := storetest.OpenFaulty(t, dir, nil)
		if err := s.RemoveRemote(t.Context(), "origin"); err != nil && !errors.Is(err, repo.ErrNotFound) {
			t.Errorf("operation %d (%s) failed, and removing again: %v; want nil or ErrNotFound", n, f.Log[0], err)
		}
		for _, prefix := range []string{layout.FetchedRefs("origin"), layout.AcceptedRefs("origin"), "refs/remotes/origin/"} {
			if refs, _ := storetest.Inner(s).Git().Refs(prefix); len(refs) > 0 {
				t.Fatalf("operation %d (%s) failed, and removing again leaves %d refs, want 0", n, f.Log[0], len(refs))
			}
		}
	}
}

// joinAll merges everything that was fetched.
func joinAll(ctx context.Context, s *repo.Store) error {
	_, todo, err := remotes.Published(ctx, storetest.Inner(s), "origin", nil)
	for _, status := range todo {
		if err != nil {
			return err
		}
		status, err = join.Join(ctx, storetest.Inner(s), "origin", status.Tape)
		err = errors.Join(err, status.Err)
	}
	return err
}
