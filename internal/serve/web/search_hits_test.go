package web

import (
	"testing"

	"tape/index"
	"tape/internal/store/about"
	"tape/repo"
)

// TestHitsOfSession: hits of a session's forks and subagents are with the session's own, and lead to their own tapes.
func TestHitsOfSession(t *testing.T) {
	t.Parallel()
	hit := func(tape, session string, id int64) index.Hit {
		return index.Hit{Entry: repo.Entry{Tape: tape, ID: id, Kind: repo.KindMessage}, Session: session}
	}
	var d searchPage
	d.addHits([]index.Hit{hit("main/agent-1", "main", 3), hit("other", "other", 2), hit("main", "main", 7), hit("main", "main", 5)},
		map[string]about.Tape{"/t/main": {Name: "main", Title: "The session"}})
	if len(d.Sessions) != 2 || d.Sessions[0].Title != "The session" || len(d.Sessions[0].Hits) != 3 {
		t.Fatalf("the sessions are %+v, want main with three hits, and other", d.Sessions)
	}
	for i, want := range []hitView{{Tape: "main", ID: 5}, {Tape: "main", ID: 7}, {Tape: "main/agent-1", Other: true, ID: 3}} {
		if got := d.Sessions[0].Hits[i]; got.Tape != want.Tape || got.ID != want.ID || got.Other != want.Other {
			t.Errorf("hit %d is %s@%d (of another tape: %v), want %s@%d", i, got.Tape, got.ID, got.Other, want.Tape, want.ID)
		}
	}
}
