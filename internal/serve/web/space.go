package web

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/store/about"
	"tape/repo"
)

// space is an open workspace. mu guards the index, which is for one goroutine at a time.
type space struct {
	name  string
	store *repo.Store
	mu    sync.Mutex
	index *index.Index
}

// names are the workspaces in Home.
func (s *View) names() []string {
	var out []string
	if s.Home == "" {
		return nil
	}
	entries, _ := os.ReadDir(s.Home) // if it cannot be read, no workspace is shown
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(s.Home, e.Name(), ".git")); err == nil && e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// open opens a workspace by name; "" is Store.
func (s *View) open(ctx context.Context, name string) (*space, error) {
	dir := s.Store.Dir()
	if name != "" {
		dir = filepath.Join(s.Home, name)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.spaces[dir]; w != nil {
		return w, nil
	}
	store := s.Store
	if name != "" {
		var err error
		if store, err = repo.Open(ctx, dir, nil); err != nil {
			return nil, err
		}
	}
	w := &space{name: filepath.Base(dir), store: store, index: index.New(store, nil)}
	s.spaces[dir] = w
	return w, nil
}

// about returns what tapes are about, by branch; nil: all tapes.
func (w *space) about(ctx context.Context, tapes []*repo.Tape) (map[string]about.Tape, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	facts, _, err := catalog.About(ctx, w.index, w.store, tapes) // damaged tapes only have their names
	return facts, err
}

// aboutSoon is what a tape is about, or nothing if the index takes long to catch up. It does so
// in the background, so that the page does not wait.
func (s *View) aboutSoon(w *space, t *repo.Tape) about.Tape {
	const soon = 300 * time.Millisecond
	found := make(chan about.Tape, 1)
	s.later(func(ctx context.Context) {
		facts, _ := w.about(ctx, []*repo.Tape{t}) // after an error, the page shows the tape's name
		found <- facts[t.Branch()]
	})
	select {
	case a := <-found:
		return a
	case <-time.After(soon):
		return about.Tape{}
	}
}

func (w *space) search(ctx context.Context, q index.Search) (*index.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index.Search(ctx, q)
}
