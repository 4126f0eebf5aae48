package repo

import (
	"os"
	"path/filepath"
	"tape/internal/store/join"
	"testing"
)

// stoppedAtLoose gives a tape in which git has stopped in a merge: without a driver on the
// PATH it does at files that have entries which are not committed.
func stoppedAtLoose(t *testing.T) *Tape {
	t.Helper()
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	f := mustFork(t, m, "x", "")
	mustAppend(t, f, Message("user", "theirs"))
	mustCheckpoint(t, f)
	mustAppend(t, m, Message("user", "ours"))
	mustCheckpoint(t, m)
	mustAppend(t, m, Message("user", "loose"))
	mergeWithGit(t, s.Dir(), "git merge")
	wantStopped(t, s.Dir())
	return m
}

// wantStopped fails unless git has stopped in a merge.
func wantStopped(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, ".git", "MERGE_HEAD")); err != nil {
		t.Fatal("git did not stop: the test misses its point")
	}
}

func TestContinueKeepsLoose(t *testing.T) {
	m := stoppedAtLoose(t)
	if _, err := join.ContinueMerge(t.Context(), m.in()); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, m, "session/start ours loose theirs")
}

// A branch that somebody made with git is a fork, too.
func TestForkMadeByHand(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	mustCheckpoint(t, m)
	runGit(t, s.Dir(), "branch", "fork/main/hand", "tape/main")
	h := openTape(t, s, "main/hand")
	mustAppend(t, h, Message("user", "h1"))
	mustHandoff(t, h, "inner")
	mustAppend(t, m, Message("user", "two"))
	wantClean(t, h.WorkTree())
	info, err := h.ForkInfo(t.Context())
	if err != nil || info.Entries != 2 || info.Base.Entry != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	mustMerge(t, h, join.Options{})
	wantTexts(t, m, "session/start one two h1 inner")
	closed, err := m.ClosedForks(t.Context())
	if err != nil || len(closed) != 1 || closed[0].Name != "main/hand" {
		t.Errorf("%+v, %v", closed, err)
	}
	if _, err := m.Reset(t.Context(), true); err != nil {
		t.Fatal(err)
	}
}

// Somebody works in the sparse working tree of a fork with git.
func TestForkSparseTree(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	mustHandoff(t, m, "build")
	mustAppend(t, m, Message("user", "two"))
	x := mustFork(t, m, "x", "")
	dir := x.WorkTree()
	wantClean(t, dir)
	mustAppend(t, x, Message("user", "x1"))
	if out, err := plainGit(t, dir, "stash", "--include-untracked"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if out, err := plainGit(t, dir, "stash", "pop"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantTexts(t, x, "session/start one build two x1")
	handLine(t, dir, 6, "by hand")
	if out, err := plainGit(t, dir, "commit", "-qam", "by hand"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	wantTexts(t, x, "session/start one build two x1 by hand")
	mustAppend(t, x, Message("user", "x2"))
	mustCheckpoint(t, x)
	wantClean(t, dir)
	if err := os.Remove(filepath.Join(dir, "anchors", "002_build", "messages.jsonl")); err != nil {
		t.Fatal(err)
	}
	wantTexts(t, x, "session/start one build two x1 by hand x2") // git has them
	runGit(t, dir, "checkout", "--", "anchors")
	wantTexts(t, x, "session/start one build two x1 by hand x2")
	writeFile(t, filepath.Join(dir, "note.txt"), []byte("mine"))
	mustMerge(t, x, join.Options{})
	kept, err := filepath.Glob(filepath.Join(s.Dir(), ".git", "tape", "torn", "*", "note.txt"))
	if err != nil || len(kept) != 1 {
		t.Errorf("somebody's file is gone: %v, %v", kept, err)
	}
	wantTexts(t, m, "session/start one build two x1 by hand x2")
}

// A workspace with open forks may be moved, copied and cloned.
func TestForkMoved(t *testing.T) {
	s, _, err := Init(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	x := mustFork(t, m, "x", "")
	mustAppend(t, x, Message("user", "x1"))
	mustCheckpoint(t, x)
	mustAppend(t, x, Message("user", "x2"))
	copied := filepath.Join(t.TempDir(), "copy")
	copyTree(t, s.Dir(), copied)
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(s.Dir(), moved); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{copied, moved} {
		c := reopen(t, dir)
		f := openTape(t, c, "main/x")
		wantTexts(t, f, "session/start one x1 x2")
		mustAppend(t, f, Message("user", "x3"))
		mustMerge(t, f, join.Options{})
		wantTexts(t, openTape(t, c, "main"), "session/start one x1 x2 x3")
		if left, _ := filepath.Glob(filepath.Join(dir, "forks", "*", "*")); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
		healthy(t, dir)
	}
}

// A fork that somebody has checked out in full elsewhere is written there.
func TestForkElsewhere(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	mustHandoff(t, m, "two")
	x := mustFork(t, m, "x", "")
	if _, err := s.GC(t.Context(), &GCOptions{Idle: -1, WorktreesOnly: true}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "full")
	runGit(t, s.Dir(), "worktree", "add", "-q", dir, x.Branch())
	mustAppend(t, x, Message("user", "x1"))
	if x.WorkTree() != dir {
		t.Errorf("it is written in %s", x.WorkTree())
	}
	mustHandoff(t, x, "three")
	wantClean(t, dir)
	if _, err := os.Stat(filepath.Join(dir, "anchors", "001_session-start", "messages.jsonl")); err != nil {
		t.Error(err)
	}
	mustMerge(t, x, join.Options{Keep: true})
	wantTexts(t, m, "session/start one two x1 three")
	err := x.Discard(t.Context())
	wantIs(t, err, ErrConflict)
	runGit(t, s.Dir(), "worktree", "remove", dir)
	if err := x.Discard(t.Context()); err != nil {
		t.Error(err)
	}
}

// A fresh clone has the forks of the workspace after git fetch, without working trees.
func TestForkClone(t *testing.T) {
	s := testStore(t, nil)
	m := openTape(t, s, "main")
	mustAppend(t, m, Message("user", "one"))
	other, err := s.CreateTape(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, other, Message("user", "o1"))
	mustCheckpoint(t, other)
	x := mustFork(t, m, "x", "")
	mustAppend(t, x, Message("user", "x1"))
	mustCheckpoint(t, x)
	dir := filepath.Join(t.TempDir(), "clone")
	runGit(t, s.Dir(), "clone", "-q", s.Dir(), dir)
	runGit(t, dir, "fetch", "-q", "origin", "refs/heads/fork/*:refs/heads/fork/*", "refs/heads/tape/other:refs/heads/tape/other")
	c := reopen(t, dir)
	f := openTape(t, c, "main/x")
	wantTexts(t, f, "session/start one x1")
	if f.WorkTree() != "" {
		t.Error("reading made a working tree")
	}
	o := openTape(t, c, "other")
	of := mustFork(t, o, "of", "@1")
	if o.WorkTree() != "" {
		t.Error("forking made a working tree of the tape")
	}
	mustAppend(t, of, Message("user", "of1"))
	mustMerge(t, of, join.Options{})
	wantTexts(t, o, "session/start o1 of1")
	mustMerge(t, f, join.Options{})
	wantTexts(t, openTape(t, c, "main"), "session/start one x1")
	healthy(t, dir)
}
