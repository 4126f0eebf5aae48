package gitstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

// commitOn makes a commit. All have the same author and time, so only the message makes it unique.
func commitOn(r *Repo, tree, parent Hash, message string) (Hash, error) {
	c := Commit{Tree: tree, Author: gitjudge.Ann, Committer: gitjudge.Ann, Message: message + "\n"}
	if !parent.IsZero() {
		c.Parents = []Hash{parent}
	}
	b := r.NewBatch()
	defer b.Discard()
	h := b.Put(KindCommit, EncodeCommit(c))
	return h, b.Flush(context.Background())
}

// Writers of ours and git's update the same refs while git packs refs and runs gc. Each acknowledged
// update must be in the history.
func TestSoakUpdateRefBesideGit(t *testing.T) {
	j := gitjudge.New(t)
	writers, rounds := 8, testkit.Size(40, 400)
	tree := j.Hash(j.Git("hash-object", "-t", "tree", "-w", os.DevNull))
	j.Git("config", "gc.auto", "0")
	fillPackedRefs(j)
	shared := func(i int) string { return fmt.Sprintf("refs/heads/tape/shared%d", i%4) }
	var acknowledged [4]atomic.Int64
	var stop atomic.Bool
	var gits, ours sync.WaitGroup

	background := func(step func()) {
		gits.Go(func() {
			for !stop.Load() {
				step()
			}
		})
	}
	background(func() { _, _ = j.TryGit(j.Dir, "pack-refs", "--all"); testkit.Pause(3 * time.Millisecond) })
	background(func() { _, _ = j.TryGit(j.Dir, "gc", "-q"); testkit.Pause(200 * time.Millisecond) })
	background(func() {
		i := rand.IntN(4)
		old, err := j.TryGit(j.Dir, "rev-parse", "--verify", "-q", shared(i))
		if err != nil {
			return
		}
		next, err := j.TryGit(j.Dir, "commit-tree", tree.String(), "-p", old, "-m", fmt.Sprint("git ", rand.Int64()))
		if err != nil {
			return
		}
		if _, err := j.TryGit(j.Dir, "update-ref", shared(i), next, old); err == nil {
			acknowledged[i].Add(1)
		}
		testkit.Pause(2 * time.Millisecond)
	})
	for w := range writers {
		ours.Go(func() {
			r := open(j, nil)
			for n := range rounds {
				if err := appendCommit(r, shared(w), tree, fmt.Sprintf("%d of %d", n, w)); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
				acknowledged[w%4].Add(1)
				if err := createAndDelete(r, fmt.Sprintf("refs/heads/fork/w%d/x", w), tree, n); err != nil {
					t.Errorf("writer %d: %v", w, err)
					return
				}
			}
		})
	}
	ours.Wait()
	stop.Store(true)
	gits.Wait()
	for i := range 4 {
		checkHistory(j, shared(i), int(acknowledged[i].Load()))
	}
	if left := findLocks(t, j.GitDir); left != "" {
		t.Errorf("locks are left: %s", left)
	}
	if out := j.Git("for-each-ref", "refs/heads/fork"); out != "" {
		t.Errorf("deleted refs came back: %s", out)
	}
	j.Fsck()
}

// fillPackedRefs makes packed-refs larger than 32 KiB. Git 2.39 caches a smaller one, and takes it for
// current if size, second and inode are the same. Packed twice within a second it may be an old one,
// and git update-ref then loses commits, even with nobody but git around. A larger file is mapped,
// which keeps the inode from being reused.
func fillPackedRefs(j *gitjudge.Judge) {
	j.Helper()
	var many strings.Builder
	h := j.Commits(1)[0]
	for i := range 700 {
		fmt.Fprintf(&many, "create refs/tags/%04d %s\n", i, h)
	}
	if out, err := gitjudge.GitStdin(j, many.String(), "update-ref", "--stdin"); err != nil {
		j.Fatal(out)
	}
	j.Git("pack-refs", "--all")
}

// checkHistory counts the commits of a ref, and the lines of its reflog.
func checkHistory(j *gitjudge.Judge, name string, want int) {
	j.Helper()
	if got := j.Git("rev-list", "--count", name); got != fmt.Sprint(want) {
		j.Errorf("%s has %s commits, %d were acknowledged", name, got, want)
	}
	log, err := open(j, nil).Reflog(name)
	j.OK(err)
	if len(log) != want {
		j.Errorf("the reflog of %s has %d lines, not %d", name, len(log), want)
	}
	for i := 1; i < len(log); i++ {
		if log[i].Old != log[i-1].New {
			j.Errorf("the reflog of %s has a gap at line %d", name, i)
		}
	}
}

