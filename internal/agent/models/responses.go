package models

import (
	"encoding/json"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
	"tape/repo/view"
)

// responses returns the body of a request to OpenAI's responses API, which takes items in the place of messages. The
// server stores nothing; the reasoning comes encrypted, and goes back with the calls that followed it.
func (q *request) responses(system string, list []message, kept []Kept, h habits) object {
	list = withCalls(list)
	keptFor(list, kept, func(m *message, k Kept) {
		m.set("kept", encode(k))
	})
	uniqueIDs(list)
	if h.gave(withoutTools) {
		told(list)
	}
	var items []json.RawMessage
	for _, m := range list {
		items = append(items, itemsOf(m)...)
	}
	body := object{"input": encode(items)}
	if !h.gave(withoutStore) {
		body["store"] = json.RawMessage("false")
	}
	if !h.gave(withoutKept) {
		q.kept = true
		body["include"] = json.RawMessage(`["reasoning.encrypted_content"]`)
	}
	if system != "" {
		body["instructions"] = quoted(system)
	}
	if q.limit > 0 && !h.gave(withoutLimit) {
		body["max_output_tokens"] = encode(q.limit)
	}
	type tool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict,omitempty"` // the API's default is true
	}
	var tools []tool
	strict := new(bool)
	if h.gave(withoutStrict) {
		strict = nil
	}
	for _, t := range q.tools {
		tools = append(tools, tool{"function", view.ToolName(t.Name), h.description(t), h.schema(t), strict})
	}
	if len(tools) > 0 {
		body["tools"] = encode(tools)
	}
	return body
}

// itemsOf returns the items of a message of chat completions.
func itemsOf(m message) (items []json.RawMessage) {
	role := m.role()
	if m.m == nil {
		return []json.RawMessage{m.raw}
	}
	if role == "tool" {
		said, _ := textOf(m.m["content"])
		return []json.RawMessage{encode(map[string]any{"type": "function_call_output", "call_id": m.m["tool_call_id"], "output": said})}
	}
	var kept Kept
	_ = json.Unmarshal(m.m["kept"], &kept) // nothing was kept
	phases := kept.Phases
	said := func(parts []any) json.RawMessage {
		item := map[string]any{"role": role, "content": parts}
		if len(phases) > 0 {
			if phases[0] != "" {
				item["phase"] = phases[0]
			}
			phases = phases[1:]
		}
		return encode(item)
	}
	if parts := itemParts(m.m["content"], role == "assistant"); len(parts) > 0 {
		items = append(items, said(parts))
	}
	for _, c := range m.calls() {
		items = append(items, encode(map[string]any{"type": "function_call", "call_id": jsonl.GetString(c, "id"),
			"name": jsonl.GetString(c, "function", "name"), "arguments": jsonl.GetString(c, "function", "arguments")}))
	}
	text := ""
	if said := itemParts(m.m["content"], role == "assistant"); len(said) == 1 {
		text, _ = textOf(m.m["content"])
	}
	phases = kept.Phases
	return kept.among(items, text, func(text string) json.RawMessage { return said(itemParts(quoted(text), true)) })
}

func itemParts(content json.RawMessage, output bool) (parts []any) {
	kind := "input_text"
	if output {
		kind = "output_text"
	}
	text := func(s string) {
		if s != "" {
			parts = append(parts, map[string]string{"type": kind, "text": s})
		}
	}
	if said, ok := jsonl.String(content); ok {
		text(said)
		return parts
	}
	for part := range jsonl.Elements(content) {
		switch jsonl.GetString(part, "type") {
		case "image_url":
			image := map[string]string{"type": "input_image", "image_url": jsonl.GetString(part, "image_url", "url")}
			if detail := jsonl.GetString(part, "image_url", "detail"); detail != "" {
				image["detail"] = detail
			}
			parts = append(parts, image)
		case "file":
			file := object{"type": quoted("input_file")}
			for name, v := range jsonl.Fields(jsonl.Get(part, "file")) {
				file[name] = json.RawMessage(v)
			}
			parts = append(parts, file)
		case "input_audio", "video_url":
			text(textPicture)
		default:
			said, _ := textOf(part)
			text(said + jsonl.GetString(part, "refusal"))
		}
	}
	return parts
}

