package web

import (
	"context"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"unique"

	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/internal/show/prose"
	"tape/internal/store/query"
	"tape/repo"
)

const rowsShown = 200

type diffRow struct {
	Kind        string // added, removed, edited
	Left, Right *diffSide
	Lines       template.HTML // of an edited entry
}

type diffSide struct {
	ID   int64
	Who  string
	Text template.HTML
}

type diffPage struct {
	Tape, A, B, NameA, NameB  string
	Shared                    int64
	Rows                      []diffRow
	First, Last, All, Earlier int // rows, from 1
	Later                     int
}

// place is where an entry is, and what it is like.
type place struct {
	id   int64
	look unique.Handle[string] // kind and role
}

func placed(e repo.Entry) place { return place{e.ID, unique.Make(e.Kind + " " + e.Role())} }

// beside are the places of a row; 0 stands for none.
type beside struct {
	left, right int64
	edited      bool
}

// diff shows what two forks, anchors or sessions do not share, side by side.
func (s *View) diff(r *request) error {
	v := r.URL.Query()
	d := diffPage{Tape: v.Get("tape"), A: v.Get("a"), B: v.Get("b")}
	t, err := r.space.store.Tape(r.Context(), d.Tape)
	if err != nil {
		return err
	}
	a, err := r.space.store.Revision(r.Context(), t, d.A)
	if err != nil {
		return err
	}
	b, err := r.space.store.Revision(r.Context(), t, d.B)
	if err != nil {
		return err
	}
	d.NameA, d.NameB = display.Line(a.Name()), display.Line(b.Name())
	if d.Shared, err = a.CommonWith(b); err != nil {
		return err
	}
	rows, err := rowsOf(r.Context(), a, b)
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(v.Get("from")) // what is no number is the beginning
	from = max(0, min(from, len(rows)))
	to := min(from+rowsShown, len(rows))
	d.First, d.Last, d.All, d.Earlier = from+1, to, len(rows), max(0, from-rowsShown)
	if to < len(rows) {
		d.Later = to
	}
	if err := d.fill(r.Context(), a, b, rows[from:to]); err != nil {
		return err
	}
	return s.show(r, "diff", d.NameA+" and "+d.NameB, d)
}

// rowsOf says what is beside what. It keeps no texts: there may be very many.
func rowsOf(ctx context.Context, a, b *repo.Revision) (rows []beside, err error) {
	var left, right []place
	err = query.Compare(ctx, a, b, func(c query.Change) error {
		switch c.Kind {
		case query.ChangeAdded:
			right = append(right, placed(c.Entry))
			return nil
		case query.ChangeRemoved:
			if len(right) > 0 { // another part begins
				rows = align(rows, left, right)
				left, right = nil, nil
			}
			left = append(left, placed(c.Entry))
			return nil
		}
		rows = append(align(rows, left, right), beside{c.Old.ID, c.Entry.ID, true})
		left, right = nil, nil
		return nil
	})
	return align(rows, left, right), err
}

// fill reads the entries of some rows and shows them.
func (d *diffPage) fill(ctx context.Context, a, b *repo.Revision, rows []beside) error {
	var left, right []int64
	for _, row := range rows {
		left, right = append(left, row.left), append(right, row.right)
	}
	olds, err := entriesOf(ctx, a, left)
	if err != nil {
		return err
	}
	news, err := entriesOf(ctx, b, right)
	if err != nil {
		return err
	}
	for _, row := range rows {
		d.add(row, olds[row.left], news[row.right])
	}
	return nil
}

// entriesOf reads entries of a revision; the ids go up, but for zeros, which stand for none.
func entriesOf(ctx context.Context, r *repo.Revision, ids []int64) (map[int64]repo.Entry, error) {
	ids = slices.DeleteFunc(ids, func(id int64) bool { return id == 0 })
	out := make(map[int64]repo.Entry, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	for e, err := range r.Entries(ctx, ids[0]) {
		if err != nil {
			return nil, err
		}
		if e.ID == ids[len(out)] {
			out[e.ID] = e
		}
		if len(out) == len(ids) {
			break
		}
	}
	return out, nil
}

func (d *diffPage) add(row beside, old, now repo.Entry) {
	var out diffRow
	switch {
	case row.edited:
		out = diffRow{Kind: query.ChangeEdited, Left: sideOf(old), Right: sideOf(now)}
		for _, p := range (query.Change{Kind: query.ChangeEdited, Entry: now, Old: old}).Parts() {
			out.Lines += lines(display.PartLines(p))
		}
	case row.right == 0:
		out = diffRow{Kind: query.ChangeRemoved, Left: sideOf(old)}
	case row.left == 0:
		out = diffRow{Kind: query.ChangeAdded, Right: sideOf(now)}
	default:
		out = diffRow{Kind: "both", Left: sideOf(old), Right: sideOf(now)}
		out.Left.Text, out.Right.Text = words(strings.Join(plain.Short(old), "\n"), strings.Join(plain.Short(now), "\n"))
	}
	d.Rows = append(d.Rows, out)
}

func sideOf(e repo.Entry) *diffSide {
	text := strings.Join(plain.Short(e), "\n")
	if len(text) > bodyMost {
		text = strings.ToValidUTF8(text[:bodyMost], "") + "…"
	}
	who := e.Kind
	if role := e.Role(); role != "" {
		who = role
	}
	return &diffSide{ID: e.ID, Who: display.Line(who), Text: template.HTML(prose.Escape(text))} //nolint:gosec // escaped
}

// align puts entries of the same kind beside each other, in their order.
func align(rows []beside, left, right []place) []beside {
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(left) > 0 && len(right) > 0 && left[0].look == right[0].look:
			rows = append(rows, beside{left: left[0].id, right: right[0].id})
			left, right = left[1:], right[1:]
		case len(right) == 0 || len(left) > 0 && !comes(left[0], right):
			rows = append(rows, beside{left: left[0].id})
			left = left[1:]
		default:
			rows = append(rows, beside{right: right[0].id})
			right = right[1:]
		}
	}
	return rows
}

// comes reports whether something like an entry is among the next ones of the other side.
func comes(e place, others []place) bool {
	return slices.ContainsFunc(others[:min(len(others), 8)], func(o place) bool { return o.look == e.look })
}
