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

// The kinds of commits in a tape's history.
const (
	CommitStart      = "start"      // the tape's first
	CommitHandoff    = "handoff"    // a phase ends, the next begins
	CommitCheckpoint = "checkpoint" // entries, without an anchor
	CommitFork       = "fork"       // a fork's first
	CommitMerge      = "merge"      // a fork, or another side, comes in
	CommitHand       = "hand"       // made with git
)

// Commit is a commit in the history of a tape and its forks.
type Commit struct {
	ID      string
	Parents []string // the first one is what the commit continues
	Tape    string   // the tape or fork that it was made on
	Subject string
	Kind    string   // one of the Commit constants
	Anchor  string   // the name of the phase that is open then
	Entries int64    // how many it adds
	FirstID int64    // of what it adds; 0 if that is nothing
	LastID  int64    // the last entry that it has; 0 if it does not say
	Date    string   // when it was made
	Author  string   // who made it, as Name <mail>
	Tags    []string // that name it, without refs/tags/
	Tips    []string // tapes and forks that end with it
}

// Subtitle is what a subject says behind its kind: a name, or how many entries.
func (c Commit) Subtitle() string {
	if rest, ok := strings.CutPrefix(c.Subject, c.Kind+": "); ok && c.Kind != CommitHand {
		return rest
	}
	return c.Subject
}

// History yields the commits of the tape and of its open forks, and of those forks that
// were merged, the newest first and each before its parents. What one side did stands
// together where it can. After an error it ends.
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
	tags, err := tagsByCommit(t.Store())
	if err != nil {
		return err
	}
	// A stack, so that the commits of a fork are not scattered among those of others. Of
	// what ends in the same second, the tape itself comes first.
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
		c.Tags = tags[h]
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
	tape     string
	children int // not yet shown
}

// findTips finds where the tape and its open forks, and the forks of these, end.
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

// stemsFrom reports whether a fork is of a tape or fork, or of a fork of it. Those between
// may be gone: a fork can outlive the one that it was made of.
func stemsFrom(s *workspace.Store, fork, t *workspace.Tape) bool {
	if !strings.HasPrefix(fork.Name(), t.Name()+"/") {
		return false
	}
	if t.IsFork() {
		return true
	}
	// There may be a tape whose name has a slash.
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

// describe tells what a commit is: its trailers say it, unless it was made by hand.
func (g *graph) describe(h gitstore.Hash, n *node) (Commit, error) {
	out := Commit{ID: h.String(), Subject: n.Subject(), Kind: CommitHand, Anchor: layout.DecodeTrailer(n.Trailer(layout.TrailerAnchor)),
		Date: layout.FormatDate(n.Committer.When), Author: n.Author.Name + " <" + n.Author.Email + ">", Tips: g.tips[h]}
	for _, p := range n.Parents {
		out.Parents = append(out.Parents, p.String())
	}
	if out.Tape = g.tapeOf(h); n.Trailer(layout.TrailerName) != "" {
		kind, _, _ := strings.Cut(out.Subject, ": ")
		switch kind {
		case CommitStart, CommitHandoff, CommitCheckpoint, CommitFork, CommitMerge:
			out.Kind = kind
		}
	}
	if first, last, ok := strings.Cut(n.Trailer(layout.TrailerEntries), "-"); ok {
		out.FirstID, _ = strconv.ParseInt(first, 10, 64)
		out.LastID, _ = strconv.ParseInt(last, 10, 64)
	} else if base, err := strconv.ParseInt(n.Trailer(layout.TrailerBase), 10, 64); err == nil {
		out.LastID = base
	} else if err := g.look(&out, h, n); err != nil {
		return out, err
	}
	if out.FirstID < 1 || out.LastID < out.FirstID {
		out.FirstID = 0
		return out, nil
	}
	out.Entries = out.LastID - out.FirstID + 1
	return out, nil
}

// look finds out what a commit made by hand adds. One that is not of a tape's form adds
// nothing; what is wrong with it is for Verify to tell.
func (g *graph) look(out *Commit, h gitstore.Hash, n *node) error {
	last, anchor, err := g.end(h)
	if errors.Is(err, layout.ErrCorrupt) {
		return nil
	}
	if err != nil {
		return err
	}
	out.LastID, out.Anchor = last, cmp.Or(out.Anchor, anchor)
	before := int64(0)
	if len(n.Parents) > 0 {
		if before, _, err = g.end(n.Parents[0]); err != nil && !errors.Is(err, layout.ErrCorrupt) {
			return err
		}
	}
	out.FirstID = before + 1
	return nil
}

// end returns a commit's last entry, and the name of its last phase.
func (g *graph) end(h gitstore.Hash) (id int64, anchor string, err error) {
	v, err := snapshot.AtCommit(g.store, h)
	if err != nil {
		return 0, "", err
	}
	last := v.List[len(v.List)-1]
	e, err := snapshot.ReadAnchor(v, last, "")
	if err != nil {
		return 0, "", err
	}
	id, err = snapshot.LastID(v, last)
	return id, e.Anchor, err
}

// tapeOf is the tape that a commit was made on. One made by hand does not say: it is the
// one that ends with it, or the one that it continues.
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

// tagsByCommit maps commits to the tags on them, in the order of their names.
func tagsByCommit(s *workspace.Store) (map[gitstore.Hash][]string, error) {
	tags, err := s.Git().Refs("refs/tags/")
	if err != nil {
		return nil, layout.Classify(err)
	}
	out := make(map[gitstore.Hash][]string, len(tags))
	for _, tag := range tags {
		h, err := s.Git().Peel(tag.Hash)
		if err != nil {
			continue // verify tells
		}
		out[h] = append(out[h], layout.ShortTag(tag.Name))
	}
	return out, nil
}
