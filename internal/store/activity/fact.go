package activity

import (
	"hash/fnv"
	"slices"
	"strings"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// A session that was forked, or copied to go on in the background, begins with the history of another one; so do the
// agents that compact a conversation. That history is on several tapes, but it happened once. Its entries say the same
// on each of them: what was asked when, which message of the model used how many tokens, which call was made. The
// number of that is the entry's fact. Sums over tapes count each fact once: see the table facts in the index.

// factOf returns the fact of an entry, 0 if it has none: it counts nothing, was not imported, or nothing in it tells it
// apart from what another session says.
func factOf(e layout.Entry, n *Note) int64 {
	source := jsonl.Get(e.Meta, "source")
	if source == nil || !n.turn && n.usage == nil && n.calls == nil && n.touches == nil && n.commit == "" {
		return 0
	}
	h := fnv.New64a()
	add := func(parts ...string) {
		for _, p := range parts {
			_, _ = h.Write([]byte(p))
			_, _ = h.Write([]byte{0})
		}
	}
	add(jsonl.GetString(source, "format"), e.Kind)
	data := jsonl.Get(e.Payload, "data")
	fact, request := jsonl.GetString(source, "fact"), jsonl.GetString(data, "request_id")
	switch {
	case fact != "": // the format knows what a copy has as well
		add("fact", fact)
	case n.usage != nil && isAnthropics(n.usage.ID): // a question beside the session may repeat it under another request (ccusage/ccusage#1155)
		add("message", n.usage.ID, string(jsonl.Get(data, "usage")))
	case n.usage != nil && n.usage.ID != "" && request != "": // the rule of ccusage/ccusage#1175
		add("run", n.usage.ID, request, string(jsonl.Get(data, "usage")))
	case n.usage != nil && n.usage.ID != "":
		add("run", n.usage.ID, e.Date, string(jsonl.Get(data, "usage")))
	case slices.ContainsFunc(n.calls, func(c call) bool { return c.ID != "" }):
		add("call", e.Date)
		for _, c := range n.calls {
			add(c.ID)
		}
	default:
		if ids := jsonl.Strings(jsonl.Get(source, "ids")); len(ids) == 0 || strings.HasPrefix(ids[0], "sha256:") {
			return 0 // the record has no id; its date may be that of the import
		}
		add("entry", e.Date, string(e.Payload))
	}
	return max(int64(h.Sum64()>>1), 1) //nolint:gosec // the highest bit is not used
}

// isAnthropics reports whether an id is one that Anthropic gives a message: no other message has it. Those of other servers
// may come again.
func isAnthropics(id string) bool {
	return strings.HasPrefix(id, "msg_") && len(id) >= len("msg_01XFDUDYJgAACzvnptvVoYEL")
}
