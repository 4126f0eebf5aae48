package journal_test

//tape:race: goroutines wait for one lock file

import (
	"errors"
	"strings"
	"tape/internal/store/journal"
	"tape/internal/store/layout"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/repo"
	"testing"
)

// After a crash in the middle of a batch, somebody commits by hand. The entries in that commit stay; the rest of the
// batch is removed.
func TestInterruptedThenCommittedByHand(t *testing.T) {
	for name, commit := range map[string][]string{
		"nothing of the batch": {"commit", "--quiet", "--allow-empty", "-m", "by hand"},
		"all of the batch":     {"commit", "--quiet", "-am", "by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			s := storetest.New(t, nil)
			tp := storetest.Tape(t, s, "main")
			if _, err := tp.Append(t.Context(), nil, repo.Message("user", "one")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := tp.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			storetest.Interrupt(t, tp)
			if got := storetest.Entries(t, tp, repo.Query{}); len(got) != 2 {
				t.Errorf("readers see %d entries of the interrupted batch", len(got)-2)
			}
			storetest.Git(t, s.Dir(), append([]string{"-c", "user.name=Hand", "-c", "user.email=hand@example.org"}, commit...)...)
			if _, err := tp.Append(t.Context(), nil, repo.Message("user", "two")); err != nil {
				t.Fatal(err)
			}
			want := 3
			if name == "all of the batch" {
				want += 3
			}
			if got := storetest.Entries(t, tp, repo.Query{}); len(got) != want {
				t.Errorf("the tape has %d entries, want %d", len(got), want)
			}
		})
	}
}

// After a crash in the middle of a batch, somebody commits by hand that everything is removed. Readers say which commit
// did it, and the way back, as the next writer does.
func TestInterruptedThenRemovedByHand(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "one"))
	if _, _, err := tp.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.Interrupt(t, tp)
	storetest.Git(t, s.Dir(), "rm", "-r", "-q", "--cached", "anchors")
	storetest.Git(t, s.Dir(), "-c", "user.name=Hand", "-c", "user.email=hand@example.org", "commit", "--quiet", "-m", "by hand")
	_, err := storetest.Collect(t.Context(), tp, repo.Query{})
	var read, write *layout.CorruptError
	if !errors.As(err, &read) || !strings.Contains(read.Msg, "removes what was recorded") || read.Fix == "" {
		t.Errorf("a reader says %v", err)
	}
	_, err = tp.Append(t.Context(), nil, repo.Message("user", "two"))
	if !errors.As(err, &write) || read != nil && *write != *read {
		t.Errorf("a writer says %v", err)
	}
	storetest.Git(t, s.Dir(), "reset", "--quiet", "--soft", "HEAD~1")
	storetest.Append(t, tp, repo.Message("user", "two"))
	if got := storetest.Entries(t, tp, repo.Query{}); len(got) != 3 {
		t.Errorf("when the commit is taken back, the tape has %d entries, want 3", len(got))
	}
}

// After a crash in the middle of a batch, somebody begins a merge with git. Readers do not see the batch, as the writer
// after the merge removes it.
func TestInterruptedThenMerging(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "one"))
	if _, _, err := tp.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	hand := []string{"-c", "user.name=Hand", "-c", "user.email=hand@example.org"}
	side := storetest.Git(t, s.Dir(), append(hand, "commit-tree", "-m", "side", "-p", "HEAD", "HEAD^{tree}")...)
	storetest.Interrupt(t, tp)
	storetest.Git(t, s.Dir(), append(hand, "merge", "--quiet", "--no-ff", "--no-commit", side)...)
	if got := storetest.Entries(t, tp, repo.Query{}); len(got) != 2 {
		t.Errorf("readers see %d entries of the interrupted batch", len(got)-2)
	}
	storetest.Git(t, s.Dir(), "merge", "--abort")
	storetest.Append(t, tp, repo.Message("user", "two"))
	if got := storetest.Entries(t, tp, repo.Query{}); len(got) != 3 {
		t.Errorf("after the merge the tape has %d entries, want 3", len(got))
	}
}

// A writer waits for another that holds the lock. If somebody then removes the lock file, the next writer makes a
// new one.
func TestLockFileRemoved(t *testing.T) {
	s := storetest.New(t, nil)
	tp := storetest.Tape(t, s, "main")
	storetest.Append(t, tp, repo.Message("user", "one"))
	tx, err := writer.Begin(t.Context(), storetest.InnerTape(tp))
	storetest.Must(t, err)
	done := make(chan error)
	go func() {
		_, err := tp.Append(t.Context(), nil, repo.Message("user", "three"))
		done <- err
	}()
	if _, err := tx.Append(t.Context(), repo.Message("user", "two")); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	storetest.Must(t, <-done)
	storetest.Remove(t, journal.LockPath(storetest.InnerTape(tp)))
	storetest.Append(t, tp, repo.Message("user", "four"))
	if got := storetest.Entries(t, tp, repo.Query{}); len(got) != 5 {
		t.Errorf("the tape has %d entries, want 5", len(got))
	}
}
