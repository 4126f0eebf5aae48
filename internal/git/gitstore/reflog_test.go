package gitstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/testkit/gitjudge"
)

// Two lines in its parent's reflog keep a discarded fork.
func TestLogRef(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	j.Write("a", "1\n")
	j.Git("add", ".")
	j.Git("commit", "-qm", "one")
	parent := j.Hash(j.Git("rev-parse", "HEAD"))
	j.Git("checkout", "-q", "-b", "fork/main/x")
	j.Write("a", "1\n2\n")
	j.Git("commit", "-qam", "fork: x")
	fork := j.Hash(j.Git("rev-parse", "HEAD"))
	j.Git("checkout", "-q", "tape/main")
	const main = "refs/heads/tape/main"
	for _, packed := range []bool{false, true} {
		if packed {
			j.Git("pack-refs", "--all")
			j.Git("config", "core.fsync", "none")
		}
		j.OK(r.LogRef(ctx, main, ReflogEntry{New: fork, Who: gitjudge.Ann, Message: "tape: discard x (1 entries)"}, ReflogEntry{Old: fork, Message: "tape:  back\n"}))
		if got := j.Git("reflog", "show", "-2", "--format=%H %gd %gs", "tape/main"); got != parent.String()+" tape/main@{0} tape: back\n"+
			fork.String()+" tape/main@{1} tape: discard x (1 entries)" {
			t.Errorf("git reflog shows\n%s", got)
		}
		if got := j.Git("rev-parse", "tape/main", "tape/main@{1}"); got != parent.String()+"\n"+fork.String() {
			t.Errorf("git reads %s", got)
		}
	}
	log, err := r.Reflog(main)
	j.OK(err)
	if e := log[len(log)-2]; e.Old != parent || e.New != fork || e.Who.Name != gitjudge.Ann.Name {
		t.Errorf("the line from %s to %s is read as %+v", parent, fork, e)
	}
	for _, bad := range [][]ReflogEntry{{{Old: fork, New: parent}}, {{Old: parent, New: fork}}, {{New: fork}, {New: fork}}} {
		if err := r.LogRef(ctx, main, bad...); !errors.Is(err, ErrConflict) {
			t.Errorf("%v: %v, want ErrConflict", bad, err)
		}
	}
	if err := r.LogRef(ctx, "refs/heads/none/here", ReflogEntry{New: fork}, ReflogEntry{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a missing ref: %v, want ErrNotFound", err)
	}
	if _, err := os.Stat(filepath.Join(j.GitDir, "refs", "heads", "none")); err == nil {
		t.Error("a folder was made for a missing ref")
	}
	if got, err := r.Reflog(main); err != nil || len(got) != len(log) {
		t.Errorf("%d lines, not %d: %v", len(got), len(log), err)
	}

	j.OK(r.UpdateRef(ctx, RefUpdate{Name: "refs/heads/fork/main/x", Old: fork}))
	j.OK(os.RemoveAll(filepath.Join(j.GitDir, "logs", "HEAD"))) // it names the fork too
	j.Git("gc", "-q", "--prune=now")
	if got := j.Git("show", fork.String()+":a"); got != "1\n2" {
		t.Errorf("after git gc: %q", got)
	}
	j.Fsck()
}

func TestLogRefFaults(t *testing.T) {
	j := gitjudge.New(t)
	c, ctx := j.Commits(2), context.Background()
	const name = "refs/heads/a"
	j.Git("update-ref", name, c[0].String())
	lines := []ReflogEntry{{New: c[1], Message: "there"}, {Old: c[1], Message: "back"}}
	gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
		err := open(j, fsys).LogRef(ctx, name, lines...)
		if got := j.Git("rev-parse", "a"); got != c[0].String() {
			t.Fatalf("the ref moved to %s", got)
		}
		if out := j.Git("reflog", "show", "-1", "--format=%gs", "a"); err == nil && out != "back" {
			t.Fatalf("git's last line: %q", out)
		}
		if err := open(j, nil).LogRef(ctx, name, lines...); err != nil {
			t.Fatal(err)
		}
		if out := j.Git("reflog", "show", "-2", "--format=%gs", "a"); out != "back\nthere" {
			t.Fatalf("git shows %q", out)
		}
		if left := findLocks(t, j.GitDir); left != "" {
			t.Fatalf("locks are left: %s", left)
		}
	})
}

