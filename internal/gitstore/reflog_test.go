package gitstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tape/internal/disk"
)

// A fork that is discarded is kept by two lines in its parent's reflog.
func TestLogRef(t *testing.T) {
	j := newJudge(t)
	r, ctx := j.open(nil), context.Background()
	j.write("a", "1\n")
	j.git("add", ".")
	j.git("commit", "-qm", "one")
	parent := j.hash(j.git("rev-parse", "HEAD"))
	j.git("checkout", "-q", "-b", "fork/main/x")
	j.write("a", "1\n2\n")
	j.git("commit", "-qam", "fork: x")
	fork := j.hash(j.git("rev-parse", "HEAD"))
	j.git("checkout", "-q", "tape/main")
	const main = "refs/heads/tape/main"
	for _, packed := range []bool{false, true} {
		if packed {
			j.git("pack-refs", "--all")
			j.git("config", "core.fsync", "none")
		}
		j.ok(r.LogRef(ctx, main, ReflogEntry{New: fork, Who: ann, Message: "tape: discard x (1 entries)"}, ReflogEntry{Old: fork, Message: "tape:  back\n"}))
		if got := j.git("reflog", "show", "-2", "--format=%H %gd %gs", "tape/main"); got != parent.String()+" tape/main@{0} tape: back\n"+
			fork.String()+" tape/main@{1} tape: discard x (1 entries)" {
			t.Errorf("git reflog shows\n%s", got)
		}
		if got := j.git("rev-parse", "tape/main", "tape/main@{1}"); got != parent.String()+"\n"+fork.String() {
			t.Errorf("git reads %s", got)
		}
	}
	log, err := r.Reflog(main)
	j.ok(err)
	if e := log[len(log)-2]; e.Old != parent || e.New != fork || e.Who.Name != ann.Name {
		t.Errorf("%+v", e)
	}
	for _, bad := range [][]ReflogEntry{{{Old: fork, New: parent}}, {{Old: parent, New: fork}}, {{New: fork}, {New: fork}}} {
		if err := r.LogRef(ctx, main, bad...); !errors.Is(err, ErrConflict) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := r.LogRef(ctx, "refs/heads/none/here", ReflogEntry{New: fork}, ReflogEntry{}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(j.gitDir, "refs", "heads", "none")); err == nil {
		t.Error("a ref that is not there got a folder")
	}
	if got, err := r.Reflog(main); err != nil || len(got) != len(log) {
		t.Errorf("%d lines, not %d: %v", len(got), len(log), err)
	}

	j.ok(r.UpdateRef(ctx, RefUpdate{Name: "refs/heads/fork/main/x", Old: fork}))
	j.ok(os.RemoveAll(filepath.Join(j.gitDir, "logs", "HEAD"))) // it names the fork, too
	j.git("gc", "-q", "--prune=now")
	if got := j.git("show", fork.String()+":a"); got != "1\n2" {
		t.Errorf("after git gc: %q", got)
	}
	j.fsck()
}

func TestLogRefFaults(t *testing.T) {
	j := newJudge(t)
	c, ctx := j.commits(2), context.Background()
	const name = "refs/heads/a"
	j.git("update-ref", name, c[0].String())
	lines := []ReflogEntry{{New: c[1], Message: "there"}, {Old: c[1], Message: "back"}}
	everyFault(t, func(t *testing.T, fsys *disk.FS) {
		err := j.open(fsys).LogRef(ctx, name, lines...)
		if got := j.git("rev-parse", "a"); got != c[0].String() {
			t.Fatalf("the ref moved to %s", got)
		}
		if out := j.git("reflog", "show", "-1", "--format=%gs", "a"); err == nil && out != "back" {
			t.Fatalf("git's last line: %q", out)
		}
		if err := j.open(nil).LogRef(ctx, name, lines...); err != nil {
			t.Fatal(err)
		}
		if out := j.git("reflog", "show", "-2", "--format=%gs", "a"); out != "back\nthere" {
			t.Fatalf("git shows %q", out)
		}
		if left := findLocks(t, j.gitDir); left != "" {
			t.Fatal(left)
		}
	})
}

// What a deleted ref leaves is in nobody's way: a branch can take the name of a folder
// that is empty now, and who creates another ref in the folder meanwhile succeeds.
func TestDeletedRefMakesRoom(t *testing.T) {
	j := newJudge(t)
	r, c, ctx := j.open(nil), j.commits(2), context.Background()
	const x, above = "refs/heads/fork/main/x", "refs/heads/fork/main"
	for range 2 {
		j.ok(r.UpdateRef(ctx, RefUpdate{Name: x, New: c[0], Who: ann, Message: "fork"}))
		j.ok(r.UpdateRef(ctx, RefUpdate{Name: x, Old: c[0]}))
		if got, err := r.Reflog(x); err != nil || len(got) != 0 {
			t.Errorf("reflog: %v %v", got, err)
		}
		j.ok(r.UpdateRef(ctx, RefUpdate{Name: above, New: c[0], Who: ann, Message: "folder to branch"}))
		j.git("branch", "-D", "fork/main")
	}

	const each = 25
	var wg sync.WaitGroup
	wg.Go(func() { // ours comes and goes, and with it the folder
		for range 2 * each {
			if err := r.UpdateRef(ctx, RefUpdate{Name: x, New: c[0], Who: ann}); err != nil {
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
				if out, err := j.tryGit(j.dir, "branch", name, c[0].String()); err != nil {
					t.Errorf("git branch: %v %s", err, out)
				}
				if got, err := r.Ref("refs/heads/" + name); err != nil || got != c[0] {
					t.Errorf("%s: %v %v", name, got, err)
				}
				// It does not wait for packed-refs.lock, which we hold to delete.
				for try := 0; ; try++ {
					out, err := j.tryGit(j.dir, "branch", "-D", name)
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
	if left, err := os.ReadDir(filepath.Join(j.gitDir, "refs", "heads")); err != nil || len(left) > 1 {
		t.Errorf("%v %v", left, err) // git may leave the folder to us, and we to git
	}
	j.fsck()
}
