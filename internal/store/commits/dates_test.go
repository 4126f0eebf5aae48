package commits

import (
	"fmt"
	"testing"
	"time"

	"tape/internal/git/gitstore"
)

// Commits have the dates of their entries, never go back, and are not in the future.
func TestDates(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	d := DatesAfter(gitstore.Commit{Committer: gitstore.Signature{When: now.Add(-4 * time.Hour)}})
	for _, c := range []struct {
		entry             string
		author, committer int // o'clock
	}{
		{"2026-11-26T09:00:00.000000+00:00", 9, 9},
		{"2026-11-26T07:00:00.000000+00:00", 7, 9},
		{"no date", 7, 9},
		{"2026-11-26T13:00:00.000000+00:00", 12, 12},
		{"1969-11-26T13:00:00.000000+00:00", 12, 12},
	} {
		commit := gitstore.Commit{Author: gitstore.Signature{When: now}, Committer: gitstore.Signature{When: now}}
		d.Add(fmt.Appendf(nil, `{"id":2,"kind":"event","payload":{"name":"x"},"meta":{},"date":%q}`, c.entry))
		if d.set(&commit); commit.Author.When.Hour() != c.author || commit.Committer.When.Hour() != c.committer {
			t.Errorf("entry of %s: author date %v, committer date %v; want %d and %d o'clock", c.entry, commit.Author.When, commit.Committer.When, c.author, c.committer)
		}
	}
}

// Without dates, and before the first entry, commits are dated now.
func TestNoDates(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	var none *Dates
	none.Add([]byte(`{}`))
	for _, d := range []*Dates{none, {}} {
		commit := gitstore.Commit{Committer: gitstore.Signature{When: now}}
		if d.set(&commit); !commit.Committer.When.Equal(now) {
			t.Errorf("the commit is dated %v, want now", commit.Committer.When)
		}
	}
}
