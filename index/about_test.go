package index

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"os"
	"testing"

	"tape/internal/store/about"
	"tape/repo"
)

// TestAbout reads what tapes are about: after writes, without an index, and with a damaged row.
func TestAbout(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	main := openTape(t, s, "")
	other, err := s.CreateTape(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	x := testIndex(t, s)
	ask := func() (a, b about.Tape) {
		t.Helper()
		got, err := x.About(t.Context(), []*repo.Tape{main, other})
		if err != nil {
			t.Fatal(err)
		}
		return got[main.Branch()], got[other.Branch()]
	}
	if a, b := ask(); a.Title != "" || b.Title != "" || a.Entries != 1 || a.LastAnchor != repo.FirstAnchor {
		t.Errorf("new tapes: got %+v, %+v, want 1 entry, the first anchor, and no titles", a, b)
	}
	mustAppend(t, main, repo.Message("user", "why is it slow?"), repo.Message("assistant", "let me see"))
	mustAppend(t, other, repo.Message("user", "/clear"))
	want := func(what string) {
		t.Helper()
		if a, b := ask(); a.Title != "why is it slow?" || a.Messages != 2 || b.Title != "" || b.Messages != 1 {
			t.Errorf("%s: got %+v, %+v, want the title \"why is it slow?\" and 2 messages, no title and 1 message", what, a, b)
		}
	}
	want("after writes")
	if err := os.Remove(s.IndexFile()); err != nil {
		t.Fatal(err)
	}
	want("without the index")
	pool, err := sql.Open("sqlite", s.IndexFile())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec("UPDATE tapes SET about = '{'"); err != nil {
		t.Fatal(err)
	}
	want("with a damaged row")
}

// TestShownAbout: nothing of what a shown index masks is in it, not even in what tapes are about.
func TestShownAbout(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	main := openTape(t, s, "")
	mustAppend(t, main, repo.Message("user", "the word is opensesame"), repo.Message("assistant", "noted"))
	x := New(s, &Options{Shown: &Shown{Version: "1", Entry: func(_ *repo.Tape, e repo.Entry) repo.Entry {
		e.Payload = json.RawMessage(bytes.ReplaceAll(e.Payload, []byte("opensesame"), []byte("[masked]")))
		e.Raw = nil
		return e
	}}})
	got, err := x.About(t.Context(), []*repo.Tape{main})
	if err != nil || got[main.Branch()].Title != "" {
		t.Errorf("about: %+v, want nothing, %v", got, err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if raw, err := os.ReadFile(shownFile(s)); err != nil || bytes.Contains(raw, []byte("opensesame")) {
		t.Errorf("the file has the word that is masked, %v", err)
	}
}
