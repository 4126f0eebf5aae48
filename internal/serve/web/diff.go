package web

import (
	"context"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/internal/show/block"
	"tape/internal/show/comparison"
	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/internal/store/query"
	"tape/internal/text/entrydiff"
	"tape/repo"
)

type diffRow struct {
	Kind        string // added, removed, edited; both: two entries that are only beside each other
	Left, Right *diffSide
	Lines       template.HTML // of an edited entry
}

type diffSide struct {
	ID   int64
	Who  string
	Text template.HTML
}

type diffPage struct {
	Tape, A, B, NameA, NameB         string
	Shared                           int64
	Rows                             []diffRow
	First, Last, All, Earlier, Later int // First, Last: rows, from 1; Earlier, Later: ?from= of the pages beside this one
	Events                           int // that differ, and are left out
}

// diff shows side by side the entries that two forks, anchors or sessions do not share. If they share none, it shows the
// sessions beside each other.
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
	if d.Shared == 0 {
		return s.sessionSides(r, d, a, b)
	}
	rows, events, err := comparison.Entries(r.Context(), a, b)
	if err != nil {
		return err
	}
	d.Events = events
	from, to := d.part(v, len(rows))
	if err := d.fill(r.Context(), a, b, rows[from:to]); err != nil {
		return err
	}
	return s.show(r, "diff", d.NameA+" and "+d.NameB, d)
}

// part returns the range of rows that the page shows, by ?from=, and sets the numbers of the page from it.
func (d *diffPage) part(v url.Values, all int) (from, to int) {
	from, _ = strconv.Atoi(v.Get("from")) // 0 if it is not a number
	from = max(0, min(from, all))
	to = min(from+rowsShown, all)
	d.First, d.Last, d.All, d.Earlier = from+1, to, all, max(0, from-rowsShown)
	if to < all {
		d.Later = to
	}
	return from, to
}

// revisionName is what a comparison calls a side: the session's title, and for a fork also its name. A side that is not
// a whole tape keeps its own name.
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

// fill reads the entries of rows and adds them to the page.
func (d *diffPage) fill(ctx context.Context, a, b *repo.Revision, rows []comparison.EntryRow) error {
	var left, right []int64
	for _, row := range rows {
		left, right = append(left, row.Left), append(right, row.Right)
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
		d.add(row, olds[row.Left], news[row.Right])
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

func (d *diffPage) add(row comparison.EntryRow, old, now repo.Entry) {
	var out diffRow
	switch {
	case row.Edited:
		out = diffRow{Kind: query.ChangeEdited, Left: sideOf(old), Right: sideOf(now)}
		for _, p := range (query.Change{Kind: query.ChangeEdited, Entry: now, Old: old}).Differences() {
			out.Lines += linesHTML(display.DiffLines(p))
		}
	case row.Right == 0:
		out = diffRow{Kind: query.ChangeRemoved, Left: sideOf(old)}
	case row.Left == 0:
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
	return &diffSide{ID: e.ID, Who: display.Line(who), Text: template.HTML(block.Escape(text))} //nolint:gosec // escaped
}

// words returns two texts in which the differing words are marked.
func words(a, b string) (left, right template.HTML) {
	var l, r strings.Builder
	for _, span := range entrydiff.Words(shortened(a), shortened(b), 200*time.Millisecond) {
		text := block.Escape(span.Text)
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
