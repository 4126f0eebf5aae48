package purge

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// rewrite makes the new history, in memory and in objects that nothing refers to yet.
func (p *purge) rewrite(ctx context.Context) error {
	p.o.Step("looking for secrets to mask")
	if err := p.choose(ctx); err != nil {
		return err
	}
	if err := p.findHeads(); err != nil {
		return err
	}
	if p.interrupted != nil {
		for _, pair := range p.interrupted.pairs {
			p.heads.logged = append(p.heads.logged, pair[0])
		}
	}
	if err := p.learn(ctx); err != nil {
		return err
	}
	if err := p.ownHistory(ctx, p.r); err != nil {
		return err
	}
	p.family = maps.Clone(p.r.Done)
	p.heads.tags = slices.DeleteFunc(p.heads.tags, func(ref keptRef) bool { return !p.masksTag(ref) })
	p.heads.archives = slices.DeleteFunc(p.heads.archives, func(h gitstore.Hash) bool { return !p.r.Changed(h) })
	for _, h := range p.heads.others {
		if err := p.r.History(ctx, h, true); err != nil && ctx.Err() != nil {
			return err
		}
	}
	if err := p.listTapes(ctx); err != nil {
		return err
	}
	p.out.Commits, p.out.Tags, p.out.Archives, p.out.Signatures = len(p.r.Commits), len(p.heads.tags), len(p.heads.archives), p.r.Signed
	p.out.Rules = slices.Sorted(maps.Keys(p.mask.Rules))
	p.out.Fingerprints = slices.Sorted(maps.Keys(p.mask.Prints))
	if p.out.Commits+p.out.Tags+len(p.out.Tapes) == 0 && p.interrupted == nil && p.follow == nil {
		return layout.NotFound("", "there is nothing of that kind in tape %q", p.t.Name()).Try(layout.ShowEntry)
	}
	p.findRemotes(ctx)
	return ctx.Err()
}

// listTapes records which tapes and forks change, and which of their entries.
func (p *purge) listTapes(ctx context.Context) error {
	for _, t := range p.members {
		head, err := t.Head()
		if err != nil {
			return err
		}
		done := PurgedTape{Tape: t.Name(), Branch: t.Branch()}
		if p.r.Changed(head) {
			done.Old, done.Tags, done.Renamed = head.String(), t.TagRef("*"), len(p.r.Folders) > 0
			if done.Entries, err = p.changedIDs(ctx, head); err != nil {
				return err
			}
		}
		uncommitted, err := p.uncommittedIDs(ctx, t) // only in a dry run, which commits nothing
		if err != nil {
			return err
		}
		if done.Entries = append(done.Entries, uncommitted...); done.Old != "" || len(uncommitted) > 0 {
			p.out.Tapes = append(p.out.Tapes, done)
		}
	}
	return nil
}

// ownHistory rewrites everything that the tape, its forks and archives contain or contained.
func (p *purge) ownHistory(ctx context.Context, r *rewrite.Rewriter) error {
	for _, h := range p.heads.own {
		if err := r.History(ctx, h, false); err != nil {
			return err
		}
	}
	for _, h := range p.heads.logged {
		// A reflog may name commits that git has removed.
		if err := r.History(ctx, h, false); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// changedIDs returns the ids of a commit's entries that are masked.
func (p *purge) changedIDs(ctx context.Context, head gitstore.Hash) ([]int64, error) {
	v, err := snapshot.AtCommit(p.s, head)
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, ph := range v.List {
		if was := (rewrite.PhaseTree{Folder: ph.Folder, Tree: ph.Tree}); p.r.Phases[was] == was {
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

// uncommittedIDs returns the ids of a tape's uncommitted entries that contain something to mask.
func (p *purge) uncommittedIDs(ctx context.Context, t *workspace.Tape) ([]int64, error) {
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
