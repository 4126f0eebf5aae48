package prices

import "testing"

// TestPrices: the longest beginning of a model's name has its price; prices that make no sense are refused.
func TestPrices(t *testing.T) {
	p, err := Parse(`{"claude-opus":{"input":15,"output":75},"claude-opus-4-5":{"input":5,"output":25,"cache_read":0}}`)
	if err != nil {
		t.Fatal(err)
	}
	for model, want := range map[string]float64{"claude-opus-4-1": 15, "claude-opus-4-5-20251101": 5, "claude-opus": 15} {
		if price, ok := p.Of(model); !ok || price.Input != want {
			t.Errorf("the price of %s is %v, %v; want %v", model, price, ok, want)
		}
	}
	if price, ok := p.Of("claude-sonnet"); ok {
		t.Errorf("a model that is not listed has the price %v", price)
	}
	if price, _ := p.Of("claude-opus-4-5"); price.CacheRead == nil || *price.CacheRead != 0 || price.CacheWrite != nil {
		t.Errorf("the prices of the cache are not 0 and nil: %+v", price)
	}
	for _, wrong := range []string{`{"m":{"input":-1}}`, `{"m":{"cache_read":-0.1}}`, `{"m":{"inputs":1}}`, `{"m":3}`, `[]`, `null`, `{"":{"input":1}}`, `{"m":{"input":"1"}}`} {
		if p, err := Parse(wrong); err == nil {
			t.Errorf("%s is not refused, but read as %v", wrong, p)
		}
	}
}
