package web

import (
	"context"
	"html/template"
	"slices"
	"strconv"
	"strings"
	"time"
	"unique"

	"tape/internal/serve/web/entries"
	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/internal/show/prose"
	"tape/internal/store/query"
	"tape/internal/text/entrydiff"
	"tape/repo"
)

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

// item is an entry that is to be aligned.
type item struct {
	id   int64
	kind unique.Handle[string] // with the role
}

func itemOf(e repo.Entry) item { return item{e.ID, unique.Make(e.Kind + " " + e.Role())} }

// row has the ids of entries that are side by side; 0 is none.
type row struct {
	left, right int64
	edited      bool
}

// diff shows side by side the entries that two forks, anchors or sessions do not share.
func (s *View) diff(r *request) error {
	v := r.URL.Query()
	d := diffPage{Tape: v.Get("tape"), A: v.Get("a"), B: v.Get("b")}
	t, err := r.local().space.store.Tape(r.Context(), d.Tape)
	if err != nil {
		return err
	}
	a, err := r.local().space.store.Revision(r.Context(), t, d.A)
	if err != nil {
		return err
	}
	b, err := r.local().space.store.Revision(r.Context(), t, d.B)
	if err != nil {
		return err
	}
	d.NameA, d.NameB = s.revisionName(r, a), s.revisionName(r, b)
	if d.Shared, err = a.CommonWith(b); err != nil {
		return err
	}
	rows, err := rowsOf(r.Context(), a, b)
	if err != nil {
		return err
	}
	from, _ := strconv.Atoi(v.Get("from")) // 0 if it is not a number
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

// revisionName is what a comparison calls a side: a session by its title, a fork with its own name, too.
func (s *View) revisionName(r *request, rev *repo.Revision) string {
	name := rev.Name()
	if name != rev.Tape() {
		return display.PageLine(name)
	}
	title := s.titleOf(r, name)
	if t, err := r.local().space.store.Tape(r.Context(), name); err == nil && t.IsFork() {
		title += " · " + strings.TrimPrefix(name, t.Parent()+"/")
	}
	return display.PageLine(title)
}

// rowsOf aligns the entries of two revisions. It keeps only their ids, since there may be very many.
func rowsOf(ctx context.Context, a, b *repo.Revision) (rows []row, err error) {
	var left, right []item
	err = query.Compare(ctx, a, b, func(c query.Change) error {
		switch c.Kind {
		case query.ChangeAdded:
			right = append(right, itemOf(c.Entry))
			return nil
		case query.ChangeRemoved:
			if len(right) > 0 { // the next change begins
				rows = align(rows, left, right)
				left, right = nil, nil
			}
			left = append(left, itemOf(c.Entry))
			return nil
		}
		rows = append(align(rows, left, right), row{c.Old.ID, c.Entry.ID, true})
		left, right = nil, nil
		return nil
	})
	return align(rows, left, right), err
}

// fill reads the entries of rows and adds them to the page.
func (d *diffPage) fill(ctx context.Context, a, b *repo.Revision, rows []row) error {
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

// entriesOf reads entries of a revision by ascending ids; ids of 0 are skipped.
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

func (d *diffPage) add(row row, old, now repo.Entry) {
	var out diffRow
	switch {
	case row.edited:
		out = diffRow{Kind: query.ChangeEdited, Left: sideOf(old), Right: sideOf(now)}
		for _, p := range (query.Change{Kind: query.ChangeEdited, Entry: now, Old: old}).Differences() {
			out.Lines += entries.Lines(display.DiffLines(p))
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
	text := shortened(strings.Join(plain.Short(e), "\n"))
	who := e.Kind
	if role := e.Role(); role != "" {
		who = role
	}
	return &diffSide{ID: e.ID, Who: display.Line(who), Text: template.HTML(prose.Escape(text))} //nolint:gosec // escaped
}

// align puts entries of the same kind side by side, in their order.
func align(rows []row, left, right []item) []row {
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(left) > 0 && len(right) > 0 && left[0].kind == right[0].kind:
			rows = append(rows, row{left: left[0].id, right: right[0].id})
			left, right = left[1:], right[1:]
		case len(right) == 0 || len(left) > 0 && !comesSoon(left[0], right):
			rows = append(rows, row{left: left[0].id})
			left = left[1:]
		default:
			rows = append(rows, row{right: right[0].id})
			right = right[1:]
		}
	}
	return rows
}

// comesSoon reports whether one of the next entries of the other side is of the same kind.
func comesSoon(e item, others []item) bool {
	return slices.ContainsFunc(others[:min(len(others), 8)], func(o item) bool { return o.kind == e.kind })
}

// words are two texts with their differing words marked.
func words(a, b string) (left, right template.HTML) {
	var l, r strings.Builder
	for _, span := range entrydiff.Words(shortened(a), shortened(b), 200*time.Millisecond) {
		text := prose.Escape(span.Text)
		switch span.Op {
		case entrydiff.Delete:
			l.WriteString("<del>" + text + "</del>")
		case entrydiff.Insert:
			r.WriteString("<ins>" + text + "</ins>")
		default:
			l.WriteString(text)
			r.WriteString(text)
		}
	}
	return template.HTML(l.String()), template.HTML(r.String()) //nolint:gosec // each piece is escaped
}

// shortened cuts a text to what a row shows.
func shortened(text string) string {
	const most = 4 << 10 // bytes
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
