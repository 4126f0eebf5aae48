package audit

import (
	"context"
	"errors"
	"path"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Checks that a hook makes before git moves a ref or makes a commit.

// CheckUpdates refuses, with ErrConflict, to move refs of a repository in a way that breaks the
// promises of the format: tapes and forks only grow, or were purged; tapes are not deleted unless
// the push marks them as forgotten; tags of handoffs name the commits of their phases and stay
// there; archives hold tapes. All refs are checked together, because a purged tape comes with other
// tags. Other refs are accepted. Errors are in the order of the refs, nil if a ref may be moved.
// gitDir may be a bare repository without a workspace.
func CheckUpdates(ctx context.Context, gitDir string, updates []layout.Incoming) []error {
	out := make([]error, len(updates))
	s, err := workspace.OpenBare(gitDir)
	c := &updateCheck{s: s, heads: map[string]gitstore.Hash{}, incoming: NewIncomingCheck(s)}
	for _, u := range updates {
		if !u.New.IsZero() {
			c.heads[u.Ref] = u.New
		}
	}
	for i, u := range updates {
		if out[i] = layout.Classify(err); err == nil {
			out[i] = c.check(ctx, u)
		}
	}
	return out
}

// updateCheck checks refs that move together.
type updateCheck struct {
	s        *workspace.Store
	heads    map[string]gitstore.Hash // the new commits of refs
	incoming *IncomingCheck           // checks what is new
}

// forgets reports whether the same push marks as forgotten the tape or fork that a commit or tag belongs
// to, or an ancestor of that fork.
func (c *updateCheck) forgets(h gitstore.Hash) bool {
	at, err := c.s.Git().Peel(h)
	if err != nil {
		return false
	}
	name, err := c.s.NameAt(at)
	for err == nil && name != "" {
		if _, ok := c.heads[layout.ForgottenPrefix+layout.ForgottenID(layout.TapeSlug(name))]; ok {
			return true
		}
		name, _, _ = layout.CutFork(name)
	}
	return false
}

func (c *updateCheck) check(ctx context.Context, u layout.Incoming) error {
	ref, from, to := u.Ref, u.Old, u.New
	switch {
	case from == to, to.IsZero() && c.forgets(from):
		return nil
	case strings.HasPrefix(ref, layout.ForgottenPrefix):
		if mark, _ := layout.ForgottenMark(); to != mark && !to.IsZero() {
			return layout.Conflict("", "%s does not say that a session was forgotten", ref)
		}
		return nil
	case strings.HasPrefix(ref, layout.TagPrefix) && from.IsZero():
		n, err := parseIncoming(ref)
		if err == nil {
			c.addOwner(n.slug, to)
			err = c.incoming.tag(ctx, n, to)
		}
		return asConflict(ref, err)
	case strings.HasPrefix(ref, layout.TagPrefix):
		return c.tagUpdate(ctx, ref, from, to)
	case strings.HasPrefix(ref, layout.ArchivePrefix):
		if to.IsZero() {
			return nil
		}
		n, err := parseIncoming(ref)
		if err != nil {
			return asConflict(ref, err)
		}
		return CheckGrowth(ctx, c.s, layout.BranchPrefix+n.slug, gitstore.ZeroHash, to)
	case !to.IsZero() && (strings.HasPrefix(ref, layout.BranchPrefix) || strings.HasPrefix(ref, layout.ForkPrefix)):
		return CheckGrowth(ctx, c.s, ref, from, to)
	case strings.HasPrefix(ref, layout.BranchPrefix):
		return layout.Conflict("the owner of the repository can delete it there", "%s is the history of a tape, and is not deleted by a push", shortRef(ref))
	}
	return nil
}

// addOwner adds the chain of a tag's branch to c.incoming. A merged fork has no branch: for its tag,
// tapeOf checks the fork's own history.
func (c *updateCheck) addOwner(slug string, tag gitstore.Hash) {
	if c.incoming.tapes[slug] != nil {
		return
	}
	t, _, head, err := c.owner(tag)
	if err == nil && t.Slug() == slug && !head.IsZero() {
		c.incoming.tapes[slug] = NewFirstChain(head, t)
	}
}

// owner returns the tape or fork that a tag belongs to, the commit that the tag names, and the newest
// commit of the branch, zero if there is no such branch.
func (c *updateCheck) owner(tag gitstore.Hash) (t *workspace.Tape, at, head gitstore.Hash, err error) {
	if at, err = c.s.Git().Peel(tag); err != nil {
		return nil, at, head, err
	}
	name, err := c.s.NameAt(at)
	if err != nil {
		return nil, at, head, err
	}
	t = snapshot.HandleOf(c.s, name, at)
	head, ok := c.heads[t.Ref()]
	if !ok {
		head, _ = c.s.Git().Ref(t.Ref())
	}
	return t, at, head, nil
}

// asConflict turns a refusal into a conflict: nobody who pulls would accept the ref.
func asConflict(ref string, err error) error {
	if errors.Is(err, layout.ErrRefused) {
		return layout.Conflict("", "%s: %v", shortRef(ref), err).Try(layout.RenameTag)
	}
	return err
}

// tagUpdate refuses to move or delete the tag of a handoff, with two exceptions: a fork's tag may be
// deleted, like the fork, and a purge moves tags to the rewritten commits and may rename phases.
func (c *updateCheck) tagUpdate(ctx context.Context, ref string, from, to gitstore.Hash) error {
	refused := layout.Conflict("the tags of handoffs never change", "the tag %s exists already, and would be moved or deleted", layout.ShortTag(ref))
	t, old, head, err := c.owner(from)
	switch {
	case err != nil:
		return refused
	case to.IsZero() && t.IsFork():
		return nil
	case head.IsZero():
		return refused
	}
	_, purged, err := rewrite.WasPurged(ctx, c.s, head, old)
	if err != nil {
		return err
	}
	if !purged {
		return refused
	}
	if to.IsZero() {
		if has, err := hasPhase(c.s, head, path.Base(ref)); err != nil || !has {
			return err
		}
		return refused
	}
	return c.check(ctx, layout.Incoming{Ref: ref, New: to}) // as if the tag were new
}

// CheckGrowth checks that a branch's new commit continues the old one (zero: there is none) or is what a
// purge made of it, and that what is new keeps the promises of the format. If not, the error is
// ErrConflict.
func CheckGrowth(ctx context.Context, s *workspace.Store, ref string, from, to gitstore.Hash) error {
	t, err := snapshot.TapeAt(s, ref, to)
	if err != nil {
		return err
	}
	a := newAudit(s, policy{})
	chain, at, err := a.chain(ctx, to, from)
	if errors.Is(err, errRewritten) {
		if ok, err := rewrite.CheckPurged(ctx, s, nil, from, to); err != nil {
			return err
		} else if ok {
			return CheckGrowth(ctx, s, ref, gitstore.ZeroHash, to)
		}
		return layout.Conflict("", "%s does not continue %s: history was rewritten, or the other side has more", shortRef(ref), short(from)).Try(layout.PullInstead)
	}
	if err != nil {
		return err
	}
	return growthConflict(ctx, shortRef(ref), a.walk(ctx, t, chain, at, 0))
}

// growthConflict turns an error of an audit into a conflict.
func growthConflict(ctx context.Context, branch string, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil || err == nil {
		return ctxErr
	}
	hint := "entries can only be added: restore what was recorded"
	if c, ok := errors.AsType[*layout.CorruptError](err); ok && c.Fix == layout.FromCopy {
		hint = c.Fix // an object cannot be read
	}
	return layout.Conflict(hint, "%s: %v", branch, err)
}

// CheckTree checks the tree of a commit that is about to be made on the branch of a tape or fork: it
// must only add to the tree of the parent. If not, the error is ErrConflict.
func CheckTree(ctx context.Context, s *workspace.Store, branch string, parent, tree gitstore.Hash) error {
	t, err := s.TapeOfBranch("refs/heads/" + strings.TrimPrefix(branch, "refs/heads/"))
	if err != nil {
		return err
	}
	a := newAudit(s, policy{})
	before, err := a.load(parent, nil)
	if err != nil {
		return err
	}
	_, err = a.step(tree, before, "")
	return growthConflict(ctx, t.Branch(), err)
}
