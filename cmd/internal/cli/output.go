package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// writeError marks a failed write of results.
type writeError struct{ err error }

func (e *writeError) Error() string { return "write output: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// printf writes to the results. Failed writes show at the next check or at the end.
func (a *App) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// say writes a line for people about what was done; --quiet drops it.
func (a *App) say(format string, args ...any) {
	if !a.quiet {
		a.printf(format+"\n", args...)
	}
}

// writeLine writes bytes and a newline, and reports a write that failed, so that a
// long listing ends when its reader does.
func (a *App) writeLine(line []byte) error {
	if _, err := a.out.Write(line); err != nil {
		return &writeError{err}
	}
	if err := a.out.WriteByte('\n'); err != nil {
		return &writeError{err}
	}
	return nil
}

// emit writes one object of JSON output.
func (a *App) emit(v any) error { return a.writeLine(marshal(v)) }

// result writes a single result: as JSON, or as a sentence for people.
func (a *App) result(v any, format string, args ...any) error {
	if a.json {
		return a.emit(v)
	}
	a.say(format, args...)
	return nil
}

// marshal encodes without escaping what only HTML needs escaped.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// closeOutput brings the results out and ends the pager.
func (a *App) closeOutput() error {
	err := a.out.Flush()
	if a.pager != nil {
		err = errors.Join(err, a.pager.close())
		a.pager = nil
	}
	if err != nil {
		return &writeError{err}
	}
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

func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = safeLine(cells[i])
	}
	t.rows = append(t.rows, cells)
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
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-textWidth(cell))
			switch {
			case t.right[i]:
				b.WriteString(pad + cell)
			case i == last:
				b.WriteString(cell)
			default:
				b.WriteString(cell + pad)
			}
			if i < last {
				b.WriteString("  ")
			}
		}
		return strings.TrimRight(truncate(b.String(), a.width()), " ")
	}
	if strings.Join(t.head, "") != "" {
		a.printf("%s\n", a.style(dim, line(t.head)))
	}
	for _, row := range t.rows {
		a.printf("%s\n", line(row))
	}
}

// fields prints names and values, aligned.
func (a *App) fields(pairs ...string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, textWidth(pairs[i]))
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		a.printf("%s%s  %s\n", a.style(dim, pairs[i]), strings.Repeat(" ", width-textWidth(pairs[i])), safeLine(pairs[i+1]))
	}
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

func entries[N int | int64](n N) string { return count(int64(n), "entry", "entries") }

// orNull is nil for an empty string, which JSON shows as null.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// quoted shows a name inside a sentence.
func quoted(name string) string { return truncate(strconv.Quote(name), 80) }

func bytesText(n int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	f := float64(n)
	for i, unit := range units {
		if f < 1024 || i == len(units)-1 {
			if i == 0 {
				return strconv.FormatInt(n, 10) + " " + unit
			}
			return strconv.FormatFloat(f, 'f', 1, 64) + " " + unit
		}
		f /= 1024
	}
	return ""
}
