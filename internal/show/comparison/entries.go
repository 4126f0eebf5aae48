package comparison

import (
	"context"
	"slices"

	"tape/internal/store/query"
	"tape/repo"
)

// item is an entry to align.
type item struct {
	id   int64
	kind int // the number of its kind and role, see kinds
}

// kinds numbers the kinds of entries, with their roles.
type kinds map[string]int

func (k kinds) item(e repo.Entry) item {
	name := e.Kind + " " + e.Role()
	if _, ok := k[name]; !ok {
		k[name] = len(k)
	}
	return item{e.ID, k[name]}
}

// EntryRow has the ids of entries that stand side by side; 0: none. Edited says that they are versions of one entry.
type EntryRow struct {
	Left, Right int64
	Edited      bool
}

// Entries aligns the entries that only one of two revisions has, or that were edited. It counts events
// instead of listing them, and keeps only ids, since there may be very many entries.
func Entries(ctx context.Context, a, b *query.Revision) (rows []EntryRow, events int, err error) {
	var left, right []item
	known := kinds{}
	err = query.Compare(ctx, a, b, func(c query.Change) error {
		switch {
		case c.Entry.Kind == repo.KindEvent:
			events++
		case c.Kind == query.ChangeAdded:
			right = append(right, known.item(c.Entry))
		case c.Kind == query.ChangeRemoved:
			if len(right) > 0 { // the next change begins
				rows = align(rows, left, right)
				left, right = nil, nil
			}
			left = append(left, known.item(c.Entry))
		default:
			rows = append(align(rows, left, right), EntryRow{c.Old.ID, c.Entry.ID, true})
			left, right = nil, nil
		}
		return nil
	})
	return align(rows, left, right), events, err
}

// align puts entries of the same kind side by side, in their order.
func align(rows []EntryRow, left, right []item) []EntryRow {
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(left) > 0 && len(right) > 0 && left[0].kind == right[0].kind:
			rows = append(rows, EntryRow{Left: left[0].id, Right: right[0].id})
			left, right = left[1:], right[1:]
		case len(right) == 0 || len(left) > 0 && !comesSoon(left[0], right):
			rows = append(rows, EntryRow{Left: left[0].id})
			left = left[1:]
		default:
			rows = append(rows, EntryRow{Right: right[0].id})
			right = right[1:]
		}
	}
	return rows
}

// comesSoon reports whether one of the next entries of the other side is of the same kind.
func comesSoon(e item, others []item) bool {
	return slices.ContainsFunc(others[:min(len(others), 8)], func(o item) bool { return o.kind == e.kind })
}
