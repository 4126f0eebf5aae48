package query

import (
	"context"
	"fmt"
	"tape/internal/store/layout"
	"tape/internal/store/snapshot"
	"tape/internal/store/workspace"
)

// Base says where a fork begins.
type Base struct {
	Parent string
	Entry  int64  // the last entry that it shares with its parent
	Anchor string // the anchor of the phase that is open there
	Commit string // of the parent
	Start  string // the fork's first commit
	Date   string // of the first commit
}

// DescribeBase returns where a fork begins. ErrInvalid for a tape that is not a fork.
func DescribeBase(ctx context.Context, t *workspace.Tape) (Base, error) {
	if err := ctx.Err(); err != nil {
		return Base{}, err
	}
	head, err := t.Head()
	if err != nil {
		return Base{}, err
	}
	b, err := snapshot.BaseOf(t, head)
	if err != nil {
		return Base{}, fmt.Errorf("read fork %q: %w", t.Name(), err)
	}
	return DescribeBaseAt(t, b)
}

// DescribeBaseAt describes a base that was already found.
func DescribeBaseAt(t *workspace.Tape, b snapshot.ForkBase) (Base, error) {
	v, err := snapshot.AtCommit(t.Store(), b.Start)
	if err != nil {
		return Base{}, err
	}
	c, err := t.Store().Git().Commit(b.Start)
	if err != nil {
		return Base{}, layout.CorruptObject(b.Start, err)
	}
	anchor, err := snapshot.ReadAnchor(v, v.List[len(v.List)-1], t.Name())
	return Base{Parent: t.Parent(), Entry: b.ID, Anchor: anchor.Anchor, Commit: b.Commit.String(), Start: b.Start.String(),
		Date: layout.FormatDate(c.Committer.When)}, err
}
