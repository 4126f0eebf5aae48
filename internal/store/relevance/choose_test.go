package relevance_test

import (
	"context"
	"testing"

	"tape/internal/store/layout"
	"tape/internal/store/relevance"
)

// listed has candidates that match, the best first.
type listed []*relevance.Candidate

func (l *listed) Best(_ context.Context, _ []relevance.Term, n int, full map[string]bool, _ relevance.Span) (out []*relevance.Candidate, _ error) {
	var rest listed
	for _, c := range *l {
		if full[c.Session] || len(out) == n {
			rest = append(rest, c)
		} else {
			out = append(out, c)
		}
	}
	*l = rest
	return out, nil
}

func (l *listed) Newest(context.Context, int) ([]*relevance.Candidate, error) { return nil, nil }

func (l *listed) Read(_ context.Context, list []*relevance.Candidate, f func(*relevance.Candidate)) error {
	for _, c := range list {
		c.Text, c.Weight = []byte("pool is exhausted"), 1
		f(c)
	}
	return nil
}

func (l *listed) Calls(context.Context, []*relevance.Candidate) error { return nil }

// TestWorthLittle: what seems to be worth little is read if a page is not full, and then nothing is left.
func TestWorthLittle(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{20: 5, 4: 4} {
		from := &listed{}
		for i := range 5 {
			c := &relevance.Candidate{Kind: layout.KindMessage, Length: 100, Guess: 1, ID: int64(i), Sign: int64(i), Session: "long"}
			if i == 4 {
				c.Length, c.Session = 300_000, "whole file"
			}
			*from = append(*from, c)
		}
		q := relevance.Parse("pool exhausted", false).Any()
		got, err := relevance.Choose(t.Context(), from, relevance.Choice{Query: q, Corpus: relevance.Corpus{Entries: 5, Average: 1000}, Limit: limit, Sure: true, Text: "pool exhausted", Most: 4})
		if err != nil || len(got.Hits) != want || got.Every != (want == 5) || got.Matches != 5 {
			t.Errorf("of 5 entries, %d at most are %d, every one is %v, %d match (%v); want %d", limit, len(got.Hits), got.Every, got.Matches, err, want)
		}
	}
}
