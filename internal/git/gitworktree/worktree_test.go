package gitworktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/testkit"
	"tape/internal/testkit/gitjudge"
)

func TestMain(m *testing.M) { testkit.Main(m, nil, nil) }

func open(j *gitjudge.Judge, fsys *disk.FS) *gitstore.Repo {
	j.Helper()
	r, err := gitstore.Open(j.GitDir, &gitstore.Options{FS: fsys, LockWait: 20 * time.Second})
	j.OK(err)
	return r
}

func mainTree(j *gitjudge.Judge) gitstore.Worktree {
	return gitstore.Worktree{Dir: j.Dir, GitDir: j.GitDir, Branch: "refs/heads/tape/main"}
}

// checkList compares our list of worktrees with git's.
func checkList(j *gitjudge.Judge, r *gitstore.Repo) {
	j.Helper()
	all, err := r.Worktrees()
	j.OK(err)
	got := map[string]string{}
	for _, w := range all {
		got[w.Dir] = w.Branch
	}
	if want := j.Worktrees(); fmt.Sprint(got) != fmt.Sprint(want) {
		j.Errorf("worktrees %v\ngit has    %v", got, want)
	}
}

func TestWorktrees(t *testing.T) {
	j := gitjudge.New(t)
	r, c, ctx := open(j, nil), j.Commits(1), context.Background()
	for _, b := range []string{"main", "a", "b", "x-y", "x/z"} {
		j.Git("update-ref", "refs/heads/tape/"+b, c[0].String())
	}
	j.Git("worktree", "add", "-q", "-b", "own", filepath.Join(j.Dir, "tape-x-y")) // has the id that tape/x-y would get
	add := func(branch string) gitstore.Worktree {
		t.Helper()
		w, err := Add(ctx, r, "refs/heads/tape/"+branch, filepath.Join(j.Dir, "tapes", branch))
		j.OK(err)
		j.GitIn(w.Dir, "read-tree", "--empty")
		if out := j.GitIn(w.Dir, "status", "--porcelain", "--branch"); out != "## tape/"+branch {
			t.Errorf("git status in %s: %s", branch, out)
		}
		if again, err := Add(ctx, r, w.Branch, w.Dir); err != nil || again != w {
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
	checkList(j, r)
	if w, err := r.WorktreeOf("refs/heads/tape/main"); err != nil || w != mainTree(j) {
		t.Fatalf("tape/main is in %v, %v; want the main worktree", w, err)
	}
	if w, err := r.WorktreeOf("refs/heads/own"); err != nil || w.Dir != filepath.Join(j.Dir, "tape-x-y") {
		t.Fatalf("own is in %v, %v; want tape-x-y", w, err)
	}
	if _, err := r.WorktreeOf("refs/heads/tape/b"); !errors.Is(err, gitstore.ErrNotFound) {
		t.Fatalf("the worktree of a branch that is not checked out: %v, want ErrNotFound", err)
	}
	if _, err := Add(ctx, r, a.Branch, filepath.Join(j.Dir, "elsewhere")); err == nil {
		t.Error("one branch was added in two worktrees")
	}
	if _, err := Add(ctx, r, "refs/heads/tape/b", j.Dir); err == nil {
		t.Error("a worktree was added over the main one")
	}
	if _, err := Add(ctx, r, "refs/heads/tape/b", a.Dir); err == nil {
		t.Error("two branches were added in one worktree")
	}
	// The reflog of a HEAD records changes of its branch, whoever made them.
	j.OK(r.UpdateRef(ctx, gitstore.RefUpdate{Name: a.Branch, Old: c[0], New: j.Hash(j.Git("commit-tree", "-m", "y", c[0].String()+"^{tree}")), Who: gitjudge.Ann, Message: "checkpoint"}))
	if out := j.GitIn(a.Dir, "reflog", "-1", "--format=%gs", "HEAD"); out != "checkpoint" {
		t.Errorf("HEAD's reflog in the worktree: %q", out)
	}
	// The folder was deleted: that worktree does not count, and does not block a new one.
	j.OK(os.RemoveAll(nested.Dir))
	if _, err := r.WorktreeOf(nested.Branch); !errors.Is(err, gitstore.ErrNotFound) {
		t.Errorf("a worktree whose folder was deleted: %v, want ErrNotFound", err)
	}
	checkList(j, r)
	add("x/z")
	checkList(j, r)
	// The branch is checked out by hand in the main worktree.
	j.Git("checkout", "-q", "tape/b")
	if w, err := r.WorktreeOf("refs/heads/tape/b"); err != nil || w.Dir != j.Dir {
		t.Errorf("tape/b is in %v, %v; want the main worktree", w, err)
	}
	j.Git("worktree", "lock", a.Dir)
	if err := Remove(ctx, r, a, os.RemoveAll); err == nil {
		t.Error("a locked worktree was removed")
	}
	j.Git("worktree", "unlock", a.Dir)
	j.OK(Remove(ctx, r, a, os.RemoveAll))
	j.OK(Remove(ctx, r, a, os.RemoveAll))
	if _, err := os.Lstat(a.Dir); err == nil {
		t.Error("the folder is still there")
	}
	if err := Remove(ctx, r, mainTree(j), os.RemoveAll); err == nil {
		t.Fatal("the main worktree was removed")
	}
	checkList(j, r)
	j.Git("worktree", "prune")
	checkList(j, r)
	j.Fsck()
}

func TestWorktreeID(t *testing.T) {
	for branch, want := range map[string]string{
		"refs/heads/tape/main": "tape-main", "refs/heads/fork/main/try-wal": "fork-main-try-wal", "refs/heads/tape/ü": "tape-ü",
		"refs/heads/a.lock": "a", "refs/heads/@": "-", "refs/heads/a b..c.": "a-b-c",
	} {
		if got := gitstore.WorktreeID(branch); got != want {
			t.Errorf("%s: %s, want %s", branch, got, want)
		}
	}
	for _, branch := range []string{"refs/heads/" + strings.Repeat("ü", 200), "refs/heads/..", "refs/heads/"} {
		if id := gitstore.WorktreeID(branch); len(id) > 100 || gitstore.CheckRefName("refs/"+id) != nil {
			t.Errorf("%s: the id %s is too long or no part of a ref name", branch, id)
		}
	}
}

func TestAddWorktreeFaults(t *testing.T) {
	j := gitjudge.New(t)
	c, ctx := j.Commits(1), context.Background()
	const branch = "refs/heads/tape/a"
	j.Git("update-ref", branch, c[0].String())
	dir := filepath.Join(j.Dir, "tapes", "a")
	gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
		_, err := Add(ctx, open(j, fsys), branch, dir)
		j.Git("worktree", "prune") // somebody else prunes at the worst moment
		after := open(j, nil)
		if _, findErr := after.WorktreeOf(branch); err == nil && findErr != nil {
			t.Fatal(findErr)
		}
		w, err := Add(ctx, after, branch, dir)
		if err != nil {
			t.Fatal(err)
		}
		if out := j.GitIn(w.Dir, "status", "--porcelain", "--branch"); out != "## tape/a" {
			t.Fatal(out)
		}
		checkList(j, after)
		_ = Remove(ctx, open(j, fsys), w, fsys.RemoveAll)
		if err := Remove(ctx, after, w, os.RemoveAll); err != nil {
			t.Fatal(err)
		}
	})
}

