package model

import (
	"encoding/json"
	"strings"
)

// responses is a request of OpenAI's Responses API.
type responses struct {
	Tools []json.RawMessage `json:"tools"`
	Input []struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   content         `json:"content"`
		Author    string          `json:"author"`
		Summary   content         `json:"summary"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
		Input     string          `json:"input"`
		Output    json.RawMessage `json:"output"`
	} `json:"input"`
}

func (r *responses) history() (items []Item, tools int) {
	for _, in := range r.Input {
		switch in.Type {
		case "function_call", "custom_tool_call":
			items = append(items, Item{Kind: Asked, ID: in.CallID, Name: in.Name, Text: in.Arguments + in.Input})
		case "function_call_output", "custom_tool_call_output":
			items = append(items, Item{Kind: Result, ID: in.CallID, Text: outputText(in.Output)})
		case "reasoning":
			items = append(items, Item{Kind: Answer, Text: in.Summary.text()})
		default: // a message; one between agents has no role
			kind := User
			if in.Role == "assistant" {
				kind = Answer
			}
			items = append(items, Item{Kind: kind, Text: in.Content.text()})
		}
	}
	return items, len(r.Tools)
}

// outputText returns the text of a tool's output, which is a text or a list of parts.
func outputText(raw json.RawMessage) string {
	var c content
	if c.UnmarshalJSON(raw) != nil {
		return string(raw)
	}
	return c.text()
}

func (r *responses) answer(w *writer, ans answer) {
	id := "resp_" + ans.id
	w.event("response.created", m{"type": "response.created", "response": m{"id": id}})
	if ans.step.Think != "" {
		r.item(w, m{"type": "reasoning", "id": "rs_" + ans.id, "encrypted_content": "c2VjcmV0",
			"summary": []m{{"type": "summary_text", "text": ans.step.Think}}})
	}
	if ans.step.Text != "" {
		msg := m{"type": "message", "role": "assistant", "id": "msg_" + ans.id, "status": "completed"}
		msg["content"] = []m{}
		w.event("response.output_item.added", m{"type": "response.output_item.added", "output_index": 0, "item": msg})
		for _, piece := range pieces(ans.step.Text) {
			w.event("response.output_text.delta", m{"type": "response.output_text.delta", "item_id": msg["id"],
				"output_index": 0, "content_index": 0, "delta": piece})
		}
		msg["content"] = []m{{"type": "output_text", "text": ans.step.Text}}
		r.item(w, msg)
	}
	for _, c := range ans.calls {
		call := m{"type": "function_call", "id": "fc_" + c.ID, "call_id": c.ID, "name": c.Name, "arguments": c.Text}
		if space, name, ok := strings.Cut(c.Name, "."); ok {
			call["namespace"], call["name"] = space, name
		}
		r.item(w, call)
	}
	n := tokens(ans.step)
	w.event("response.completed", m{"type": "response.completed", "response": m{"id": id, "usage": m{
		"input_tokens": n, "input_tokens_details": nil, "output_tokens": 20, "output_tokens_details": nil, "total_tokens": n + 20}}})
}

func (r *responses) item(w *writer, item m) {
	w.event("response.output_item.done", m{"type": "response.output_item.done", "output_index": 0, "item": item})
}
