package purge

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/rewrite"
	"tape/internal/snapshot"
	"tape/internal/workspace"
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
	if p.interrupted != nil {
		for _, pair := range p.interrupted.pairs {
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
	if len(p.r.Commits)+p.out.Tags == 0 && p.interrupted == nil {
		return layout.NotFound("", "there is nothing of that kind in tape %q", p.t.Name()).Try(layout.ShowEntry)
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
	if err := p.listTapes(ctx); err != nil {
		return err
	}
	p.setFound()
	return nil
}

// listTapes tells which tapes and forks change, and which of their entries.
func (p *purge) listTapes(ctx context.Context) error {
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

// setFound puts into the result what was found.
func (p *purge) setFound() {
	p.out.Rules = slices.Sorted(maps.Keys(p.mask.Rules))
	p.out.Fingerprints = slices.Sorted(maps.Keys(p.mask.Prints))
}

// plan finds out what a purge would do. What is not committed is not rewritten, only
// looked at.
func (p *purge) plan(ctx context.Context) error {
	if err := p.findMembers(ctx); err != nil {
		return err
	}
	p.r = rewrite.NewRewriter(p.s, p.mask, gitstore.HashObject)
	err := p.rewrite(ctx)
	found := err == nil
	if err != nil && !errors.Is(err, layout.ErrNotFound) {
		return err
	}
	for _, t := range p.members {
		ids, looseErr := p.looseIDs(ctx, t)
		if looseErr != nil {
			return looseErr
		}
		if len(ids) == 0 {
			continue
		}
		found = true
		i := slices.IndexFunc(p.out.Tapes, func(have PurgedTape) bool { return have.Tape == t.Name() })
		if i < 0 {
			p.out.Tapes = append(p.out.Tapes, PurgedTape{Tape: t.Name(), Branch: t.Branch()})
			i = len(p.out.Tapes) - 1
		}
		p.out.Tapes[i].Entries = append(p.out.Tapes[i].Entries, ids...)
	}
	if !found {
		return err
	}
	p.setFound()
	return p.reportKept(ctx)
}

// looseIDs are the entries of a tape that are not committed and have something to mask.
func (p *purge) looseIDs(ctx context.Context, t *workspace.Tape) ([]int64, error) {
	now, err := snapshot.Take(ctx, t)
	if err != nil {
		return nil, err
	}
	committed, err := snapshot.AtCommit(p.s, now.Commit)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for e, err := range now.After(ctx, committed, t.Name()) {
		if err != nil {
			return nil, err
		}
		masked, err := p.mask.Line(e.Raw)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(masked, e.Raw) {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}
