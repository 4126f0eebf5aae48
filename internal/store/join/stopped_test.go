package join_test

import (
	"os"
	"path/filepath"
	"tape/internal/store/join"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// stoppedAtUncommitted returns a tape in which git has stopped a merge. Without a merge driver on the PATH, git
// stops at files with uncommitted entries.
func stoppedAtUncommitted(t *testing.T) *repo.Tape {
	t.Helper()
	s := storetest.New(t, nil)
	m := storetest.Tape(t, s, "main")
	f := storetest.Fork(t, m, "x", "")
	storetest.Append(t, f, repo.Message("user", "theirs"))
	storetest.Handoff(t, f, "second")
	storetest.Append(t, m, repo.Message("user", "ours"))
	storetest.Checkpoint(t, m)
	storetest.Append(t, m, repo.Message("user", "loose"))
	storetest.MergeWithGit(t, s.Dir(), "git merge")
	wantStopped(t, s.Dir())
	return m
}

// wantStopped fails the test unless git has stopped in a merge.
func wantStopped(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, ".git", "MERGE_HEAD")); err != nil {
		t.Fatal("git did not stop in the merge, so there is nothing to test")
	}
}

// Uncommitted entries come before the merged ones.
func TestContinueKeepsUncommitted(t *testing.T) {
	m := stoppedAtUncommitted(t)
	merged, err := join.ContinueMerge(t.Context(), storetest.InnerTape(m))
	storetest.Must(t, err)
	if merged.Merged != 2 || merged.Anchors != 1 {
		t.Errorf("the merge says %+v, want 2 entries, one of them an anchor", merged)
	}
	storetest.WantTexts(t, m, "session/start ours loose theirs second")
}
