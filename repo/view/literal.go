package view

import (
	"slices"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// literal maps entries one by one, without repairs.
func literal(entries []repo.Entry, o Options) []*item {
	var out []*item
	var pending []string // ids of the latest calls, until there are results
	for _, e := range entries {
		if e.Hidden() {
			continue
		}
		it := &item{entries: []int64{e.ID}}
		add := func(role string, message []byte) {
			it.pieces = append(it.pieces, piece{role: role, json: message})
		}
		switch e.Kind {
		case repo.KindAnchor:
			if !o.NoAnchor {
				it.anchor, it.begins = true, true
				add(roleAssistant, textMessage(roleAssistant, anchorText(e)))
			}
		case repo.KindMessage:
			it.role = jsonl.GetString(e.Payload, "role")
			it.begins = it.role == roleUser
			add("", compact(e.Payload))
		case repo.KindToolCall:
			var message []byte
			if message, pending = literalCalls(e); len(pending) > 0 {
				add(roleAssistant, message)
			}
		case repo.KindToolResult:
			ids, given := callIDs(e)
			if !given {
				ids = pending
			}
			pending = nil
			for i, r := range slices.Collect(jsonl.Elements(jsonl.Get(e.Payload, "results"))) {
				add(roleTool, literalResult(r, ids, i))
			}
		}
		if len(it.pieces) > 0 {
			out = append(out, it)
		}
	}
	return out
}

func literalCalls(e repo.Entry) (message []byte, ids []string) {
	message = []byte(`{"role":"assistant","content":"","tool_calls":`)
	sep := byte('[')
	for c := range jsonl.Elements(jsonl.Get(e.Payload, "calls")) {
		if jsonl.IsObject(c) {
			message = append(append(message, sep), compact(c)...)
			ids = append(ids, jsonl.GetString(c, "id"))
			sep = ','
		}
	}
	return append(message, "]}"...), ids
}

func literalResult(r []byte, ids []string, i int) []byte {
	message := textMessage(roleTool, resultText(r))
	if i < len(ids) && ids[i] != "" {
		message = append(message[:len(message)-1], `,"tool_call_id":`...)
		message = append(jsonl.AppendString(message, ids[i]), '}')
	}
	return message
}

// anchorText returns the text that stands for an anchor.
func anchorText(e repo.Entry) string {
	state := "null"
	if s := jsonl.Get(e.Payload, "state"); s != nil {
		state = jsonText(s)
	}
	return "[Anchor created: " + jsonl.GetString(e.Payload, "name") + "]: " + state
}

// callIDs returns the ids of the calls that an entry's results answer. ok is false if the entry has none.
func callIDs(e repo.Entry) (ids []string, ok bool) {
	list := jsonl.Get(e.Meta, "call_ids")
	if len(list) == 0 || list[0] != '[' {
		return nil, false
	}
	return jsonl.Strings(list), true
}

func resultText(r []byte) string {
	if s, ok := jsonl.String(r); ok {
		return s
	}
	return jsonText(r)
}

func textMessage(role, text string) []byte {
	return append(jsonl.AppendString([]byte(`{"role":"`+role+`","content":`), text), '}')
}

func compact(raw []byte) []byte {
	out, err := jsonl.Compact(nil, raw)
	if err != nil {
		return raw
	}
	return out
}
