package repo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tape/internal/gitstore"
)

// What a remote has is not trusted. Its refs come into a namespace of their own, and are
// looked at there before anything of them becomes a tape: names, trees, sizes, history,
// and every new line. Nothing here needs more than memory for a few files, whatever the
// remote made up.

// ErrRefused is the class of errors that say why something of a remote may not be used.
// Nothing of the workspace was changed.
var ErrRefused = errors.New("refused")

func refused(hint, format string, args ...any) error {
	return &problem{class: ErrRefused, msg: fmt.Sprintf(format, args...), hint: hint}
}

// incoming is a ref that a remote has.
type incoming struct {
	Ref string        // its name there: refs/heads/tape/x, refs/tags/anchor/x/001_y …
	Old gitstore.Hash // what was accepted from there before; zero: nothing
	New gitstore.Hash // what it holds now
}

// incomingCheck checks the refs of a remote: tapes first, then forks, then tags, those that
// have not changed as well. So all that they hold is known then.
type incomingCheck struct {
	*audit
	tapes map[string]*firstChain   // of tapes and forks, by their slugs
	heads map[string]gitstore.Hash // of tapes that have not changed, by their slugs
}

func (s *Store) newIncomingCheck() *incomingCheck {
	return &incomingCheck{audit: s.newAudit(policy{hostile: true}), tapes: map[string]*firstChain{}, heads: map[string]gitstore.Hash{}}
}

// check reports why a ref of a remote may not be used, or nil. The error is ErrRefused, or
// ErrConflict where the remote's history was rewritten.
func (c *incomingCheck) check(ctx context.Context, in incoming) error {
	n, err := parseIncoming(in.Ref)
	if err != nil {
		return err
	}
	if err := c.checkRef(ctx, n, in); err != nil {
		if ctxErr := ctx.Err(); ctxErr != nil {
			return ctxErr
		}
		return refuseRef(in.Ref, err)
	}
	return nil
}

func (c *incomingCheck) checkRef(ctx context.Context, n incomingName, in incoming) error {
	switch {
	case in.New.IsZero():
		return refused("", "it names nothing")
	case n.kind == kindTag || n.kind == kindArchive:
		if !in.Old.IsZero() && in.Old != in.New {
			return refused("ask whoever moved it: handoffs and archives stay where they are",
				"it was moved from %s to %s", short(in.Old), short(in.New))
		}
	}
	if in.Old == in.New {
		if n.kind == kindTape || n.kind == kindFork {
			c.known[in.New] = true
		}
		if n.kind == kindTape {
			c.heads[n.slug] = in.New
		}
		return nil
	}
	switch n.kind {
	case kindTag:
		return c.tag(ctx, n, in.New)
	case kindArchive:
		_, err := c.branch(ctx, n, in.New, gitstore.ZeroHash)
		return err
	}
	t, err := c.branch(ctx, n, in.New, in.Old)
	if err == nil {
		c.tapes[t.slug] = newFirstChain(in.New, t)
	}
	return err
}

// refuseRef says of which ref an error is, and makes a refusal of it. Advice from below is
// for tapes of one's own.
func refuseRef(ref string, err error) error {
	out := &problem{class: ErrRefused, msg: "the remote's " + shortRef(ref), cause: err,
		hint: "it has to be put right on the remote; nothing of it was taken"}
	var p *problem
	var corrupt *CorruptError
	switch {
	case errors.Is(err, errRewritten):
		out.class, out.hint = ErrConflict, Hint(err)
	case errors.As(err, &p) && errors.Is(p.class, ErrRefused) && p.hint != "":
		out.hint = p.hint
	case errors.As(err, &corrupt) && (corrupt.Fix == installNewer || corrupt.Fix == takeOut):
		out.hint = corrupt.Fix
	}
	return out
}

// installNewer is the advice for a format that is not known.
const installNewer = "install a newer tape"

// errRewritten is the cause of a conflict: what was accepted before is not in the history
// any more.
var errRewritten = errors.New("history was rewritten")

