package forks

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Commit is a commit in the history of a tape and its forks.
type Commit struct {
	ID      string
	Parents []string // the first one is what the commit continues
	Tape    string   // the tape or fork that it was made on
	Subject string
	LastID  int64    // its last entry; 0 if unknown
	Date    string   // the committer's
	Tips    []string // tapes and forks that end with it
}

// History yields the commits of the tape, its open forks and the forks that were merged, each commit
// before its parents, and from the newest tip on. Commits of one tape or fork are kept together where
// possible. It ends after an error.
func History(ctx context.Context, t *workspace.Tape) iter.Seq2[Commit, error] {
	return layout.Seq(func(yield func(Commit) bool) error {
		return layout.Wrap(history(ctx, t, yield), "read the history of tape %q", t.Name())
	})
}

func history(ctx context.Context, t *workspace.Tape, yield func(Commit) bool) error {
	g := &graph{store: t.Store(), nodes: map[gitstore.Hash]*node{}, tips: map[gitstore.Hash][]string{}}
	tips, err := g.findTips(ctx, t)
	if err != nil {
		return err
	}
	for c, err := range lineage.Ancestors(g.store, tips...) {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		g.node(c.Hash).Commit = c.Commit
		for _, p := range c.Parents {
			g.node(p).children++
		}
	}
	// ready is a stack, so that the commits of a fork stay together. Of tips made in the same second,
	// the tape's own comes first.
	slices.Reverse(tips)
	slices.SortStableFunc(tips, func(a, b gitstore.Hash) int {
		return g.nodes[a].Committer.When.Compare(g.nodes[b].Committer.When)
	})
	var ready []gitstore.Hash
	for _, h := range tips {
		if g.nodes[h].children == 0 {
			ready = append(ready, h)
		}
	}
	for len(ready) > 0 {
		h := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		n := g.nodes[h]
		c, err := g.describe(h, n)
		if err != nil {
			return err
		}
		if !yield(c) {
			return nil
		}
		for _, p := range n.Parents {
			if g.nodes[p].children--; g.nodes[p].children == 0 {
				ready = append(ready, p)
			}
		}
	}
	return nil
}

type graph struct {
	store *workspace.Store
	nodes map[gitstore.Hash]*node
	tips  map[gitstore.Hash][]string // names of tapes and forks
}

type node struct {
	gitstore.Commit
	tape     string // as tapeOf found it
	children int    // how many were not yielded yet
}

// findTips finds the last commits of the tape, its open forks and their forks.
func (g *graph) findTips(ctx context.Context, t *workspace.Tape) ([]gitstore.Hash, error) {
	forks, err := g.store.Forks(ctx)
	if err != nil {
		return nil, err
	}
	var out []gitstore.Hash
	for _, tp := range append([]*workspace.Tape{t}, forks...) {
		if tp.Name() != t.Name() && !stemsFrom(g.store, tp, t) {
			continue
		}
		h, err := tp.Head()
		if errors.Is(err, layout.ErrNotFound) && tp != t {
			continue // closed meanwhile
		}
		if err != nil {
			return nil, err
		}
		if g.tips[h] == nil {
			out = append(out, h)
		}
		if !slices.Contains(g.tips[h], tp.Name()) {
			g.tips[h] = append(g.tips[h], tp.Name())
		}
	}
	return out, nil
}

// stemsFrom reports whether t is an ancestor of a fork. The forks between them may be gone,
// because a fork can outlive its parent.
func stemsFrom(s *workspace.Store, fork, t *workspace.Tape) bool {
	if !strings.HasPrefix(fork.Name(), t.Name()+"/") {
		return false
	}
	if t.IsFork() {
		return true
	}
	// The names of tapes may contain slashes.
	for name := fork.Parent(); len(name) > len(t.Name()); name = name[:strings.LastIndexByte(name, '/')] {
		if _, err := s.Git().Ref(layout.BranchPrefix + layout.TapeSlug(name)); err == nil {
			return false
		}
	}
	return true
}

func (g *graph) node(h gitstore.Hash) *node {
	n := g.nodes[h]
	if n == nil {
		n = &node{}
		g.nodes[h] = n
	}
	return n
}

// describe describes a commit. Trailers name its last entry, unless it was made by hand.
func (g *graph) describe(h gitstore.Hash, n *node) (Commit, error) {
	out := Commit{ID: h.String(), Tape: g.tapeOf(h), Subject: n.Subject(), Date: layout.FormatDate(n.Committer.When), Tips: g.tips[h]}
	for _, p := range n.Parents {
		out.Parents = append(out.Parents, p.String())
	}
	_, last, ok := strings.Cut(n.Trailer(layout.TrailerEntries), "-")
	if !ok {
		last = n.Trailer(layout.TrailerBase)
	}
	var err error
	if out.LastID, err = strconv.ParseInt(last, 10, 64); err != nil {
		out.LastID, err = g.lastID(h)
	}
	return out, err
}

// lastID returns the id of a commit's last entry. It is 0 if the commit is damaged, which Verify reports.
func (g *graph) lastID(h gitstore.Hash) (int64, error) {
	v, err := snapshot.AtCommit(g.store, h)
	if err == nil {
		var id int64
		if id, err = snapshot.LastID(v, v.List[len(v.List)-1]); err == nil {
			return id, nil
		}
	}
	if errors.Is(err, layout.ErrCorrupt) {
		return 0, nil
	}
	return 0, err
}

// tapeOf is the tape that a commit was made on. A commit made by hand does not say; it belongs to
// the tape that ends with it, or else to the tape of its first parent.
func (g *graph) tapeOf(h gitstore.Hash) string {
	var unnamed []*node
	name := ""
	for name == "" {
		n := g.nodes[h]
		if name = cmp.Or(n.tape, layout.DecodeTrailer(n.Trailer(layout.TrailerName))); name != "" {
			break
		}
		unnamed = append(unnamed, n)
		if len(g.tips[h]) > 0 {
			name = g.tips[h][0]
		} else if len(n.Parents) == 0 {
			break
		} else {
			h = n.Parents[0]
		}
	}
	for _, n := range unnamed {
		n.tape = name
	}
	return name
}
