package query

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"math"

	"tape/internal/store/layout"
	"tape/internal/text/entrydiff"
)

// Kinds of changes.
const (
	ChangeAdded   = "added"
	ChangeRemoved = "removed"
	ChangeEdited  = "edited"
)

// Change is an entry that two revisions do not share. Old is the former version of an edited entry.
type Change struct {
	Kind       string
	Entry, Old layout.Entry
}

// Differences returns what differs in an edited entry.
func (c Change) Differences() []entrydiff.Difference { return entrydiff.Entry(c.Old.Raw, c.Entry.Raw) }

// comparison reads two revisions side by side. Ids are consecutive, so the n-th entries of both
// have the same id.
type comparison struct {
	a, b   *Revision
	yield  func(Change) error
	shared int64 // see Revision.SharedWith; -1 if not computed yet
}

// Compare yields the entries that two revisions do not share, ordered by id.
func Compare(ctx context.Context, a, b *Revision, yield func(Change) error) error {
	common, err := a.CommonWith(b)
	if err != nil {
		return err
	}
	c := &comparison{a: a, b: b, yield: yield, shared: -1}
	nextA, stopA := iter.Pull2(a.Entries(ctx, common+1))
	defer stopA()
	nextB, stopB := iter.Pull2(b.Entries(ctx, common+1))
	defer stopB()
	var parted int64 // where a run of unrelated entries begins; 0 if not in one
	for {
		x, errA, moreA := nextA()
		y, errB, moreB := nextB()
		if err := cmp.Or(errA, errB); err != nil {
			return err
		}
		if !moreA || !moreB { // the rest of the longer one
			return c.flush(ctx, cmp.Or(parted, x.ID, y.ID), math.MaxInt64)
		}
		same, edited := bytes.Equal(x.Raw, y.Raw), false
		if !same {
			if edited, err = c.edited(ctx, x, y); err != nil {
				return err
			}
		}
		if !same && !edited {
			parted = cmp.Or(parted, x.ID)
			continue
		}
		if err := c.flush(ctx, parted, x.ID); err != nil {
			return err
		}
		parted = 0
		if edited {
			if err := yield(Change{Kind: ChangeEdited, Entry: y, Old: x}); err != nil {
				return err
			}
		}
	}
}

// edited reports whether two entries with the same id are versions of one entry: both sides have it from
// the same history, or its date, which is precise, and its kind or payload are the same.
func (c *comparison) edited(ctx context.Context, x, y layout.Entry) (bool, error) {
	if x.Date != "" && x.Date == y.Date && (x.Kind == y.Kind || bytes.Equal(x.Payload, y.Payload)) {
		return true, nil
	}
	if c.shared < 0 {
		var err error
		if c.shared, err = c.a.SharedWith(ctx, c.b); err != nil {
			return false, err
		}
	}
	return x.ID <= c.shared, nil
}

// flush yields the entries of each side in [from, end): first the removed, then the added. They are
// read again, so that memory does not depend on how many there are.
func (c *comparison) flush(ctx context.Context, from, end int64) error {
	if from == 0 {
		return nil
	}
	for _, side := range []struct {
		revision *Revision
		kind     string
	}{{c.a, ChangeRemoved}, {c.b, ChangeAdded}} {
		for e, err := range side.revision.Entries(ctx, from) {
			if err != nil {
				return err
			}
			if e.ID >= end {
				break
			}
			if err := c.yield(Change{Kind: side.kind, Entry: e}); err != nil {
				return err
			}
		}
	}
	return nil
}
