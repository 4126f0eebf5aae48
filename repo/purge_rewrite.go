package repo

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"tape/internal/gitstore"
)

// rewrite makes the history anew, in memory and in objects that nothing names yet.
func (p *purge) rewrite(ctx context.Context) error {
	p.o.Step("looking for what is to be masked")
	if err := p.choose(ctx); err != nil {
		return err
	}
	heads, err := p.heads()
	if err != nil {
		return err
	}
	if p.cutOff != nil {
		heads.logged = append(heads.logged, p.cutOff.olds()...)
	}
	p.archives = heads.archives
	if err := p.learn(ctx, heads); err != nil {
		return err
	}
	if err := p.ownHistory(ctx, p.r, heads); err != nil {
		return err
	}
	p.family, p.out.Tags = maps.Clone(p.r.done), 0
	for _, ref := range p.tags {
		if p.masksTag(ref) {
			p.out.Tags++
		}
	}
	if len(p.r.commits)+p.out.Tags == 0 && p.cutOff == nil {
		return notFound("tape show @ID shows an entry", "there is nothing of that kind in tape %q", p.t.name)
	}
	for _, h := range heads.others {
		if err := p.r.history(ctx, h, true); err != nil && ctx.Err() != nil {
			return err
		}
	}
	p.out.Commits, p.out.Signatures, p.out.Archives = len(p.r.commits), p.r.signed, 0
	for _, h := range heads.archives {
		if p.r.to(h) != h {
			p.out.Archives++
		}
	}
	p.out.Remotes, err = p.remotes(ctx, heads.tracking)
	if err != nil {
		return err
	}
	if !p.o.DryRun {
		if err := p.batch.Flush(ctx); err != nil {
			return err
		}
	}
	p.out.Tapes = nil
	for _, t := range p.members {
		head, err := t.head()
		if err != nil {
			return err
		}
		next := p.r.to(head)
		if next == head {
			continue
		}
		ids, err := p.changedIDs(ctx, head)
		if err != nil {
			return err
		}
		p.out.Tapes = append(p.out.Tapes, PurgedTape{Tape: t.name, Branch: t.Branch(), Entries: ids, Old: head.String(), Tags: t.tagRef("*"), Renamed: len(p.r.folders) > 0})
	}
	p.tell()
	return nil
}

// ownHistory goes through all that the tape, its forks and archives have, and had.
func (p *purge) ownHistory(ctx context.Context, r *rewriter, heads purgeHeads) error {
	for _, h := range heads.own {
		if err := r.history(ctx, h, false); err != nil {
			return err
		}
	}
	for _, h := range heads.logged {
		// A reflog may name what git has removed since.
		if err := r.history(ctx, h, false); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// changedIDs are the entries of a commit that were masked.
func (p *purge) changedIDs(ctx context.Context, head gitstore.Hash) ([]int64, error) {
	v, err := p.s.commitView(head)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, ph := range v.list {
		if p.r.phases[phaseTree{ph.folder, ph.tree}] == (phaseTree{ph.folder, ph.tree}) {
			continue
		}
		w := &walk{v: v, first: ph.seq - 1, last: ph.seq - 1}
		err := w.read(ctx, func(e Entry) bool {
			if masked, maskErr := p.mask.line(e.Raw); maskErr == nil && !bytes.Equal(masked, e.Raw) {
				ids = append(ids, e.ID)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// tell puts into the result what was found.
func (p *purge) tell() {
	p.out.Rules = slices.Sorted(maps.Keys(p.mask.rules))
	p.out.Fingerprints = slices.Sorted(maps.Keys(p.mask.prints))
}
