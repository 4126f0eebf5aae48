package gitstore

//tape:race: readers go on during a git gc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/git/gitlock"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

// fakeGC writes gc.pid with the process of an idle git, and returns a function that ends the process.
func fakeGC(j *gitjudge.Judge) (pid int, end func()) {
	j.Helper()
	cmd := exec.Command("git", "cat-file", "--batch")
	cmd.Dir = j.Dir
	in, err := cmd.StdinPipe()
	j.OK(err)
	j.OK(cmd.Start())
	host, err := os.Hostname()
	j.OK(err)
	j.OK(os.WriteFile(filepath.Join(j.GitDir, gitlock.GCPid), fmt.Appendf(nil, "%d %s", cmd.Process.Pid, host), 0o600))
	return cmd.Process.Pid, func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
}

// putCommit puts the n-th commit into a batch.
func putCommit(b *Batch, n int) Hash {
	file := b.Put(KindBlob, fmt.Appendf(nil, "%d\n", n))
	tree := b.Put(KindTree, EncodeTree([]TreeEntry{{Name: "file", Mode: ModeFile, Hash: file}}))
	return b.Put(KindCommit, EncodeCommit(Commit{Tree: tree, Author: gitjudge.Ann, Committer: gitjudge.Ann, Message: "x\n"}))
}

// leftTemp lists the temporary files of batches.
func leftTemp(j *gitjudge.Judge) []os.DirEntry {
	left, _ := os.ReadDir(filepath.Join(j.GitDir, gitlock.OwnDir, "tmp"))
	return left
}

// Objects that a ref will name are not written while somebody else's git gc runs; others are.
func TestBatchAwaitsGC(t *testing.T) {
	j := gitjudge.New(t)
	ctx := context.Background()
	r, err := Open(j.GitDir, &Options{LockWait: 50 * time.Millisecond})
	j.OK(err)
	pid, end := fakeGC(j)
	b := r.NewBatch()
	putCommit(b, 1)
	if err := b.Flush(ctx); !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), fmt.Sprint(pid)) {
		t.Errorf("Flush beside the git gc %d: %v, want ErrBusy with its process", pid, err)
	}
	b = r.NewBatch()
	b.Put(KindBlob, []byte("ahead\n"))
	j.OK(b.Flush(ctx))
	j.OK(os.WriteFile(gitlock.OwnGC(j.GitDir), fmt.Append(nil, pid), 0o600))
	b = r.NewBatch()
	putCommit(b, 2)
	j.OK(b.Flush(ctx)) // our own gc
	j.OK(b.Finish(ctx))
	j.OK(os.Remove(gitlock.OwnGC(j.GitDir)))
	end()
	b = r.NewBatch()
	putCommit(b, 3)
	j.OK(b.Flush(ctx)) // a dead gc
	b.Discard()
	if left := leftTemp(j); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Objects that a git gc deleted between Flush and Finish are restored before anything is acknowledged.
func TestBatchFinishRestores(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	ahead := r.NewBatch()
	ahead.Put(KindBlob, []byte("7\n"))
	j.OK(ahead.Flush(ctx))
	b := r.NewBatch()
	h := putCommit(b, 7)
	j.OK(b.Flush(ctx))
	j.Git("prune", "--expire=now") // no ref names the objects yet
	if _, err := open(j, nil).Commit(h); !errors.Is(err, ErrNotFound) {
		t.Fatalf("git prune has left the commit: %v", err)
	}
	j.OK(r.UpdateRef(ctx, RefUpdate{Name: "refs/heads/x", New: h}))
	_, end := fakeGC(j)
	done := make(chan error, 1)
	go func() { done <- b.Finish(ctx) }()
	testkit.Pause(100 * time.Millisecond)
	if len(done) > 0 {
		t.Error("Finish did not wait for the end of the git gc")
	}
	end()
	j.OK(<-done)
	j.Fsck()
	if left := leftTemp(j); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// An empty object file, as a crash of git leaves it, is replaced.
func TestBatchReplacesEmptyObject(t *testing.T) {
	j := gitjudge.New(t)
	r := open(j, nil)
	h := HashObject(KindBlob, []byte("x\n"))
	path := r.LoosePath(h)
	j.OK(os.MkdirAll(filepath.Dir(path), 0o700))
	j.OK(os.WriteFile(path, nil, 0o400))
	b := r.NewBatch()
	b.Put(KindBlob, []byte("x\n"))
	j.OK(b.Flush(context.Background()))
	if data, err := r.Blob(h); err != nil || string(data) != "x\n" {
		t.Errorf("the object is %q, %v; want %q", data, err, "x\n")
	}
	if left := leftTemp(j); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
