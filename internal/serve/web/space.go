package web

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/store/about"
	"tape/repo"
)

// space is an open workspace. Its index is for one goroutine at a time.
type space struct {
	name  string
	store *repo.Store
	mu    sync.Mutex
	index *index.Index
}

// names are those of the workspaces in Home.
func (s *View) names() []string {
	var out []string
	if s.Home == "" {
		return nil
	}
	entries, _ := os.ReadDir(s.Home) // none that can be read: none is shown
	for _, e := range entries {
		if _, err := os.Stat(filepath.Join(s.Home, e.Name(), ".git")); err == nil && e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

func (s *View) knows(name string) bool { return slices.Contains(s.names(), name) }

// open is the workspace of a name; "" is the first.
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

// about tells what tapes are about; nil stands for all.
func (w *space) about(ctx context.Context, tapes []*repo.Tape) (map[string]about.Tape, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	facts, _, err := catalog.About(ctx, w.index, w.store, tapes) // damaged ones are known by their names
	return facts, err
}

// aboutSoon is what is known of a tape, nothing yet if the index has to catch up for long: that
// goes on, and nobody waits for it who wants to read.
func (s *View) aboutSoon(w *space, t *repo.Tape) about.Tape {
	const soon = 300 * time.Millisecond
	found := make(chan about.Tape, 1)
	s.later(func(ctx context.Context) {
		facts, _ := w.about(ctx, []*repo.Tape{t}) // without them, the page has the tape's name
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
