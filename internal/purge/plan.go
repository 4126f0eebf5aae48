package purge

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"tape/internal/gitstore"
	"tape/internal/layout"
	"tape/internal/rewrite"
	"tape/internal/snapshot"
	"tape/internal/workspace"
)

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
	p.tell()
	return p.tellKept(ctx)
}

// looseIDs are the entries of a tape that are not committed and have something to mask.
func (p *purge) looseIDs(ctx context.Context, t *workspace.Tape) ([]int64, error) {
	head, err := t.Head()
	if err != nil {
		return nil, err
	}
	committed, err := snapshot.AtCommit(p.s, head)
	if err != nil {
		return nil, err
	}
	now, err := snapshot.Take(ctx, t)
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
