package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"tape/internal/show/display"
	"tape/internal/text/jsonl"
)

// writeError marks a failed write of results.
type writeError struct{ err error }

func (e *writeError) Error() string { return "write output: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// printf writes to the results. Failed writes show at the next check or at the end.
func (a *App) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

func (a *App) line(text string) { _, _ = a.out.WriteString(text + "\n") }

// written reports a failed write, so that a long listing ends when its reader does.
func (a *App) written() error {
	if _, err := a.out.Write(nil); err != nil {
		return &writeError{err}
	}
	return nil
}

// say writes a line for people about what was done; --quiet drops it.
func (a *App) say(format string, args ...any) {
	if !a.quiet {
		a.printf(format+"\n", args...)
	}
}

func (a *App) writeLine(line []byte) error {
	_, _ = a.out.Write(line)
	_ = a.out.WriteByte('\n')
	return a.written()
}

func (a *App) emit(v any) error { return a.writeLine(marshal(v)) }

// result writes a single result: as JSON, or as a sentence for people.
func (a *App) result(v any, format string, args ...any) error {
	if a.json {
		return a.emit(v)
	}
	a.say(format, args...)
	return nil
}

func (a *App) closeOutput() error {
	err := a.out.Flush()
	if a.pager != nil {
		left := a.pager.close()
		a.pager = nil
		if own := (*cliError)(nil); errors.As(left, &own) {
			return own
		}
		err = errors.Join(err, left)
	}
	if err != nil {
		return &writeError{err}
	}
	return nil
}

// object is a JSON object whose members keep their order. What a command writes with
// --json is spelt out where its values are known.
type object []member

type member struct {
	name  string
	value any // a list that is nil becomes an empty one
}

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 32*len(o)), '{')
	for i, m := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), m.name...), '"', ':')
		switch v := m.value.(type) { // what lists are full of goes without the encoder
		case nil:
			out = append(out, "null"...)
		case string:
			out = jsonl.AppendString(out, v)
		case int:
			out = strconv.AppendInt(out, int64(v), 10)
		case int64:
			out = strconv.AppendInt(out, v, 10)
		case bool:
			out = strconv.AppendBool(out, v)
		default:
			if v := reflect.ValueOf(m.value); v.Kind() == reflect.Slice && v.IsNil() && v.Type().Elem().Kind() != reflect.Uint8 {
				out = append(out, '[', ']')
			} else {
				out = append(out, marshal(m.value)...)
			}
		}
	}
	return append(out, '}'), nil
}

// with adds a member, which is left out where it says nothing.
func (o object) with(name string, value any) object {
	if v := reflect.ValueOf(value); !v.IsValid() || v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
		return o
	}
	return append(o, member{name, value})
}

func objects[T any](items []T, describe func(T) object) []object {
	out := make([]object, len(items))
	for i, item := range items {
		out[i] = describe(item)
	}
	return out
}

// orNull is nil for a value that says nothing, which JSON shows as null.
func orNull[T comparable](value T) any {
	var nothing T
	if value == nothing {
		return nil
	}
	return value
}

// marshal encodes without escaping what only HTML needs escaped.
func marshal(v any) []byte {
	if o, ok := v.(object); ok {
		if out, err := o.MarshalJSON(); err == nil {
			return out
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// listing shows things of one kind: an object a line with --json, a table for people.
type listing[T any] struct {
	head   []string // of the table, see newTable
	none   string   // what is said where there is nothing
	paged  bool     // it may be long
	object func(T) object
	row    func(item T, add func(cells ...any))
}

// show lists what a call returns, or returns its error.
func (l listing[T]) show(a *App, items []T, err error) error {
	if err != nil {
		return err
	}
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
	wide  int    // the column that takes what the screen leaves; -1: none
	rows  [][]string
}

func newTable(head ...string) *table {
	t := &table{right: make([]bool, len(head)), wide: -1}
	for i, h := range head {
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

func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, cell := range cells {
		row[i] = display.Line(fmt.Sprint(cell))
	}
	t.rows = append(t.rows, row)
}

// maxCell bounds the width of a column, in cells: a name can have 4 KB.
const maxCell = 48

// write prints the table; the last column may be as long as the line.
func (t *table) write(a *App) {
	width := make([]int, len(t.head))
	last := len(t.head) - 1
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			cells := display.Width(cell)
			if i < last && i != t.wide {
				row[i] = a.fit(cell, maxCell)
				cells = min(cells, maxCell)
			}
			width[i] = max(width[i], cells)
		}
	}
	if t.wide >= 0 && a.width() > 0 {
		const least = 12
		left := a.width() + width[t.wide]
		for _, cells := range width {
			left -= cells
		}
		width[t.wide] = min(width[t.wide], max(least, left-len("  ")*last))
	}
	line := func(row []string) string {
		cells := make([]string, len(row))
		for i, cell := range row {
			switch cell = a.fit(cell, width[i]); {
			case t.right[i]:
				cells[i] = strings.Repeat(" ", max(0, width[i]-display.Width(cell))) + cell
			case i < last:
				cells[i] = display.Pad(cell, width[i])
			default:
				cells[i] = cell
			}
		}
		return strings.TrimRight(display.Truncate(strings.Join(cells, "  "), a.width()), " ")
	}
	if strings.Join(t.head, "") != "" {
		a.line(a.style(dim, line(t.head)))
	}
	for _, row := range t.rows {
		a.line(line(row))
	}
}

func (a *App) fields(pairs ...any) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, display.Width(pairs[i].(string)))
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		name := pairs[i].(string)
		a.printf("%s%s  %s\n", a.style(dim, name), display.Pad("", width-display.Width(name)), display.Line(fmt.Sprint(pairs[i+1])))
	}
}
