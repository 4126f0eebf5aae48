// Package prices reads what the tokens of models cost.
package prices

import (
	"bytes"
	"encoding/json"
	"strings"

	"tape/internal/store/layout"
)

// Price is what a million tokens of a model cost, in dollars.
type Price struct {
	Input      float64  `json:"input"`
	Output     float64  `json:"output"`
	CacheRead  *float64 `json:"cache_read"`  // nil: as input
	CacheWrite *float64 `json:"cache_write"` // nil: as input
}

// List has prices by the name of a model, or its beginning.
type List map[string]Price

// Of returns the price of a model: the one under the longest name that the model's name begins with.
func (p List) Of(model string) (price Price, ok bool) {
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
		return nil, layout.Invalid("for example: "+Example, "prices must be an object with, for each model, an object of input, output, cache_read and cache_write")
	}
	for name, price := range p {
		for _, n := range []*float64{&price.Input, &price.Output, price.CacheRead, price.CacheWrite} {
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
