// Package stats shows sums of what was done in sessions, and what it cost.
package stats

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/index"
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

func (r Row) tokens() (sum index.Tokens) {
	for _, t := range r.Tokens {
		sum.Add(t)
	}
	return sum
}

func (r Row) object() stdio.Object {
	t := r.tokens()
	out := stdio.Object{{"by", stdio.OrNull(r.Key)}, {"sessions", r.Sessions}, {"turns", r.Turns}, {"active_s", int64(r.Active.Round(time.Second) / time.Second)},
		{"input_tokens", t.Input}, {"output_tokens", t.Output}, {"cache_read_tokens", t.CacheRead}, {"cache_write_tokens", t.CacheWrite}}
	if r.Priced {
		out = append(out, stdio.Member{"cost", float64(int64(r.Cost*1e6+0.5)) / 1e6})
	}
	out = append(out, stdio.Object{{"calls", r.Calls}, {"failed", r.Failed}}...)
	if r.Priced {
		out = out.With("unpriced", r.Unpriced)
	}
	return out
}

// unpriced are the models without a price, if others have one.
func unpriced(rows []Row) string {
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
