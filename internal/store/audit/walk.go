package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// deepestMerge limits the nesting of merges, which are checked by recursion.
const deepestMerge = 200

// longestByGit limits the commits on top of an incomplete merge by git, because the result is computed
// for each of them.
const longestByGit = 100

// auditWalk checks the commits of a tape or fork, the oldest first.
type auditWalk struct {
	*audit
	t     *workspace.Tape
	depth int           // of merges
	head  gitstore.Hash // where the walk ends

	before     *state        // after the last commit that could be read; nil if there is none
	named      bool          // tape.json was checked
	unfinished gitstore.Hash // a merge by git that a later commit must complete
	want       gitstore.Hash // the tree of the completing commit
	onTop      int           // how many commits are on top of the unfinished merge, with the next one
	start      gitstore.Hash // the first commit of the fork, if it is in the walk
	inherited  bool          // the current commit is the parent's: it comes before start
}

// begin reads the state before the walk, and finds the first commit of a fork.
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

// next checks one commit. If it breaks a promise but can be read, later commits are still compared
// with it.
func (w *auditWalk) next(ctx context.Context, h gitstore.Hash) error {
	w.commits++
	now, err := w.check(ctx, h)
	if err != nil {
		if err := w.report(ctx, w.t, err); err != nil {
			return err
		}
		w.unfinished = gitstore.ZeroHash
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

// check checks one commit, and returns the state after it; nil if its tree does not count.
func (w *auditWalk) check(ctx context.Context, h gitstore.Hash) (*state, error) {
	c, err := w.Commit(h)
	if err != nil {
		return nil, err
	}
	counts, err := w.checkParents(ctx, h, c)
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
	if err := w.checkMessage(h, c, now); err != nil {
		return nil, err
	}
	return now, w.checkPurge(ctx, h, c)
}

// checkParents checks what a commit merged. It returns false if the commit's tree does not count: the
// commit is an incomplete merge, or on top of one.
func (w *auditWalk) checkParents(ctx context.Context, h gitstore.Hash, c gitstore.Commit) (bool, error) {
	w.inherited = w.inherited && h != w.start
	merge := len(c.Parents) > 1
	if !merge && w.unfinished.IsZero() {
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
		owner = snapshot.OwnerOf(w.t, h) // commits before the start of a fork are its parent's
	}
	for _, theirs := range c.Parents[1:] {
		if err := w.checkMerged(ctx, owner, theirs); err != nil {
			return false, err
		}
	}
	switch {
	case !w.unfinished.IsZero() && c.Trailer(layout.TrailerFormat) == "", merge && !snapshot.OwnMerge(w.s, h, c):
		return w.mergedByGit(ctx, owner, h)
	case w.unfinished.IsZero():
		return true, w.checkResult(ctx, owner, h, c)
	case c.Trailer(layout.TrailerCompletes) != w.unfinished.String() || c.Tree != w.want:
		return false, violation(short(h), "the commit does not complete the merge %s, which git made", short(w.unfinished))
	}
	w.unfinished, w.onTop = gitstore.ZeroHash, 0
	return true, nil
}

// checkMerged checks the history of a commit that was merged.
func (w *auditWalk) checkMerged(ctx context.Context, owner *workspace.Tape, theirs gitstore.Hash) error {
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

// mergedByGit computes the result of a commit that git made: a merge, or a commit on top of one.
func (w *auditWalk) mergedByGit(ctx context.Context, owner *workspace.Tape, h gitstore.Hash) (counts bool, err error) {
	if w.hostile && w.onTop > longestByGit {
		return false, layout.Refused("run a tape command in the workspace that has them, which completes them, then push again",
			"more than %d commits are on top of a merge that git made", longestByGit)
	}
	m, err := resolve.Resolve(ctx, owner, h, gitstore.HashObject)
	if err != nil {
		return false, w.notRepeatable(h, err)
	}
	if m.Raw {
		w.unfinished, w.want = h, m.B.Tree()
		w.onTop++
		return false, nil
	}
	w.unfinished, w.onTop = gitstore.ZeroHash, 0
	return true, nil
}

// checkResult checks that a merge's tree is the result of merging its parents.
func (w *auditWalk) checkResult(ctx context.Context, owner *workspace.Tape, h gitstore.Hash, c gitstore.Commit) error {
	if c.Trailer(layout.TrailerMerge) == layout.MergeSummary {
		return w.checkSummary(ctx, h, c)
	}
	want, err := resolve.MergedTree(ctx, owner, c)
	if err != nil {
		return w.notRepeatable(h, err)
	}
	if want != c.Tree {
		return violation(short(h), "the merge is not the result that its parents give")
	}
	return nil
}

// notRepeatable returns an error that says which merge cannot be repeated, and why.
func (w *auditWalk) notRepeatable(h gitstore.Hash, err error) error {
	if w.hostile {
		return err // for a remote, it may be a conflict between histories
	}
	return violation(short(h), "the merge cannot be repeated for comparison: %v", err)
}

// checkSummary checks that a merge with a summary added one entry that names what was merged.
func (w *auditWalk) checkSummary(ctx context.Context, h gitstore.Hash, c gitstore.Commit) error {
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

// checkMessage checks whom the first commit's tape.json names, and the trailers of a commit's message.
// Commits made with git alone have none.
func (w *auditWalk) checkMessage(h gitstore.Hash, c gitstore.Commit, now *state) error {
	tape := w.t.Name()
	named := w.named
	w.named = true // tape.json never changes
	if !named && now.name != tape && !strings.HasPrefix(tape, now.name+"/") {
		return &layout.CorruptError{File: short(h) + ":" + layout.TapeFile, Msg: fmt.Sprintf("it names the tape %.200q", now.name), Fix: layout.NoTape}
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

// related reports whether name is the tape itself, a fork of it (git fast-forwards to a fork's commits
// if there is nothing to merge), or one of its ancestors.
func related(name, tape string) bool {
	return name == tape || strings.HasPrefix(name, tape+"/") || strings.HasPrefix(tape, name+"/")
}

// checkPurge checks that a commit which says that it records a purge has that record.
func (w *auditWalk) checkPurge(ctx context.Context, h gitstore.Hash, c gitstore.Commit) error {
	if c.Trailer(layout.TrailerReplaces) == "" {
		return nil
	}
	if _, ok, err := rewrite.PurgeRecord(ctx, w.s, h); err != nil {
		return err
	} else if !ok {
		return violation(short(h), "the commit says that it records a purge, but has no such record")
	}
	return nil
}
