// Package report computes what the statistics and the digest say about sessions: sums of what was done and their cost,
// and what was done in a session in a range of time. The terminal and the web view show it.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tape/index"
	"tape/internal/store/about"
	"tape/internal/store/activity"
	"tape/internal/store/prices"
)

// Row is a sum of what was done, and its cost.
type Row struct {
	index.Work
	Cost     float64  // dollars
	Priced   bool     // the price of at least one model that was used is known
	Unpriced []string // models that were used and have no known price
}

// Merge adds up the sums of several workspaces. rename says what a key is called; sums whose keys are called the same,
// such as directories with one name, become one.
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

// Rows adds the cost to sums, and sorts them: days by date, others by cost, active time and calls. With two groups, the
// rows of one first key stay together.
func Rows(sums []*index.Work, by index.By, list prices.List) []Row {
	rows := make([]Row, len(sums))
	whole := map[string]*Row{} // by the first key
	for i, w := range sums {
		rows[i] = Row{Work: *w}
		rows[i].Price(list)
		first := w.Keys()[0]
		if whole[first] == nil {
			whole[first] = &Row{Work: index.Work{Key: first}}
		}
		sum := whole[first]
		sum.Cost, sum.Active, sum.Calls = sum.Cost+rows[i].Cost, sum.Active+w.Active, sum.Calls+w.Calls
	}
	before := func(by index.By, a, b *Row, aKey, bKey string) int {
		if by == index.ByDay {
			return cmp.Compare(aKey, bKey)
		}
		return cmp.Or(cmp.Compare(b.Cost, a.Cost), cmp.Compare(b.Active, a.Active), cmp.Compare(b.Calls, a.Calls), cmp.Compare(aKey, bKey))
	}
	parts := by.Parts()
	slices.SortStableFunc(rows, func(a, b Row) int {
		aKeys, bKeys := a.Keys(), b.Keys()
		first := before(parts[0], whole[aKeys[0]], whole[bKeys[0]], aKeys[0], bKeys[0])
		return cmp.Or(first, before(parts[len(parts)-1], &a, &b, aKeys[len(aKeys)-1], bKeys[len(bKeys)-1]))
	})
	return rows
}

// Price adds up the cost: by the user's own prices, else what the agent has noted, else by the prices that come with the
// program.
func (r *Row) Price(list prices.List) {
	for _, model := range slices.Sorted(maps.Keys(r.Tokens)) {
		t := r.Tokens[model]
		if p, ok := list.Own(model); ok {
			r.Priced = r.Priced || t != (index.Tokens{})
			r.Cost += p.Of(prices.Tokens{Input: t.Input, Output: t.Output, CacheRead: t.CacheRead, CacheWrite: t.CacheWrite, CacheLong: t.CacheLong})
			continue
		}
		n := t.Noted
		if n.Cost > 0 {
			r.Priced = true
			r.Cost += float64(n.Cost) / 1e6
		}
		rest := prices.Tokens{Input: t.Input - n.Input, Output: t.Output - n.Output, CacheRead: t.CacheRead - n.CacheRead,
			CacheWrite: t.CacheWrite - n.CacheWrite, CacheLong: t.CacheLong - n.CacheLong}
		if rest == (prices.Tokens{}) {
			continue
		}
		p, ok := prices.Of(model)
		if !ok {
			r.Unpriced = append(r.Unpriced, model)
			continue
		}
		r.Priced = true
		r.Cost += p.Of(rest)
	}
}

// CostText is the cost as people write it; "" if no price is known. A plus says that some of the work has no price.
func (r Row) CostText() string {
	if !r.Priced {
		return ""
	}
	more := ""
	if len(r.Unpriced) > 0 {
		more = "+"
	}
	return fmt.Sprintf("$%.2f%s", r.Cost, more)
}

// AllTokens are the tokens of all models.
func (r Row) AllTokens() (sum index.Tokens) {
	for _, t := range r.Tokens {
		sum.Add(t)
	}
	return sum
}

// Unpriced lists the models without a price, separated by commas.
func Unpriced(rows []Row) string {
	names := map[string]bool{}
	for _, r := range rows {
		for _, name := range r.Unpriced {
			names[cmp.Or(name, "unknown models")] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

// Session is a session in a digest.
type Session struct {
	*index.Digest
	Workspace string // the folder of its workspace; "" if all sessions are of one
}

// Project is the name of the session's project.
func (g Session) Project() string { return g.About.ProjectName() }

// UniqueCommits are the commits of a session, each once: a subagent's commit may be on two tapes.
func (g Session) UniqueCommits() (out []string) {
	for _, c := range g.Commits {
		if !slices.Contains(out, c.Text) {
			out = append(out, c.Text)
		}
	}
	return out
}

// Path returns a recorded path relative to the session's project, or the path itself if it is elsewhere.
func (g Session) Path(path string) string { return about.InProject(g.About.Project, path) }

// OtherPrompts are the prompts of a session without the one that is its title.
func (g Session) OtherPrompts() (out []index.Step) {
	for _, said := range g.Prompts {
		if !strings.HasPrefix(g.About.Title, said.Text) {
			out = append(out, said)
		}
	}
	return out
}

// Week returns when seven days begin, the last of which is the day of until, or today if until is zero or in the
// future.
func Week(until, now time.Time) time.Time {
	if !until.IsZero() && until.Before(now) {
		now = until
	}
	year, month, day := now.Date()
	return time.Date(year, month, day-6, 0, 0, 0, 0, now.Location())
}

// End says how the session ended.
func (g Session) End() string { return End(g.Ending, g.Answer) }

// End says in a line how a session ended. If it ended with an answer, the line is that answer.
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
