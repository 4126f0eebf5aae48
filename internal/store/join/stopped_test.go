package join_test

import (
	"os"
	"path/filepath"
	"tape/internal/store/join"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// stoppedAtLoose returns a tape in which git has stopped a merge. Without a merge driver on the PATH, it does so
// at files with uncommitted entries.
func stoppedAtLoose(t *testing.T) *repo.Tape {
	t.Helper()
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	f := storetest.Fork(t, m, "x", "")
	storetest.Append(t, f, repo.Message("user", "theirs"))
	storetest.Checkpoint(t, f)
	storetest.Append(t, m, repo.Message("user", "ours"))
	storetest.Checkpoint(t, m)
	storetest.Append(t, m, repo.Message("user", "loose"))
	storetest.MergeWithGit(t, s.Dir(), "git merge")
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
	if _, err := join.ContinueMerge(t.Context(), storetest.InnerTape(m)); err != nil {
		t.Fatal(err)
	}
	storetest.WantTexts(t, m, "session/start ours loose theirs")
}