func TestRemoveWorktreeFaults(t *testing.T) {
	j := gitjudge.New(t)
	c, ctx := j.Commits(1), context.Background()
	const branch = "refs/heads/tape/a"
	j.Git("update-ref", branch, c[0].String())
	dir := filepath.Join(j.Dir, "tapes", "a")
	gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
		after := open(j, nil)
		w, err := Add(ctx, after, branch, dir)
		if err != nil {
			t.Fatal(err)
		}
		_ = Remove(ctx, open(j, fsys), w, fsys.RemoveAll)
		checkList(j, after)
		if err := Remove(ctx, after, w, os.RemoveAll); err != nil {
			t.Fatal(err)
		}
		checkList(j, after)
		if _, err := os.Lstat(dir); err == nil {
			t.Fatal("the folder is still there")
		}
	})
}

// If a HEAD cannot be read, it is unknown which branch is checked out there. That is an error. It does not
// mean that no branch is.
func TestWorktreesHead(t *testing.T) {
	j := gitjudge.New(t)
	r, head := open(j, nil), filepath.Join(j.Dir, ".git", "HEAD")
	for _, spoil := range []func() error{
		func() error { return os.Symlink("HEAD", head) },
		func() error { return os.WriteFile(head, []byte("x\n"), 0o600) },
		func() error { return nil },
	} {
		j.OK(os.RemoveAll(head))
		j.OK(spoil())
		if w, err := r.WorktreeOf("refs/heads/tape/main"); err == nil || errors.Is(err, gitstore.ErrNotFound) {
			t.Errorf("tape/main is in %q: %v", w.Dir, err)
		}
		if all, err := r.Worktrees(); err == nil {
			t.Errorf("the worktrees are %v, though HEAD cannot be read", all)
		}
	}
	j.OK(os.RemoveAll(head))
	j.OK(os.WriteFile(head, []byte("ref: refs/heads/tape/main\n"), 0o600))
	j.OK(os.WriteFile(r.WorktreesDir(), nil, 0o600))
	if got, err := r.CheckedOut(); err == nil {
		t.Errorf("%v is checked out, though the linked worktrees cannot be listed", got)
	}
	j.OK(os.Remove(r.WorktreesDir()))
}
