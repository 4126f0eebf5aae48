package cli

import (
	"fmt"
	"strings"
)

// listing is how things of one kind are listed: with --json an object a line, for people
// the rows of a table.
type listing[T any] struct {
	head   []string // of the table, see newTable
	none   string   // what is said where there is nothing
	paged  bool     // it may be long
	object func(T) object
	row    func(item T, add func(cells ...any))
}

func (l listing[T]) show(a *App, items []T) error {
	if a.json {
		for _, item := range items {
			if err := a.emit(l.object(item)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(items) == 0 && l.none != "" {
		a.say("%s", l.none)
		return nil
	}
	if l.paged {
		a.page()
	}
	table := newTable(l.head...)
	for _, item := range items {
		l.row(item, table.add)
	}
	table.write(a)
	return nil
}

// table aligns columns by their width on screen. Cells are made safe to show.
type table struct {
	head  []string
	right []bool // columns of numbers
	rows  [][]string
}

func newTable(head ...string) *table {
	t := &table{right: make([]bool, len(head))}
	for i, h := range head {
		if t.right[i] = strings.HasPrefix(h, ">"); t.right[i] {
			h = h[1:]
		}
		t.head = append(t.head, h)
	}
	return t
}

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = safeLine(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// maxCell bounds a column, in cells of the screen: a name can have 4 KB.
const maxCell = 48

// write prints the table; the last column may be as long as the line.
func (t *table) write(a *App) {
	width := make([]int, len(t.head))
	last := len(t.head) - 1
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			if i < last {
				row[i] = truncate(cell, maxCell)
			}
			width[i] = max(width[i], textWidth(row[i]))
		}
	}
	line := func(row []string) string {
		cells := make([]string, len(row))
		for i, cell := range row {
			switch {
			case t.right[i]:
				cells[i] = strings.Repeat(" ", width[i]-textWidth(cell)) + cell
			case i < last:
				cells[i] = pad(cell, width[i])
			default:
				cells[i] = cell
			}
		}
		return strings.TrimRight(truncate(strings.Join(cells, "  "), a.width()), " ")
	}
	if strings.Join(t.head, "") != "" {
		a.printf("%s\n", a.style(dim, line(t.head)))
	}
	for _, row := range t.rows {
		a.printf("%s\n", line(row))
	}
}

// fields prints names and values, aligned.
func (a *App) fields(pairs ...any) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, textWidth(pairs[i].(string)))
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i].(string)
		a.printf("%s%s  %s\n", a.style(dim, name), pad("", width-textWidth(name)), safeLine(fmt.Sprint(pairs[i+1])))
	}
}
