package remotes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"tape/internal/git/gitstore"
	"tape/internal/git/transport"
	"tape/internal/store/audit"
	"tape/internal/store/forks"
	"tape/internal/store/join"
	"tape/internal/store/layout"
	"tape/internal/store/lineage"
	"tape/internal/store/outgoing"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
	"tape/internal/text/secrets"
)

// planAll decides what to send, and searches it for secrets. It does both for one tape after the other,
// so that what the plan has read is still cached for the search.
func (p *push) planAll(ctx context.Context, tapes []*workspace.Tape) error {
	for _, fingerprint := range p.o.Allow {
		if !secrets.IsFingerprint(fingerprint) {
			return workspace.NoFingerprint(fingerprint)
		}
	}
	for _, t := range tapes {
		if err := ctx.Err(); err != nil {
			return err
		}
		from := len(p.sends)
		p.places[t.Name()] = from
		if err := p.plan(ctx, t); err != nil {
			return err
		}
		if err := p.scan(ctx, t, p.sends[from:]); err != nil {
			return err
		}
	}
	return nil
}

// scan searches everything of a tape that the remote does not have yet for secrets.
func (p *push) scan(ctx context.Context, t *workspace.Tape, sends []send) error {
	c := p.scans[t.Parent()]
	if c == nil {
		c = outgoing.NewSecretScan(p.s)
		c.Allow = p.o.Allow // stored only if nothing else is found
	}
	p.scans[t.Name()] = c
	c.AddKnown(p.has[t.Ref()])
	for _, prefix := range []string{layout.TagPrefix, layout.ArchivePrefix, layout.ForkPrefix} {
		for _, ref := range Under(p.target.Refs, prefix+t.Slug()+"/") {
			c.AddKnown(ref.Hash)
		}
	}
	for _, x := range sends {
		if len(x.tips) == 0 {
			continue
		}
		secrets, err := c.Search(ctx, x.status.Tape, x.tips)
		if err != nil {
			return fmt.Errorf("look for secrets in %q: %w", x.status.Tape, err)
		}
		p.found = append(p.found, secrets...)
	}
	for _, l := range c.Long {
		p.s.Warn(l.String())
	}
	c.Long = nil
	return nil
}

// clean returns the name of a tape to be sent in which no secret was found, "" if there is none.
func (p *push) clean() string {
	found := make(map[string]bool, len(p.found))
	for _, f := range p.found {
		found[f.Tape] = true
	}
	for _, x := range p.sends {
		if len(x.tips) > 0 && !x.t.IsFork() && !found[x.t.Name()] {
			return x.t.Name()
		}
	}
	return ""
}

// plan decides what to send of a tape.
func (p *push) plan(ctx context.Context, t *workspace.Tape) error {
	head, err := p.head(t)
	if err != nil {
		return err
	}
	at := len(p.sends)
	p.sends = append(p.sends, send{})
	x := send{t: t, depth: depth(t), head: head, status: layout.RefStatus{Tape: t.Name(), Ref: t.Ref(), Status: layout.RefUpToDate}}
	defer func() { p.sends[at] = x }()
	reject := func(err error) error {
		if !errors.Is(err, layout.ErrConflict) {
			return err
		}
		x.status.Status, x.status.Err, x.refs, x.tips = layout.RefRejected, err, nil, nil
		return nil
	}
	if err := p.misplaced[t.Name()]; err != nil {
		return reject(err)
	}
	note := layout.ForgottenPrefix + layout.ForgottenID(layout.TapeSlug(snapshot.RootName(t)))
	if old := p.has[t.Ref()]; old.IsZero() && !p.has[note].IsZero() {
		return reject(layout.Conflict("", "%q was forgotten at %s", snapshot.RootName(t), p.remote).
			Try(layout.ForgetOrShare, snapshot.RootName(t), p.s.Dir(), p.remote, note))
	}
	old := p.has[t.Ref()]
	published, err := p.published(t, old, head)
	if err != nil {
		return err
	}
	if !published {
		if err := p.checkForward(ctx, t, old, head); err != nil {
			return reject(err)
		}
		x.status.Status = layout.RefFastForward
		if old.IsZero() {
			x.status.Status = layout.RefNew
		}
		if x.status.Entries, err = join.Gained(p.s, t.Ref(), old, head); err != nil {
			return err
		}
		x.refs, x.tips = append(x.refs, transport.PushRef{Name: t.Ref(), New: head}), append(x.tips, head)
	}
	if err := p.planTags(t, &x); err != nil {
		return reject(err)
	}
	if p.o.Archives {
		if err := p.planArchives(t); err != nil {
			return reject(err)
		}
	}
	if p.o.Forks && !t.IsFork() {
		return p.planClosed(ctx, t)
	}
	return nil
}

// published reports whether the remote, with its branch at old, has all commits of a tape up to head.
func (p *push) published(t *workspace.Tape, old, head gitstore.Hash) (bool, error) {
	if old.IsZero() {
		return false, nil
	}
	if _, err := p.s.Git().Commit(old); errors.Is(err, gitstore.ErrNotFound) {
		// Somebody has pushed since the last fetch. The remote still has what it had then.
		if old, err = p.s.Git().Ref(layout.AcceptedRefs(p.remote) + layout.InnerRef(t.Ref())); err != nil {
			return false, nil //nolint:nilerr // nothing is known about it
		}
	}
	rel, err := lineage.Relate(p.s, head, old)
	return rel == lineage.Equal || rel == lineage.Behind, err
}

