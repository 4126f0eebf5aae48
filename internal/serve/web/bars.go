package web

// The rows of tables with bars: what models, tools, phases, projects, agents and people did.

import (
	"cmp"
	"html/template"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/show/report"
)

// How many rows tables have.
const (
	rowsOfSession  = 200
	rowsOfSessions = 40
)

// barRow is a row of a table.
type barRow struct {
	Name, Link    string
	Cells         []string
	Calls, Failed int64 // if the row is a tool
	Bar           template.HTML
}

// barGroup is a table of sums over sessions.
type barGroup struct {
	Title, Column, Shows string // Shows: what the bars show
	Priced               bool
	Rows                 []barSum
}

// barSum is a row of a Group.
type barSum struct {
	report.Row
	Name, Cost string
	All        index.Tokens
	Bar        template.HTML
}

// modelBars are the models of a session; their bars show the tokens that they wrote.
func modelBars(o *outline.Outline) (out []barRow) {
	most := int64(0)
	for _, m := range o.Models {
		most = max(most, m.Tokens.Output)
	}
	for _, m := range o.Models {
		out = append(out, barRow{Name: cmp.Or(m.Name, "unknown"), Bar: barSVG(share(m.Tokens.Output, most), 0),
			Cells: []string{display.Number(m.Tokens.Input), display.Number(m.Tokens.CacheRead), display.Number(m.Tokens.Output)}})
	}
	return out
}

// toolBars are the tools of a session; their bars show their calls.
func toolBars(o *outline.Outline) (out []barRow) {
	most := int64(0)
	for _, t := range o.Tools {
		most = max(most, t.Calls)
	}
	for _, t := range o.Tools[:min(len(o.Tools), rowsOfSession)] {
		out = append(out, tool(t.Name, t.Calls, t.Failed, t.Active, most))
	}
	return out
}

// toolBarsOf are the tools of several sessions, those with the most calls first.
func toolBarsOf(rows []report.Row) (out []barRow) {
	slices.SortStableFunc(rows, func(a, b report.Row) int { return cmp.Compare(b.Calls, a.Calls) })
	for _, row := range rows[:min(len(rows), rowsOfSessions)] {
		out = append(out, tool(row.Key, row.Calls, row.Failed, row.Active, rows[0].Calls))
	}
	return out
}

func tool(name string, calls, failed int64, active time.Duration, most int64) barRow {
	return barRow{Name: name, Calls: calls, Failed: failed, Cells: []string{display.Work(active)}, Bar: barSVG(share(calls, most), share(failed, most))}
}

// phaseBars are the phases of a session; their bars show their tokens. link returns the address of a phase.
func phaseBars(o *outline.Outline, link func(seq int) string) (out []barRow) {
	most := int64(0)
	for _, p := range o.Phases {
		most = max(most, p.Tokens)
	}
	for _, p := range o.Phases[:min(len(o.Phases), rowsOfSession)] {
		began := ""
		if !p.From.IsZero() {
			began = p.From.Local().Format(display.Minute)
		}
		out = append(out, barRow{Name: p.Name, Link: link(p.Seq), Bar: barSVG(share(p.Tokens, most), 0),
			Cells: []string{began, display.Work(p.To.Sub(p.From)), display.Number(p.Entries), display.Number(p.Tokens)}})
	}
	return out
}

// barGroupOf is a table of sums over sessions. Its bars show cost if prices are known; otherwise the tokens that models
// wrote, and the time of everything else.
func barGroupOf(by index.By, title, column string, rows []report.Row, agent func(name string) string) barGroup {
	g := barGroup{Title: title, Column: column, Shows: "Share of time"}
	for _, row := range rows {
		g.Priced = g.Priced || row.Priced
	}
	measure := func(row report.Row) float64 { return row.Active.Minutes() }
	switch {
	case g.Priced:
		g.Shows = "Share of cost"
		measure = func(row report.Row) float64 { return row.Cost }
	case by == index.ByModel:
		g.Shows = "Share of tokens"
		measure = func(row report.Row) float64 { return float64(row.AllTokens().Output) }
	}
	rows = slices.DeleteFunc(rows, func(row report.Row) bool { return row.Key == "" && row.Sessions == 0 })
	most := 0.0
	for _, row := range rows {
		most = max(most, measure(row))
	}
	for _, row := range rows[:min(len(rows), rowsOfSessions)] {
		name := display.PageLine(cmp.Or(row.Key, "unknown"))
		switch by {
		case index.ByAgent:
			name = agent(cmp.Or(row.Key, "unknown"))
		case index.ByPerson:
			name, _, _ = strings.Cut(name, " <")
		}
		g.Rows = append(g.Rows, barSum{Row: row, Name: name, Cost: row.CostText(), All: row.AllTokens(), Bar: barSVG(measure(row)/max(most, 1e-9), 0)})
	}
	return g
}

func share(n, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(n) / float64(of)
}
