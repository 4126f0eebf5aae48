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

// TestPages: a list in the order of the sessions' beginnings loses none that grows between two pages.
func TestPages(t *testing.T) {
	t.Parallel()
	d := teamtest.Open(t)
	w, err := d.Writer(t.Context(), "shop", true)
	storetest.Must(t, err)
	defer w.Close()
	put := func(id int64, name string, began, updated int) {
		t.Helper()
		c, err := w.Begin(t.Context())
		storetest.Must(t, err)
		defer c.Rollback(t.Context())
		from, to := time.Date(2026, 5, began, 0, 0, 0, 0, time.UTC), time.Date(2026, 5, updated, 0, 0, 0, 0, time.UTC)
		storetest.Must(t, c.Put(t.Context(), db.Tape{ID: id, Ref: "refs/heads/tape/" + name, Name: name, Authors: []string{}, Started: &from, Updated: &to, Entries: 2, Oldest: from, Newest: to}))
		storetest.Must(t, c.Commit(t.Context()))
	}
	put(1, "old", 1, 4)
	put(2, "middle", 2, 5)
	put(3, "new", 3, 6)
	v, err := d.View(t.Context(), []string{"shop"})
	storetest.Must(t, err)
	var got []string
	choice := db.Choice{Begun: true, Most: 1}
	for range 3 {
		list, err := v.Sessions(t.Context(), choice)
		storetest.Must(t, err)
		for _, s := range list {
			got = append(got, s.Name)
			choice.AfterTime, choice.AfterID = s.Started, s.ID
		}
		put(1, "old", 1, 20) // it grows
	}
	if want := []string{"new", "middle", "old"}; !slices.Equal(got, want) {
		t.Errorf("the pages have %q, want %q", got, want)
	}
}
