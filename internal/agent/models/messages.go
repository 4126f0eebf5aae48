package models

import (
	"encoding/json"
	"slices"
	"strings"

	"tape/internal/text/jsonl"
	"tape/repo/view"
)

// outputLimit returns how many tokens an answer of one of Anthropic's models may have; the API wants a number. Of a
// model that is not known it is what all newer ones can give: if that is too much, the server says how much it is.
// https://docs.anthropic.com/en/docs/about-claude/models/overview
func outputLimit(model string) int {
	for _, known := range []struct {
		name  string
		limit int
	}{
		{"claude-3-opus", 4096}, {"claude-3-haiku", 4096}, {"claude-3-sonnet", 4096}, {"claude-3-5", 8192}, {"claude-3-7", 64000},
		{"claude-opus-4-2", 32000}, {"claude-opus-4-0", 32000}, {"claude-opus-4-1", 32000}, {"claude-opus-4", 64000},
		{"claude-sonnet-4", 64000}, {"claude-haiku-4", 64000},
	} {
		if strings.Contains(strings.ReplaceAll(model, ".", "-"), known.name) {
			return known.limit
		}
	}
	return 32000
}

// messages returns the body of a request to Anthropic's messages API.
func (q *request) messages(system string, list []message, kept []Kept, h habits) object {
	for i, m := range list {
		blocks := blocksOf(m.m["content"])
		said := slices.DeleteFunc(slices.Clone(blocks), func(b json.RawMessage) bool {
			kind := jsonl.GetString(b, "type")
			return kind == "thinking" || kind == "redacted_thinking"
		})
		if q.kept = q.kept || len(said) < len(blocks); h.gave(withoutKept) && len(said) < len(blocks) { // an import's, of another server
			list[i].set("content", encode(said))
		}
	}
	keptFor(list, kept, func(m *message, k Kept) {
		blocks := blocksOf(m.m["content"])
		text := ""
		if len(blocks) > 0 {
			text = jsonl.GetString(blocks[0], "text")
		}
		m.set("content", encode(k.among(blocks, text, func(text string) json.RawMessage { return encode(map[string]string{"type": "text", "text": text}) })))
	})
	q.cache = !h.gave(withoutCache)
	if q.cache {
		cachedUpTo(list)
	}
	body := object{"max_tokens": encode(q.limit), "messages": encode(raws(list))}
	if system != "" && h.gave(withoutSystem) {
		body["messages"] = encode(raws(withSystem(system, list, true)))
	} else if system != "" && h.gave(listedSystem) {
		body["system"] = quoted(system)
	} else if system != "" {
		block := object{"type": quoted("text"), "text": quoted(system)}
		if q.cache {
			block["cache_control"] = cacheMark()
		}
		body["system"] = encode([]object{block})
	}
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Schema      json.RawMessage `json:"input_schema"`
		Cache       json.RawMessage `json:"cache_control,omitempty"`
	}
	var tools []tool
	for _, t := range q.tools {
		tools = append(tools, tool{view.ToolName(t.Name), h.description(t), h.schema(t), nil})
	}
	if len(tools) > 0 {
		if q.cache {
			tools[len(tools)-1].Cache = cacheMark()
		}
		body["tools"] = encode(tools)
	}
	return body
}

func cacheMark() json.RawMessage { return json.RawMessage(`{"type":"ephemeral"}`) }

// cachedUpTo marks the last block, and the last one of the user's message before: the server keeps what it has computed
// up to there, and finds what it has kept of the request before.
// https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
func cachedUpTo(list []message) {
	marks := 2
	for i := len(list) - 1; i >= 0 && marks > 0; i-- {
		if i < len(list)-1 && list[i].role() != "user" {
			continue
		}
		blocks := blocksOf(list[i].m["content"])
		for n := len(blocks) - 1; n >= 0; n-- {
			kind := jsonl.GetString(blocks[n], "type")
			if kind == "thinking" || kind == "redacted_thinking" || kind == "text" && jsonl.GetString(blocks[n], "text") == "" {
				continue
			}
			blocks[n] = merged(blocks[n], json.RawMessage(`{"cache_control":{"type":"ephemeral"}}`))
			list[i].set("content", encode(blocks))
			marks--
			break
		}
	}
}

// blocksOf returns the blocks of a content, which may be a text.
func blocksOf(content json.RawMessage) []json.RawMessage {
	if text, ok := jsonl.String(content); ok {
		return []json.RawMessage{encode(map[string]string{"type": "text", "text": text})}
	}
	var out []json.RawMessage
	_ = json.Unmarshal(content, &out) // what is no list has no blocks
	return out
}

