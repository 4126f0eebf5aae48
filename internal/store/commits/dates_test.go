package commits_test

import (
	"fmt"
	"testing"
	"time"

	"tape/internal/git/gitstore"
	"tape/internal/store/commits"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// committer returns a function that makes a commit at a time.
func committer(t *testing.T, now time.Time) func(d *commits.Dates) gitstore.Commit {
	s := storetest.New(t, &repo.InitOptions{Options: repo.Options{Now: func() time.Time { return now }}})
	tape := storetest.InnerTape(storetest.Tape(t, s, "main"))
	return func(d *commits.Dates) (c gitstore.Commit) {
		_, err := commits.Put(t.Context(), tape, storetest.Inner(s).Git().NewBatch(), &c, d)
		storetest.Must(t, err)
		return c
	}
}

// Commits have the dates of their entries, never go back, and are not in the future.
func TestDates(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	commit := committer(t, now)
	d := commits.DatesAfter(gitstore.Commit{Committer: gitstore.Signature{When: now.Add(-4 * time.Hour)}})
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
		d.Add(fmt.Appendf(nil, `{"id":2,"kind":"event","payload":{"name":"x"},"meta":{},"date":%q}`, c.entry))
		made := commit(d)
		if author, committer := made.Author.When.UTC(), made.Committer.When.UTC(); author.Hour() != c.author || committer.Hour() != c.committer {
			t.Errorf("entry of %s: author date %v, committer date %v; want %d and %d o'clock", c.entry, author, committer, c.author, c.committer)
		}
	}
}

// Without dates, and before the first entry, commits are dated now.
func TestNoDates(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	commit := committer(t, now)
	var none *commits.Dates
	none.Add([]byte(`{}`))
	for _, d := range []*commits.Dates{none, {}} {
		if made := commit(d); !made.Committer.When.Equal(now) {
			t.Errorf("the commit is dated %v, want now", made.Committer.When)
		}
	}
}
