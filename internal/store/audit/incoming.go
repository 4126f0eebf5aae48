package audit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/resolve"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// IncomingCheck checks the refs of a remote. Check is called for tapes first, then forks, then tags,
// also for unchanged ones, because later refs refer to earlier ones.
type IncomingCheck struct {
	*audit
	tapes map[string]*FirstChain // of tapes and forks, by slug; own is nil until needed
}

// NewIncomingCheck begins a check of what a remote has sent to a store.
func NewIncomingCheck(s *workspace.Store) *IncomingCheck {
	return &IncomingCheck{audit: newAudit(s, policy{hostile: true}), tapes: map[string]*FirstChain{}}
}

// Check returns why a ref of a remote may not be used, nil if it may. The error is ErrRefused, or
// ErrConflict if the remote's history was rewritten.
func (c *IncomingCheck) Check(ctx context.Context, in layout.Incoming) error {
	n, err := parseIncoming(in.Ref)
	if err != nil {
		return err
	}
	if err := c.checkRef(ctx, n, in); err != nil {
		return cmp.Or(ctx.Err(), refuseRef(in.Ref, err))
	}
	return nil
}

func (c *IncomingCheck) checkRef(ctx context.Context, n incomingName, in layout.Incoming) error {
	isBranch := n.prefix == layout.BranchPrefix || n.prefix == layout.ForkPrefix
	switch {
	case in.New.IsZero():
		return layout.Refused("", "it points to no object")
	case in.Old == in.New:
		if isBranch {
			c.Known[in.New] = true
		}
		if n.prefix == layout.BranchPrefix {
			c.tapes[n.slug] = NewFirstChain(in.New, nil)
		}
		return nil
	case !isBranch && !in.Old.IsZero():
		return layout.Refused("ask whoever moved it: tags of handoffs and archives never move",
			"it was moved from %s to %s", short(in.Old), short(in.New))
	case n.prefix == layout.TagPrefix:
		return c.tag(ctx, n, in.New)
	}
	t, err := c.branch(ctx, n, in.New, in.Old)
	if err == nil && isBranch {
		c.tapes[t.Slug()] = NewFirstChain(in.New, t)
	}
	return err
}

// refuseRef adds the ref to an error, and makes it a refusal, or a conflict if history was rewritten. It
// drops most hints of the causes, which are meant for one's own tapes.
func refuseRef(ref string, err error) error {
	out := &layout.Error{Class: layout.ErrRefused, Msg: "the remote's " + shortRef(ref), Cause: err,
		Way: layout.Words("it has to be corrected at the remote; nothing of it was accepted")}
	var p *layout.Error
	var corrupt *layout.CorruptError
	switch {
	case errors.Is(err, errRewritten):
		out.Class, out.Way = layout.ErrConflict, layout.Hints(err)
	case errors.As(err, &p) && errors.Is(p.Class, layout.ErrRefused) && len(p.Way) > 0:
		out.Way = p.Way
	case errors.As(err, &corrupt) && (corrupt.Fix == layout.InstallNewer || corrupt.Fix == takeOut):
		out.Way = corrupt.Hints()
	}
	return out
}

// errRewritten is the cause of a conflict: the history lacks what was accepted before.
var errRewritten = errors.New("history was rewritten")

func rewritten(old, next gitstore.Hash) error {
	err := layout.Conflict("ask whoever rewrote it, or restored an older one; your copy is unchanged",
		"%s does not continue %s", short(next), short(old)).Try(layout.AcceptRewritten)
	err.Cause = errRewritten
	return err
}

func shortRef(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/"} {
		if rest, ok := strings.CutPrefix(ref, prefix); ok {
			return rest
		}
	}
	return ref
}

// branch checks the new commits of a ref, and returns the tape or fork that they belong to.
func (c *IncomingCheck) branch(ctx context.Context, n incomingName, head, old gitstore.Hash) (*workspace.Tape, error) {
	chain, at, err := c.chain(ctx, head, old)
	if err != nil {
		return nil, err
	}
	t, err := c.identify(n, head)
	if err != nil {
		return nil, err
	}
	return t, c.walk(ctx, t, chain, at, 0)
}