// responsesEvent adds an event of a stream, or a whole response.
// https://platform.openai.com/docs/api-reference/responses-streaming
func responsesEvent(a *answer, data []byte) error {
	index := -1
	var n int
	if raw := jsonl.Get(data, "output_index"); raw != nil && json.Unmarshal(raw, &n) == nil {
		index = n
	}
	delta := jsonl.GetString(data, "delta")
	switch jsonl.GetString(data, "type") {
	case "response.output_text.delta":
		a.spoken = true
		return a.addText(delta)
	case "response.refusal.delta":
		a.refusal.WriteString(delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		a.thinking = true
		return a.addReasoning(delta)
	case "response.reasoning_summary_part.added":
		if a.reasoning.Len() > 0 {
			return a.addReasoning("\n\n")
		}
	case "response.output_item.added":
		item := jsonl.Get(data, "item")
		switch jsonl.GetString(item, "type") {
		case "function_call":
			return a.addPiece(itemPiece(index, item))
		case "message":
			a.phase = jsonl.GetString(item, "phase")
			return a.nextBlock("text")
		}
	case "response.function_call_arguments.delta":
		if t := a.callOfItem(index, data); t != nil {
			return t.addArguments(delta)
		}
	case "response.function_call_arguments.done":
		if t, arguments := a.callOfItem(index, data), rawText(jsonl.Get(data, "arguments")); t != nil && arguments != "" {
			t.arguments, t.last = arguments, ""
		}
	case "response.output_item.done":
		return a.addItem(index, jsonl.Get(data, "item"))
	case "response.output_text.done":
		if !a.spoken {
			a.spoken = true
			return a.addText(jsonl.GetString(data, "text"))
		}
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.done":
		return a.endResponse(jsonl.Get(data, "response"))
	default:
		if jsonl.GetString(data, "object") != "response" {
			return nil
		}
		return a.endResponse(data)
	}
	return nil
}

// itemPiece reads an item that is a call.
func itemPiece(index int, item []byte) callPiece {
	return callPiece{index: index, id: jsonl.GetString(item, "call_id"), name: jsonl.GetString(item, "name"), item: jsonl.GetString(item, "id"), arguments: rawText(jsonl.Get(item, "arguments"))}
}

// callOfItem returns the call that an event is about; nil if there is none.
func (a *answer) callOfItem(index int, event []byte) *toolCall {
	if t := a.byIndex[index]; t != nil {
		return t
	}
	id := jsonl.GetString(event, "item_id")
	if i := slices.IndexFunc(a.calls, func(t *toolCall) bool { return id != "" && t.item == id }); i >= 0 {
		return a.calls[i]
	}
	return nil
}

// addItem adds a complete item, whose pieces may have come before.
func (a *answer) addItem(index int, item []byte) error {
	switch jsonl.GetString(item, "type") {
	case "function_call":
		t := a.byIndex[index]
		if t == nil {
			return a.addPiece(itemPiece(index, item))
		}
		if arguments := rawText(jsonl.Get(item, "arguments")); arguments != "" {
			t.arguments, t.last = arguments, ""
		}
	case "reasoning":
		if !a.thinking {
			for _, list := range []string{"summary", "content"} {
				said, thought := textOf(jsonl.Get(item, list))
				if err := a.addReasoning(said + thought); err != nil {
					return err
				}
			}
		}
		if jsonl.GetString(item, "encrypted_content") != "" {
			var sent object
			if json.Unmarshal(item, &sent) == nil {
				delete(sent, "status") // output only
				a.keepBlock(encode(sent))
			}
		}
	case "message":
		if a.spoken {
			return nil
		}
		a.phase = jsonl.GetString(item, "phase")
		if err := a.nextBlock("text"); err != nil {
			return err
		}
		for part := range jsonl.Elements(jsonl.Get(item, "content")) {
			a.refusal.WriteString(jsonl.GetString(part, "refusal"))
			if err := a.addText(jsonl.GetString(part, "text")); err != nil {
				return err
			}
		}
	}
	return nil
}

// endResponse reads how a response has ended.
func (a *answer) endResponse(response []byte) error {
	if usage := jsonl.Get(response, "usage"); len(usage) > 0 && usage[0] == '{' {
		a.addUsage(usage)
	}
	if !a.saidAnything() && a.refusal.Len() == 0 { // some servers send the output at the end alone
		index := 0
		for item := range jsonl.Elements(jsonl.Get(response, "output")) {
			if err := a.addItem(index, item); err != nil {
				return err
			}
			if index++; index == maxCalls {
				break
			}
		}
	}
	a.ended, a.over = true, true
	switch status := jsonl.GetString(response, "status"); status {
	case "failed", "cancelled":
		f := errorIn(jsonl.Get(response, "error"))
		f.text = strings.TrimSuffix("the server says that the response has "+map[string]string{"failed": "failed", "cancelled": "been cancelled"}[status]+": "+f.text, ": ")
		f.passing = passes(f)
		return f
	case "incomplete":
		a.reason = jsonl.GetString(response, "incomplete_details", "reason")
	default:
		a.reason = status
	}
	return nil
}