// A deleted ref leaves nothing in the way: a branch can take the name of an empty folder, and creating
// another ref in that folder meanwhile succeeds.
func TestDeletedRefMakesRoom(t *testing.T) {
	j := gitjudge.New(t)
	r, c, ctx := open(j, nil), j.Commits(2), context.Background()
	const x, above = "refs/heads/fork/main/x", "refs/heads/fork/main"
	for range 2 {
		j.OK(r.UpdateRef(ctx, RefUpdate{Name: x, New: c[0], Who: gitjudge.Ann, Message: "fork"}))
		j.OK(r.UpdateRef(ctx, RefUpdate{Name: x, Old: c[0]}))
		if got, err := r.Reflog(x); err != nil || len(got) != 0 {
			t.Errorf("the deleted ref still has a reflog: %v, %v", got, err)
		}
		j.OK(r.UpdateRef(ctx, RefUpdate{Name: above, New: c[0], Who: gitjudge.Ann, Message: "folder to branch"}))
		j.Git("branch", "-D", "fork/main")
	}

	const each = 25
	var wg sync.WaitGroup
	wg.Go(func() { // we create and delete ours, and with it the folder
		for range 2 * each {
			if err := r.UpdateRef(ctx, RefUpdate{Name: x, New: c[0], Who: gitjudge.Ann}); err != nil {
				t.Error(err)
			}
			if err := r.UpdateRef(ctx, RefUpdate{Name: x, Old: c[0]}); err != nil {
				t.Error(err)
			}
		}
	})
	for _, name := range []string{"fork/main/git1", "fork/main/deep/git2"} {
		wg.Go(func() {
			for range each {
				if out, err := j.TryGit(j.Dir, "branch", name, c[0].String()); err != nil {
					t.Errorf("git branch: %v %s", err, out)
				}
				if got, err := r.Ref("refs/heads/" + name); err != nil || got != c[0] {
					t.Errorf("%s: %v %v", name, got, err)
				}
				// git does not wait for packed-refs.lock, which we hold to delete.
				for try := 0; ; try++ {
					out, err := j.TryGit(j.Dir, "branch", "-D", name)
					if err == nil {
						break
					}
					if try > 100 || !strings.Contains(out, "lock") {
						t.Errorf("git branch -D: %v %s", err, out)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if left, err := os.ReadDir(filepath.Join(j.GitDir, "refs", "heads")); err != nil || len(left) > 1 {
		t.Errorf("left in refs/heads: %v, %v", left, err) // each side may leave the folder to the other
	}
	j.Fsck()
}

// A log without a ref blocks git, so the removal of the log is durable before the ref is removed.
func TestDeletedLogIsDurable(t *testing.T) {
	j := gitjudge.New(t)
	const name = "refs/heads/fork/main/x"
	c, ctx := j.Commits(1), context.Background()
	j.OK(open(j, nil).UpdateRef(ctx, RefUpdate{Name: name, New: c[0], Who: gitjudge.Ann}))
	var done []string
	r := open(j, &disk.FS{Fault: func(op disk.Op, path string) error {
		if rel, _ := filepath.Rel(j.GitDir, path); op == disk.OpRemove || op == disk.OpSyncDir {
			done = append(done, string(op)+" "+filepath.ToSlash(rel))
		}
		return nil
	}})
	j.OK(r.UpdateRef(ctx, RefUpdate{Name: name, Old: c[0]}))
	synced := slices.Index(done, "syncdir logs/refs/heads/fork/main")
	if ref := slices.Index(done, "remove "+name); synced < 0 || ref < synced {
		t.Errorf("the folder of the log is not synced before the ref is removed: %q", done)
	}
}

// A working tree whose link cannot be read is not taken for a missing one.
func TestMovedWorktreeUnreadable(t *testing.T) {
	j := gitjudge.New(t)
	const name = "refs/heads/a"
	dir := t.TempDir()
	r := open(j, nil)
	if _, err := r.MovedWorktree(name, dir); !errors.Is(err, ErrNotFound) {
		t.Errorf("without a link: %v", err)
	}
	admin := filepath.Join(r.WorktreesDir(), "a")
	j.OK(os.MkdirAll(filepath.Join(admin, "HEAD"), 0o700))
	j.OK(os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: "+admin+"\n"), 0o600))
	if _, err := r.MovedWorktree(name, dir); !errors.Is(err, ErrNotFound) {
		t.Errorf("without a HEAD: %v", err)
	}
	j.OK(os.Remove(filepath.Join(admin, "HEAD")))
	j.OK(os.WriteFile(filepath.Join(admin, "HEAD"), nil, 0o600))
	if _, err := r.MovedWorktree(name, dir); !errors.Is(err, ErrDamagedHead) {
		t.Errorf("with an empty HEAD: %v", err)
	}
}
