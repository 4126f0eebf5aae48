package repo

import (
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// deepestMerge bounds merges inside of what was merged, as they are checked by recursion.
const deepestMerge = 200

// longestByGit bounds the commits on top of a merge that git made and nobody completed:
// what they come to is worked out anew for each.
const longestByGit = 100

// history checks what a ref's commit has that is not known, and returns the tape or fork
// that it is of.
func (c *incomingCheck) history(n incomingName, head, old gitstore.Hash) (*Tape, error) {
	chain, at, err := c.chain(head, old)
	if err != nil {
		return nil, err
	}
	t, err := c.identify(n, head)
	if err != nil {
		return nil, err
	}
	return t, c.walk(t, chain, at, 0)
}

// chain lists the commits from head down by first parents that are not known, the newest
// first, and the one before them that counts as it is, zero if there is none. What git
// made and nobody completed is among them even if it is known.
func (c *incomingCheck) chain(head, old gitstore.Hash) (chain []gitstore.Hash, at gitstore.Hash, err error) {
	h := head
	for h != old && !c.known[h] {
		if err := c.ctx.Err(); err != nil {
			return nil, at, err
		}
		next, err := c.commit(h)
		if err != nil {
			return nil, at, err
		}
		chain = append(chain, h)
		if len(next.Parents) == 0 {
			if !old.IsZero() {
				return nil, at, rewritten(old, head)
			}
			return chain, gitstore.ZeroHash, nil
		}
		h = next.Parents[0]
	}
	for below := h; !old.IsZero() && below != old; {
		next, err := c.commit(below)
		if err != nil {
			return nil, at, err
		}
		if len(next.Parents) == 0 {
			return nil, at, rewritten(old, head)
		}
		below = next.Parents[0]
	}
	c.known[h] = true
	raw, at, err := c.s.byGit(h)
	return append(chain, raw...), at, err
}

// identify finds the tape or fork that a ref is of, by what its commit says.
func (c *incomingCheck) identify(n incomingName, head gitstore.Hash) (*Tape, error) {
	at, err := c.commit(head)
	if err != nil {
		return nil, err
	}
	where := head.String()[:12] + ":"
	root, err := c.entries(at.Tree, where, isRootEntry)
	if err != nil {
		return nil, err
	}
	info, err := c.info(root, where)
	if err != nil {
		return nil, err
	}
	name, err := c.s.nameAt(head)
	if err != nil {
		return nil, err
	}
	if n.kind != kindFork && tapeSlug(info.Name) == n.slug {
		return c.s.handle(info.Name), nil
	}
	switch n.kind {
	case kindFork:
		if branchOf(name, forkPrefix) != forkPrefix+n.slug+"/"+n.rest {
			if tapeSlug(name) != n.slug || tapeSlug(n.rest) != n.rest {
				return nil, refused("", "the commit %s is of %.200q, whose forks have other branches", head.String()[:12], name)
			}
			name += "/" + n.rest // a branch that somebody made by hand
		}
	case kindTag:
		if tapeSlug(name) != n.slug {
			return nil, refused("", "the commit %s is of %.200q", head.String()[:12], name)
		}
	default:
		return nil, refused("a tape's branch is named after it", "%s%s names the tape %.200q", where, tapeFile, info.Name)
	}
	f := c.s.forkHandle(name)
	if f == nil || !strings.HasPrefix(name, info.Name+"/") {
		return nil, refused("", "%s%s names the tape %.200q, of which %.200q is no fork", where, tapeFile, info.Name, name)
	}
	return f, nil
}

// info reads tape.json.
func (c *incomingCheck) info(root []gitstore.TreeEntry, where string) (tapeInfo, error) {
	e, ok := findEntry(root, tapeFile)
	if !ok {
		return tapeInfo{}, refused("", "%s there is no %s", where, tapeFile)
	}
	raw, err := c.file(e.Hash, where+tapeFile, smallFile)
	if err != nil {
		return tapeInfo{}, err
	}
	return decodeTapeInfo(raw, where+tapeFile)
}

// walk checks commits, the newest first, that follow a known one.
func (c *incomingCheck) walk(t *Tape, chain []gitstore.Hash, at gitstore.Hash, depth int) error {
	if depth > deepestMerge {
		return refused("", "more than %d merges are inside of each other", deepestMerge)
	}
	if len(chain) == 0 {
		return nil
	}
	w := &incomingWalk{incomingCheck: c, t: t, depth: depth}
	var err error
	if !at.IsZero() {
		if w.before, err = c.load(at); err != nil {
			return err
		}
	}
	if err := w.findStart(chain, at); err != nil {
		return err
	}
	for _, h := range slices.Backward(chain) {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if err := w.next(h); err != nil {
			return err
		}
		c.known[h] = true
	}
	return nil
}

// incomingWalk goes through the commits of a tape, or a fork, the oldest first.
type incomingWalk struct {
	*incomingCheck
	t     *Tape
	depth int // of merges

	before    *past         // the last commit that counts; nil: there is none
	raw       gitstore.Hash // a merge that git made, which a commit has to complete
	raws      int           // how many commits were on top of it
	start     gitstore.Hash // where a fork begins, if that is among the commits
	inherited bool          // what comes now is the parent's, up to start
	name      string        // whose the commit says it is, while that matters
}

func (w *incomingWalk) findStart(chain []gitstore.Hash, at gitstore.Hash) error {
	if !w.t.IsFork() {
		return nil
	}
	for _, h := range chain {
		c, err := w.commit(h)
		if err != nil {
			return err
		}
		if _, ok := w.t.startsHere(c); ok {
			w.start, w.inherited = h, true
			break
		}
	}
	if !w.inherited || at.IsZero() {
		return nil
	}
	var err error
	w.name, err = w.s.nameAt(at)
	return err
}

// next checks one commit.
func (w *incomingWalk) next(h gitstore.Hash) error {
	c, err := w.commit(h)
	if err != nil {
		return err
	}
	counts, err := w.joined(h, c)
	if err != nil || !counts {
		return err
	}
	now, err := w.step(h, c, w.before)
	if err != nil {
		return err
	}
	if err := w.says(h, c, now); err != nil {
		return err
	}
	w.before = now
	return nil
}

// joined checks what was merged, and reports whether a commit's tree counts: that of a
// merge which git made may not.
func (w *incomingWalk) joined(h gitstore.Hash, c gitstore.Commit) (bool, error) {
	owner := w.owner(h, c)
	merge := len(c.Parents) > 1
	if !merge && w.raw.IsZero() {
		return true, nil
	}
	if w.before == nil {
		return false, refused("", "the commit %s begins the tape with a merge", h.String()[:12])
	}
	for _, theirs := range c.Parents[1:] {
		if err := w.merged(owner, theirs); err != nil {
			return false, err
		}
	}
	if err := w.shape(h, c.Tree, w.before); err != nil {
		return false, err
	}
	switch {
	case !w.raw.IsZero() && c.Trailer(trailerFormat) == "", merge && !w.s.ownMerge(h, c):
		return w.byGit(owner, h)
	case !w.raw.IsZero():
		return true, w.completes(owner, h, c)
	}
	return true, w.merge(owner, h, c)
}

// owner is the tape or fork that a commit is of. What is before the beginning of a fork is
// its parent's.
func (w *incomingWalk) owner(h gitstore.Hash, c gitstore.Commit) *Tape {
	w.inherited = w.inherited && h != w.start
	if !w.inherited {
		return w.t
	}
	if name := decodeTrailer(c.Trailer(trailerName)); name != "" {
		w.name = name
	}
	if w.before != nil && w.name == w.before.name {
		return w.s.handle(w.name)
	}
	if f := w.s.forkHandle(w.name); f != nil {
		return f
	}
	return w.s.handle(w.name)
}

// merged checks the history of a commit that was merged.
func (w *incomingWalk) merged(owner *Tape, theirs gitstore.Hash) error {
	chain, at, err := w.chain(theirs, gitstore.ZeroHash)
	if err != nil {
		return err
	}
	name, err := w.s.nameAt(theirs)
	if err != nil {
		return err
	}
	f := owner
	if name != owner.name {
		if fork := w.s.forkHandle(name); fork != nil {
			f = fork
		}
	}
	return w.walk(f, chain, at, w.depth+1)
}

// byGit works out what a commit comes to that git made: a merge, or one on top of a merge.
func (w *incomingWalk) byGit(owner *Tape, h gitstore.Hash) (counts bool, err error) {
	if w.raws++; w.raws > longestByGit {
		return false, refused("run a tape command where they are, which completes them, and push that",
			"more than %d commits are on top of a merge that git made", longestByGit)
	}
	m, err := owner.made(w.ctx, h, gitstore.HashObject)
	if err != nil {
		return false, err
	}
	w.raw = gitstore.ZeroHash
	if m.raw {
		w.raw = h
		return false, nil
	}
	w.raws = 0
	return true, nil
}

// completes checks the commit behind what git made.
func (w *incomingWalk) completes(owner *Tape, h gitstore.Hash, c gitstore.Commit) error {
	m, err := owner.made(w.ctx, w.raw, gitstore.HashObject)
	if err != nil {
		return err
	}
	if c.Trailer(trailerDone) != w.raw.String() || c.Tree != m.b.tree() {
		return refused("", "the commit %s does not complete the merge %s, which git made", h.String()[:12], w.raw.String()[:12])
	}
	w.raw, w.raws = gitstore.ZeroHash, 0
	return nil
}

// merge checks that a merge has what its parents give.
func (w *incomingWalk) merge(owner *Tape, h gitstore.Hash, c gitstore.Commit) error {
	if c.Trailer(trailerMerge) == mergeSummary {
		return w.v.summarized(h, c)
	}
	want, err := owner.mergedTree(w.ctx, c)
	if err == nil && want != c.Tree {
		err = refused("", "the merge %s is not what its parents give", h.String()[:12])
	}
	return err
}

// says checks what a commit's message says of it. Commits made by git alone say nothing.
func (w *incomingWalk) says(h gitstore.Hash, c gitstore.Commit, now *past) error {
	where, tape := h.String()[:12], w.t.name
	if now.name != tape && !strings.HasPrefix(tape, now.name+"/") {
		return refused("", "%s:%s names the tape %.200q", where, tapeFile, now.name)
	}
	if name := decodeTrailer(c.Trailer(trailerName)); name != "" && !related(name, tape) {
		return refused("", "the commit %s says that it is of %.200q", where, name)
	}
	var first int64 = 1
	if w.before != nil {
		first = w.before.last + 1
	}
	if says, has := c.Trailer(trailerEntries), entriesTrailer(first, now.last); says != "" && says != has {
		return refused("", "the commit %s says that it added the entries %.100q; it has %q", where, says, has)
	}
	if base, ok := w.t.startsHere(c); ok && h == w.start && base != now.last {
		return refused("", "the commit %s says that the fork begins behind entry %d; that is %d", where, base, now.last)
	}
	return nil
}
