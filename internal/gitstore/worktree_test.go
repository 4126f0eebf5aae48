package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/disk"
)

// listed compares our list of worktrees with git's.
func (j *judge) listed(r *Repo) {
	j.Helper()
	all, err := r.Worktrees()
	j.ok(err)
	got := map[string]string{}
	for _, w := range all {
		got[w.Dir] = w.Branch
	}
	want := map[string]string{}
	for block := range strings.SplitSeq(j.git("worktree", "list", "--porcelain"), "\n\n") {
		dir, branch := "", ""
		for line := range strings.SplitSeq(block, "\n") {
			key, value, _ := strings.Cut(line, " ")
			switch key {
			case "worktree":
				dir = value
			case "branch":
				branch = value
			case "prunable":
				dir = ""
			}
		}
		if dir != "" {
			want[dir] = branch
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		j.Errorf("worktrees %v\ngit has    %v", got, want)
	}
}

func TestWorktrees(t *testing.T) {
	j := newJudge(t)
	r, c, ctx := j.open(nil), j.commits(1), context.Background()
	for _, b := range []string{"main", "a", "b", "x-y", "x/z"} {
		j.git("update-ref", "refs/heads/tape/"+b, c[0].String())
	}
	j.git("worktree", "add", "-q", "-b", "own", filepath.Join(j.dir, "tape-x-y")) // takes the id of tape/x-y
	add := func(branch string) Worktree {
		t.Helper()
		w, err := r.AddWorktree(ctx, "refs/heads/tape/"+branch, filepath.Join(j.dir, "tapes", branch))
		j.ok(err)
		j.ok(r.RebuildIndex(ctx, w, nil))
		if out := j.gitIn(w.Dir, "status", "--porcelain", "--branch"); out != "## tape/"+branch {
			t.Errorf("git status in %s: %s", branch, out)
		}
		if again, err := r.AddWorktree(ctx, w.Branch, w.Dir); err != nil || again != w {
			t.Errorf("added twice: %v %v", again, err)
		}
		if found, err := r.WorktreeOf(w.Branch); err != nil || found != w {
			t.Errorf("found %v %v", found, err)
		}
		return w
	}
	a := add("a")
	add("x-y")
	nested := add("x/z")
	j.listed(r)
	if w, err := r.WorktreeOf("refs/heads/tape/main"); err != nil || w != j.main() {
		t.Fatal(w, err)
	}
	if w, err := r.WorktreeOf("refs/heads/own"); err != nil || w.Dir != filepath.Join(j.dir, "tape-x-y") {
		t.Fatal(w, err)
	}
	if _, err := r.WorktreeOf("refs/heads/tape/b"); !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := r.AddWorktree(ctx, a.Branch, filepath.Join(j.dir, "elsewhere")); err == nil {
		t.Error("one branch in two worktrees")
	}
	if _, err := r.AddWorktree(ctx, "refs/heads/tape/b", j.dir); err == nil {
		t.Error("a worktree over the main one")
	}
	if _, err := r.AddWorktree(ctx, "refs/heads/tape/b", a.Dir); err == nil {
		t.Error("two branches in one worktree")
	}
	// HEADs log what happens to their branch, wherever the writer is.
	j.ok(r.UpdateRef(ctx, RefUpdate{Name: a.Branch, Old: c[0], New: j.hash(j.git("commit-tree", "-m", "y", c[0].String()+"^{tree}")), Who: ann, Message: "checkpoint"}))
	if out := j.gitIn(a.Dir, "reflog", "-1", "--format=%gs", "HEAD"); out != "checkpoint" {
		t.Errorf("HEAD's reflog in the worktree: %q", out)
	}
	// The folder is gone: no worktree, and no obstacle to another one.
	j.ok(os.RemoveAll(nested.Dir))
	if _, err := r.WorktreeOf(nested.Branch); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	j.listed(r)
	add("x/z")
	j.listed(r)
	// Checked out by hand elsewhere.
	j.git("checkout", "-q", "tape/b")
	if w, err := r.WorktreeOf("refs/heads/tape/b"); err != nil || w.Dir != j.dir {
		t.Error(w, err)
	}
	j.git("worktree", "lock", a.Dir)
	if err := r.RemoveWorktree(ctx, a); err == nil {
		t.Error("a locked worktree was removed")
	}
	j.git("worktree", "unlock", a.Dir)
	j.ok(r.RemoveWorktree(ctx, a))
	j.ok(r.RemoveWorktree(ctx, a))
	if _, err := os.Lstat(a.Dir); err == nil {
		t.Error("the folder is still there")
	}
	if err := r.RemoveWorktree(ctx, j.main()); err == nil {
		t.Fatal("the main worktree was removed")
	}
	j.listed(r)
	j.git("worktree", "prune")
	j.listed(r)
	j.fsck()
}

func TestWorktreeID(t *testing.T) {
	for branch, want := range map[string]string{
		"refs/heads/tape/main": "tape-main", "refs/heads/fork/main/try-wal": "fork-main-try-wal", "refs/heads/tape/ü": "tape-ü",
		"refs/heads/a.lock": "a", "refs/heads/@": "-", "refs/heads/a b..c.": "a-b-c",
	} {
		if got := worktreeID(branch); got != want {
			t.Errorf("%s: %s, want %s", branch, got, want)
		}
	}
	for _, branch := range []string{"refs/heads/" + strings.Repeat("ü", 200), "refs/heads/..", "refs/heads/"} {
		if id := worktreeID(branch); len(id) > maxWorktreeID || CheckRefName("refs/"+id) != nil {
			t.Errorf("%s: %s", branch, id)
		}
	}
}

func TestAddWorktreeFaults(t *testing.T) {
	j := newJudge(t)
	c, ctx := j.commits(1), context.Background()
	const branch = "refs/heads/tape/a"
	j.git("update-ref", branch, c[0].String())
	dir := filepath.Join(j.dir, "tapes", "a")
	everyFault(t, func(t *testing.T, fsys *disk.FS) {
		_, err := j.open(fsys).AddWorktree(ctx, branch, dir)
		j.git("worktree", "prune") // somebody else tidies up at the worst moment
		after := j.open(nil)
		if _, found := after.WorktreeOf(branch); err == nil && found != nil {
			t.Fatal(found)
		}
		w, err := after.AddWorktree(ctx, branch, dir)
		if err != nil {
			t.Fatal(err)
		}
		if out := j.gitIn(w.Dir, "status", "--porcelain", "--branch"); out != "## tape/a" {
			t.Fatal(out)
		}
		j.listed(after)
		_ = j.open(fsys).RemoveWorktree(ctx, w)
		if err := after.RemoveWorktree(ctx, w); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRemoveWorktreeFaults(t *testing.T) {
	j := newJudge(t)
	c, ctx := j.commits(1), context.Background()
	const branch = "refs/heads/tape/a"
	j.git("update-ref", branch, c[0].String())
	dir := filepath.Join(j.dir, "tapes", "a")
	everyFault(t, func(t *testing.T, fsys *disk.FS) {
		after := j.open(nil)
		w, err := after.AddWorktree(ctx, branch, dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = j.open(fsys).RemoveWorktree(ctx, w)
		j.listed(after)
		if err := after.RemoveWorktree(ctx, w); err != nil {
			t.Fatal(err)
		}
		j.listed(after)
		if _, err := os.Lstat(dir); err == nil {
			t.Fatal("the folder is still there")
		}
	})
}
