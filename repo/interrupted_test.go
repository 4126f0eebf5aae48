package repo

import (
	"testing"
)

// interrupt leaves a batch as a killed process does: written, and not acknowledged.
func interrupt(t *testing.T, tp *Tape) {
	t.Helper()
	tx, err := tp.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := tx.Append(Message("user", "never acknowledged")); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.flushAll(); err != nil {
		t.Fatal(err)
	}
	if err := tx.syncing.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := tx.w.lock.Unlock(); err != nil {
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
