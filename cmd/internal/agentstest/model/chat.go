package model

import "encoding/json"

// chat is a request of OpenAI's chat completions.
type chat struct {
	Model    string            `json:"model"`
	Stream   bool              `json:"stream"`
	Tools    []json.RawMessage `json:"tools"`
	Messages []struct {
		Role       string  `json:"role"`
		Content    content `json:"content"`
		ToolCallID string  `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
}

func (c *chat) history() (items []Item, tools int) {
	for _, msg := range c.Messages {
		text := msg.Content.text()
		switch {
		case msg.Role == "tool":
			items = append(items, Item{Kind: Result, ID: msg.ToolCallID, Text: text})
		case msg.Role == "user":
			items = append(items, Item{Kind: User, Text: text})
		case msg.Role == "assistant" && text != "":
			items = append(items, Item{Kind: Answer, Text: text})
		}
		for _, call := range msg.ToolCalls {
			items = append(items, Item{Kind: Asked, ID: call.ID, Name: call.Function.Name, Text: call.Function.Arguments})
		}
	}
	return items, len(c.Tools)
}

func (c *chat) answer(w *writer, ans answer) {
	n := tokens(ans.step)
	usage := m{"prompt_tokens": n, "completion_tokens": 20, "total_tokens": n + 20}
	if !c.Stream {
		w.json(m{"id": "chat-" + ans.id, "object": "chat.completion", "created": 1, "model": c.Model, "usage": usage,
			"choices": []m{{"index": 0, "finish_reason": "stop", "message": m{"role": "assistant", "content": ans.step.Text}}}})
		return
	}
	chunk := func(delta m, finish any) {
		w.event("", m{"id": "chat-" + ans.id, "object": "chat.completion.chunk", "created": 1, "model": c.Model,
			"choices": []m{{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(m{"role": "assistant", "content": ""}, nil)
	if ans.step.Think != "" {
		chunk(m{"reasoning_content": ans.step.Think}, nil)
	}
	if ans.step.Text != "" {
		for _, piece := range pieces(ans.step.Text) {
			chunk(m{"content": piece}, nil)
		}
	}
	finish := "stop"
	for i, call := range ans.calls {
		finish = "tool_calls"
		chunk(m{"tool_calls": []m{{"index": i, "id": call.ID, "type": "function",
			"function": m{"name": call.Name, "arguments": call.Text}}}}, nil)
	}
	chunk(m{}, finish)
	w.event("", m{"id": "chat-" + ans.id, "object": "chat.completion.chunk", "created": 1, "model": c.Model, "choices": []m{}, "usage": usage})
	w.send("", []byte("[DONE]"))
}
