package web

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tape/index"
	"tape/internal/sessions/catalog"
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/prices"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/repo"
)

// space is an open workspace. mu guards the index, which is for one goroutine at a time.
type space struct {
	dir   string
	name  string // the project's
	base  string // the prefix of links to its pages
	store *repo.Store
	mu    sync.Mutex
	index *index.Index
}

// others are the folders of the user's own workspaces by their names in addresses; nil if only Store is
// shown.
func (s *View) others() map[string]string {
	if !s.All {
		return nil
	}
	out := map[string]string{}
	dirs, _, _ := workspace.OwnWorkspaces() // if they cannot be listed, none is shown
	for _, dir := range dirs {
		name := filepath.Base(dir)
		for n := 2; out[name] != ""; n++ {
			name = fmt.Sprintf("%s-%d", filepath.Base(dir), n)
		}
		out[name] = dir
	}
	return out
}

// together returns the workspaces that a page shows together: that of l, and unless it is alone, all of the user's own
// ones. A workspace that cannot be opened is left out.
func (s *View) together(ctx context.Context, l local) []*space {
	out := []*space{l.space}
	if l.alone {
		return out
	}
	others := s.others()
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if others[name] == l.space.dir {
			continue
		}
		if w, err := s.open(ctx, name, others[name]); err == nil {
			out = append(out, w)
		}
	}
	return out
}

// open opens a workspace by its name and folder; "" is Store.
func (s *View) open(ctx context.Context, name, dir string) (*space, error) {
	base := s.root() + "/w/" + url.PathEscape(name)
	if name == "" {
		dir, base = s.Store.Dir(), s.root()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.spaces[base]; w != nil {
		return w, nil
	}
	store := s.Store
	if name != "" {
		var err error
		if store, err = repo.Open(ctx, dir, nil); err != nil {
			return nil, err
		}
	}
	w := &space{dir: dir, name: cmp.Or(projects.NameIn(dir, ""), filepath.Base(dir)), base: base, store: store, index: index.New(store, nil)}
	s.spaces[base] = w
	return w, nil
}

// about returns what tapes are about, by branch. If tapes is nil, it returns all.
func (w *space) about(ctx context.Context, tapes []*repo.Tape) (map[string]about.Tape, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	facts, _, err := catalog.About(ctx, w.index, w.store, tapes) // damaged tapes only have their names
	return facts, err
}

// soon is how long a page waits for what it can do without.
const soon = 300 * time.Millisecond

// aboutSoon is what a tape is about, or the zero value after an error, or if the index takes long to catch up. The index
// goes on catching up in the background.
func (s *View) aboutSoon(w *space, t *repo.Tape) about.Tape {
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

// prices are what models cost by the workspace's settings; none if the setting cannot be read.
func (w *space) prices() prices.List {
	text, err := (*workspace.Store)(w.store).Setting("prices")
	if err != nil {
		return nil
	}
	list, err := prices.Parse(text)
	if err != nil {
		return nil // the commands say what is wrong
	}
	return list
}

// work sums what was done in workspaces. The names of projects, not their folders, are given to f.Project. A workspace
// that cannot be read is left out, unless it is the only one.
func (s *View) work(ctx context.Context, spaces []*space, by index.By, f index.WorkFilter) ([]*index.Work, error) {
	var lists [][]*index.Work
	elsewhere := countElsewhere(ctx, spaces)
	for i, w := range spaces {
		f, project := f, projects.Names(w.dir)
		if f.Project != nil {
			name := f.Project
			f.Project = func(dir string) bool { return name(project(dir)) }
		}
		w.mu.Lock()
		w.index.CountElsewhere(elsewhere[i])
		sums, err := w.index.Work(ctx, by, f)
		w.index.CountElsewhere(nil)
		w.mu.Unlock()
		if err != nil && len(spaces) == 1 {
			return nil, err
		}
		if by == index.ByProject {
			sums = report.Merge([][]*index.Work{sums}, project)
		}
		lists = append(lists, sums)
	}
	return report.Merge(lists, func(key string) string { return key }), nil
}

// countElsewhere returns, for each workspace, what counts in another one of them: histories may be in several.
func countElsewhere(ctx context.Context, spaces []*space) []map[int64]bool {
	lists := make([][]int64, len(spaces))
	owners := make([]map[int64]index.Owner, len(spaces))
	each := func(do func(i int, x *index.Index)) {
		for i, w := range spaces {
			w.mu.Lock()
			do(i, w.index)
			w.mu.Unlock()
		}
	}
	if len(spaces) > 1 { // what cannot be read is left out, as in the sums
		each(func(i int, x *index.Index) { lists[i], _ = x.Facts(ctx) })
	}
	shared := index.Shared(lists)
	if len(shared) > 0 {
		each(func(i int, x *index.Index) { owners[i], _ = x.Owners(ctx, shared) })
	}
	return index.Elsewhere(owners)
}

func (w *space) search(ctx context.Context, q index.Search) (*index.Result, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index.Search(ctx, q)
}
