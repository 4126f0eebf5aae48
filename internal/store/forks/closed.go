package forks

import (
	"context"
	"errors"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/query"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// ClosedForks returns the forks that were merged into a tape, and its own forks that were discarded,
// the newest first. Discarded forks are found as long as git keeps the tape's reflog.
func ClosedForks(ctx context.Context, t *workspace.Tape) (out []ForkInfo, err error) {
	defer func() { err = layout.Wrap(err, "list the closed forks of tape %q", t.Name()) }()
	c := &closedForks{s: t.Store(), seen: map[string]bool{}}
	forks, err := t.Store().Forks(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range forks {
		if !f.IsForkOf(t.Name()) {
			continue
		}
		base, err := query.DescribeBase(ctx, f)
		if errors.Is(err, layout.ErrNotFound) {
			continue // closed meanwhile
		}
		if err != nil {
			return nil, err
		}
		c.seen[f.Name()+base.Start] = true // names may be reused
	}
	if err := c.discarded(t); err != nil {
		return nil, err
	}
	head, err := t.Head()
	if err == nil {
		err = c.merged(ctx, t, head, snapshot.StartOf(t, head))
	}
	return c.sorted(), err
}

// ForksOfClosed returns the forks that were merged into a fork that is itself closed.
func ForksOfClosed(ctx context.Context, s *workspace.Store, closed ForkInfo) ([]ForkInfo, error) {
	c := &closedForks{s: s, seen: map[string]bool{}}
	at, err := gitstore.ParseHash(closed.Commit)
	if err != nil {
		return nil, err
	}
	start, err := gitstore.ParseHash(closed.Base.Start)
	if err != nil {
		return nil, err
	}
	f := s.ForkHandle(closed.Name)
	if f == nil {
		return nil, layout.Invalid("", "%q is not a fork", closed.Name)
	}
	err = c.merged(ctx, f, at, start)
	return c.sorted(), err
}

func (c *closedForks) sorted() []ForkInfo {
	slices.SortStableFunc(c.out, func(a, b ForkInfo) int { return strings.Compare(b.Updated, a.Updated) })
	return c.out
}

type closedForks struct {
	s    *workspace.Store
	seen map[string]bool // by name and first commit
	out  []ForkInfo
}

// discarded finds discarded forks of a tape in its reflog, but not forks of its forks.
func (c *closedForks) discarded(t *workspace.Tape) error {
	log, err := c.s.Git().Reflog(t.Ref())
	if err != nil {
		return layout.Classify(err)
	}
	for _, l := range slices.Backward(log) {
		if !strings.HasPrefix(l.Message, discardMessage) {
			continue
		}
		name, err := c.s.NameAt(l.New)
		if up, _, ok := layout.CutFork(name); err == nil && ok && up == t.Name() {
			err = c.add(t, name, l.New, ForkInfo{Status: ForkDiscarded, Updated: layout.FormatDate(l.Who.When)})
		}
		if err != nil && !errors.Is(err, layout.ErrCorrupt) {
			return err // a commit that git has pruned is skipped
		}
	}
	return nil
}

// merged finds forks that were merged into a tape or fork between two commits.
func (c *closedForks) merged(ctx context.Context, t *workspace.Tape, head, start gitstore.Hash) error {
	for at, err := range c.s.ByFirstParents(head) {
		if err = errors.Join(err, ctx.Err()); err != nil || at.Hash == start {
			return err
		}
		for _, theirs := range lineage.Merged(at) {
			if err := c.addMerged(ctx, t, at, theirs); err != nil {
				return err
			}
		}
	}
	return nil
}

// addMerged records the fork that a commit merged; theirs is the fork's last commit.
func (c *closedForks) addMerged(ctx context.Context, t *workspace.Tape, commit workspace.Ancestor, theirs gitstore.Hash) error {
	name := layout.DecodeTrailer(commit.Trailer(layout.TrailerFork))
	if name == "" {
		var err error
		if name, err = c.s.NameAt(theirs); err != nil {
			return err
		}
	}
	if name == t.Name() { // a pull: look for forks that the remote's side had merged
		common, err := lineage.CommonCommit(c.s, commit.Parents[0], theirs)
		if err != nil {
			return err
		}
		return c.merged(ctx, t, theirs, common)
	}
	info := ForkInfo{Status: ForkMerged, Into: commit.Hash.String(), Updated: layout.FormatDate(commit.Committer.When)}
	if commit.Trailer(layout.TrailerMerge) == layout.MergeSummary {
		info.Status = ForkSummarized
	}
	return c.add(t, name, theirs, info)
}

// add records a fork, given its last commit, if it is a fork of the tape or of one of its forks.
func (c *closedForks) add(t *workspace.Tape, name string, at gitstore.Hash, info ForkInfo) error {
	f := c.s.ForkHandle(name)
	if f == nil || !f.IsForkOf(t.Name()) {
		return nil
	}
	b, err := snapshot.BaseOf(f, at)
	if err != nil {
		return err
	}
	if info.Base, err = query.DescribeBaseAt(f, b); err != nil || c.seen[name+info.Base.Start] {
		return err
	}
	c.seen[name+info.Base.Start] = true // of a fork that was merged more than once, only the last merge counts
	last, err := snapshot.LastOf(c.s, at)
	if err != nil {
		return err
	}
	info.Name, info.Fork, info.Parent, info.Branch = f.Name(), f.ForkName(), f.Parent(), f.Branch()
	info.Entries, info.Commit = last-b.ID, at.String()
	c.out = append(c.out, info)
	return nil
}

// ClosedHere reports whether a fork's commit was merged into an ancestor, or the fork was closed
// with nothing to merge. With discards, a discarded fork counts, too. ErrConflict if no ancestor is here.
func ClosedHere(ctx context.Context, t *workspace.Tape, at gitstore.Hash, discards bool) (bool, error) {
	found := false
	for up, err := range Ancestors(ctx, t) {
		if err != nil {
			return false, err
		}
		found = true
		if closed, err := HasClosed(up, at, discards); err != nil || closed {
			return closed, err
		}
	}
	if !found {
		return false, layout.Conflict("", "%q, the parent of %q, is not here", t.Parent(), t.Name()).Try(layout.PullAll)
	}
	return false, nil
}

// HasClosed is ClosedHere for one ancestor, t.
func HasClosed(t *workspace.Tape, at gitstore.Hash, discards bool) (bool, error) {
	head, err := t.Head()
	if err != nil {
		return false, err
	}
	if has, err := lineage.Contains(t.Store(), head, at); err != nil || has {
		return has, err
	}
	log, err := t.Store().Git().Reflog(t.Ref())
	if err != nil {
		return false, err
	}
	for _, e := range log {
		if !strings.HasPrefix(e.Message, EmptyMergeMessage) && !(discards && strings.HasPrefix(e.Message, discardMessage)) {
			continue
		}
		if has, err := lineage.Contains(t.Store(), e.New, at); err != nil && !errors.Is(err, layout.ErrCorrupt) || has {
			return has, err // a commit that git has pruned is skipped
		}
	}
	return false, nil
}
