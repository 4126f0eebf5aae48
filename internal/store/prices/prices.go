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

// Of returns the price of a model: the one whose name is the longest beginning of the model's.
func (p List) Of(model string) (price Price, ok bool) {
	longest := ""
	for name, is := range p {
		if strings.HasPrefix(model, name) && (!ok || len(name) > len(longest)) {
			longest, price, ok = name, is, true
		}
	}
	return price, ok
}

// Example is a value of the setting.
const Example = `{"claude-opus-4":{"input":5,"output":25,"cache_read":0.5,"cache_write":6.25}}`

// Parse parses the setting prices; "" gives none.
func Parse(text string) (List, error) {
	if text == "" {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var p List
	if err := decoder.Decode(&p); err != nil || p == nil {
		return nil, layout.Invalid("for example: "+Example, "prices does not have the right shape: an object of input, output, cache_read and cache_write by model")
	}
	for name, price := range p {
		for _, n := range []*float64{&price.Input, &price.Output, price.CacheRead, price.CacheWrite} {
			if n != nil && *n < 0 {
				return nil, layout.Invalid("", "the prices of %q are dollars per million tokens, and not less than 0", name)
			}
		}
		if name == "" {
			return nil, layout.Invalid("for example: "+Example, "prices are by the names of models, or their beginnings")
		}
	}
	return p, nil
}
