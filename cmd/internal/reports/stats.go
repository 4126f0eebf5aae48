package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/show/display"
	"tape/internal/show/report"
)

// column is a column of the table. Those that do not fit are left out, the least important first.
type column struct {
	head string
	rank int // 1 is the most important
	cell func(report.Row) string
}

// ShowStats shows rows: a table with bars or, without groups, a line for each sum. leftOut is how many damaged sessions
// do not count.
func ShowStats(s *stdio.Streams, rows []report.Row, by index.By, leftOut int64) error {
	if by == index.ByNothing {
		return showOne(s, rows, leftOut)
	}
	l := stdio.Listing[report.Row]{None: "No matching sessions.", Paged: true, Object: func(r report.Row) stdio.Object { return object(r, by) }}
	for _, part := range by.Parts() {
		l.Head = append(l.Head, strings.ToUpper(string(part)))
	}
	measure, barHead := measureOf(rows, by)
	const least = 10 // cells of a bar
	second := secondWidth(rows, by)
	columns := fitting(columnsOf(rows, by), rows, s.Width()-second-least-len("  "))
	bars := s.Width() > 0 && len(rows) > 1 && len(columns) > 2
	if !bars {
		columns = fitting(columnsOf(rows, by), rows, s.Width()-second)
	}
	for _, c := range columns {
		l.Head = append(l.Head, ">"+c.head)
	}
	room := s.Width() - second - widthOf(columns, rows) - len("  ")
	if bars && slices.ContainsFunc(columns, func(c column) bool { return c.head == barHead }) {
		barHead = "" // the table has a column with it
	}
	if bars {
		l.Head = append(l.Head, barHead)
	}
	most := 0.0
	for _, r := range rows {
		most = max(most, measure(r))
	}
	l.Row = func(r report.Row, add func(cells ...any)) {
		var cells []any
		for i := range by.Parts() {
			cells = append(cells, keyText(r, i))
		}
		for _, c := range columns {
			cells = append(cells, c.cell(r))
		}
		if bars {
			cells = append(cells, bar(measure(r), most, min(room, 40)))
		}
		add(cells...)
	}
	if err := l.Show(s, rows, nil); err != nil || s.JSON {
		return err
	}
	sayUnpriced(s, rows)
	return nil
}

// keyText returns a part of a row's key.
func keyText(r report.Row, part int) string {
	if keys := r.Keys(); part < len(keys) {
		return cmp.Or(keys[part], "(unknown)")
	}
	return "(unknown)"
}

// secondWidth is how many cells the second part of the keys takes, 0 if there is none.
func secondWidth(rows []report.Row, by index.By) int {
	parts := by.Parts()
	if len(parts) < 2 {
		return 0
	}
	widest := len(parts[1])
	for _, r := range rows {
		widest = max(widest, min(display.Width(display.Line(keyText(r, 1))), stdio.MaxCell))
	}
	return widest + len("  ")
}

func columnsOf(rows []report.Row, by index.By) []column {
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	all := []column{
		{"SESSIONS", 1, func(r report.Row) string { return number(r.Sessions) }},
		{"TURNS", 4, func(r report.Row) string { return number(r.Turns) }},
		{"ACTIVE", 2, func(r report.Row) string { return span(r.Active) }},
		{"INPUT", 6, func(r report.Row) string { return short(r.AllTokens().Input) }},
		{"CACHED", 8, func(r report.Row) string { return short(r.AllTokens().CacheRead + r.AllTokens().CacheWrite) }},
		{"OUTPUT", 5, func(r report.Row) string { return short(r.AllTokens().Output) }},
		{"COST", 2, report.Row.CostText},
		{"CALLS", 6, func(r report.Row) string { return number(r.Calls) }},
		{"FAILED", 7, func(r report.Row) string { return number(r.Failed) }},
	}
	if slices.Contains(by.Parts(), index.ByTool) {
		for i := range all {
			all[i].rank = min(all[i].rank, 2) // few columns of a tool have a value
		}
	}
	return slices.DeleteFunc(all, func(c column) bool {
		return !slices.ContainsFunc(rows, func(r report.Row) bool { return c.cell(r) != "" })
	})
}

// fitting returns the columns that a screen has room for; in a pipe all.
func fitting(columns []column, rows []report.Row, width int) []column {
	for width > 0 && len(columns) > 1 && widthOf(columns, rows) > width {
		last := 0
		for i, c := range columns {
			if c.rank >= columns[last].rank {
				last = i
			}
		}
		columns = slices.Delete(columns, last, last+1)
	}
	return columns
}

