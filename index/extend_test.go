package index

import (
	"fmt"
	"testing"

	"tape/repo"
)

// TestExtend: many new entries are added to a copy of the index, with the same result. Whoever has
// the old file open can continue.
func TestExtend(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	tp, err := s.Tape(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, tp, repo.Message("user", "the first needle"))
	reader, writer := testIndex(t, s), testIndex(t, s)
	mustSync(t, reader)
	writer.many = 20
	for round := range 3 {
		var drafts []repo.Draft
		for i := range 50 {
			drafts = append(drafts, repo.Message("user", fmt.Sprintf("needle %d of round %d", i, round)))
		}
		mustAppend(t, tp, drafts...)
		before := writer.file
		done := mustSync(t, writer)
		if done.Entries != 50 {
			t.Errorf("round %d: %d entries were added, want 50", round, done.Entries)
		}
		if before != nil && before == writer.file {
			t.Errorf("round %d: the index was not replaced", round)
		}
		wantEqual(t, "extended", s.IndexFile(), rebuilt(t, s))
		res := mustSearch(t, reader, Search{Text: "needle", Tapes: named(tp)})
		if want := 1 + 50*(round+1); res.Matches != want {
			t.Errorf("round %d: %d matches, want %d", round, res.Matches, want)
		}
	}
	// Now the tape begins again.
	if _, err := tp.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	mustSync(t, writer)
	wantEqual(t, "after a reset", s.IndexFile(), rebuilt(t, s))
	wantNoScratch(t, s)
}
