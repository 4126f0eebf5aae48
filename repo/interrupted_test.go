package repo

import (
	"os"
	"tape/internal/store/journal"
	"tape/internal/store/writer"
	"testing"
)

// interrupt leaves a batch as a killed process does: written, and not acknowledged.
func interrupt(t *testing.T, tp *Tape) {
	t.Helper()
	tx, err := writer.Begin(t.Context(), tp.in())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := tx.Append(t.Context(), Message("user", "never acknowledged")); err != nil {
			t.Fatal(err)
		}
	}
	// As it is until the change is complete: it says that nothing of it counts.
	path := journal.LockPath(tp.in())
	note, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, note, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestInterruptedThenCommittedByHand: after a crash in the middle of a batch somebody
// commits by hand. What the commit has stays; what only the batch had goes.
func TestInterruptedThenCommittedByHand(t *testing.T) {
	for name, commit := range map[string][]string{
		"nothing of the batch":   {"commit", "--quiet", "--allow-empty", "-m", "by hand"},
		"the batch and the rest": {"commit", "--quiet", "-am", "by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			s := testStore(t, nil)
			tp := openTape(t, s, "main")
			if _, err := tp.Append(t.Context(), nil, Message("user", "one")); err != nil {
				t.Fatal(err)
			}
			if _, _, err := tp.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
			interrupt(t, tp)
			if got := entriesOf(t, tp, Query{}); len(got) != 2 {
				t.Errorf("readers see %d entries of a batch under way", len(got)-2)
			}
			runGit(t, s.Dir(), append([]string{"-c", "user.name=Hand", "-c", "user.email=hand@example.org"}, commit...)...)
			if _, err := tp.Append(t.Context(), nil, Message("user", "two")); err != nil {
				t.Fatal(err)
			}
			want := 3
			if name == "the batch and the rest" {
				want += 3
			}
			if got := entriesOf(t, tp, Query{}); len(got) != want {
				t.Errorf("the tape has %d entries, want %d", len(got), want)
			}
		})
	}
}

// TestSoftReset: somebody takes a handoff's commit back and leaves its folder. What the
// closed phase got is in the next commit, and the tag moves there.
func TestSoftReset(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, Message("user", "one"))
	mustHandoff(t, tp, "two")
	runGit(t, s.Dir(), "reset", "--quiet", "--soft", "HEAD~1")
	mustAppend(t, tp, Message("user", "two"))
	mustCheckpoint(t, tp)
	if got := runGit(t, s.Dir(), "ls-tree", "-r", "--name-only", "HEAD", "anchors/001_session-start"); got == "" ||
		runGit(t, s.Dir(), "show", "HEAD:anchors/001_session-start/messages.jsonl") == "" {
		t.Errorf("the commit has %s", got)
	}
	if report, err := s.Verify(t.Context()); err != nil || !report.OK {
		t.Errorf("verify: %+v, %v", report, err)
	}
}

// TestLockFileRemovedWhileWaiting: a lock file that somebody removes while others wait for it does
// not let two of them in.
func TestLockFileRemovedWhileWaiting(t *testing.T) {
	s := testStore(t, nil)
	tp := openTape(t, s, "main")
	mustAppend(t, tp, Message("user", "one"))
	tx, err := writer.Begin(t.Context(), tp.in())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := tp.Append(t.Context(), nil, Message("user", "three"))
		done <- err
	}()
	if _, err := tx.Append(t.Context(), Message("user", "two")); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	remove(t, journal.LockPath(tp.in()))
	mustAppend(t, tp, Message("user", "four"))
	if got := entriesOf(t, tp, Query{}); len(got) != 5 {
		t.Errorf("the tape has %d entries", len(got))
	}
}
