// Package prices says what the tokens of models cost: the user's own prices, and a table that comes with the program.
package prices

import (
	"bytes"
	"encoding/json"
	"strings"

	"tape/internal/store/layout"
)

// Price is what a million tokens of a model cost, in dollars.
type Price struct {
	Input       float64  `json:"input"`
	Output      float64  `json:"output"`
	CacheRead   *float64 `json:"cache_read"`     // nil: as input
	CacheWrite  *float64 `json:"cache_write"`    // nil: as input
	CacheWrite1 *float64 `json:"cache_write_1h"` // for those that the cache keeps for an hour; nil: 1.6 times CacheWrite
}

// Tokens counts tokens. Input has none of the cache's; CacheLong are those of CacheWrite that it keeps for an hour.
type Tokens struct{ Input, Output, CacheRead, CacheWrite, CacheLong int64 }

// longer is how much more it costs to keep tokens in the cache for an hour instead of five minutes: Anthropic takes 2 and
// 1.25 times the price of input.
const longer = 1.6

// Of returns what tokens cost, in dollars.
func (p Price) Of(t Tokens) float64 {
	or := func(price *float64, other float64) float64 {
		if price != nil {
			return *price
		}
		return other
	}
	write := or(p.CacheWrite, p.Input)
	return (float64(t.Input)*p.Input + float64(t.Output)*p.Output + float64(t.CacheRead)*or(p.CacheRead, p.Input) +
		float64(t.CacheWrite-t.CacheLong)*write + float64(t.CacheLong)*or(p.CacheWrite1, longer*write)) / 1e6
}

// List has the user's prices by the name of a model, or its beginning.
type List map[string]Price

// Own returns the user's price of a model: the one under the longest name that the model's name begins with.
func (p List) Own(model string) (price Price, ok bool) {
	longest := ""
	for name, listed := range p {
		if strings.HasPrefix(model, name) && (!ok || len(name) > len(longest)) {
			longest, price, ok = name, listed, true
		}
	}
	return price, ok
}

// Example is a value of the setting prices.
const Example = `{"claude-opus-4":{"input":5,"output":25,"cache_read":0.5,"cache_write":6.25}}`

// Parse parses the setting prices; "" means no prices. Errors: ErrInvalid.
func Parse(text string) (List, error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var p List
	if err := decoder.Decode(&p); err != nil || p == nil {
		return nil, layout.Invalid("for example: "+Example, "prices must be an object with, for each model, an object of input, output, cache_read, cache_write and cache_write_1h")
	}
	for name, price := range p {
		for _, n := range []*float64{&price.Input, &price.Output, price.CacheRead, price.CacheWrite, price.CacheWrite1} {
			if n != nil && *n < 0 {
				return nil, layout.Invalid("", "the prices of %q must be dollars per million tokens, and not less than 0", name)
			}
		}
		if name == "" {
			return nil, layout.Invalid("for example: "+Example, "a price is missing the name of its model, or the beginning of one")
		}
	}
	return p, nil
}
