package audit

import (
	"context"
	"errors"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// deepestMerge bounds merges inside of what was merged, as they are checked by recursion.
const deepestMerge = 200

// longestByGit bounds the commits on top of a merge that git made and nobody completed:
// what they come to is worked out anew for each.
const longestByGit = 100

// auditWalk goes through the commits of a tape, or a fork, the oldest first.
type auditWalk struct {
	*audit
	t     *workspace.Tape
	depth int           // of merges
	head  gitstore.Hash // where the walk ends

	before    *past         // the last commit that counts; nil: there is none
	named     bool          // what tape.json says was looked at
	raw       gitstore.Hash // a merge that git made, which a commit has to complete
	want      gitstore.Hash // the tree that it has then
	raws      int           // how many commits were on top of it
	start     gitstore.Hash // where a fork begins, if that is among the commits
	inherited bool          // what comes now is the parent's, up to start
}

// begin reads the state before the walk, and finds out where a fork begins.
func (w *auditWalk) begin(chain []gitstore.Hash, at gitstore.Hash) error {
	if w.t.IsFork() {
		for _, h := range chain {
			c, err := w.Commit(h)
			if err != nil {
				return err
			}
			if _, ok := snapshot.StartsHere(w.t, c); ok {
				w.start, w.inherited = h, true
				break
			}
		}
	}
	if at.IsZero() {
		return nil
	}
	var err error
	w.before, err = w.load(at, nil)
	return err
}

// next checks one commit. One that breaks a promise counts as it is, if it can be read, so
// that what follows is compared with that.
func (w *auditWalk) next(ctx context.Context, h gitstore.Hash) error {
	w.commits++
	now, err := w.judge(ctx, h)
	if err != nil {
		if err := w.report(ctx, w.t, err); err != nil {
			return err
		}
		w.raw = gitstore.ZeroHash
		now, _ = w.load(h, w.before)
	}
	if now != nil {
		w.before = now
		if len(now.opened) > 0 {
			w.opened[h] = now.opened
		}
	}
	return nil
}

// judge checks one commit, and returns the state after it; nil where its tree does not count.
func (w *auditWalk) judge(ctx context.Context, h gitstore.Hash) (*past, error) {
	c, err := w.Commit(h)
	if err != nil {
		return nil, err
	}
	counts, err := w.joined(ctx, h, c)
	if err != nil || !counts {
		return nil, err
	}
	if err := layout.CheckFormat(c, short(h)); err != nil {
		return nil, err
	}
	now, err := w.step(c.Tree, w.before, short(h)+":")
	if err != nil {
		return nil, err
	}
	if err := w.says(h, c, now); err != nil {
		return nil, err
	}
	return now, w.purged(ctx, h, c)
}

// joined checks what was merged; false if the tree, of a merge by git, does not count.
func (w *auditWalk) joined(ctx context.Context, h gitstore.Hash, c gitstore.Commit) (bool, error) {
	w.inherited = w.inherited && h != w.start
	merge := len(c.Parents) > 1
	if !merge && w.raw.IsZero() {
		return true, nil
	}
	if w.before == nil {
		return false, violation(short(h), "the tape begins with a merge")
	}
	if w.hostile {
		if err := w.shape(ctx, h, c.Tree, w.before); err != nil {
			return false, err
		}
	}
	owner := w.t
	if w.inherited {
		owner = snapshot.OwnerOf(w.t, h) // what is before the beginning of a fork is its parent's
	}
	for _, theirs := range c.Parents[1:] {
		if err := w.merged(ctx, owner, theirs); err != nil {
			return false, err
		}
	}
	switch {
	case !w.raw.IsZero() && c.Trailer(layout.TrailerFormat) == "", merge && !snapshot.OwnMerge(w.s, h, c):
		return w.byGit(ctx, owner, h)
	case w.raw.IsZero():
		return true, w.merge(ctx, owner, h, c)
	case c.Trailer(layout.TrailerDone) != w.raw.String() || c.Tree != w.want:
		return false, violation(short(h), "the commit does not complete the merge %s, which git made", short(w.raw))
	}
	w.raw, w.raws = gitstore.ZeroHash, 0
	return true, nil
}

// merged checks the history of a commit that was merged.
func (w *auditWalk) merged(ctx context.Context, owner *workspace.Tape, theirs gitstore.Hash) error {
	chain, at, err := w.chain(ctx, theirs, gitstore.ZeroHash)
	if err != nil {
		return err
	}
	name, err := w.s.NameAt(theirs)
	if err != nil {
		return err
	}
	f := owner
	if name != owner.Name() {
		if fork := w.s.ForkHandle(name); fork != nil {
			f = fork
		}
	}
	return w.walk(ctx, f, chain, at, w.depth+1)
}

// byGit works out what a commit comes to that git made: a merge, or one on top of a merge.
func (w *auditWalk) byGit(ctx context.Context, owner *workspace.Tape, h gitstore.Hash) (counts bool, err error) {
	if w.raws++; w.hostile && w.raws > longestByGit {
		return false, layout.Refused("run a tape command in the workspace that has them, which completes them, then push again",
			"more than %d commits are on top of a merge that git made", longestByGit)
	}
	m, err := resolve.Resolve(ctx, owner, h, gitstore.HashObject)
	if err != nil {
		return false, w.unmade(h, err)
	}
	if m.Raw {
		w.raw, w.want = h, m.B.Tree()
		return false, nil
	}
	w.raw, w.raws = gitstore.ZeroHash, 0
	return true, nil
}

// merge checks that a merge has what its parents give.
func (w *auditWalk) merge(ctx context.Context, owner *workspace.Tape, h gitstore.Hash, c gitstore.Commit) error {
	if c.Trailer(layout.TrailerMerge) == layout.MergeSummary {
		return w.summarized(ctx, h, c)
	}
	want, err := resolve.MergedTree(ctx, owner, c)
	if err != nil {
		return w.unmade(h, err)
	}
	if want != c.Tree {
		return violation(short(h), "the merge is not the result that its parents give")
	}
	return nil
}

// unmade says which merge cannot be made again, and why.
func (w *auditWalk) unmade(h gitstore.Hash, err error) error {
	if w.hostile {
		return err // of a remote, it may show how histories differ
	}
	return violation(short(h), "the merge cannot be repeated for comparison: %v", err)
}

// summarized checks that a merge added one entry, which names what was merged.
func (w *auditWalk) summarized(ctx context.Context, h gitstore.Hash, c gitstore.Commit) error {
	ours, err1 := snapshot.AtCommit(w.s, c.Parents[0])
	now, err2 := snapshot.AtCommit(w.s, h)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	n, named := 0, false
	for e, err := range now.After(ctx, ours, "") {
		if err != nil {
			return err
		}
		n++
		named = jsonl.GetString(e.Meta, "origin", "commit") == c.Parents[1].String()
	}
	if n != 1 || !named {
		return violation(short(h), "a merge with a summary has one entry, which names what was merged")
	}
	return nil
}

// says checks what a commit's message says of it. Commits made by git alone say nothing.
func (w *auditWalk) says(h gitstore.Hash, c gitstore.Commit, now *past) error {
	tape := w.t.Name()
	named := w.named
	w.named = true // tape.json never changes
	if !named && now.name != tape && !strings.HasPrefix(tape, now.name+"/") {
		return violation(short(h)+":"+layout.TapeFile, "it names the tape %.200q", now.name)
	}
	if name := layout.DecodeTrailer(c.Trailer(layout.TrailerName)); name != "" && !related(name, tape) {
		return violation(short(h), "the commit says that it belongs to %.200q", name)
	}
	var first int64 = 1
	if w.before != nil {
		first = w.before.last + 1
	}
	if says, has := c.Trailer(layout.TrailerEntries), layout.EntriesTrailer(first, now.last); says != "" && says != has {
		return violation(short(h), "the commit says that it added the entries %.100q; it has %q", says, has)
	}
	if base, ok := snapshot.StartsHere(w.t, c); ok && h == w.start && base != now.last {
		return violation(short(h), "the commit says that the fork begins after entry %d, but it begins after %d", base, now.last)
	}
	return nil
}

// related reports whether a name is a tape's own, or that of a fork of it (git takes its
// commits over as they are where there is nothing to merge), or of what it is a fork of.
func related(name, tape string) bool {
	return name == tape || strings.HasPrefix(name, tape+"/") || strings.HasPrefix(tape, name+"/")
}

// purged checks the record of a purge; where the commits that were replaced are still
// known, also that nothing but what it says was changed.
func (w *auditWalk) purged(ctx context.Context, h gitstore.Hash, c gitstore.Commit) error {
	value := c.Trailer(layout.TrailerReplaces)
	if value == "" {
		return nil
	}
	if _, ok, err := rewrite.PurgeRecord(ctx, w.s, h); err != nil {
		return err
	} else if !ok {
		return violation(short(h), "the commit says that it records a purge, but has no such record")
	}
	old, err := gitstore.ParseHash(value)
	if err != nil {
		return violation(short(h), "the trailer %s names no commit", layout.TrailerReplaces)
	}
	if _, err := w.s.Git().Commit(old); !w.compare || errors.Is(err, gitstore.ErrNotFound) {
		return nil
	}
	_, ok, err := rewrite.CheckPurged(ctx, w.s, nil, old, w.head)
	if err != nil {
		return ctx.Err() // part of the old history is gone, so it is not known any more
	}
	if !ok {
		return violation(short(h), "history was rewritten: it differs from that of %s in more than what was purged", short(old))
	}
	return nil
}
