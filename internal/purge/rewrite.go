package purge

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/rewrite"
	"tape/internal/snapshot"
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
		for _, pair := range p.cutOff.pairs {
			heads.logged = append(heads.logged, pair[0])
		}
	}
	p.archives = heads.archives
	if err := p.learn(ctx, heads); err != nil {
		return err
	}
	if err := p.ownHistory(ctx, p.r, heads); err != nil {
		return err
	}
	p.family, p.out.Tags = maps.Clone(p.r.Done), 0
	for _, ref := range p.tags {
		if p.masksTag(ref) {
			p.out.Tags++
		}
	}
	if len(p.r.Commits)+p.out.Tags == 0 && p.cutOff == nil {
		return layout.NotFound("tape show @ID shows an entry", "there is nothing of that kind in tape %q", p.t.Name())
	}
	for _, h := range heads.others {
		if err := p.r.History(ctx, h, true); err != nil && ctx.Err() != nil {
			return err
		}
	}
	p.out.Commits, p.out.Signatures, p.out.Archives = len(p.r.Commits), p.r.Signed, 0
	for _, h := range heads.archives {
		if p.r.To(h) != h {
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
		head, err := t.Head()
		if err != nil {
			return err
		}
		next := p.r.To(head)
		if next == head {
			continue
		}
		ids, err := p.changedIDs(ctx, head)
		if err != nil {
			return err
		}
		p.out.Tapes = append(p.out.Tapes, PurgedTape{Tape: t.Name(), Branch: t.Branch(), Entries: ids, Old: head.String(), Tags: t.TagRef("*"), Renamed: len(p.r.Folders) > 0})
	}
	p.tell()
	return nil
}

// ownHistory goes through all that the tape, its forks and archives have, and had.
func (p *purge) ownHistory(ctx context.Context, r *rewrite.Rewriter, heads purgeHeads) error {
	for _, h := range heads.own {
		if err := r.History(ctx, h, false); err != nil {
			return err
		}
	}
	for _, h := range heads.logged {
		// A reflog may name what git has removed since.
		if err := r.History(ctx, h, false); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// changedIDs are the entries of a commit that were masked.
func (p *purge) changedIDs(ctx context.Context, head gitstore.Hash) ([]int64, error) {
	v, err := snapshot.AtCommit(p.s, head)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, ph := range v.List {
		if p.r.Phases[rewrite.PhaseTree{Folder: ph.Folder, Tree: ph.Tree}] == (rewrite.PhaseTree{Folder: ph.Folder, Tree: ph.Tree}) {
			continue
		}
		w := &snapshot.Walk{V: v, First: ph.Seq - 1, Last: ph.Seq - 1}
		err := w.Read(ctx, func(e layout.Entry) bool {
			if masked, maskErr := p.mask.Line(e.Raw); maskErr == nil && !bytes.Equal(masked, e.Raw) {
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
	p.out.Rules = slices.Sorted(maps.Keys(p.mask.Rules))
	p.out.Fingerprints = slices.Sorted(maps.Keys(p.mask.Prints))
}
