package db_test

import (
	"slices"
	"testing"
	"time"

	"tape/internal/serve/team/db"
	storetest "tape/internal/testkit/store"
	"tape/internal/testkit/teamtest"
)

// TestWords: the table of words has those of the entries of a remote, for those who see it, until no entry has them.
func TestWords(t *testing.T) {
	t.Parallel()
	d := teamtest.Open(t)
	w, err := d.Writer(t.Context(), "shop", true)
	storetest.Must(t, err)
	defer w.Close()
	at := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	change := func(do func(c *db.Change)) {
		t.Helper()
		c, err := w.Begin(t.Context())
		storetest.Must(t, err)
		defer c.Rollback(t.Context())
		do(c)
		storetest.Must(t, c.Commit(t.Context()))
	}
	add := func(tape int64, words ...string) {
		t.Helper()
		change(func(c *db.Change) {
			storetest.Must(t, c.Add(t.Context(), tape, []db.Row{{ID: 1, Date: at, Words: words}}))
		})
	}
	want := func(remote string, want ...string) {
		t.Helper()
		v, err := d.View(t.Context(), []string{remote})
		storetest.Must(t, err)
		var got []string
		storetest.Must(t, v.WordsFrom(t.Context(), "re", func(word string) { got = append(got, word) }))
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("a user of %s has the words %q, want %q", remote, got, want)
		}
	}
	add(1, "redis", "reset'", `re\`, "re42", "other", "\ue000kre")
	add(2, "redis", "retry")
	want("shop", `re\`, "redis", "reset'", "retry")
	want("bank")
	change(func(c *db.Change) {
		_, err := c.Drop(t.Context(), db.Tape{ID: 1, Oldest: at, Newest: at}, true)
		storetest.Must(t, err)
	})
	want("shop", "redis", "retry")
	add(3, "reset'") // again
	want("shop", "redis", "reset'", "retry")
}