// appendCommit adds a commit to a ref, and retries whenever somebody else was faster.
func appendCommit(r *Repo, name string, tree Hash, message string) error {
	for {
		old, err := r.Ref(name)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		next, err := commitOn(r, tree, old, message)
		if err != nil {
			return err
		}
		err = r.UpdateRef(context.Background(), RefUpdate{Name: name, Old: old, New: next, Who: gitjudge.Ann, Message: message})
		if !errors.Is(err, ErrConflict) {
			return err
		}
	}
}

// createAndDelete creates a ref and deletes it while git may be packing it. Each time the ref has another
// value: after git pack-refs has packed a ref, it removes the file if that has the same value, and does
// not notice that the ref was deleted and created again in between.
func createAndDelete(r *Repo, name string, tree Hash, n int) error {
	if n%5 != 0 {
		return nil
	}
	ctx := context.Background()
	h, err := commitOn(r, tree, ZeroHash, fmt.Sprint(name, n))
	if err != nil {
		return err
	}
	if err := r.UpdateRef(ctx, RefUpdate{Name: name, New: h, Who: gitjudge.Ann}); err != nil {
		return err
	}
	if got, err := r.Ref(name); err != nil || got != h {
		return fmt.Errorf("just created: %v %w", got, err)
	}
	if err := r.UpdateRef(ctx, RefUpdate{Name: name, Old: h, Who: gitjudge.Ann}); err != nil {
		return err
	}
	if _, err := r.Ref(name); !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("just deleted: %w", err)
	}
	return nil
}

// TestKilledWriter kills a process that updates refs at random moments.
func TestKilledWriter(t *testing.T) {
	const name, dirEnv = "refs/heads/tape/main", "GITSTORE_TEST_KILLED_WRITER"
	if dir := os.Getenv(dirEnv); dir != "" {
		endlessWriter(dir, name)
		return
	}
	j := gitjudge.New(t)
	tree := j.Hash(j.Git("hash-object", "-t", "tree", "-w", os.DevNull))
	j.OK(appendCommit(open(j, nil), name, tree, "first"))
	for round := range testkit.Size(8, 100) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWriter$")
		cmd.Env = append(os.Environ(), dirEnv+"="+j.GitDir)
		out, err := cmd.StdoutPipe()
		j.OK(err)
		j.OK(cmd.Start())
		kill := time.AfterFunc(time.Duration(20+rand.IntN(80))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		last := ""
		for in := bufio.NewScanner(out); in.Scan(); {
			if len(in.Text()) == 40 {
				last = in.Text()
			}
		}
		_ = cmd.Wait()
		kill.Stop()
		r := open(j, nil)
		h, err := r.Ref(name)
		if err != nil {
			t.Fatalf("round %d: the ref cannot be read after the kill: %v", round, err)
		}
		if last != "" {
			if _, err := j.TryGit(j.Dir, "merge-base", "--is-ancestor", last, h.String()); err != nil {
				t.Fatalf("round %d: %s was acknowledged, the ref holds %s", round, last, h)
			}
		}
		j.OK(appendCommit(r, name, tree, "next"))
		if left := findLocks(t, j.GitDir); strings.Contains(left, name) {
			t.Fatalf("round %d: locks are left: %s", round, left)
		}
	}
	j.Fsck()
}

// endlessWriter adds commits to a ref until it is killed, and prints each that was acknowledged.
func endlessWriter(gitDir, name string) {
	r, err := Open(gitDir, nil)
	if err != nil {
		return
	}
	h, err := r.Ref(name)
	if err != nil {
		return
	}
	c, err := r.Commit(h)
	if err != nil {
		return
	}
	for n := 0; ; n++ {
		next, err := commitOn(r, c.Tree, h, fmt.Sprint(os.Getpid(), n))
		if err != nil {
			return
		}
		if r.UpdateRef(context.Background(), RefUpdate{Name: name, Old: h, New: next, Who: gitjudge.Ann}) != nil {
			return
		}
		h = next
		fmt.Println(h)
	}
}
