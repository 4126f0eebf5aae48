package repo

import (
	"context"
	"errors"
	"strings"

	"tape/internal/gitstore"
)

// plan finds out what of a tape is to be sent.
func (p *pushing) plan(ctx context.Context, t *Tape) error {
	head, err := t.head()
	if err != nil {
		return err
	}
	at := len(p.sends)
	p.sends = append(p.sends, send{})
	x := send{t: t, status: RefStatus{Tape: t.name, Ref: t.branch, Status: RefUpToDate}}
	defer func() { p.sends[at] = x }()
	reject := func(err error) error {
		if !errors.Is(err, ErrConflict) {
			return err
		}
		x.status.Status, x.status.Err, x.refs, x.tips = RefRejected, err, nil, nil
		return nil
	}
	old := p.has[t.branch]
	published, err := p.published(t, old, head)
	if err != nil {
		return err
	}
	if !published {
		if err := p.checkForward(ctx, t, old, head); err != nil {
			return reject(err)
		}
		x.status.Status = RefFastForward
		if old.IsZero() {
			x.status.Status = RefNew
		}
		if x.status.Entries, err = p.s.gained(t.branch, old, head); err != nil {
			return err
		}
		x.refs, x.tips = append(x.refs, gitstore.PushRef{Name: t.branch, New: head}), append(x.tips, head)
	}
	if err := p.planTags(t, &x); err != nil {
		return reject(err)
	}
	if p.o.Archives {
		if err := p.planArchives(t, &x); err != nil {
			return reject(err)
		}
	}
	if p.o.Forks && !t.IsFork() {
		return p.planClosed(ctx, t)
	}
	return nil
}

// published reports whether a remote has everything of a tape, and maybe more.
func (p *pushing) published(t *Tape, old, head gitstore.Hash) (bool, error) {
	if old.IsZero() || old == head {
		return old == head, nil
	}
	if _, err := p.s.git.Commit(old); errors.Is(err, gitstore.ErrNotFound) {
		// What it had when it was last seen, it has still.
		if old, err = p.s.git.Ref(acceptedRefs(p.remote) + innerRef(t.branch)); err != nil {
			return false, nil //nolint:nilerr // nothing is known of it
		}
	}
	return p.s.contains(old, head)
}

// checkForward refuses what would not only add to what the remote has.
func (p *pushing) checkForward(ctx context.Context, t *Tape, old, head gitstore.Hash) error {
	if !old.IsZero() {
		_, err := p.s.git.Commit(old)
		has := false
		if err == nil {
			has, err = p.s.contains(head, old)
		}
		if err != nil && !errors.Is(err, gitstore.ErrNotFound) && !errors.Is(err, ErrCorrupt) {
			return err
		}
		if !has {
			return conflict(p.pullHint(), "%s has entries of %q that are not here", p.remote, t.name)
		}
	}
	return p.s.checkGrowth(ctx, t.branch, old, head)
}

// pullHint is the way out where the remote has something else.
func (p *pushing) pullHint() string {
	remote := ""
	if p.remote != DefaultRemote {
		remote = " " + shellWord(p.remote)
	}
	return "run tape pull" + remote + ", which brings both together, then push again"
}

func (p *pushing) planTags(t *Tape, x *send) error {
	tags, err := p.s.git.Refs(tagPrefix + t.slug + "/")
	if err != nil {
		return err
	}
	for _, tag := range tags {
		switch published, ok := p.has[tag.Name]; {
		case !ok:
			x.refs, x.tips = append(x.refs, gitstore.PushRef{Name: tag.Name, New: tag.Hash}), append(x.tips, tag.Hash)
		case published != tag.Hash:
			return conflict(p.pullHint(),
				"the tag %s is published, and is another one here", shortTag(tag.Name))
		}
	}
	if len(x.refs) > 0 && x.status.Status == RefUpToDate {
		x.status.Status = RefFastForward
	}
	return nil
}

func (p *pushing) planArchives(t *Tape, x *send) error {
	refs, err := p.s.git.Refs(archivePrefix + t.slug + "/")
	if err != nil {
		return err
	}
	for _, ref := range refs {
		status := RefStatus{Tape: t.name, Ref: ref.Name, Status: RefNew}
		switch published, ok := p.has[ref.Name]; {
		case ok && published == ref.Hash:
			continue
		case ok:
			return conflict("tape archives lists them", "the archive %s is published, and is another one here", ref.Name)
		}
		if status.Entries, err = p.s.lastOf(ref.Hash); err != nil {
			return err
		}
		p.sends = append(p.sends, send{t: t, status: status, refs: []gitstore.PushRef{{Name: ref.Name, New: ref.Hash}}, tips: []gitstore.Hash{ref.Hash}})
	}
	return nil
}

// planClosed deletes the forks of a tape at the remote that were merged here, with all that
// the remote has of them.
func (p *pushing) planClosed(ctx context.Context, t *Tape) error {
	for ref, at := range p.has {
		if !strings.HasPrefix(ref, forkPrefix) {
			continue
		}
		if _, err := p.s.git.Ref(ref); !errors.Is(err, gitstore.ErrNotFound) {
			continue // still open
		}
		if _, err := p.s.git.Commit(at); err != nil {
			continue // never fetched
		}
		name := p.s.remoteName(incoming{Ref: ref, New: at})
		f := p.s.forkHandle(name)
		if f == nil || f.branch != ref || !f.isForkOf(t.name) {
			continue
		}
		closed, err := f.closedHere(ctx, at, false)
		if err != nil {
			return err
		}
		if closed {
			x := send{t: f, status: RefStatus{Tape: name, Ref: ref, Status: RefDeleted},
				refs: []gitstore.PushRef{{Name: ref, Old: at, Lease: true}}}
			for tag, h := range p.has {
				if strings.HasPrefix(tag, tagPrefix+f.slug+"/") {
					x.refs = append(x.refs, gitstore.PushRef{Name: tag, Old: h, Lease: true})
				}
			}
			p.sends = append(p.sends, x)
		}
	}
	return nil
}
