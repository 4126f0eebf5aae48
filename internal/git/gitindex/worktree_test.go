package gitindex

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"tape/internal/git/disk"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
	"tape/internal/git/gitworktree"
	"tape/internal/testkit/gitjudge"
)

// wantWorktrees fails unless we list the same worktrees as git.
func wantWorktrees(j *gitjudge.Judge, r *gitstore.Repo) {
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

// A fork's worktree is two folders deep, and sparse. Its removal leaves nothing.
func TestRemoveForkFaults(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	w, entries := sparse(j, r)
	j.Git("branch", "fork/main/y")
	dir := filepath.Join(j.Dir, "forks", "main")
	other, err := gitworktree.Add(ctx, r, "refs/heads/fork/main/y", filepath.Join(dir, "y"))
	j.OK(err)
	j.OK(gitworktree.Remove(ctx, r, w, os.RemoveAll))
	if _, err := os.Stat(filepath.Join(other.Dir, ".git")); err != nil {
		t.Fatal("the worktree beside it is gone, too")
	}
	j.OK(gitworktree.Remove(ctx, r, other, os.RemoveAll))
	j.Git("branch", "-D", "fork/main/y")
	for _, gone := range []string{"", "folder", "parent"} {
		gitjudge.EveryFault(t, func(t *testing.T, fsys *disk.FS) {
			w, err := gitworktree.Add(ctx, r, w.Branch, w.Dir)
			if err != nil {
				t.Fatal(err)
			}
			j.WriteIn(w.Dir, entries[9].Path, "line 9\n")
			if err := Rebuild(ctx, r, w, entries); err != nil {
				t.Fatal(err)
			}
			switch gone {
			case "folder":
				j.OK(os.RemoveAll(w.Dir))
			case "parent":
				j.OK(os.RemoveAll(dir))
			}
			first := gitworktree.Remove(ctx, open(j, fsys), w, fsys.RemoveAll)
			wantWorktrees(j, r)
			if _, err := os.Stat(dir); err == nil && first == nil {
				t.Fatal("the empty folder around it is left")
			}
			if err := gitworktree.Remove(ctx, r, w, os.RemoveAll); err != nil {
				t.Fatal(err)
			}
			for _, left := range []string{w.GitDir, filepath.Join(j.GitDir, gitlock.OwnDir, "worktree.new"), w.Dir} {
				if _, err := os.Lstat(left); err == nil {
					t.Fatalf("%s is left", left)
				}
			}
			wantWorktrees(j, r)
			if out := j.Git("worktree", "prune", "--verbose", "--expire=now"); out != "" {
				t.Fatalf("git still finds something to prune: %s", out)
			}
			if out := j.Git("status", "--porcelain"); out != "" {
				t.Fatalf("git status: %s", out)
			}
		})
	}
	j.Git("branch", "-D", "fork/main/x")
	if _, err := os.Stat(filepath.Join(j.Dir, "forks")); err == nil {
		t.Error("the folder of all forks is left")
	}
	if _, err := os.Stat(j.Dir); err != nil {
		t.Fatal(err)
	}
	j.Fsck()
}

// A process that dies while it writes the index of a fork, or git's settings, leaves a
// lock that makes git fail. RecoverLocks removes it.
func TestRecoverOtherLocks(t *testing.T) {
	j := gitjudge.New(t)
	r, ctx := open(j, nil), context.Background()
	w, _ := sparse(j, r)
	dying := open(j, &disk.FS{Fault: func(op disk.Op, path string) error {
		if op == disk.OpSync || op == disk.OpRemove {
			return gitjudge.ErrKilled
		}
		return nil
	}})
	j.WriteIn(w.Dir, "anchors/009_x/messages.jsonl", "line 9\nmore\n")
	if err := Update(ctx, dying, w, []Change{change("anchors/009_x/messages.jsonl", "line 9\nmore\n")}); !errors.Is(err, gitjudge.ErrKilled) {
		t.Fatal(err)
	}
	set := func(old []byte) ([]byte, error) { return append(old, "[x]\n\ty = 1\n"...), nil }
	if err := dying.Config().Edit(ctx, set); !errors.Is(err, gitjudge.ErrKilled) {
		t.Fatal(err)
	}
	if out, err := j.TryGit(w.Dir, "commit", "-qam", "x"); err == nil {
		t.Fatalf("git commit should fail beside the lock: %s", out)
	}
	foreign := filepath.Join(j.GitDir, "index.lock")
	j.OK(os.WriteFile(foreign, nil, 0o600))
	removed, err := r.RecoverLocks(ctx)
	if err != nil || len(removed) != 2 {
		t.Fatalf("removed %v, %v; want two locks", removed, err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("somebody else's lock is gone")
	}
	j.GitIn(w.Dir, "commit", "-qam", "x")
	j.Git("config", "x.y", "z")
	stillSparse(j, w, "recovering")
}