// identify finds the tape or fork that a ref belongs to, from what its commit says.
func (c *IncomingCheck) identify(n incomingName, head gitstore.Hash) (*workspace.Tape, error) {
	at, err := c.Commit(head)
	if err != nil {
		return nil, err
	}
	where := short(head) + ":"
	root, err := c.entries(at.Tree, where, isRootEntry)
	if err != nil {
		return nil, err
	}
	info, err := c.info(root, where)
	if err != nil {
		return nil, err
	}
	name, err := c.s.NameAt(head)
	if err != nil {
		return nil, err
	}
	if n.prefix != layout.ForkPrefix && layout.TapeSlug(info.Name) == n.slug {
		return c.s.Handle(info.Name), nil
	}
	switch n.prefix {
	case layout.ForkPrefix:
		if layout.BranchOf(name, layout.ForkPrefix) != layout.ForkPrefix+n.slug+"/"+n.rest {
			if layout.TapeSlug(name) != n.slug || layout.TapeSlug(n.rest) != n.rest {
				return nil, layout.Refused("", "the commit %s belongs to %.200q, whose forks have other branches", short(head), name)
			}
			name += "/" + n.rest // a branch made by hand
		}
	case layout.TagPrefix:
		if layout.TapeSlug(name) != n.slug {
			return nil, layout.Refused("", "the commit %s belongs to %.200q", short(head), name)
		}
	default:
		return nil, layout.Refused("a tape's branch is named after it", "%s%s names the tape %.200q", where, layout.TapeFile, info.Name)
	}
	f := c.s.ForkHandle(name)
	if f == nil || !strings.HasPrefix(name, info.Name+"/") {
		return nil, layout.Refused("", "%s%s names the tape %.200q, and %.200q is not a fork of it", where, layout.TapeFile, info.Name, name)
	}
	return f, nil
}

// tag checks the tag of a handoff: that it names the commit that its phase came with.
func (c *IncomingCheck) tag(ctx context.Context, n incomingName, h gitstore.Hash) error {
	tag, err := c.readTag(layout.TagPrefix+n.slug+"/"+n.rest, h)
	if err != nil {
		return err
	}
	owner, err := c.tapeOf(ctx, n.slug, tag.Object)
	if err != nil {
		return err
	}
	if has, err := owner.Has(ctx, c.s, tag.Object); err != nil {
		return err
	} else if !has {
		return layout.Refused("", "the commit %s that it names does not belong to %q", short(tag.Object), owner.own.Name())
	}
	if came, err := c.cameWith(owner.own, n.rest, tag.Object); err != nil {
		return err
	} else if !came {
		return layout.Refused("", "the phase %s did not come with the commit %s that it names", n.rest, short(tag.Object))
	}
	return nil
}

// tapeOf finds the tape or fork that a tag belongs to. The branch of a merged fork is gone: then the
// tag's commit must name the fork, and its history is checked.
func (c *IncomingCheck) tapeOf(ctx context.Context, slug string, h gitstore.Hash) (*FirstChain, error) {
	chain := c.tapes[slug]
	var err error
	switch {
	case chain == nil:
		chain = NewFirstChain(h, nil)
		chain.own, err = c.branch(ctx, incomingName{prefix: layout.TagPrefix, slug: slug}, h, gitstore.ZeroHash)
	case chain.own == nil:
		chain.own, err = c.identify(incomingName{prefix: layout.BranchPrefix, slug: slug}, chain.next)
	}
	if err != nil {
		return nil, err
	}
	c.tapes[slug] = chain
	return chain, nil
}

// cameWith reports whether a commit added a phase.
func (c *IncomingCheck) cameWith(t *workspace.Tape, folder string, h gitstore.Hash) (bool, error) {
	if slices.Contains(c.opened[h], folder) {
		return true, nil
	}
	at, err := c.Commit(h)
	if err != nil {
		return false, err
	}
	now, err := hasPhase(c.s, h, folder)
	if err != nil || !now {
		return false, err
	}
	before, ok, err := resolve.Previous(t, at)
	if err != nil || !ok {
		return err == nil, err
	}
	was, err := hasPhase(c.s, before, folder)
	return !was, err
}

// hasPhase reports whether a commit has a phase.
func hasPhase(s *workspace.Store, h gitstore.Hash, folder string) (bool, error) {
	v, err := snapshot.AtCommit(s, h)
	return err == nil && slices.ContainsFunc(v.List, func(p layout.Phase) bool { return p.Folder == folder }), err
}
