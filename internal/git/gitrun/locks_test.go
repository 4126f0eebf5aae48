package gitrun

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
	"tape/internal/testkit/gitjudge"
)

// A gc that was killed does not block the next one.
func TestGCAfterKilledGC(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what is open")
	}
	j := gitjudge.New(t)
	r := open(j, nil)
	j.Git("update-ref", "refs/heads/x", j.Commits(5)[4].String())
	var left []string
	for _, name := range gcLocks {
		left = append(left, j.Leave(name, "half"))
	}
	held, err := os.Open(left[1])
	j.OK(err)
	if err := GC(context.Background(), r, ""); !errors.Is(err, gitstore.ErrBusy) || !strings.Contains(err.Error(), left[1]) || !strings.Contains(err.Error(), "1h0m") {
		t.Errorf("somebody has %s open, and GC gives %v", left[1], err)
	}
	j.OK(held.Close())
	if err := GC(context.Background(), r, ""); err != nil {
		t.Errorf("nobody has the locks open, and GC gives %v", err)
	}
	for _, path := range left {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	j.Fsck()
}

// A lock that somebody may hold stays; the error names it and the way out.
func TestGCBesideLock(t *testing.T) {
	j := gitjudge.New(t)
	r, err := gitstore.Open(j.GitDir, &gitstore.Options{LockWait: 50 * time.Millisecond})
	j.OK(err)
	j.Git("update-ref", "refs/heads/x", j.Commits(5)[4].String())
	for _, name := range []string{"packed-refs.lock", "refs/heads/x.lock"} {
		path := j.Leave(name, "")
		held, err := os.Open(path)
		j.OK(err)
		err = GC(context.Background(), r, "")
		if !strings.Contains(err.Error(), path) || !errors.Is(err, gitlock.ErrStale) {
			t.Errorf("%s: %v, want ErrStale with its path", name, err)
		}
		j.OK(held.Close())
		j.OK(os.Remove(path))
	}
}

// Locks on refs that a killed git left are removed, unless a git that may hold them works in the repository.
func TestRecoverLocksOfGit(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what is open")
	}
	j := gitjudge.New(t)
	ctx := context.Background()
	r, err := gitstore.Open(j.GitDir, &gitstore.Options{LockWait: 50 * time.Millisecond})
	j.OK(err)
	commits := j.Commits(2)
	j.Git("update-ref", "refs/heads/x", commits[0].String())
	j.Git("pack-refs", "--all")
	var left []string
	for _, name := range []string{"packed-refs.lock", "refs/heads/x.lock", "logs/refs/heads/x.lock", "HEAD.lock"} {
		left = append(left, j.Leave(name, ""))
	}
	left = append(left, j.Leave("refs/heads/tape/main.lock", "half"))
	j.Leave("packed-refs.new", "half")
	recovered := func() []string {
		removed, err := RecoverLocks(ctx, r)
		j.OK(err)
		return removed
	}
	git := startGit(j)
	next := gitstore.RefUpdate{Name: "refs/heads/x", Old: commits[0], New: commits[1]}
	if err := r.UpdateRef(ctx, next); !errors.Is(err, gitlock.ErrStale) {
		t.Errorf("a writer beside the lock: %v, want ErrStale", err)
	}
	if removed := recovered(); len(removed) > 0 {
		t.Errorf("a git runs here, and these locks are gone: %q", removed)
	}
	j.OK(git.Process.Kill())
	_ = git.Wait()
	young := j.Leave("refs/heads/y.lock", "")
	j.OK(os.Chtimes(young, time.Now(), time.Now()))
	slices.Sort(left)
	if removed := recovered(); !slices.Equal(removed, left) {
		t.Errorf("removed %q, not %q", removed, left)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Error("a new lock is gone")
	}
	j.OK(os.Remove(young))
	if err := GC(ctx, r, ""); err != nil {
		t.Error(err)
	}
	j.Git("gc", "-q")
	j.OK(r.UpdateRef(ctx, next))
	j.Git("branch", "-D", "x")
	j.Fsck()
}
