package about

import (
	"encoding/json"
	"strconv"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// Usage is what a run event says about tokens. Where it says nothing, pointers are nil and counts are 0.
type Usage struct {
	TotalTokens  *int64
	CacheHitRate *float64 // share of the input that came from the cache, 0 to 1

	// Input counts tokens that did not come from the cache and were not written to it. Output includes reasoning.
	// CacheLong are those of CacheWrite that the cache keeps for an hour.
	Input, Output, CacheRead, CacheWrite, CacheLong int64
}

// UsageOf returns what a run event says about tokens; false if it says nothing, and for any other entry.
func UsageOf(e layout.Entry) (Usage, bool) {
	usage := jsonl.Get(e.Payload, "data", "usage")
	if e.Kind != layout.KindEvent || jsonl.GetString(e.Payload, "name") != "run" || !jsonl.IsObject(usage) {
		return Usage{}, false
	}
	return readUsage(usage, jsonl.GetString(e.Meta, "source", "format")), true
}

// readUsage understands the usage objects of the common providers. Some, such as Anthropic's, count input
// without cached tokens, so these are added to compute totals.
func readUsage(usage json.RawMessage, format string) Usage {
	number := func(path ...string) (int64, bool) {
		n, err := strconv.ParseFloat(string(jsonl.Get(usage, path...)), 64)
		return int64(n), err == nil
	}
	first := func(paths ...[]string) (int64, bool) {
		for _, p := range paths {
			if n, ok := number(p...); ok {
				return n, true
			}
		}
		return 0, false
	}
	input, hasInput := first([]string{"input_tokens"}, []string{"prompt_tokens"})
	output, _ := first([]string{"output_tokens"}, []string{"completion_tokens"})
	reasoning, _ := number("reasoning_output_tokens")
	cached, hasCached := first([]string{"cache_read_input_tokens"}, []string{"cached_input_tokens"}, []string{"cached_tokens"},
		[]string{"prompt_tokens_details", "cached_tokens"}, []string{"input_tokens_details", "cached_tokens"})
	written, _ := first([]string{"cache_creation_input_tokens"}, []string{"cache_write_input_tokens"})
	long, _ := number("cache_creation", "ephemeral_1h_input_tokens")
	if five, _ := number("cache_creation", "ephemeral_5m_input_tokens"); written == 0 { // Claude Code has both sums, others only these
		written = five + long
	}
	total, hasTotal := number("total_tokens")
	_, withoutCache := number("cache_read_input_tokens") // input does not count cached tokens
	// In Gemini's form, input counts cached tokens, and the total also what the model thought and what tools gave it
	// (junhoyeo/tokscale#531).
	ofGemini := format == "gemini" || format == "gemini-stream" || format == "qwen"
	ofOpencode := format == "opencode" || format == "kilo" || format == "mimocode"
	if tools, _ := number("tool_tokens"); ofGemini && hasTotal && total >= input+output+reasoning+tools {
		input += tools
	}
	// From 1.3.5 on, the input of some versions of opencode counts the cache, and the total shows it (marcusquinn/aidevops#12970).
	withCache := ofOpencode && total > 0 && input >= cached+written && total < input+cached+written+output
	fresh := input
	switch {
	case withoutCache, ofOpencode && !withCache, !ofGemini && hasTotal && cached+written > 0 && total >= input+cached+written+output:
		input += cached + written
	default:
		fresh = max(0, input-cached-written)
	}
	if ofOpencode || format == "gemini" || hasTotal && reasoning > 0 && total >= input+output+reasoning {
		output += reasoning
	}
	out := Usage{Input: fresh, Output: output, CacheRead: cached, CacheWrite: written, CacheLong: min(long, written)}
	if hasTotal {
		out.TotalTokens = &total
	} else if hasInput {
		total = input + output
		out.TotalTokens = &total
	}
	if hasCached && input > 0 {
		rate := float64(cached) / float64(input)
		out.CacheHitRate = &rate
	}
	return out
}
