package web

import (
	"errors"
	"html/template"
	"strings"

	"tape/internal/display"
	"tape/internal/query"
	"tape/repo"
)

const changesShown = 200

type diffRow struct {
	Kind        string // added, removed, edited
	Left, Right *diffSide
	Lines       template.HTML // of an edited entry
}

type diffSide struct {
	ID      int64
	Tape    string
	Who     string
	Text    template.HTML
	Differs bool
}

type diffPage struct {
	Tape, A, B, NameA, NameB string
	Shared                   int64
	Rows                     []diffRow
	More                     bool
}

var errEnough = errors.New("enough")

// diff shows what two forks, anchors or sessions do not share, side by side.
func (s *server) diff(r *request) error {
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
	var left, right []query.Change
	err = query.Compare(r.Context(), a, b, func(c query.Change) error {
		if len(left)+len(right) == changesShown {
			d.More = true
			return errEnough
		}
		switch c.Kind {
		case query.ChangeAdded:
			right = append(right, c)
		case query.ChangeRemoved:
			left = append(left, c)
		default:
			d.align(left, right)
			left, right = nil, nil
			row := diffRow{Kind: c.Kind, Left: sideOf(c.Old), Right: sideOf(c.Entry)}
			for _, p := range c.Parts() {
				row.Lines += lines(display.PartLines(p))
			}
			d.Rows = append(d.Rows, row)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	d.align(left, right)
	return s.show(r, "diff", d.NameA+" and "+d.NameB, d)
}

func sideOf(e repo.Entry) *diffSide {
	text := strings.Join(display.Body(e), "\n")
	if len(text) > bodyMost {
		text = strings.ToValidUTF8(text[:bodyMost], "") + "…"
	}
	who := e.Kind
	if role := e.Role(); role != "" {
		who = role
	}
	return &diffSide{ID: e.ID, Tape: e.Tape, Who: display.Line(who), Text: template.HTML(shown(text))} //nolint:gosec // escaped
}

// align puts entries of the same kind beside each other, in their order, and marks the words
// that differ.
func (d *diffPage) align(left, right []query.Change) {
	for len(left) > 0 || len(right) > 0 {
		switch {
		case len(left) > 0 && len(right) > 0 && alike(left[0].Entry, right[0].Entry):
			d.pair(left[0].Entry, right[0].Entry)
			left, right = left[1:], right[1:]
		case len(right) == 0 || len(left) > 0 && !comes(left[0].Entry, right):
			d.Rows = append(d.Rows, diffRow{Kind: "removed", Left: sideOf(left[0].Entry)})
			left = left[1:]
		default:
			d.Rows = append(d.Rows, diffRow{Kind: "added", Right: sideOf(right[0].Entry)})
			right = right[1:]
		}
	}
}

func alike(a, b repo.Entry) bool { return a.Kind == b.Kind && a.Role() == b.Role() }

// comes reports whether something like an entry is among the next ones of the other side.
func comes(e repo.Entry, others []query.Change) bool {
	for _, o := range others[:min(len(others), 8)] {
		if alike(e, o.Entry) {
			return true
		}
	}
	return false
}

func (d *diffPage) pair(a, b repo.Entry) {
	row := diffRow{Kind: "both", Left: sideOf(a), Right: sideOf(b)}
	row.Left.Text, row.Right.Text = words(strings.Join(display.Body(a), "\n"), strings.Join(display.Body(b), "\n"))
	d.Rows = append(d.Rows, row)
}
