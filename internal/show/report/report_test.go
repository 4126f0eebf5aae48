package report_test

import (
	"slices"
	"testing"
	"time"

	"tape/index"
	"tape/internal/show/report"
	"tape/internal/store/about"
	"tape/internal/store/activity"
	"tape/internal/store/prices"
)

// TestRows: the sums of two workspaces are merged and priced by model, and models without a price are named.
func TestRows(t *testing.T) {
	work := func(key, model string, output int64) *index.Work {
		return &index.Work{Key: key, Sessions: 1, Active: time.Minute, Tokens: map[string]index.Tokens{model: {Output: output}}}
	}
	sums := report.Merge([][]*index.Work{{work("a", "opus-4", 1e6), work("b", "other", 5)}, {work("a", "opus-4", 1e6)}}, func(key string) string { return key })
	rows := report.Rows(sums, index.ByProject, prices.List{"opus": {Output: 25}})
	if len(rows) != 2 || rows[0].Key != "a" || rows[0].Cost != 50 || !rows[0].Priced || rows[0].AllTokens().Output != 2e6 || rows[1].Priced {
		t.Errorf("rows: %+v", rows)
	}
	if one, other := rows[0].CostText(), rows[1].CostText(); one != "$50.00" || other != "" {
		t.Errorf("cost: %q, %q", one, other)
	}
	if got := report.Unpriced(rows); got != "other" {
		t.Errorf("models without a price: %q, want other", got)
	}
}

// TestCost: the user's prices come first, then what the agent has noted, then the table. With two groups, the rows of one
// first key stay together.
func TestCost(t *testing.T) {
	noted := index.Tokens{Output: 2e6, Noted: activity.Noted{Cost: 7e6, Output: 1e6}}
	sums := []*index.Work{
		{Key: "a\x1eclaude-opus-4-5", Tokens: map[string]index.Tokens{"claude-opus-4-5": noted}},
		{Key: "b\x1ex", Tokens: map[string]index.Tokens{"x": {Noted: activity.Noted{Cost: 40e6}}}},
		{Key: "a\x1eown", Tokens: map[string]index.Tokens{"own": noted}},
	}
	by := index.ByProject.And(index.ByModel)
	got := ""
	for _, r := range report.Rows(sums, by, prices.List{"own": {Output: 1}}) {
		got += r.Keys()[1] + r.CostText() + " "
	}
	if want := "x$40.00 claude-opus-4-5$32.00 own$2.00 "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSession(t *testing.T) {
	g := report.Session{Digest: &index.Digest{About: about.Tape{Project: "/shop"}, Commits: []index.Step{{Text: "1 x"}, {Text: "1 x"}, {Text: "2 y"}}, Ending: activity.Failed, Answer: "no network"}}
	if got := g.UniqueCommits(); !slices.Equal(got, []string{"1 x", "2 y"}) {
		t.Errorf("commits: %q", got)
	}
	if g.Path("/shop/a/b.go") != "a/b.go" || g.Path("/shopping") != "/shopping" || g.Project() != "shop" {
		t.Errorf("paths: %q %q", g.Path("/shop/a/b.go"), g.Path("/shopping"))
	}
	if g.End() != "ended with an error: no network" {
		t.Errorf("end: %q", g.End())
	}
}

// TestWeek: the last of the seven days is today, or the day of until if that is earlier.
func TestWeek(t *testing.T) {
	now := time.Date(2026, 11, 26, 21, 0, 0, 0, time.UTC)
	for until, want := range map[time.Time]string{{}: "2026-11-20", now.AddDate(0, 0, 3): "2026-11-20", now.AddDate(0, 0, -10): "2026-11-10"} {
		if got := report.Week(until, now).Format(time.DateOnly); got != want {
			t.Errorf("until %s: %s, want %s", until, got, want)
		}
	}
}

// OtherPrompts leaves out the prompt that is the title.
func TestOtherPrompts(t *testing.T) {
	g := report.Session{Digest: &index.Digest{About: about.Tape{Title: "Fix the retry, please"}, Prompts: []index.Step{{Text: "Fix the retry"}, {Text: "and a test"}}}}
	if got := g.OtherPrompts(); len(got) != 1 || got[0].Text != "and a test" {
		t.Errorf("prompts besides the title: %+v, want one", got)
	}
}
