package query

import (
	"cmp"
	"context"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// An anchor covers what its writer had seen: the entries before it on the line on which it
// was written. A line is a commit and those before it by first parents. Along them a tape
// only grows, so an anchor that was written on the tape itself covers all that is before
// it. One that a merge or a pull brought in covers the history of the commit that it was
// written with, and may stand behind entries that are no part of that.
//
// Commits tell this, not ids, because a merge gives new ones. They are read from the newest
// on, down to where everything is covered.

// uncovered lists the entries before a tape's last anchor that no anchor covers.
func uncovered(ctx context.Context, t *workspace.Tape, v *snapshot.Snapshot, anchor layout.Entry) ([]span, error) {
	if jsonl.Get(anchor.Meta, "origin") == nil {
		return nil, nil // it was written here
	}
	c := &coverage{s: t.Store(), tape: t.Name(), steps: map[gitstore.Hash]step{}, trunk: map[gitstore.Hash]bool{v.Commit: true},
		covered: map[gitstore.Hash]bool{}, known: map[gitstore.Hash]stretch{}}
	var err error
	if c.head, err = snapshot.AtCommit(c.s, v.Commit); err != nil {
		return nil, err
	}
	if c.lowest, err = c.step(ctx, v.Commit); err != nil {
		return nil, err
	}
	uncommitted := span{c.lowest.last + 1, anchor.ID - 1}
	all, err := c.line(ctx, v.Commit)
	var out []span
	for _, s := range append(all.spans, uncommitted) {
		if s.last = min(s.last, anchor.ID-1); s.first <= s.last {
			out = append(out, s)
		}
	}
	return out, err
}

// coverage finds what the anchors of a tape cover.
type coverage struct {
	s     *workspace.Store
	tape  string
	head  *snapshot.Snapshot
	steps map[gitstore.Hash]step
	known map[gitstore.Hash]stretch // by the newest commit of a line

	trunk  map[gitstore.Hash]bool // the tape's own line, as far down as was asked for
	lowest step                   // the oldest of it
	floor  int64                  // the trunk is covered up to this entry

	covered map[gitstore.Hash]bool // commits beside the trunk, each with its history
	parts   []*snapshot.Snapshot   // beginnings of forks: the parent's next commit is covered so far
}

// stretch is what is not covered of a line, by its own ids, and whether that is all that
// the line has beside the trunk.
type stretch struct {
	spans []span
	whole bool
}

// step is a commit, as far as it matters here.
type step struct {
	hash      gitstore.Hash
	parents   []gitstore.Hash // the one that it continues, and those whose entries it brings
	last      int64
	begins    string // the name of the fork that begins with it
	completes bool   // merges that git made
}

func (c *coverage) step(ctx context.Context, h gitstore.Hash) (step, error) {
	if st, ok := c.steps[h]; ok || ctx.Err() != nil {
		return st, ctx.Err()
	}
	commit, err := c.s.Git().Commit(h)
	if err != nil {
		return step{}, layout.CorruptObject(h, err)
	}
	st := step{hash: h, parents: commit.Parents}
	switch {
	case len(st.parents) == 0:
	case commit.Trailer(layout.TrailerDone) == st.parents[0].String():
		st.completes = true
		st.parents, err = c.completed(st.parents[0])
	case commit.Trailer(layout.TrailerMerge) == layout.MergeSummary:
		st.parents = st.parents[:1]
	case len(st.parents) == 1 && commit.Trailer(layout.TrailerBase) != "":
		st.begins = layout.DecodeTrailer(commit.Trailer(layout.TrailerName))
	}
	if err == nil {
		st.last, err = snapshot.LastOf(c.s, h)
	}
	c.steps[h] = st
	return st, err
}

// completed lists the commit before merges that git made, and what they have merged.
func (c *coverage) completed(newest gitstore.Hash) ([]gitstore.Hash, error) {
	made, before, err := snapshot.ByGit(c.s, newest)
	out := []gitstore.Hash{before}
	for _, h := range slices.Backward(made) {
		commit, err := c.s.Git().Commit(h)
		if err != nil {
			return nil, layout.CorruptObject(h, err)
		}
		out = append(out, commit.Parents[1:]...)
	}
	return out, err
}

// line finds what is not covered of a commit's line, and notes what its anchors cover.
func (c *coverage) line(ctx context.Context, newest gitstore.Hash) (stretch, error) {
	if known, ok := c.known[newest]; ok {
		return known, nil
	}
	v, err := snapshot.AtCommit(c.s, newest)
	if err != nil {
		return stretch{}, err
	}
	d := &descent{c: c, v: v, phase: len(v.List) - 1, stretch: stretch{whole: true}}
	for at := newest; !at.IsZero(); {
		if at, err = d.next(ctx, at); err != nil {
			return stretch{}, err
		}
	}
	d.spans = inOrder(d.spans)
	c.known[newest] = d.stretch
	return d.stretch, nil
}

// onTrunk reports whether a commit is of the tape's own line.
func (c *coverage) onTrunk(ctx context.Context, st step) (bool, error) {
	for c.lowest.last >= st.last && len(c.lowest.parents) > 0 {
		var err error
		if c.lowest, err = c.step(ctx, c.lowest.parents[0]); err != nil {
			return false, err
		}
		c.trunk[c.lowest.hash] = true
	}
	return c.trunk[st.hash], nil
}

// cover notes that commits are covered, with their history.
func (c *coverage) cover(ctx context.Context, commits []gitstore.Hash) error {
	clear(c.known)
	for todo := slices.Clone(commits); len(todo) > 0; {
		at, err := c.step(ctx, todo[len(todo)-1])
		if err != nil {
			return err
		}
		todo = todo[:len(todo)-1]
		onTrunk, err := c.onTrunk(ctx, at)
		switch {
		case err != nil:
			return err
		case onTrunk:
			c.floor = max(c.floor, at.last)
			continue
		case c.covered[at.hash]:
			continue
		}
		c.covered[at.hash] = true
		todo = append(todo, at.parents...)
		if err := c.coverPart(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// coverPart takes the beginning of a fork, which may have the first entries of the commit
// that follows on its parent.
func (c *coverage) coverPart(ctx context.Context, at step) error {
	if at.begins == "" {
		return nil
	}
	base, err := c.step(ctx, at.parents[0])
	if err != nil || at.last == base.last {
		return err
	}
	part, err := snapshot.AtCommit(c.s, at.hash)
	c.parts = append(c.parts, part)
	return err
}

// inOrder sorts spans, and joins those that follow each other.
func inOrder(spans []span) (out []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].last+1 == s.first {
			out[n-1].last = s.last
		} else if s.first <= s.last {
			out = append(out, s)
		}
	}
	return out
}
