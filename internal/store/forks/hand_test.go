package forks_test

import (
	"os"
	"path/filepath"
	"tape/internal/store/join"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// A branch that somebody made with git is a fork, too.
func TestForkMadeByHand(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	storetest.Checkpoint(t, m)
	storetest.Git(t, s.Dir(), "branch", "fork/main/hand", "tape/main")
	h := storetest.Tape(t, s, "main/hand")
	storetest.Append(t, h, repo.Message("user", "h1"))
	storetest.Handoff(t, h, "inner")
	storetest.Append(t, m, repo.Message("user", "two"))
	storetest.WantClean(t, h.WorkTree())
	info, err := h.ForkInfo(t.Context())
	if err != nil || info.Entries != 2 || info.Base.Entry != 2 {
		t.Errorf("the fork is %+v, %v; want 2 entries after entry 2", info, err)
	}
	storetest.Merge(t, h, join.Options{})
	storetest.WantTexts(t, m, "session/start one two h1 inner")
	closed, err := m.ClosedForks(t.Context())
	if err != nil || len(closed) != 1 || closed[0].Name != "main/hand" {
		t.Errorf("closed forks are %+v, %v; want main/hand", closed, err)
	}
	if _, err := m.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
}

// Users may work with git in the sparse working tree of a fork.
func TestForkSparseTree(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	storetest.Handoff(t, m, "build")
	storetest.Append(t, m, repo.Message("user", "two"))
	x := storetest.Fork(t, m, "x", "")
	dir := x.WorkTree()
	storetest.WantClean(t, dir)
	storetest.Append(t, x, repo.Message("user", "x1"))
	if out, err := storetest.PlainGit(t, dir, "stash", "--include-untracked"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := storetest.PlainGit(t, dir, "stash", "pop"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	storetest.WantTexts(t, x, "session/start one build two x1")
	storetest.HandLine(t, dir, 6, "by hand")
	if out, err := storetest.PlainGit(t, dir, "commit", "-qam", "by hand"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	storetest.WantTexts(t, x, "session/start one build two x1 by hand")
	storetest.Append(t, x, repo.Message("user", "x2"))
	storetest.Checkpoint(t, x)
	storetest.WantClean(t, dir)
	if err := os.Remove(filepath.Join(dir, "anchors", "002_build", "messages.jsonl")); err != nil {
		t.Fatal(err)
	}
	storetest.WantTexts(t, x, "session/start one build two x1 by hand x2") // git has them
	storetest.Git(t, dir, "checkout", "--", "anchors")
	storetest.WantTexts(t, x, "session/start one build two x1 by hand x2")
	storetest.WriteFile(t, filepath.Join(dir, "note.txt"), []byte("mine"))
	storetest.Merge(t, x, join.Options{})
	kept, err := filepath.Glob(filepath.Join(s.Dir(), ".git", "tape", "torn", "*", "note.txt"))
	if err != nil || len(kept) != 1 {
		t.Errorf("note.txt was kept in %v, want one place (%v)", kept, err)
	}
	storetest.WantTexts(t, m, "session/start one build two x1 by hand x2")
}

// A workspace with open forks may be moved, copied and cloned.
func TestForkMoved(t *testing.T) {
	s, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "x1"))
	storetest.Checkpoint(t, x)
	storetest.Append(t, x, repo.Message("user", "x2"))
	copied := filepath.Join(t.TempDir(), "copy")
	storetest.CopyTree(t, s.Dir(), copied)
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(s.Dir(), moved); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{copied, moved} {
		c := storetest.Reopen(t, dir)
		f := storetest.Tape(t, c, "main/x")
		storetest.WantTexts(t, f, "session/start one x1 x2")
		storetest.Append(t, f, repo.Message("user", "x3"))
		storetest.Merge(t, f, join.Options{})
		storetest.WantTexts(t, storetest.Tape(t, c, "main"), "session/start one x1 x2 x3")
		if left, _ := filepath.Glob(filepath.Join(dir, "forks", "*", "*")); len(left) > 0 {
			t.Errorf("working trees of closed forks are left: %v", left)
		}
		storetest.Healthy(t, dir)
	}
}

// A fork that is fully checked out elsewhere is written there.
func TestForkElsewhere(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	storetest.Handoff(t, m, "two")
	x := storetest.Fork(t, m, "x", "")
	if _, err := s.GC(t.Context(), &repo.GCOptions{Idle: -1, WorktreesOnly: true}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "full")
	storetest.Git(t, s.Dir(), "worktree", "add", "-q", dir, x.Branch())
	storetest.Append(t, x, repo.Message("user", "x1"))
	if x.WorkTree() != dir {
		t.Errorf("the fork is written in %s, want %s", x.WorkTree(), dir)
	}
	storetest.Handoff(t, x, "three")
	storetest.WantClean(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "anchors", "001_session-start", "messages.jsonl")); err != nil {
		t.Error(err)
	}
	storetest.Merge(t, x, join.Options{Keep: true})
	storetest.WantTexts(t, m, "session/start one two x1 three")
	err := x.Discard(t.Context())
	storetest.WantIs(t, err, repo.ErrConflict)
	storetest.Git(t, s.Dir(), "worktree", "remove", dir)
	if err := x.Discard(t.Context()); err != nil {
		t.Error(err)
	}
}

// A fresh clone has the forks of the workspace after git fetch, without working trees.
func TestForkClone(t *testing.T) {
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	storetest.Append(t, m, repo.Message("user", "one"))
	other, err := s.CreateTape(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	storetest.Append(t, other, repo.Message("user", "o1"))
	storetest.Checkpoint(t, other)
	x := storetest.Fork(t, m, "x", "")
	storetest.Append(t, x, repo.Message("user", "x1"))
	storetest.Checkpoint(t, x)
	dir := filepath.Join(t.TempDir(), "clone")
	storetest.Git(t, s.Dir(), "clone", "-q", s.Dir(), dir)
	storetest.Git(t, dir, "fetch", "-q", "origin", "refs/heads/fork/*:refs/heads/fork/*", "refs/heads/tape/other:refs/heads/tape/other")
	c := storetest.Reopen(t, dir)
	f := storetest.Tape(t, c, "main/x")
	storetest.WantTexts(t, f, "session/start one x1")
	if f.WorkTree() != "" {
		t.Error("reading made a working tree")
	}
	o := storetest.Tape(t, c, "other")
	of := storetest.Fork(t, o, "of", "@1")
	if o.WorkTree() != "" {
		t.Error("forking made a working tree of the tape")
	}
	storetest.Append(t, of, repo.Message("user", "of1"))
	storetest.Merge(t, of, join.Options{})
	storetest.WantTexts(t, o, "session/start o1 of1")
	storetest.Merge(t, f, join.Options{})
	storetest.WantTexts(t, storetest.Tape(t, c, "main"), "session/start one x1")
	storetest.Healthy(t, dir)
}
