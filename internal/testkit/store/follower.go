package storetest

import (
	"reflect"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/repo"
	"testing"
)

// Follower reads a tape from one read mark to the next.
type Follower struct {
	Mark    snapshot.ReadMark
	Entries []repo.Entry
}

// CatchUp reads the entries after the mark. It reports whether it had to read
// the whole tape again.
func (f *Follower) CatchUp(t testing.TB, tp *repo.Tape) (whole bool) {
	t.Helper()
	s, err := query.Since(t.Context(), InnerTape(tp), f.Mark)
	Must(t, err)
	if s.Whole() {
		f.Entries = nil
	}
	for e, err := range s.Entries(t.Context()) {
		Must(t, err)
		f.Entries = append(f.Entries, e)
	}
	mark, ok := s.Mark()
	if !ok {
		t.Fatal("Mark returned no read mark after the last entry")
	}
	f.Mark = mark
	return s.Whole()
}

// Compare fails unless the follower has what the tape holds, positions included.
func (f *Follower) Compare(t testing.TB, tp *repo.Tape) {
	t.Helper()
	want := Entries(t, tp, repo.Query{})
	if len(f.Entries) != len(want) || f.Mark.LastID != int64(len(want)) {
		t.Fatalf("the follower has %d entries and a mark at @%d; the tape has %d entries", len(f.Entries), f.Mark.LastID, len(want))
	}
	for i := range want {
		got := f.Entries[i]
		got.Attached = nil // only the index needs the text of artifacts
		if !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("entry %d is\n%+v, want\n%+v", i+1, got, want[i])
		}
	}
}
