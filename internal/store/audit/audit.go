package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// An audit decides whether histories keep the promises of the format. It walks along first parents,
// the oldest commit first, and compares each commit with the state before it, reading only what
// changed. The commits that a merge brought in are walked before the merge.

// policy says how far a source is trusted, and what to do about a violation.
type policy struct {
	// hostile: check the size of everything before reading it, and limit the cost of merges.
	hostile bool
	// found is called with violations, at most one for each commit. If nil, the first violation ends
	// the audit.
	found func(tape string, err error)
	// repaired, if set, is called for entries that a repair has made.
	repaired func(where string, id int64)
}

// audit checks each commit once, so tapes have to be checked before their forks.
type audit struct {
	policy
	s       *workspace.Store
	Known   map[gitstore.Hash]bool     // commits that were checked, or accepted before
	shaped  map[gitstore.Hash]bool     // trees whose names and sizes are valid
	opened  map[gitstore.Hash][]string // by commit: the folders of the phases that it added
	commits int                        // how many commits were checked
}

func newAudit(s *workspace.Store, p policy) *audit {
	return &audit{policy: p, s: s, Known: map[gitstore.Hash]bool{}, shaped: map[gitstore.Hash]bool{}, opened: map[gitstore.Hash][]string{}}
}

// report passes a violation to found, or returns it to end the audit.
func (a *audit) report(ctx context.Context, t *workspace.Tape, err error) error {
	if err == nil || a.found == nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	a.found(t.Name(), err)
	return nil
}

// violation is a broken promise in a file or commit.
func violation(file, format string, args ...any) error {
	return &layout.CorruptError{File: file, Msg: fmt.Sprintf(format, args...)}
}

// history checks the commits of a tape that are not known yet.
func (a *audit) history(ctx context.Context, t *workspace.Tape, head gitstore.Hash) error {
	chain, at, err := a.chain(ctx, head, gitstore.ZeroHash)
	if err := a.report(ctx, t, err); err != nil {
		return err
	}
	return a.walk(ctx, t, chain, at, 0)
}

// Problems returns the problems in the history of a commit. It fails only if ctx ends.
func Problems(ctx context.Context, s *workspace.Store, t *workspace.Tape, head gitstore.Hash) ([]Problem, error) {
	v := &verifier{s: s, report: &Report{}}
	err := newAudit(s, policy{found: v.problem}).history(ctx, t, head)
	return v.report.Problems, err
}

// chain lists the unknown commits from head down by first parents, the newest first, and returns the
// valid commit before them, zero if there is none. Incomplete merges by git are listed even if they
// are known. If old is not zero, it was accepted before, and head must continue it.
func (a *audit) chain(ctx context.Context, head, old gitstore.Hash) (chain []gitstore.Hash, at gitstore.Hash, err error) {
	for at = head; at != old && !a.Known[at]; {
		c, err := a.Commit(at)
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return chain, gitstore.ZeroHash, err
		}
		chain = append(chain, at)
		if len(c.Parents) == 0 && old.IsZero() {
			return chain, gitstore.ZeroHash, nil
		}
		if len(c.Parents) == 0 {
			return nil, gitstore.ZeroHash, rewritten(old, head)
		}
		at = c.Parents[0]
	}
	if !old.IsZero() {
		if has, err := lineage.Descends(a.s, at, old.String()); err != nil || !has {
			return nil, gitstore.ZeroHash, cmp.Or(err, rewritten(old, head))
		}
	}
	a.Known[at] = true
	raw, at, err := snapshot.ByGit(a.s, at)
	return append(chain, raw...), at, err
}

// walk checks the commits of a chain, whose newest is first; at is the valid commit before them. depth
// is how deeply merges are nested.
func (a *audit) walk(ctx context.Context, t *workspace.Tape, chain []gitstore.Hash, at gitstore.Hash, depth int) error {
	if a.hostile && depth > deepestMerge {
		return layout.Refused("", "merges are nested more than %d deep", deepestMerge)
	}
	if len(chain) == 0 {
		return nil
	}
	w := &auditWalk{audit: a, t: t, depth: depth, head: chain[0]}
	if err := a.report(ctx, t, w.begin(chain, at)); err != nil {
		return err
	}
	for _, h := range slices.Backward(chain) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.next(ctx, h); err != nil {
			return err
		}
		a.Known[h] = true
	}
	if !w.unfinished.IsZero() && !a.hostile {
		return a.report(ctx, t, violation(short(w.unfinished), "git made this merge, and it was not completed"))
	}
	return nil
}

// short returns a commit's hash as messages show it.
func short(h gitstore.Hash) string { return h.String()[:12] }

// FirstChain is a commit with its ancestors by first parents, read as far as needed.
type FirstChain struct {
	next gitstore.Hash          // the first commit not read yet; zero at the end
	own  *workspace.Tape        // if it is a fork, its first commit and older ones are not in the chain
	seen map[gitstore.Hash]bool // the commits that were read
}

// NewFirstChain returns the chain of a commit. If own is a fork, the chain has only the commits after the
// fork's first one, which has the parent's entries. own may be nil.
func NewFirstChain(head gitstore.Hash, own *workspace.Tape) *FirstChain {
	return &FirstChain{next: head, own: own, seen: map[gitstore.Hash]bool{}}
}

// Has reports whether a commit is in the chain.
func (c *FirstChain) Has(ctx context.Context, s *workspace.Store, h gitstore.Hash) (bool, error) {
	if c.seen[h] {
		return true, nil
	}
	for at, err := range s.ByFirstParents(c.next) {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return false, err
		}
		c.next = gitstore.ZeroHash
		if c.own != nil {
			if _, begins := snapshot.StartsHere(c.own, at.Commit); begins {
				break // earlier commits are the parent's
			}
		}
		c.seen[at.Hash] = true
		if len(at.Parents) > 0 {
			c.next = at.Parents[0]
		}
		if at.Hash == h {
			return true, nil
		}
	}
	return false, nil
}
