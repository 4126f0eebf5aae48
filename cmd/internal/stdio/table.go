package stdio

import (
	"fmt"
	"slices"
	"strings"

	"tape/internal/show/display"
)

// Listing shows a list of things: with --json an object per line, for people a table.
type Listing[T any] struct {
	Head   []string // see NewTable
	None   string   // the line for an empty list
	Paged  bool     // use the pager
	Object func(T) Object
	Row    func(item T, add func(cells ...any))
}

// Show shows the items, or returns err.
func (l Listing[T]) Show(s *Streams, items []T, err error) error {
	if err != nil {
		return err
	}
	if s.JSON {
		for _, item := range items {
			if err := s.Emit(l.Object(item)); err != nil {
				return err
			}
		}
		return nil
	}
	if len(items) == 0 && l.None != "" {
		s.PrintUnlessQuiet("%s", l.None)
		return nil
	}
	if l.Paged {
		s.Page()
	}
	table := NewTable(l.Head...)
	for _, item := range items {
		l.Row(item, table.Add)
	}
	table.Write(s)
	return nil
}

// Table is a table with aligned columns. Cells are made safe to show.
type Table struct {
	head  []string
	right []bool // columns of numbers
	spare []int  // more than 0: left out on a narrow screen, the highest first
	wide  int    // the column that gets the remaining width; -1: none
	rows  [][]string
}

// NewTable makes a table with these headings. "~" before a heading marks the wide column, ">" a column of numbers.
// "?" before that marks a column that is left out on a narrow screen, "??" one that is left out before those.
func NewTable(head ...string) *Table {
	t := &Table{right: make([]bool, len(head)), spare: make([]int, len(head)), wide: -1}
	for i, h := range head {
		rest := strings.TrimLeft(h, "?")
		t.spare[i], h = len(h)-len(rest), rest
		if strings.HasPrefix(h, "~") {
			t.wide, h = i, h[1:]
		}
		if t.right[i] = strings.HasPrefix(h, ">"); t.right[i] {
			h = h[1:]
		}
		t.head = append(t.head, h)
	}
	return t
}

// Add adds a row.
func (t *Table) Add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = display.Line(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// MaxCell bounds the width of a column on a screen, in cells: a name can have 4 KB.
const MaxCell = 48

// maxPiped bounds it in a pipe, where nothing is cut: a longer cell stands out of its column.
const maxPiped = 160

// Write prints the table; the last column may be as long as the line.
func (t *Table) Write(s *Streams) {
	width := make([]int, len(t.head))
	last := len(t.head) - 1
	bound := maxPiped
	if s.Width() > 0 {
		bound = s.Width()
	}
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			if i < last && i != t.wide {
				row[i] = s.Fit(cell, MaxCell)
			}
			width[i] = max(width[i], min(display.Width(row[i]), bound))
		}
	}
	if s.Width() > 0 {
		width = t.narrow(width, s.Width())
		last = len(t.head) - 1
	}
	if t.wide >= 0 && s.Width() > 0 {
		const least = 12
		left := s.Width() - t.least(width) + min(width[t.wide], enough)
		width[t.wide] = min(width[t.wide], max(least, left))
	}
	line := func(row []string) string {
		cells := make([]string, len(row))
		for i, cell := range row {
			switch cell = s.Fit(cell, width[i]); {
			case t.right[i]:
				cells[i] = strings.Repeat(" ", max(0, width[i]-display.Width(cell))) + cell
			case i < last:
				cells[i] = display.Pad(cell, width[i])
			default:
				cells[i] = cell
			}
		}
		return strings.TrimRight(display.Truncate(strings.Join(cells, "  "), s.Width()), " ")
	}
	if strings.Join(t.head, "") != "" {
		s.Line(s.Style(Dim, line(t.head)))
	}
	for _, row := range t.rows {
		s.Line(line(row))
	}
}

// enough is how many cells the wide and the last column need. Spare columns are left out to make room for that.
const enough = 24

// least is the width of a table in which the wide and the last column have no more than enough.
func (t *Table) least(width []int) int {
	sum := len("  ") * (len(width) - 1)
	for i, cells := range width {
		if i == t.wide || i == len(width)-1 {
			cells = min(cells, enough)
		}
		sum += cells
	}
	return sum
}

// narrow leaves out spare columns until the table fits, and returns the widths of the columns that remain.
func (t *Table) narrow(width []int, most int) []int {
	for t.least(width) > most {
		i := 0
		for j, spare := range t.spare {
			if spare >= t.spare[i] {
				i = j
			}
		}
		if t.spare[i] == 0 {
			break
		}
		t.head, t.right, t.spare, width = slices.Delete(t.head, i, i+1), slices.Delete(t.right, i, i+1), slices.Delete(t.spare, i, i+1), slices.Delete(width, i, i+1)
		for j, row := range t.rows {
			t.rows[j] = slices.Delete(row, i, i+1)
		}
		if t.wide > i {
			t.wide--
		}
	}
	return width
}

// Fields writes pairs of a name and a value, one per line.
func (s *Streams) Fields(pairs ...any) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, display.Width(pairs[i].(string)))
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i].(string)
		s.Printf("%s%s  %s\n", s.Style(Dim, name), display.Pad("", width-display.Width(name)), display.Line(fmt.Sprint(pairs[i+1])))
	}
}
