package web

import (
	"testing"

	"tape/index"
	"tape/internal/store/about"
	"tape/internal/store/layout"
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

// TestKindName: the first anchor of a session is no handoff.
func TestKindName(t *testing.T) {
	t.Parallel()
	for anchor, want := range map[string]string{layout.FirstAnchor: "start", "review": "handoff"} {
		if got := kindName(repo.Entry{Kind: repo.KindAnchor, Anchor: anchor}); got != want {
			t.Errorf("the anchor %s is called %q, want %q", anchor, got, want)
		}
	}
}

// TestHitsOfManySessions: many hits of one session do not hide those of others.
func TestHitsOfManySessions(t *testing.T) {
	t.Parallel()
	var hits []index.Hit
	for _, tape := range []string{"long", "other"} {
		for i := range int64(2 * hitsShown) {
			hits = append(hits, index.Hit{Entry: repo.Entry{Tape: tape, ID: i + 1, Kind: repo.KindMessage}, Session: tape})
		}
	}
	var all, one searchPage
	all.addHits(hits, nil)
	if len(all.Sessions) != 2 || len(all.Sessions[1].Hits) != hitsOfSession || all.Sessions[0].More != 2*hitsShown-hitsOfSession {
		t.Errorf("the sessions are %+v, want both, each with %d hits", all.Sessions, hitsOfSession)
	}
	one.Tape = "long"
	one.addHits(hits[:2*hitsShown], nil)
	if len(one.Sessions[0].Hits) != hitsShown || one.Sessions[0].More != hitsShown {
		t.Errorf("of one session %d hits are shown and %d are not, want %d and as many", len(one.Sessions[0].Hits), one.Sessions[0].More, hitsShown)
	}
}
