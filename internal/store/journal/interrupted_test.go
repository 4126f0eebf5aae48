package journal_test

//tape:race: goroutines wait for one lock file

import (
	"tape/internal/store/journal"
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
