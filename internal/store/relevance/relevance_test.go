package relevance_test

import (
	"testing"

	"tape/internal/store/layout"
	"tape/internal/store/relevance"
)

// Talk comes before output, new before old, a rare word before a common one.
func TestOrder(t *testing.T) {
	t.Parallel()
	day := int64(24 * 3600e6)
	c := relevance.Corpus{Newest: 100 * day, Entries: 1000, Average: 300}
	if c.Weigh(relevance.KindWeight(layout.KindMessage), c.Newest, 1) <= c.Weigh(relevance.KindWeight(layout.KindToolResult), c.Newest, 1) {
		t.Error("output comes before talk")
	}
	if c.Weigh(relevance.KindWeight(layout.KindMessage), c.Newest, 1) <= c.Weigh(relevance.KindWeight(layout.KindMessage), c.Newest-14*day, 1) || c.Weigh(relevance.KindWeight(layout.KindMessage), day, 1) < c.Weigh(relevance.KindWeight(layout.KindMessage), 0, 1) {
		t.Error("an old entry comes before a new one")
	}
	if c.IDF(3) <= c.IDF(300) || c.Saturated(2, 300) <= c.Saturated(1, 300) || c.Saturated(1, 100) <= c.Saturated(1, 1000) {
		t.Error("a common word, or one in a long entry, counts more")
	}
	c.Even = true
	if c.Saturated(1, 100) != c.Saturated(1, 1000) {
		t.Error("the length counts although Even is set")
	}
}

// Output is folded even if it differs in digits, talk only if it is the same.
func TestSignOf(t *testing.T) {
	t.Parallel()
	a, b := []byte("ok in 1.5s"), []byte("ok in 2.7s")
	if relevance.FoldKey(layout.KindToolResult, a) != relevance.FoldKey(layout.KindToolResult, b) {
		t.Error("output that differs in digits is not folded")
	}
	if relevance.FoldKey(layout.KindMessage, a) == relevance.FoldKey(layout.KindMessage, b) {
		t.Error("different messages are folded")
	}
}

// TestWeightOf: a text that no person wrote weighs less than one that a person wrote.
func TestWeightOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, payload, meta string
		want                float64
	}{
		{layout.KindMessage, `{"role":"user","content":"where is it?"}`, "", 1},
		{layout.KindMessage, `{"role":"assistant","content":"<skills_instructions> are here"}`, "", 1},
		{layout.KindMessage, `{"role":"user","content":"a notice"}`, `{"source":{"format":"claude-code","extra":{"isMeta":true}}}`, 0.5},
		{layout.KindMessage, `{"role":"user","content":"# AGENTS.md instructions for /w"}`, "", 0.5},
		{layout.KindAnchor, `{"name":"done","state":{"summary":"it works"}}`, "", 1},
		{layout.KindToolCall, `{"calls":[]}`, "", 0.6},
	} {
		if got := relevance.WeightOf(layout.Entry{Kind: c.kind, Payload: []byte(c.payload), Meta: []byte(c.meta)}); got != c.want {
			t.Errorf("%s %s weighs %v, want %v", c.kind, c.payload, got, c.want)
		}
	}
}
