package gitrun

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"tape/internal/gitstore"
	"tape/internal/testkit/gitjudge"
)

// A collection that was killed does not keep others from collecting.
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
	if _, err := GC(context.Background(), r, ""); !errors.Is(err, gitstore.ErrBusy) || !strings.Contains(err.Error(), left[1]) || !strings.Contains(err.Error(), "1h0m") {
		t.Errorf("somebody has a lock open, and the collection gave %v", err)
	}
	j.OK(held.Close())
	if _, err := GC(context.Background(), r, ""); err != nil {
		t.Errorf("nobody has the locks, and the collection gave %v", err)
	}
	for _, path := range left {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	j.Fsck()
}

// A lock that may be somebody's stays, and is named with the way out.
func TestGCBesideLock(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, nil)
	j.Git("update-ref", "refs/heads/x", j.Commits(5)[4].String())
	for _, name := range []string{"packed-refs.lock", "refs/heads/x.lock"} {
		path := j.Leave(name, "")
		_, err := GC(context.Background(), r, "")
		if !errors.Is(err, gitstore.ErrBusy) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove that file") {
			t.Errorf("%s: %v", name, err)
		}
		j.OK(os.Remove(path))
	}
}
