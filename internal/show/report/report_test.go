package report

import (
	"slices"
	"testing"
	"time"

	"tape/index"
	"tape/internal/store/about"
	"tape/internal/store/activity"
	"tape/internal/store/prices"
)

// TestRows: sums of two workspaces are one, priced by the model, and what has no price is named.
func TestRows(t *testing.T) {
	work := func(key, model string, output int64) *index.Work {
		return &index.Work{Key: key, Sessions: 1, Active: time.Minute, Tokens: map[string]index.Tokens{model: {Output: output}}}
	}
	sums := Merge([][]*index.Work{{work("a", "opus-4", 1e6), work("b", "other", 5)}, {work("a", "opus-4", 1e6)}}, func(key string) string { return key })
	rows := Rows(sums, index.ByProject, prices.List{"opus": {Output: 25}})
	if len(rows) != 2 || rows[0].Key != "a" || rows[0].Cost != 50 || !rows[0].Priced || rows[0].AllTokens().Output != 2e6 || rows[1].Priced {
		t.Errorf("rows: %+v", rows)
	}
	if got := Unpriced(rows); got != "other" {
		t.Errorf("without a price: %q", got)
	}
}

func TestSession(t *testing.T) {
	g := Session{Digest: &index.Digest{About: about.Tape{Project: "/shop"}, Commits: []index.Said{{Text: "1 x"}, {Text: "1 x"}, {Text: "2 y"}}, Ending: activity.Failed, Answer: "no network"}}
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
