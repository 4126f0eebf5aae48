package prices_test

import (
	"testing"

	"tape/internal/store/prices"
)

// TestPrices: the longest beginning of a model's name has its price; prices that make no sense are refused.
func TestPrices(t *testing.T) {
	p, err := prices.Parse(`{"claude-opus":{"input":15,"output":75},"claude-opus-4-5":{"input":5,"output":25,"cache_read":0}}`)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]float64{"claude-opus-4-1": 15, "claude-opus-4-5-20251101": 5, "claude-opus": 15} {
		if price, ok := p.Own(model); !ok || price.Input != want {
			t.Errorf("the price of %s is %v, %v; want %v", model, price, ok, want)
		}
	}
	if price, ok := p.Own("claude-sonnet"); ok {
		t.Errorf("a model that is not listed has the price %v", price)
	}
	if price, _ := p.Own("claude-opus-4-5"); price.CacheRead == nil || *price.CacheRead != 0 || price.CacheWrite != nil {
		t.Errorf("the prices of the cache are not 0 and nil: %+v", price)
	}
	for _, wrong := range []string{`{"m":{"input":-1}}`, `{"m":{"cache_read":-0.1}}`, `{"m":{"inputs":1}}`, `{"m":3}`, `[]`, `null`, `{"":{"input":1}}`, `{"m":{"input":"1"}}`} {
		if p, err := prices.Parse(wrong); err == nil {
			t.Errorf("%s is not refused, but read as %v", wrong, p)
		}
	}
}

// TestTable: the table has the price of a model under the names that programs give it, and of no other model.
func TestTable(t *testing.T) {
	for _, name := range []string{"claude-opus-4-5", "claude-opus-4-5-20251101", "anthropic/claude-opus-4.5", "us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5@20251101", "claude-opus-4-5[1m]"} {
		if p, ok := prices.Of(name); !ok || p.Input != 5 || p.Output != 25 || p.CacheRead == nil || *p.CacheRead != 0.5 || *p.CacheWrite != 6.25 || *p.CacheWrite1 != 10 {
			t.Errorf("%s: %+v, %v", name, p, ok)
		}
	}
	for _, name := range []string{"", "opus-4", "claude-opus-4-55", "claude", "claude-opus-9", "#", "models.dev"} {
		if p, ok := prices.Of(name); ok {
			t.Errorf("%q has the price %+v", name, p)
		}
	}
	if prices.Source() == "" {
		t.Error("the table does not say where it is from")
	}
}

// TestLong: what the cache keeps for an hour costs 1.6 times as much, or what the price says (phuryn/claude-usage#162,
// getagentseal/codeburn#317).
func TestLong(t *testing.T) {
	tokens := prices.Tokens{Input: 1e6, CacheWrite: 3e6, CacheLong: 1e6}
	p, err := prices.Parse(`{"a":{"input":5,"cache_write":6.25},"b":{"input":5,"cache_write":6.25,"cache_write_1h":8},"c":{"input":5}}`)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"a": 5 + 12.5 + 10, "b": 5 + 12.5 + 8, "c": 5 + 10 + 8} {
		if got := p[name].Of(tokens); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
