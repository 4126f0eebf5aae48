// Package report has what the terminal and the web view tell about sessions: sums of what was done, with what it
// cost, and what was done in a session in a range of time. It is plain data, without a way to show it.
package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tape/index"
	"tape/internal/store/activity"
	"tape/internal/store/prices"
)

// Row is a sum, with what it cost.
type Row struct {
	index.Work
	Cost     float64 // dollars
	Priced   bool    // the price of a model that was used is known
	Unpriced []string
}

// Merge joins sums of several workspaces, or of directories with one name. rename says what a key is called.
func Merge(lists [][]*index.Work, rename func(key string) string) []*index.Work {
	var out []*index.Work
	at := map[string]*index.Work{}
	for _, w := range slices.Concat(lists...) {
		key := rename(w.Key)
		sum := at[key]
		if sum == nil {
			sum = &index.Work{Key: key, Tokens: map[string]index.Tokens{}}
			at[key], out = sum, append(out, sum)
		}
		sum.Add(w)
	}
	return out
}

// Rows adds what the sums cost, and sorts them: days by date, others by cost, active time and calls.
func Rows(sums []*index.Work, by index.By, list prices.List) []Row {
	rows := make([]Row, len(sums))
	for i, w := range sums {
		rows[i] = Row{Work: *w}
		rows[i].price(list)
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if by == index.ByDay {
			return cmp.Compare(a.Key, b.Key)
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Active, a.Active), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Key, b.Key))
	})
	return rows
}

func (r *Row) price(list prices.List) {
	for _, model := range slices.Sorted(maps.Keys(r.Tokens)) {
		t := r.Tokens[model]
		if t == (index.Tokens{}) {
			continue
		}
		p, ok := list.Of(model)
		if !ok {
			r.Unpriced = append(r.Unpriced, model)
			continue
		}
		r.Priced = true
		of := func(n int64, price *float64) float64 {
			if price == nil {
				price = &p.Input
			}
			return float64(n) * *price / 1e6
		}
		r.Cost += of(t.Input, &p.Input) + of(t.Output, &p.Output) + of(t.CacheRead, p.CacheRead) + of(t.CacheWrite, p.CacheWrite)
	}
}

// AllTokens are the tokens of all models.
func (r Row) AllTokens() (sum index.Tokens) {
	for _, t := range r.Tokens {
		sum.Add(t)
	}
	return sum
}

// Unpriced are the models without a price, if others have one.
func Unpriced(rows []Row) string {
	names := map[string]bool{}
	priced := false
	for _, r := range rows {
		priced = priced || r.Priced
		for _, name := range r.Unpriced {
			names[cmp.Or(name, "unknown models")] = true
		}
	}
	if !priced {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// Session is a session of a digest.
type Session struct {
	*index.Digest
	Workspace string // its folder, if sessions of several are shown
}

// Project is the name of the session's project.
func (g Session) Project() string { return g.About.ProjectName() }

// UniqueCommits are the commits of a session, each once: a subagent's may be on two tapes.
func (g Session) UniqueCommits() (out []string) {
	for _, c := range g.Commits {
		if !slices.Contains(out, c.Text) {
			out = append(out, c.Text)
		}
	}
	return out
}

// Path is a path in the session's project without the directory of that.
func (g Session) Path(path string) string {
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(g.About.Project, "/")+"/"); ok && g.About.Project != "" {
		return rest
	}
	return path
}

// End says how the session ended.
func (g Session) End() string { return End(g.Ending, g.Answer) }

// End says how a session ended, in a line: with its last answer, if that is what it ended with.
func End(how activity.Ending, answer string) string {
	switch how {
	case activity.Answered:
		return answer
	case activity.Interrupted:
		return "interrupted"
	case activity.Failed:
		return strings.TrimSuffix("ended with an error: "+answer, ": ")
	}
	return "the last request has no answer"
}
