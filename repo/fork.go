package repo

import (
	"context"
	"fmt"
)

// Base says where a fork begins.
type Base struct {
	Parent string
	Entry  int64  // the last entry that it has of its parent
	Anchor string // the phase that is open there
	Commit string // of the parent
	Start  string // the fork's first commit
	Date   string // of that
}

// Base returns where a fork begins. ErrInvalid for a tape, which begins with itself.
func (t *Tape) Base(ctx context.Context) (Base, error) {
	if err := ctx.Err(); err != nil {
		return Base{}, err
	}
	head, err := t.head()
	if err != nil {
		return Base{}, err
	}
	b, err := t.base(head)
	if err != nil {
		return Base{}, fmt.Errorf("read fork %q: %w", t.name, err)
	}
	return t.describeBase(b)
}

func (t *Tape) describeBase(b forkBase) (Base, error) {
	v, err := t.store.commitView(b.start)
	if err != nil {
		return Base{}, err
	}
	c, err := t.store.git.Commit(b.start)
	if err != nil {
		return Base{}, corruptObject(b.start, err)
	}
	anchor, err := readAnchor(v, v.list[len(v.list)-1], t.name)
	return Base{Parent: t.Parent(), Entry: b.id, Anchor: anchor.Anchor, Commit: b.commit.String(), Start: b.start.String(),
		Date: FormatDate(c.Committer.When)}, err
}
