package model

import (
	"encoding/json"
	"strings"
)

// anthropic is a request of Anthropic's Messages API.
type anthropic struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []struct {
		Role    string  `json:"role"`
		Content content `json:"content"`
	} `json:"messages"`
}

// content is a list of parts, or a single text.
type content []part

type part struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   content         `json:"content"`
}

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]part)(c))
}

func (c content) text() string {
	var b strings.Builder
	for _, p := range c {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (a *anthropic) history() (items []Item, tools int) {
	for _, msg := range a.Messages {
		for _, p := range msg.Content {
			switch {
			case p.Type == "tool_use":
				items = append(items, Item{Kind: Asked, ID: p.ID, Name: p.Name, Text: string(p.Input)})
			case p.Type == "tool_result":
				items = append(items, Item{Kind: Result, ID: p.ToolUseID, Text: p.Content.text()})
			case msg.Role == "assistant":
				items = append(items, Item{Kind: Answer, Text: p.Text + p.Thinking})
			default:
				items = append(items, Item{Kind: User, Text: p.Text})
			}
		}
	}
	return items, len(a.Tools)
}

func (a *anthropic) answer(w *writer, ans answer) {
	stop := "end_turn"
	if len(ans.calls) > 0 {
		stop = "tool_use"
	}
	usage := m{"input_tokens": tokens(ans.step), "output_tokens": 20, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
	msg := m{"id": "msg_" + ans.id, "type": "message", "role": "assistant", "model": a.Model, "usage": usage, "stop_sequence": nil}
	if !a.Stream {
		msg["content"], msg["stop_reason"] = a.blocks(ans), stop
		w.json(msg)
		return
	}
	msg["content"], msg["stop_reason"] = []any{}, nil
	w.event("message_start", m{"type": "message_start", "message": msg})
	for i, block := range a.blocks(ans) {
		a.block(w, i, block)
	}
	w.event("message_delta", m{"type": "message_delta", "delta": m{"stop_reason": stop, "stop_sequence": nil}, "usage": m{"output_tokens": 20}})
	w.event("message_stop", m{"type": "message_stop"})
}

func (a *anthropic) blocks(ans answer) []m {
	var out []m
	if ans.step.Think != "" {
		out = append(out, m{"type": "thinking", "thinking": ans.step.Think, "signature": "c2lnbmF0dXJl"})
	}
	if ans.step.Text != "" {
		out = append(out, m{"type": "text", "text": ans.step.Text})
	}
	for _, c := range ans.calls {
		out = append(out, m{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(c.Text)})
	}
	return out
}

// block sends the start of a block without its content, then the content.
func (a *anthropic) block(w *writer, i int, block m) {
	delta := func(d m) { w.event("content_block_delta", m{"type": "content_block_delta", "index": i, "delta": d}) }
	start := func(b m) {
		w.event("content_block_start", m{"type": "content_block_start", "index": i, "content_block": b})
	}
	switch block["type"] {
	case "thinking":
		start(m{"type": "thinking", "thinking": "", "signature": ""})
		delta(m{"type": "thinking_delta", "thinking": block["thinking"]})
		delta(m{"type": "signature_delta", "signature": block["signature"]})
	case "text":
		start(m{"type": "text", "text": ""})
		for _, piece := range pieces(block["text"].(string)) {
			delta(m{"type": "text_delta", "text": piece})
		}
	case "tool_use":
		start(m{"type": "tool_use", "id": block["id"], "name": block["name"], "input": m{}})
		delta(m{"type": "input_json_delta", "partial_json": string(block["input"].(json.RawMessage))})
	}
	w.event("content_block_stop", m{"type": "content_block_stop", "index": i})
}
