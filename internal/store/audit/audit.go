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

// An audit tells whether histories keep the promises of the format. It walks along first
// parents, the oldest commit first, and compares each commit with the state before it: only
// what changed between them is read. What was merged is walked before the merge.

// policy says how far a source is trusted, and what becomes of a violation.
type policy struct {
	// hostile: nothing is read before its size is known, and merges may not cost more than
	// they do in tapes.
	hostile bool
	// compare: both histories, where the commits that a purge replaced are still there.
	compare bool
	// found is told of violations, one for each commit. Nil: the first ends the audit.
	found func(tape string, err error)
	// repaired is told of entries that a repair has made, if it is set.
	repaired func(where string, id int64)
}

// audit looks at each commit once, so tapes are best shown before their forks.
type audit struct {
	policy
	s       *workspace.Store
	Known   map[gitstore.Hash]bool     // commits that were looked at, or accepted before
	shaped  map[gitstore.Hash]bool     // trees whose names and sizes are in order
	opened  map[gitstore.Hash][]string // folders of the phases that came with a commit
	commits int                        // how many were looked at
}

func newAudit(s *workspace.Store, p policy) *audit {
	return &audit{policy: p, s: s, Known: map[gitstore.Hash]bool{}, shaped: map[gitstore.Hash]bool{}, opened: map[gitstore.Hash][]string{}}
}

// report makes a violation known, or returns it to end the audit.
func (a *audit) report(ctx context.Context, t *workspace.Tape, err error) error {
	if err == nil || a.found == nil || ctx.Err() != nil {
		return cmp.Or(ctx.Err(), err)
	}
	a.found(t.Name(), err)
	return nil
}

// violation is a broken promise of a file, or of a commit.
func violation(file, format string, args ...any) error {
	return &layout.CorruptError{File: file, Msg: fmt.Sprintf(format, args...)}
}

// history checks what a commit of a tape has that is not known.
func (a *audit) history(ctx context.Context, t *workspace.Tape, head gitstore.Hash) error {
	chain, at, err := a.chain(ctx, head, gitstore.ZeroHash)
	if err := a.report(ctx, t, err); err != nil {
		return err
	}
	return a.walk(ctx, t, chain, at, 0)
}

// Problems are those of the history of a commit.
func Problems(ctx context.Context, s *workspace.Store, t *workspace.Tape, head gitstore.Hash, compare bool) ([]Problem, error) {
	v := &verifier{s: s, report: &Report{}}
	err := newAudit(s, policy{compare: compare, found: v.problem}).history(ctx, t, head)
	return v.report.Problems, err
}

// chain lists the commits from head down by first parents that are not known, the newest
// first, and the one before them that counts as it is, zero if there is none. What git
// made and nobody completed is among them even if it is known. old is accepted, and has to
// be on the way unless it is zero.
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

// walk checks commits, the newest first, that follow one that is in order.
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
	if !w.raw.IsZero() && !a.hostile {
		return a.report(ctx, t, violation(short(w.raw), "git made this merge, and it was not completed"))
	}
	return nil
}

// short is how messages name a commit.
func short(h gitstore.Hash) string { return h.String()[:12] }

// FirstChain is a commit with those before it by first parents, as far as they were needed.
type FirstChain struct {
	next gitstore.Hash          // the first that was not looked at; zero: there is none
	own  *workspace.Tape        // if set, the chain ends where this fork begins
	seen map[gitstore.Hash]bool // those before next
}

// NewFirstChain is the chain of a commit. If own is a fork, it ends where that begins; nil is
// for all of it.
func NewFirstChain(head gitstore.Hash, own *workspace.Tape) *FirstChain {
	return &FirstChain{next: head, own: own, seen: map[gitstore.Hash]bool{}}
}

// Has reports whether a commit is one of them.
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
				break // what is before is the parent's
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
