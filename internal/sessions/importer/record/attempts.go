package record

import (
	"slices"

	"tape/internal/text/jsonl"
)

// Attempt is what a model was used for within a request, in addition to the request's own usage. N is its place in the list.
type Attempt struct {
	N            int
	Model, Usage []byte
}

// Attempts returns those of a usage in Anthropic's form, in its list iterations: what an advisor used, and a compaction on
// the server, and a model that began an answer which another one then gave (the types of anthropics/anthropic-sdk-python,
// ccusage/ccusage#1115 and #1552). A model that refused before its first token is not charged (QuantumNous/new-api#7162).
func Attempts(model, usage []byte) (out []Attempt) {
	list := slices.Collect(jsonl.Elements(jsonl.Get(usage, "iterations")))
	is := func(it []byte, typ string) bool { return jsonl.GetString(it, "type") == typ }
	fellBack := slices.ContainsFunc(list, func(it []byte) bool { return is(it, "fallback_message") })
	for i, it := range list {
		switch output := string(jsonl.Get(it, "output_tokens")); {
		case is(it, "advisor_message"), is(it, "compaction"):
		case is(it, "message") && fellBack && output != "" && output != "0":
		default:
			continue
		}
		out = append(out, Attempt{N: i, Model: Or(jsonl.Get(it, "model"), string(model)), Usage: Without(it, "type", "model")})
	}
	return out
}
