package web

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tape/index"
	"tape/internal/about"
	"tape/internal/catalog"
	"tape/repo"
)

// space is an open workspace. Its index is for one goroutine at a time.
type space struct {
	name  string
	store *repo.Store
	mu    sync.Mutex
	index *index.Index

	listing sync.Mutex // of what follows
	known   *listing   // nil before it was first looked
	look    *looking   // that goes on now, or nil
}

// listing is what was known of all tapes at some time.
type listing struct {
	tapes []*repo.Tape           // what grew last is the first
	facts map[string]about.Tape // by branch
	at    time.Time
	took  time.Duration
}

// looking makes a listing; both results are there when done is closed.
type looking struct {
	done chan struct{}
	list *listing
	err  error
}

// names are those of the workspaces in Home.
func (s *server) names() []string {
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

func (s *server) knows(name string) bool { return slices.Contains(s.names(), name) }

// open is the workspace of a name; "" is the first.
func (s *server) open(ctx context.Context, name string) (*space, error) {
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

const manyTapes = 500

// list tells of all tapes. Of thousands it takes a moment to see whether they have changed: then
// the page has what was seen before, if that was not long ago, and the next page what is seen now.
func (s *server) list(ctx context.Context, w *space) (*listing, error) {
	const soon, longAgo = 20 * time.Millisecond, time.Minute
	w.listing.Lock()
	known, look := w.known, w.look
	many := known != nil && len(known.tapes) >= manyTapes
	if many && time.Since(known.at) < 4*known.took { // most of the time it rests
		w.listing.Unlock()
		return known, nil
	}
	if look == nil {
		look = &looking{done: make(chan struct{})}
		w.look = look
		s.later(func(ctx context.Context) { w.lookAtAll(ctx, look) })
	}
	w.listing.Unlock()
	var enough <-chan time.Time
	if many && time.Since(known.at) < longAgo {
		enough = time.After(soon)
	}
	select {
	case <-look.done:
		return look.list, look.err
	case <-enough:
		return known, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (w *space) lookAtAll(ctx context.Context, look *looking) {
	list := &listing{at: time.Now()}
	if list.tapes, look.err = catalog.All(ctx, w.store); look.err == nil {
		list.facts, look.err = w.about(ctx, list.tapes)
	}
	slices.SortStableFunc(list.tapes, func(a, b *repo.Tape) int {
		return list.facts[b.Branch()].Updated.Compare(list.facts[a.Branch()].Updated)
	})
	list.took = time.Since(list.at)
	w.listing.Lock()
	defer w.listing.Unlock()
	if w.look = nil; look.err == nil {
		look.list, w.known = list, list
	}
	close(look.done)
}

// aboutSoon is what is known of a tape, nothing yet if the index has to catch up for long: that
// goes on, and nobody waits for it who wants to read.
func (s *server) aboutSoon(w *space, t *repo.Tape) about.Tape {
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