func widthOf(columns []column, rows []report.Row) int {
	key := 0
	for _, r := range rows {
		key = max(key, display.Width(display.Line(keyText(r, 0))))
	}
	cells := max(min(key, stdio.MaxCell), len("PROJECT"))
	for _, c := range columns {
		widest := len(c.head)
		for _, r := range rows {
			widest = max(widest, display.Width(c.cell(r)))
		}
		cells += len("  ") + widest
	}
	return cells
}

// measureOf returns what bars show, and its name: for tools the calls, else the cost or, if no cost is known, the
// active time.
func measureOf(rows []report.Row, by index.By) (func(report.Row) float64, string) {
	switch {
	case slices.Contains(by.Parts(), index.ByTool):
		return func(r report.Row) float64 { return float64(r.Calls) }, "CALLS"
	case slices.ContainsFunc(rows, func(r report.Row) bool { return r.Cost > 0 }):
		return func(r report.Row) float64 { return r.Cost }, "COST"
	}
	return func(r report.Row) float64 { return float64(r.Active) }, "ACTIVE"
}

// bar draws n in eighths of a cell; most would be as long as cells. "" if n is not positive.
func bar(n, most float64, cells int) string {
	if most <= 0 || n <= 0 {
		return ""
	}
	eighths := max(1, int(n/most*float64(cells)*8+0.5))
	out := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		out += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return out
}

// span is a time of work in a few cells.
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()+0.5))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()+0.5))
	}
	minutes := int(d.Minutes() + 0.5)
	return fmt.Sprintf("%dh%02dm", minutes/60, minutes%60)
}

// short is a number in few cells; "" for none.
func short(n int64) string {
	if n == 0 {
		return ""
	}
	return display.Number(n)
}

// showOne shows the sums of all.
func showOne(s *stdio.Streams, rows []report.Row, leftOut int64) error {
	if len(rows) == 0 {
		rows = []report.Row{{}}
	}
	r := rows[0]
	if s.JSON {
		return s.Emit(object(r, index.ByNothing).With("left_out", leftOut))
	}
	t := r.AllTokens()
	number := func(n int64) string {
		if n < 10_000 {
			return strconv.FormatInt(n, 10)
		}
		return short(n)
	}
	calls := number(r.Calls)
	if r.Failed > 0 {
		calls += ", of which " + number(r.Failed) + " failed"
	}
	pairs := []any{"sessions", number(r.Sessions), "turns", number(r.Turns), "active", cmp.Or(span(r.Active), "none"),
		"tool calls", calls,
		"input tokens", number(t.Input), "cache reads", number(t.CacheRead), "cache writes", number(t.CacheWrite), "output tokens", number(t.Output)}
	if r.Priced {
		pairs = append(pairs, "cost", r.CostText())
	}
	s.Fields(pairs...)
	sayUnpriced(s, rows)
	return nil
}

func sayUnpriced(s *stdio.Streams, rows []report.Row) {
	if names := report.Unpriced(rows); names != "" {
		s.BelowResults("without the cost of " + display.Truncate(display.Line(names), 200) + ", for which no price is known: set the setting prices")
	}
}

// object returns a row for JSON. With two groups, "by" has both keys by the name of the group.
func object(r report.Row, by index.By) stdio.Object {
	t := r.AllTokens()
	key := stdio.OrNull(r.Key)
	if parts := by.Parts(); len(parts) > 1 {
		keys := stdio.Object{}
		for i, part := range parts {
			keys = append(keys, stdio.Member{string(part), stdio.OrNull(r.Keys()[i])})
		}
		key = keys
	}
	out := stdio.Object{{"by", key}, {"sessions", r.Sessions}, {"turns", r.Turns}, {"active_s", int64(r.Active.Round(time.Second) / time.Second)},
		{"input_tokens", t.Input}, {"output_tokens", t.Output}, {"cache_read_tokens", t.CacheRead}, {"cache_write_tokens", t.CacheWrite}}
	if r.Priced {
		out = append(out, stdio.Member{"cost", float64(int64(r.Cost*1e6+0.5)) / 1e6})
	}
	out = append(out, stdio.Object{{"calls", r.Calls}, {"failed", r.Failed}}...)
	return out.With("cache_write_1h_tokens", t.CacheLong).With("unpriced", r.Unpriced)
}
