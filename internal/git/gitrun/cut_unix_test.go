//go:build unix

package gitrun

//tape:race: commands are killed from outside

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

// After a git gc was killed at any moment, no ref is locked, and the next gc succeeds.
func TestGCKilled(t *testing.T) {
	j := gitjudge.New(t)
	ctx := context.Background()
	kills, early := 0, 0
	for delay := time.Millisecond; ; delay = delay*3/2 + time.Millisecond {
		r, err := gitstore.Open(j.GitDir, &gitstore.Options{LockWait: 100 * time.Millisecond})
		j.OK(err)
		tip := grow(j, r, "refs/heads/tape/main", 3, 3)
		for i := range 30 {
			j.OK(r.UpdateRef(ctx, gitstore.RefUpdate{Name: fmt.Sprintf("refs/heads/%d-%d/%d", kills, early, i), New: tip}))
		}
		done := make(chan error, 1)
		go func() {
			err := GC(ctx, r, "")
			done <- err
		}()
		killGC(t, r, delay, done)
		if err := <-done; err == nil {
			if early++; kills >= 3 || early > 30 {
				break
			}
			delay = 0 // on a busy machine gc may end first
			continue
		}
		kills++
		for _, path := range leftovers(j) { // as if a day had passed
			if then := time.Now().Add(-25 * time.Hour); filepath.Base(path) != gitlock.GCPid {
				j.OK(os.Chtimes(path, then, then))
			}
		}
		next := grow(j, r, "refs/heads/tape/main", 1, 1)
		j.OK(r.UpdateRef(ctx, gitstore.RefUpdate{Name: "refs/heads/x", New: next}))
		j.OK(r.UpdateRef(ctx, gitstore.RefUpdate{Name: "refs/heads/x", Old: next}))
		if kills%3 == 0 {
			err = GC(ctx, r, "")
			j.OK(err)
			if found := leftovers(j); len(found) > 0 {
				t.Errorf("the next gc has left files of the killed one: %q", found)
			}
		}
	}
	t.Logf("killed %d times", kills)
	if kills < 3 {
		t.Error("gc was not killed often enough for this to show anything")
	}
	j.Git("gc", "-q")
	j.Fsck()
}

// killGC kills a git gc with all its children some time after it started.
func killGC(t *testing.T, r *gitstore.Repo, delay time.Duration, done chan error) {
	t.Helper()
	for len(done) == 0 {
		if pid := gitlock.ReadGCPid(r.GitDir()); pid > 0 && gitlock.IsGitAlive(pid) {
			testkit.Pause(delay)
			if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
				t.Log(err) // it ended just now
			}
			return
		}
	}
}