// messagesEvent adds an event of a stream, or a whole message.
func messagesEvent(a *answer, data []byte) error {
	index := -1
	var n int
	if raw := jsonl.Get(data, "index"); raw != nil && json.Unmarshal(raw, &n) == nil {
		index = n
	}
	if index < 0 { // it belongs to the block that was begun last
		if index = a.blocks - 1; jsonl.GetString(data, "type") == "content_block_start" || jsonl.GetString(data, "type") == "message" {
			index++
		}
	}
	switch jsonl.GetString(data, "type") {
	case "message_start":
		a.addBlockUsage(jsonl.Get(data, "message", "usage"))
	case "message":
		for _, block := range blocksOf(jsonl.Get(data, "content")) {
			if index < maxCalls {
				if err := a.beginBlock(index, block); err != nil {
					return err
				}
			}
			index++
		}
		a.addBlockUsage(jsonl.Get(data, "usage"))
		a.reason, a.ended = jsonl.GetString(data, "stop_reason"), true
	case "content_block_start":
		return a.beginBlock(index, jsonl.Get(data, "content_block"))
	case "content_block_delta":
		return a.addToBlock(index, jsonl.Get(data, "delta"))
	case "message_delta":
		a.addBlockUsage(jsonl.Get(data, "usage"))
		if reason := jsonl.GetString(data, "delta", "stop_reason"); reason != "" {
			a.reason, a.ended = reason, true
		}
	case "message_stop":
		a.ended, a.over = true, true
	}
	return nil
}

func (a *answer) beginBlock(index int, block []byte) error {
	a.blocks++
	kind := jsonl.GetString(block, "type")
	if kind == "text" && a.block == "text" { // a text in pieces, because of citations
		return a.addText(jsonl.GetString(block, "text"))
	}
	if err := a.nextBlock(kind); err != nil {
		return err
	}
	switch kind {
	case "tool_use":
		input := rawText(jsonl.Get(block, "input"))
		if input == "{}" {
			input = "" // the arguments come in pieces
		}
		return a.addPiece(callPiece{index: index, id: jsonl.GetString(block, "id"), name: jsonl.GetString(block, "name"), arguments: input})
	case "thinking", "redacted_thinking":
		a.blockAt = append(a.blockAt, index)
		a.keepBlock(append(json.RawMessage(nil), block...))
		a.blockText = append(a.blockText, &[2]strings.Builder{})
		thought := jsonl.GetString(block, "thinking")
		a.blockText[len(a.blockText)-1][0].WriteString(thought)
		return a.addReasoning(thought)
	}
	return a.addText(jsonl.GetString(block, "text"))
}

func (a *answer) addToBlock(index int, delta []byte) error {
	last := len(a.blockAt) - 1
	inThought := last >= 0 && a.blockAt[last] == index
	switch jsonl.GetString(delta, "type") {
	case "text_delta":
		return a.addText(jsonl.GetString(delta, "text"))
	case "thinking_delta":
		thought := jsonl.GetString(delta, "thinking")
		if inThought {
			a.blockText[last][0].WriteString(thought)
		}
		return a.addReasoning(thought)
	case "signature_delta":
		if inThought {
			a.blockText[last][1].WriteString(jsonl.GetString(delta, "signature"))
		}
	case "input_json_delta":
		if t := a.byIndex[index]; t != nil {
			return t.addArguments(jsonl.GetString(delta, "partial_json"))
		}
	}
	return nil
}

// endBlocks puts the pieces of the thoughts together. A thought without a signature cannot go back.
func (a *answer) endBlocks() {
	signed, order := a.kept.Before[:0], a.order
	for i, block := range a.kept.Before {
		if i < len(a.blockText) && jsonl.GetString(block, "type") == "thinking" {
			more := object{"thinking": quoted(a.blockText[i][0].String())}
			if s := a.blockText[i][1].String(); s != "" {
				more["signature"] = quoted(s)
			}
			block = merged(block, encode(more))
		}
		if jsonl.GetString(block, "type") != "thinking" || jsonl.GetString(block, "signature") != "" {
			signed = append(signed, block)
		} else if n := nth(order, 't', len(signed)); n >= 0 {
			order = slices.Delete(order, n, n+1)
		}
	}
	a.kept.Before, a.order = signed, order
}

// nth returns where a letter comes for the nth time, counted from 0; -1 if it does not.
func nth(text []byte, letter byte, n int) int {
	for i, b := range text {
		if b != letter {
			continue
		}
		if n == 0 {
			return i
		}
		n--
	}
	return -1
}

// addBlockUsage reads the usage of a message. What was read from the cache, and written to it, counts as input, too.
func (a *answer) addBlockUsage(usage []byte) {
	number := func(name string) (n int64) {
		_ = json.Unmarshal(jsonl.Get(usage, name), &n) // no number: 0
		return n
	}
	if a.usage == nil {
		a.usage = map[string]any{}
	}
	if in := number("input_tokens") + number("cache_read_input_tokens") + number("cache_creation_input_tokens"); in > 0 {
		a.usage["input_tokens"], a.usage["cached_tokens"] = in, number("cache_read_input_tokens")
		if written := number("cache_creation_input_tokens"); written > 0 {
			a.usage["cache_write_input_tokens"] = written
		}
	}
	if out := number("output_tokens"); out > 0 {
		a.usage["output_tokens"] = out
	}
}