// takeAsItIs is the way out where a remote's history is to count, whatever it was before.
const takeAsItIs = "to take it as it is, with what only you have behind it: tape remote remove, tape remote add, then tape pull"

func rewritten(old, next gitstore.Hash) error {
	return &problem{class: ErrConflict, cause: errRewritten, msg: fmt.Sprintf("%s does not continue %s", short(next), short(old)),
		hint: "ask whoever rewrote it, or restored an older one; what you have of it is as it was\n" + takeAsItIs}
}

func shortRef(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/", "refs/"} {
		if rest, ok := strings.CutPrefix(ref, prefix); ok {
			return rest
		}
	}
	return ref
}

// branch checks what a ref's commit has that is not known, and returns the tape or fork
// that it is of.
func (c *incomingCheck) branch(ctx context.Context, n incomingName, head, old gitstore.Hash) (*Tape, error) {
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

// identify finds the tape or fork that a ref is of, by what its commit says.
func (c *incomingCheck) identify(n incomingName, head gitstore.Hash) (*Tape, error) {
	at, err := c.commit(head)
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
				return nil, refused("", "the commit %s is of %.200q, whose forks have other branches", short(head), name)
			}
			name += "/" + n.rest // a branch that somebody made by hand
		}
	case kindTag:
		if tapeSlug(name) != n.slug {
			return nil, refused("", "the commit %s is of %.200q", short(head), name)
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

// tag checks the tag of a handoff: what it names, and that the phase came with that.
func (c *incomingCheck) tag(ctx context.Context, n incomingName, h gitstore.Hash) error {
	tag, err := c.readTag(tagPrefix+n.slug+"/"+n.rest, h)
	if err != nil {
		return err
	}
	owner, err := c.tapeOf(ctx, n.slug, tag.Object)
	if err != nil {
		return err
	}
	if on, err := owner.has(ctx, tag.Object, c.commit); err != nil {
		return err
	} else if !on {
		return refused("", "the commit %s that it names is not of %q", short(tag.Object), owner.own.name)
	}
	if came, err := c.cameWith(owner.own, n.rest, tag.Object); err != nil {
		return err
	} else if !came {
		return refused("", "the phase %s did not come with the commit %s that it names", n.rest, short(tag.Object))
	}
	return nil
}

// tapeOf finds the tape or fork that a tag is of. That of a fork which was merged is there
// no more: then the commit has to say whose it is, and is checked.
func (c *incomingCheck) tapeOf(ctx context.Context, slug string, h gitstore.Hash) (*firstChain, error) {
	if t := c.tapes[slug]; t != nil {
		return t, nil
	}
	if head, ok := c.heads[slug]; ok {
		t, err := c.identify(incomingName{kind: kindTape, slug: slug}, head)
		if err != nil {
			return nil, err
		}
		c.tapes[slug] = newFirstChain(head, t)
		return c.tapes[slug], nil
	}
	if _, err := c.branch(ctx, incomingName{kind: kindTag, slug: slug}, h, gitstore.ZeroHash); err != nil {
		return nil, err
	}
	name, err := c.s.nameAt(h)
	if err != nil {
		return nil, err
	}
	c.tapes[slug] = newFirstChain(h, c.s.named(name, h))
	return c.tapes[slug], nil
}

// cameWith reports whether a phase came with a commit.
func (c *incomingCheck) cameWith(t *Tape, folder string, h gitstore.Hash) (bool, error) {
	if slices.Contains(c.opened[h], folder) {
		return true, nil
	}
	at, err := c.commit(h)
	if err != nil {
		return false, err
	}
	now, err := c.s.hasPhase(h, folder)
	if err != nil || !now {
		return false, err
	}
	before, ok, err := t.previous(at)
	if err != nil || !ok {
		return err == nil, err
	}
	was, err := c.s.hasPhase(before, folder)
	return !was, err
}

// hasPhase reports whether a commit has a phase.
func (s *Store) hasPhase(h gitstore.Hash, folder string) (bool, error) {
	v, err := s.commitView(h)
	return err == nil && slices.ContainsFunc(v.list, func(p phase) bool { return p.folder == folder }), err
}
