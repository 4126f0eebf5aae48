package gitstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tape/internal/testkit/gitjudge"
	"tape/internal/testkit/gitpeer"
)

// leave makes a lock as a git that was killed leaves it, an hour old.
func leave(j *gitjudge.Judge, name, content string) string {
	j.Helper()
	path := filepath.Join(j.GitDir, filepath.FromSlash(name))
	j.OK(os.MkdirAll(filepath.Dir(path), 0o700))
	j.OK(os.WriteFile(path, []byte(content), 0o600))
	then := time.Now().Add(-time.Hour)
	j.OK(os.Chtimes(path, then, then))
	return path
}

// A collection that was killed does not keep others from collecting.
func TestGCAfterKilledGC(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what is open")
	}
	j := gitjudge.New(t)
	r := open(j, nil)
	j.Git("update-ref", "refs/heads/x", last(growing(t, r, ZeroHash, 5, "x")).String())
	var left []string
	for _, name := range gcLocks {
		left = append(left, leave(j, name, "half"))
	}
	held, err := os.Open(left[1])
	j.OK(err)
	if _, err := r.GC(context.Background()); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), left[1]) || !strings.Contains(err.Error(), "1h0m") {
		t.Errorf("somebody has a lock open, and the collection gave %v", err)
	}
	j.OK(held.Close())
	if _, err := r.GC(context.Background()); err != nil {
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
	j.Git("update-ref", "refs/heads/x", last(growing(t, r, ZeroHash, 5, "x")).String())
	for _, name := range []string{"packed-refs.lock", "refs/heads/x.lock"} {
		path := leave(j, name, "")
		_, err := r.GC(context.Background())
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove that file") {
			t.Errorf("%s: %v", name, err)
		}
		j.OK(os.Remove(path))
	}
}

// What a killed git may leave does not keep others from fetching.
func TestFetchAfterKilledGit(t *testing.T) {
	dir := gitpeer.Bare(t)
	a := newSide(t, gitpeer.Peer{Way: "path", Dir: dir, URL: dir})
	h := last(growing(t, a.r, ZeroHash, 3, "a"))
	a.push([]PushRef{branch("tape/a", h)})
	for _, name := range []string{"shallow.lock", "FETCH_HEAD.lock", "packed-refs.lock", "objects/info/commit-graphs/commit-graph-chain.lock", "refs/tape/fetched/origin/heads/tape/a.lock"} {
		b := newSide(t, a.peer)
		leave(b.Judge, name, "half")
		specs := []RefSpec{{Src: "refs/heads/*", Dst: FetchedRefs("origin") + "heads/*"}}
		if f, err := b.r.Fetch(context.Background(), "origin", specs, b.o()); err != nil || len(f.Changes) != 1 {
			t.Errorf("%s: the fetch changed %v, %v", name, f.Changes, err)
		}
	}
}
