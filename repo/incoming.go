package repo

import (
	"context"
	"errors"
	"fmt"
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

// incomingCheck checks the refs of a remote. It looks at each commit once, so tapes are
// best shown before forks, and both before tags, those that have not changed as well: all
// that they hold is known then.
type incomingCheck struct {
	ctx    context.Context
	s      *Store
	v      *verifier              // does single steps
	known  map[gitstore.Hash]bool // commits that are in order, or were accepted before
	shaped map[gitstore.Hash]bool // trees and blobs of merges whose names and sizes are in order
	opened map[phaseAt]bool       // phases, by the commits that they came with
	tapes  map[string]*incomingTape
	heads  map[string]gitstore.Hash // of tapes that have not changed, by their slugs
}

// phaseAt is a phase that came with a commit.
type phaseAt struct {
	commit gitstore.Hash
	folder string
}

// incomingTape is a tape or fork of the remote.
type incomingTape struct {
	t     *Tape
	chain map[gitstore.Hash]bool // its commits by first parents, as far as they were needed
	next  gitstore.Hash          // the one below; zero: there is none
}

func (s *Store) newIncomingCheck(ctx context.Context) *incomingCheck {
	return &incomingCheck{ctx: ctx, s: s, v: &verifier{ctx: ctx, s: s, report: &Report{}, seen: map[gitstore.Hash]bool{}},
		known: map[gitstore.Hash]bool{}, shaped: map[gitstore.Hash]bool{}, opened: map[phaseAt]bool{},
		tapes: map[string]*incomingTape{}, heads: map[string]gitstore.Hash{}}
}

// check reports why a ref of a remote may not be used, or nil. The error is ErrRefused, or
// ErrConflict where the remote's history was rewritten.
func (c *incomingCheck) check(in incoming) error {
	n, err := parseIncoming(in.Ref)
	if err != nil {
		return err
	}
	if err := c.checkRef(n, in); err != nil {
		return c.refuse(in.Ref, err)
	}
	return nil
}

func (c *incomingCheck) checkRef(n incomingName, in incoming) error {
	switch {
	case in.New.IsZero():
		return refused("", "it names nothing")
	case n.kind == kindTag || n.kind == kindArchive:
		if !in.Old.IsZero() && in.Old != in.New {
			return refused("ask whoever moved it: handoffs and archives stay where they are",
				"it was moved from %s to %s", in.Old.String()[:12], in.New.String()[:12])
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
		return c.tag(n, in.New)
	case kindArchive:
		_, err := c.history(n, in.New, gitstore.ZeroHash)
		return err
	}
	t, err := c.history(n, in.New, in.Old)
	if err == nil {
		c.tapes[t.slug] = &incomingTape{t: t, chain: map[gitstore.Hash]bool{}, next: in.New}
	}
	return err
}

// refuse says of which ref an error is, and makes a refusal of it. Advice from below is
// for tapes of one's own.
func (c *incomingCheck) refuse(ref string, err error) error {
	if ctxErr := c.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	out := &problem{class: ErrRefused, msg: "the remote's " + shortRef(ref), cause: err,
		hint: "it has to be put right on the remote; nothing of it was taken"}
	var p *problem
	var corrupt *CorruptError
	switch {
	case errors.Is(err, errRewritten):
		out.class, out.hint = ErrConflict, Hint(err)
	case errors.As(err, &p) && errors.Is(p.class, ErrRefused) && p.hint != "":
		out.hint = p.hint
	case errors.As(err, &corrupt) && corrupt.Fix == installNewer:
		out.hint = installNewer
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
	return &problem{class: ErrConflict, cause: errRewritten, msg: fmt.Sprintf("%s does not continue %s", next.String()[:12], old.String()[:12]),
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

// tag checks the tag of a handoff: what it names, and that the phase came with that.
func (c *incomingCheck) tag(n incomingName, h gitstore.Hash) error {
	size, err := c.s.git.BlobSize(h)
	if err != nil {
		return err
	}
	if limit := int64(c.maxLine() + smallFile); size > limit {
		return refused("", "the tag %s has %d bytes; the limit is %d", h.String()[:12], size, limit)
	}
	tag, err := c.s.git.Tag(h)
	if err != nil {
		return refused("", "not an annotated tag of a commit: %v", err)
	}
	if want := n.slug + "/" + n.rest; tag.Name != "anchor/"+want {
		return refused("", "the tag calls itself %.200q", tag.Name)
	}
	owner, err := c.owner(n.slug, tag.Object)
	if err != nil {
		return err
	}
	if on, err := c.onChain(owner, tag.Object); err != nil {
		return err
	} else if !on {
		return refused("", "the commit %s that it names is not of %q", tag.Object.String()[:12], owner.t.name)
	}
	if came, err := c.cameWith(owner.t, n.rest, tag.Object); err != nil {
		return err
	} else if !came {
		return refused("", "the phase %s did not come with the commit %s that it names", n.rest, tag.Object.String()[:12])
	}
	return nil
}

// owner finds the tape or fork that a tag is of. That of a fork which was merged is there
// no more: then the commit has to say whose it is, and is checked.
func (c *incomingCheck) owner(slug string, h gitstore.Hash) (*incomingTape, error) {
	if t := c.tapes[slug]; t != nil {
		return t, nil
	}
	if head, ok := c.heads[slug]; ok {
		t, err := c.identify(incomingName{kind: kindTape, slug: slug}, head)
		c.tapes[slug] = &incomingTape{t: t, chain: map[gitstore.Hash]bool{}, next: head}
		return c.tapes[slug], err
	}
	if _, err := c.history(incomingName{kind: kindTag, slug: slug}, h, gitstore.ZeroHash); err != nil {
		return nil, err
	}
	name, err := c.s.nameAt(h)
	if err != nil {
		return nil, err
	}
	t := c.s.named(name, h)
	c.tapes[slug] = &incomingTape{t: t, chain: map[gitstore.Hash]bool{}, next: h}
	return c.tapes[slug], nil
}

// onChain reports whether a commit is one of a tape's own, by first parents.
func (c *incomingCheck) onChain(of *incomingTape, h gitstore.Hash) (bool, error) {
	for !of.chain[h] && !of.next.IsZero() {
		if err := c.ctx.Err(); err != nil {
			return false, err
		}
		at, err := c.commit(of.next)
		if err != nil {
			return false, err
		}
		if _, begins := of.t.startsHere(at); begins {
			of.next = gitstore.ZeroHash // what is before is the parent's
			break
		}
		of.chain[of.next] = true
		of.next = gitstore.ZeroHash
		if len(at.Parents) > 0 {
			of.next = at.Parents[0]
		}
	}
	return of.chain[h], nil
}

// cameWith reports whether a phase came with a commit.
func (c *incomingCheck) cameWith(t *Tape, folder string, h gitstore.Hash) (bool, error) {
	if c.opened[phaseAt{h, folder}] {
		return true, nil
	}
	at, err := c.commit(h)
	if err != nil {
		return false, err
	}
	has := func(h gitstore.Hash) (bool, error) {
		v, err := c.s.commitView(h)
		if err != nil {
			return false, err
		}
		for _, p := range v.list {
			if p.folder == folder {
				return true, nil
			}
		}
		return false, nil
	}
	now, err := has(h)
	if err != nil || !now {
		return false, err
	}
	before, ok, err := t.previous(at)
	if err != nil || !ok {
		return err == nil, err
	}
	was, err := has(before)
	return !was, err
}