// checkForward refuses a push that would do more than add to what the remote has.
func (p *push) checkForward(ctx context.Context, t *workspace.Tape, old, head gitstore.Hash) error {
	if !old.IsZero() {
		has, err := lineage.Contains(p.s, head, old)
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) && !errors.Is(err, layout.ErrCorrupt) {
			return err
		}
		if !has {
			return layout.Conflict("", "%s has entries of %q that are not here", p.remote, t.Name()).Try(layout.PullThenPush, p.remote)
		}
	}
	if old.IsZero() && t.IsFork() {
		var err error
		if old, err = p.inherited(ctx, t, head); err != nil {
			return err
		}
	}
	return audit.CheckGrowth(ctx, p.s, t.Ref(), old, head)
}

// inherited returns the newest commit that a fork shares with its parent, which need not be checked again. It
// returns zero if this push did not check the parent, or rejected it.
func (p *push) inherited(ctx context.Context, t *workspace.Tape, head gitstore.Hash) (gitstore.Hash, error) {
	start := snapshot.StartOf(t, head)
	up, ok := p.places[t.Parent()]
	if !ok || start.IsZero() || p.sends[up].status.Status == layout.RefRejected {
		return gitstore.ZeroHash, nil
	}
	c, err := p.s.Git().Commit(start)
	if err != nil || len(c.Parents) == 0 {
		return gitstore.ZeroHash, err
	}
	chain := p.chains[t.Parent()]
	if chain == nil {
		chain = audit.NewFirstChain(p.sends[up].head, nil)
		p.chains[t.Parent()] = chain
	}
	if has, err := chain.Has(ctx, p.s, c.Parents[0]); err != nil || !has {
		return gitstore.ZeroHash, err
	}
	return c.Parents[0], nil
}

func (p *push) planTags(t *workspace.Tape, x *send) error {
	for _, tag := range Under(p.local, layout.TagPrefix+t.Slug()+"/") {
		switch published, ok := p.has[tag.Name]; {
		case !ok && p.untagged:
		case !ok:
			x.refs, x.tips = append(x.refs, transport.PushRef{Name: tag.Name, New: tag.Hash}), append(x.tips, tag.Hash)
		case published != tag.Hash:
			return layout.Conflict("", "the tag %s is published, and a different one is here", layout.ShortTag(tag.Name)).
				Try(layout.PullThenPush, p.remote).Try(layout.DeleteMovedTag, p.s.Dir(), p.remote, tag.Name)
		}
	}
	if len(x.refs) > 0 && x.status.Status == layout.RefUpToDate {
		x.status.Status = layout.RefFastForward
	}
	return nil
}

// planArchives adds the archives of a tape that the remote does not have.
func (p *push) planArchives(t *workspace.Tape) (err error) {
	for _, ref := range Under(p.local, layout.ArchivePrefix+t.Slug()+"/") {
		status := layout.RefStatus{Tape: t.Name(), Ref: ref.Name, Status: layout.RefNew}
		switch published, ok := p.has[ref.Name]; {
		case ok && published == ref.Hash:
			continue
		case ok:
			return layout.Conflict("", "the archive %s is published, and a different one is here", ref.Name).Try(layout.ListArchives)
		}
		if status.Entries, err = snapshot.LastOf(p.s, ref.Hash); err != nil {
			return err
		}
		p.sends = append(p.sends, send{t: t, depth: depth(t), status: status, refs: []transport.PushRef{{Name: ref.Name, New: ref.Hash}}, tips: []gitstore.Hash{ref.Hash}})
	}
	return nil
}

// planClosed plans to delete at the remote the forks of a tape that were merged here, with their tags.
func (p *push) planClosed(ctx context.Context, t *workspace.Tape) error {
	if p.gone == nil {
		if err := p.listGone(); err != nil {
			return err
		}
	}
	for _, x := range p.gone[t.Name()] {
		closed, err := forks.ClosedHere(ctx, x.t, x.head, false)
		if err != nil {
			return err
		}
		if !closed {
			continue
		}
		for _, tag := range Under(p.target.Refs, layout.TagPrefix+x.t.Slug()+"/") {
			if !p.has[layout.BranchPrefix+x.t.Slug()].IsZero() {
				break // the tags belong to a tape with the same slug
			}
			x.refs = append(x.refs, transport.PushRef{Name: tag.Name, Old: tag.Hash})
		}
		p.sends = append(p.sends, x)
	}
	return nil
}

// listGone finds the forks that the remote has and that were closed here.
func (p *push) listGone() error {
	p.gone = map[string][]send{}
	kept, _ := os.ReadFile(p.s.PrivatePath(keptFile))
	for _, ref := range Under(p.target.Refs, layout.ForkPrefix) {
		if !p.listed(ref.Name).IsZero() || bytes.Contains(kept, []byte(p.keptLine(ref.Name, ref.Hash))) {
			continue // still open, or the remote keeps it
		}
		if _, err := p.s.Git().Commit(ref.Hash); err != nil {
			continue // its commit was never fetched, so it was not closed here
		}
		name := snapshot.RemoteName(p.s, layout.Incoming{Ref: ref.Name, New: ref.Hash})
		f := p.s.ForkHandle(name)
		if f == nil || f.Ref() != ref.Name {
			continue
		}
		x := send{t: f, depth: depth(f), head: ref.Hash, status: layout.RefStatus{Tape: name, Ref: ref.Name, Status: layout.RefDeleted},
			refs: []transport.PushRef{{Name: ref.Name, Old: ref.Hash}}}
		for up := f; up != nil; up = p.s.ForkHandle(up.Parent()) {
			p.gone[up.Parent()] = append(p.gone[up.Parent()], x)
		}
	}
	return nil
}
