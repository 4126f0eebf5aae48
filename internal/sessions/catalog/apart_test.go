package catalog_test

import (
	"testing"
	"time"

	"tape/internal/sessions/catalog"
	"tape/internal/store/about"
)

// TestTellApart: the label of a tape with a title that others have says what differs, and no more.
func TestTellApart(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 30, 0, 0, time.Local) }
	want := map[*about.Tape]string{
		{Name: "a", Title: "Retries", Branch: "dev", Started: at(1, 9)}:  "Retries · dev",
		{Name: "b", Title: "Retries", Branch: "main", Started: at(1, 9)}: "Retries · main 2026-11-01",
		{Name: "c", Title: "Retries", Branch: "main", Started: at(2, 9)}: "Retries · main 2026-11-02",
		{Name: "d", Title: "Login", Started: at(1, 9)}:                   "Login · 09:30 d",
		{Name: "e", Title: "Login", Started: at(1, 9)}:                   "Login · 09:30 e",
		{Name: "f", Title: "Login", Started: at(1, 10)}:                  "Login · 10:30",
		{Name: "g", Title: "Else", Branch: "dev"}:                        "Else",
		{Name: "h"}: "h", {Name: "i"}: "i",
	}
	var tapes []*about.Tape
	for p := range want {
		tapes = append(tapes, p)
	}
	catalog.TellApart(tapes)
	for p, label := range want {
		if p.Label() != label {
			t.Errorf("the label is %q, want %q", p.Label(), label)
		}
	}
}

// TestListed: the tape that came with the workspace is listed if it has an entry besides its first, or is damaged.
func TestListed(t *testing.T) {
	for _, c := range []struct {
		name    string
		entries int64
		want    bool
	}{{"main", 1, false}, {"main", 2, true}, {"main", 0, true}, {"new", 1, true}} {
		if got := catalog.Listed(about.Tape{Name: c.name, Entries: c.entries}); got != c.want {
			t.Errorf("%s with %d entries is listed: %v, want %v", c.name, c.entries, got, c.want)
		}
	}
	if catalog.Listed(about.Tape{Name: "audit", Entries: 5, IsHostTape: true}) {
		t.Error("the server's own record is listed")
	}
}
