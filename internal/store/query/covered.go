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

// An anchor covers what its writer had seen: the earlier entries of the line that it was written
// on. A line is a commit with its ancestors by first parents. A tape only grows along its line, so
// an anchor written on the tape itself covers everything before it. An anchor that came with a
// merge or pull covers the history of the commit that it was written in, but may come after
// entries that are not part of that history.
//
// Merges renumber entries, so this is decided by commits, not by ids. Commits are read from the
// newest back to where everything is covered.

// uncovered lists the entries before a tape's last anchor that no anchor covers.
func uncovered(ctx context.Context, t *workspace.Tape, v *snapshot.Snapshot, anchor layout.Entry) ([]span, error) {
	if jsonl.Get(anchor.Meta, "origin") == nil {
		return nil, nil // written on this tape
	}
	c := &coverage{s: t.Store(), tape: t.Name(), steps: map[gitstore.Hash]step{}, trunk: map[gitstore.Hash]bool{v.Commit: true},
		covered: map[gitstore.Hash]bool{}, lines: map[gitstore.Hash]uncoveredSpans{}}
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

// coverage computes what the anchors of a tape cover.
type coverage struct {
	s     *workspace.Store
	tape  string
	head  *snapshot.Snapshot
	steps map[gitstore.Hash]step
	lines map[gitstore.Hash]uncoveredSpans // by the newest commit of a line

	trunk  map[gitstore.Hash]bool // the tape's own line, as far back as it was read
	lowest step                   // the oldest commit in trunk
	floor  int64                  // the trunk is covered up to this entry

	covered    map[gitstore.Hash]bool // commits outside the trunk that are covered with their history
	forkStarts []*snapshot.Snapshot   // first commits of covered forks that contain the first entries of the parent's next commit
}

// uncoveredSpans are the entries of a line that are not covered, by their ids on that line.
type uncoveredSpans struct {
	spans []span
	all   bool // no entry that the line has outside the trunk is covered
}

// step is a commit, as far as it matters here.
type step struct {
	hash      gitstore.Hash
	parents   []gitstore.Hash // the commit that it continues, then those whose entries it merges
	last      int64           // id of the last entry
	starts    string          // the fork that starts with it
	completes bool            // it completes merges that git made
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
	case commit.Trailer(layout.TrailerCompletes) == st.parents[0].String():
		st.completes = true
		st.parents, err = c.completed(st.parents[0])
	case commit.Trailer(layout.TrailerMerge) == layout.MergeSummary:
		st.parents = st.parents[:1]
	case len(st.parents) == 1 && commit.Trailer(layout.TrailerBase) != "":
		st.starts = layout.DecodeTrailer(commit.Trailer(layout.TrailerName))
	}
	if err == nil {
		st.last, err = snapshot.LastOf(c.s, h)
	}
	c.steps[h] = st
	return st, err
}

// completed returns the commit before a row of merges that git made, then the commits that they merged.
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

// line returns the entries of a commit's line that are not covered, and records what its anchors cover.
func (c *coverage) line(ctx context.Context, newest gitstore.Hash) (uncoveredSpans, error) {
	if done, ok := c.lines[newest]; ok {
		return done, nil
	}
	v, err := snapshot.AtCommit(c.s, newest)
	if err != nil {
		return uncoveredSpans{}, err
	}
	d := &descent{c: c, v: v, phase: len(v.List) - 1, uncoveredSpans: uncoveredSpans{all: true}}
	for at := newest; !at.IsZero(); {
		if at, err = d.next(ctx, at); err != nil {
			return uncoveredSpans{}, err
		}
	}
	d.spans = inOrder(d.spans)
	c.lines[newest] = d.uncoveredSpans
	return d.uncoveredSpans, nil
}

// onTrunk reports whether a commit is on the tape's own line.
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

// cover records commits, with their history, as covered.
func (c *coverage) cover(ctx context.Context, commits []gitstore.Hash) error {
	clear(c.lines)
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
		if err := c.coverForkStart(ctx, at); err != nil {
			return err
		}
	}
	return nil
}

// coverForkStart handles the first commit of a fork, which may contain the first entries of the
// parent's next commit.
func (c *coverage) coverForkStart(ctx context.Context, at step) error {
	if at.starts == "" {
		return nil
	}
	base, err := c.step(ctx, at.parents[0])
	if err != nil || at.last == base.last {
		return err
	}
	start, err := snapshot.AtCommit(c.s, at.hash)
	c.forkStarts = append(c.forkStarts, start)
	return err
}

// inOrder sorts spans and joins adjacent ones.
func inOrder(spans []span) (out []span) {
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].last+1 == s.first {
			out[n-1].last = s.last
		} else if s.first <= s.last {
			out = append(out, s)
		}
	}
	return out
}
