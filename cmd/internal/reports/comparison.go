package reports

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/comparison"
	"tape/internal/show/display"
)

// ComparedSide is one of the two sessions.
type ComparedSide = comparison.Side

// How much is shown of a text.
const (
	promptLines = 4
	answerLines = 8
)

// ShowComparison shows what differs. It reports whether anything does.
func ShowComparison(ctx context.Context, s *stdio.Streams, a, b ComparedSide) (differ bool, err error) {
	c, err := comparison.Of(ctx, a, b)
	if err != nil {
		return false, err
	}
	v := &comparisonView{s}
	v.Page()
	v.heading("---", a, c.Turns[0])
	v.heading("+++", b, c.Turns[1])
	for _, row := range c.Rows {
		v.row(row)
	}
	v.files(c.Files)
	return c.Differ(), v.Written()
}

type comparisonView struct{ *stdio.Streams }

func (v *comparisonView) heading(sign string, s ComparedSide, turns int) {
	name := s.Revision.Name()
	text := cmp.Or(s.Facts.Title, name)
	var about []string
	if s.Facts.Agent != "" {
		about = append(about, s.Facts.Agent)
	}
	if !s.Facts.Started.IsZero() {
		about = append(about, display.Span(s.Facts.Started, s.Facts.Updated))
	}
	about = append(about, display.Count(turns, "turn", "turns"))
	line := "    " + strings.Join(about, ", ")
	if v.Width() == 0 {
		line = "    " + display.Line(name) + ": " + strings.Join(about, ", ")
	}
	v.Line(v.Style(stdio.Bold, sign+" "+v.Fit(display.Line(text), v.Width()-len(sign)-1)))
	v.Line(v.Style(stdio.Dim, v.Fit(line, v.Width())))
}

// row shows a turn of one side, or what both answered to the same prompt.
func (v *comparisonView) row(r comparison.Row) {
	v.Line("")
	if r.Left != nil && r.Right != nil {
		v.text(" ", stdio.Bold, 0, r.Left.Prompt, promptLines)
		if r.Same() {
			v.text(" ", stdio.Dim, 0, r.Left.Answer, 1)
			return
		}
	}
	for _, side := range []struct {
		sign, colour string
		turn         *comparison.Turn
	}{{"-", stdio.Red, r.Left}, {"+", stdio.Green, r.Right}} {
		if side.turn == nil {
			continue
		}
		if r.Left == nil || r.Right == nil {
			v.text(side.sign, side.colour, side.turn.ID, side.turn.Prompt, promptLines)
		}
		v.text(side.sign, side.colour, side.turn.AnswerID, side.turn.Answer, answerLines)
	}
}

// text shows a text's first lines, with the id of its entry before the first one; id 0: none. most is how many lines.
func (v *comparisonView) text(sign, colour string, id int64, text string, most int) {
	if text == "" {
		return
	}
	const idCells = 6
	head := ""
	if id > 0 {
		head = fmt.Sprintf("@%d", id)
	}
	lines := strings.Split(display.Text(text), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
	more := len(lines) - most
	for i, line := range lines[:min(most, len(lines))] {
		if i == most-1 && more > 0 {
			line += fmt.Sprintf(" … (%d more)", more)
		}
		line = v.Fit(line, max(20, v.Width()-len(sign)-idCells-2))
		v.Line(strings.TrimRight(v.Style(colour, sign)+" "+v.Style(stdio.Dim, display.Pad(head, idCells))+" "+line, " "))
		head = ""
	}
}

// files shows which files the sessions changed.
func (v *comparisonView) files(list []comparison.File) {
	if len(list) > 0 {
		v.Line("\n" + v.Style(stdio.Bold, "files changed"))
	}
	show := func(sign, path string, u comparison.Change) {
		v.Line(sign + " " + v.Fit(display.Line(path)+lines(u), v.Width()-2))
	}
	for _, f := range list {
		if f.Same() {
			show(" ", f.Path, *f.Left)
			continue
		}
		if f.Left != nil {
			show(v.Style(stdio.Red, "-"), f.Path, *f.Left)
		}
		if f.Right != nil {
			show(v.Style(stdio.Green, "+"), f.Path, *f.Right)
		}
	}
}

func lines(u comparison.Change) string {
	if u == (comparison.Change{}) {
		return ""
	}
	return fmt.Sprintf("  +%d -%d", u.Added, u.Removed)
}
