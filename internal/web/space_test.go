package web

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"tape/repo"
)

// TestList: what was seen a moment ago is shown while looking takes long, what is old is not.
func TestList(t *testing.T) {
	store, _, err := repo.Init(t.Context(), filepath.Join(t.TempDir(), "w"), nil)
	if err != nil {
		t.Fatal(err)
	}
	looks := make(chan func(context.Context), 1)
	s := &server{Options: Options{Store: store}, spaces: map[string]*space{}, later: func(f func(context.Context)) { looks <- f }}
	w, err := s.open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	go func() { (<-looks)(t.Context()) }()
	first, err := s.list(t.Context(), w)
	if err != nil || len(first.tapes) != 1 {
		t.Fatalf("the first list has %v, %v", first, err)
	}

	first.tapes = make([]*repo.Tape, manyTapes)
	first.at, first.took = time.Now(), time.Minute
	if again, err := s.list(t.Context(), w); err != nil || again != first || w.look != nil {
		t.Errorf("what took a minute to see is looked at again at once: %v", err)
	}
	first.at, first.took = time.Now().Add(-30*time.Second), 0
	if again, err := s.list(t.Context(), w); err != nil || again != first || w.look == nil {
		t.Errorf("a page waits until the list of half a minute ago is made again: %v", err)
	}
	first.at = time.Now().Add(-time.Hour)
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := s.list(ended, w); !errors.Is(err, context.Canceled) {
		t.Errorf("a list of an hour ago is shown: %v", err)
	}
	if _, err := store.CreateTape(t.Context(), "new"); err != nil {
		t.Fatal(err)
	}
	go func() { (<-looks)(t.Context()) }() // the one that goes on, for both
	if again, err := s.list(t.Context(), w); err != nil || len(again.tapes) != 2 {
		t.Errorf("the new list has %v, %v", again, err)
	}
}
