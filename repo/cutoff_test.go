package repo

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
	"testing"
)

// What is done with remotes, cut off at any step.

// TestSoakPullCutOff makes all disk operations of a pull fail from the N-th on, as if it was killed
// there: of a tape and a fork that are new here, one that goes on and one that has gone apart.
// Nothing is broken before the next pull, and that brings the rest.
func TestSoakPullCutOff(t *testing.T) {
	rng := testkit.Random(t)
	ada := testStore(t, nil)
	remote := published(t, ada, true)
	mustDo(t, joined(t.Context(), ada))
	mustCreate := func(name string) *Tape {
		tp, err := ada.CreateTape(t.Context(), name)
		mustDo(t, err)
		return tp
	}
	old := mustCreate("old")
	mustPush(t, ada, nil)
	bob := mustClone(t, remote)
	mustAppend(t, openTape(t, ada, "main"), Message("user", "of ada"))
	mustHandoff(t, openTape(t, ada, "main"), "ada's")
	x := mustFork(t, openTape(t, ada, "main"), "x", "")
	for _, tp := range []*Tape{old, mustCreate("new"), x} {
		mustAppend(t, tp, Message("user", "in "+tp.Name()))
		mustHandoff(t, tp, "step")
		mustAppend(t, tp, Message("user", "more in "+tp.Name()))
	}
	mustPush(t, ada, &PushOptions{Forks: true})
	mustAppend(t, openTape(t, bob, "main"), Message("user", "of bob"))
	mustHandoff(t, openTape(t, bob, "main"), "bob's")
	_, err := bob.Fetch(t.Context(), "origin", nil)
	mustDo(t, err)

	dir, kept := bob.Dir(), filepath.Join(t.TempDir(), "ws") // put back in its place: linked trees name that
	copyTree(t, dir, kept)
	var want string
	step := testkit.Size(11, 1)
	for n := rng.IntN(step) + 1; ; n += step {
		f := &faulty{n: n, gap: 1}
		cut := joinAll(t.Context(), openFaulty(t, dir, f))
		settledAll(t, dir)
		mustDo(t, joinAll(t.Context(), openFaulty(t, dir, nil)))
		verified(t, dir)
		got := history(t, dir)
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("pulling again made\n%s\nwant\n%s", got, want)
		}
		if t.Failed() {
			t.Fatalf("operation %d failed: %v; the pull said %v", n, f.log, cut)
		}
		if !f.hit() {
			t.Logf("about %d operations", n)
			break
		}
		mustDo(t, os.RemoveAll(dir))
		copyTree(t, kept, dir)
	}
}

// joinAll brings everything together that was fetched.
func joinAll(ctx context.Context, s *Store) error {
	_, todo, err := remotes.Published(ctx, s.in(), "origin", nil)
	for _, status := range todo {
		if err != nil {
			return err
		}
		status, err = join.Join(ctx, s.in(), "origin", status.Tape)
		err = errors.Join(err, status.Err)
	}
	return err
}

// A clone into a folder that is there, cut off while it is moved in: the next one goes on.
func TestSoakCloneCutOff(t *testing.T) {
	s := testStore(t, nil)
	remote := shared(t, s)
	mustPush(t, s, nil)
	clone := func(n int) (dir string, f *faulty, err error) {
		dir, f = filepath.Join(t.TempDir(), "ws"), &faulty{n: n, gap: 1}
		mustDo(t, os.Mkdir(dir, 0o700))
		_, _, err = Clone(t.Context(), remote, dir, &CloneOptions{Options: Options{Now: testkit.Clock, Fs: &disk.FS{Fault: f.fault}}})
		return dir, f, err
	}
	_, whole, err := clone(1 << 30)
	mustDo(t, err)
	for n := whole.seen; n > max(0, whole.seen-testkit.Size(15, 1000)); n-- { // it is moved in at the end
		dir, f, err := clone(n)
		if err == nil || workspace.IsWorkspace(dir) {
			continue // whole
		}
		if _, _, err := Clone(t.Context(), remote, dir, nil); err != nil {
			t.Errorf("operation %d (%s) failed, and the next clone says %v", n, f.log[0], err)
		}
	}
}

// Removing a remote that was cut off can be done again, and nothing of it is left.
func TestRemoveRemoteCutOff(t *testing.T) {
	made := testStore(t, nil)
	published(t, made, false)
	for n := 1; ; n++ {
		dir := filepath.Join(t.TempDir(), "ws")
		copyTree(t, made.Dir(), dir)
		f := &faulty{n: n, gap: 1}
		err := openFaulty(t, dir, f).RemoveRemote(t.Context(), "origin")
		if !f.hit() {
			mustDo(t, err)
			break
		}
		s := openFaulty(t, dir, nil)
		if err := s.RemoveRemote(t.Context(), "origin"); err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("operation %d (%s) failed, and then: %v", n, f.log[0], err)
		}
		for _, prefix := range []string{layout.FetchedRefs("origin"), layout.AcceptedRefs("origin"), "refs/remotes/origin/"} {
			if refs, _ := s.in().Git().Refs(prefix); len(refs) > 0 {
				t.Fatalf("operation %d (%s) failed, and %d refs are left for good", n, f.log[0], len(refs))
			}
		}
	}
}
