package web

import (
	"strings"
	"testing"
	"time"

	"tape/index"
	"tape/internal/show/outline"
	"tape/internal/show/report"
	"tape/internal/store/activity"
)

// A table says what its bars show: cost if there are prices; otherwise the tokens of models, and the time of the rest.
func TestShows(t *testing.T) {
	agent := func(name string) string { return "Agent " + name }
	plain := []report.Row{{Work: index.Work{Key: "a", Active: time.Hour}}, {Work: index.Work{Key: "b", Active: 30 * time.Minute}}}
	priced := []report.Row{{Work: index.Work{Key: "a", Active: time.Hour}, Priced: true, Cost: 1}, {Work: index.Work{Key: "b"}, Priced: true, Cost: 4}}
	for _, c := range []struct {
		by    index.By
		rows  []report.Row
		shows string
		half  string // the name of the row with the shorter bar
	}{{index.ByProject, plain, "Share of time", "b"}, {index.ByAgent, plain, "Share of time", "Agent b"}, {index.ByModel, plain, "Share of tokens", ""}, {index.ByProject, priced, "Share of cost", "a"}} {
		g := barGroupOf(c.by, "Title", "Column", c.rows, agent)
		if g.Shows != c.shows || len(g.Rows) != 2 {
			t.Errorf("%v: %q, %d rows; want %q, 2 rows", c.by, g.Shows, len(g.Rows), c.shows)
		}
		for _, row := range g.Rows {
			if full := strings.Contains(string(row.Bar), `class="share" width="100"`); c.half != "" && full == (row.Name == c.half) {
				t.Errorf("%v: the bar of %s is %s, want only that of %s shorter", c.by, row.Name, row.Bar, c.half)
			}
		}
	}
}

// Every page counts as cached the tokens that were read from the cache, and not those that were written to it.
func TestCached(t *testing.T) {
	o := &outline.Outline{Models: []outline.Model{{Name: "opus", Tokens: activity.Tokens{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 40}}}}
	if rows := modelBars(o); strings.Join(rows[0].Cells, " ") != "1 3 2" {
		t.Errorf("the cells are %q, want 1 3 2", rows[0].Cells)
	}
}
