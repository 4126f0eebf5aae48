package snapshot_test

import (
	"errors"
	"testing"

	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// TestReadersSeeNoPartialState reads the entries between two anchors while the second one, and more after it, is being
// written. A reader sees all of them or, before the handoff, ErrNotFound for the second anchor; never a part, and never
// nothing.
func TestReadersSeeNoPartialState(t *testing.T) {
	t.Parallel()
	const entries, rounds = 3, 6
	for range rounds {
		tp := storetest.Tape(t, storetest.New(t, nil), "")
		storetest.Append(t, tp, repo.Message("user", "a"), repo.Message("assistant", "b"), repo.Message("user", "c"))
		written := make(chan error, 1)
		go func() {
			_, err := tp.Handoff(t.Context(), repo.Anchor{Name: "review"})
			for i := 0; err == nil && i < 3; i++ {
				_, err = tp.Append(t.Context(), nil, repo.Message("user", "after"))
			}
			if err == nil {
				_, err = tp.Handoff(t.Context(), repo.Anchor{Name: "next"})
			}
			written <- err
		}()
		for done := false; !done; {
			select {
			case err := <-written:
				if done = true; err != nil {
					t.Fatal(err)
				}
			default:
			}
			n := 0
			var failed error
			for _, err := range tp.Entries(t.Context(), repo.Query{From: "session/start", To: "review"}) {
				if err != nil {
					failed = err
					break
				}
				n++
			}
			switch {
			case failed == nil && n != entries:
				t.Fatalf("%d entries are between the anchors, want %d", n, entries)
			case failed != nil && (done || n > 0 || !errors.Is(failed, repo.ErrNotFound)):
				t.Fatalf("after %d entries the read failed: %v; want only ErrNotFound before the handoff", n, failed)
			}
		}
	}
}
