package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"tape/internal/text/jsonl"
	"tape/repo/view"
)

// chat returns the body of a chat completion.
func (q *request) chat(p *provider, model, system string, list []message, kept []Kept, h habits) object {
	list = withCalls(list)
	keptFor(list, kept, func(m *message, k Kept) {
		for name, v := range k.Message {
			m.set(name, v)
		}
		if k.Prefix != "" {
			m.set("content", joinContent(quoted(strings.TrimSpace(k.Prefix)), m.m["content"]))
		}
		calls := m.calls()
		for i, members := range k.Call {
			if i < len(calls) {
				calls[i] = merged(calls[i], members)
			}
		}
		m.set("tool_calls", encode(calls))
	})
	filled(list, h)
	if h.gave(longIDs) {
		shortIDs(list)
	}
	if h.gave(withoutBlanks) {
		noBlanks(list)
	}
	if h.gave(alternating) {
		list = alternate(list)
	}
	if system != "" {
		list = withSystem(system, list, h.gave(withoutSystem))
	}
	body := object{"messages": encode(raws(list))}
	if len(q.tools) > 0 {
		body["tools"] = q.chatTools(h)
	}
	if q.limit > 0 && !h.gave(withoutLimit) {
		name := "max_tokens"
		if (p.name == "openai") != h.gave(otherLimit) {
			name = "max_completion_tokens"
		}
		body[name] = encode(q.limit)
	}
	if p.name == "openrouter" && strings.HasPrefix(model, "anthropic/") && !h.gave(withoutCache) {
		q.cache = true // of all messages: https://openrouter.ai/docs/guides/best-practices/prompt-caching
		body["cache_control"] = cacheMark()
	}
	if !q.whole && !h.gave(withoutUsage) {
		q.usage = true
		body["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	return body
}

// filled puts into calls of other models what a server wants to see in all of them.
// https://ai.google.dev/gemini-api/docs/thought-signatures has the signature for calls that have none.
func filled(list []message, h habits) {
	for i := range list {
		calls := list[i].calls()
		if len(calls) == 0 {
			continue
		}
		if h.gave(fillReasoning) && list[i].m["reasoning_content"] == nil {
			list[i].set("reasoning_content", quoted(" "))
		}
		if h.gave(fillSignature) && !strings.Contains(string(calls[0]), "thought_signature") {
			calls[0] = merged(calls[0], json.RawMessage(`{"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}}`))
			list[i].set("tool_calls", encode(calls))
		}
	}
}

// shortIDs gives each call an id of nine letters and digits, which is the same in each request.
func shortIDs(list []message) {
	short := func(id string) json.RawMessage {
		sum := sha256.Sum256([]byte(id))
		return quoted(hex.EncodeToString(sum[:])[:9])
	}
	for i := range list {
		calls := list[i].calls()
		for n, c := range calls {
			calls[n] = merged(c, encode(object{"id": short(jsonl.GetString(c, "id"))}))
		}
		if len(calls) > 0 {
			list[i].set("tool_calls", encode(calls))
		}
		if id, ok := jsonl.String(list[i].m["tool_call_id"]); ok {
			list[i].set("tool_call_id", short(id))
		}
	}
}

// noBlanks leaves out empty texts beside calls, and says so in the place of others.
func noBlanks(list []message) {
	for i := range list {
		text, plain := list[i].text()
		switch {
		case !plain || strings.TrimSpace(text) != "":
		case len(list[i].calls()) > 0:
			list[i].set("content", json.RawMessage("null"))
		default:
			list[i].set("content", quoted("(nothing)"))
		}
	}
}

func (q *request) chatTools(h habits) json.RawMessage {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	type tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	var out []tool
	for _, t := range q.tools {
		out = append(out, tool{"function", function{view.ToolName(t.Name), t.Description, h.schema(t)}})
	}
	return encode(out)
}

// withSystem puts the system prompt before the messages, or into the first one of the user.
func withSystem(system string, list []message, joined bool) []message {
	if joined {
		for i, m := range list {
			if m.role() == "user" {
				list[i].set("content", joinContent(quoted(system), m.m["content"]))
				return list
			}
		}
	}
	role := "system"
	if joined {
		role = "user"
	}
	return append(decoded([]json.RawMessage{encode(map[string]string{"role": role, "content": system})}), list...)
}

// withCalls joins what the assistant says with the calls that follow, and makes objects of arguments that are none: some
// servers read all arguments, and refuse the request for good.
func withCalls(list []message) []message {
	out := make([]message, 0, len(list))
	for _, m := range list {
		calls := m.calls()
		for i, c := range calls {
			if args := jsonl.GetString(c, "function", "arguments"); jsonl.Get(c, "function", "arguments") != nil && !isObject(args) {
				var function object
				if json.Unmarshal(jsonl.Get(c, "function"), &function) == nil {
					function["arguments"] = quoted(string(encode(map[string]string{"invalid": args})))
					calls[i] = merged(c, encode(map[string]any{"function": function}))
					m.set("tool_calls", encode(calls))
				}
			}
		}
		if len(out) > 0 && len(calls) > 0 {
			before := &out[len(out)-1]
			said, plain := before.text()
			if own, empty := m.text(); before.role() == "assistant" && len(before.calls()) == 0 && plain && empty && own == "" && !strings.HasPrefix(said, anchorWords) {
				before.set("tool_calls", m.m["tool_calls"])
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// anchorWords begin the message of an anchor, which [view] makes.
const anchorWords = "[Anchor created"

// merged returns an object with the members of another one.
func merged(into, members json.RawMessage) json.RawMessage {
	var a, b object
	if json.Unmarshal(into, &a) != nil || json.Unmarshal(members, &b) != nil || len(b) == 0 {
		return into
	}
	for name, v := range b {
		var inner, more object
		if json.Unmarshal(a[name], &inner) == nil && json.Unmarshal(v, &more) == nil && inner != nil {
			v = merged(a[name], v)
		}
		a[name] = v
	}
	return encode(a)
}

// alternate makes messages of which, besides calls and their results, user and assistant alternate, and the user comes
// first: many chat templates insist on that (vllm-project/vllm#6862, microsoft/autogen#3597). What an anchor says goes
// into the message that follows. Some refuse a user's message right after a result (mistralai/client-python#235).
func alternate(list []message) []message {
	var out []message
	var lead json.RawMessage // what the assistant says before the user's first message
	for _, m := range list {
		role := m.role()
		if len(out) == 0 && role == "assistant" && len(m.calls()) == 0 {
			lead = joinContent(lead, m.m["content"])
			continue
		}
		if len(out) == 0 && role == "assistant" {
			out = append(out, textMessage("user", "Go on."))
		}
		if lead != nil && role == "user" {
			m.set("content", joinContent(lead, m.m["content"]))
			lead = nil
		}
		if len(out) > 0 {
			last := &out[len(out)-1]
			switch {
			case last.role() == "tool" && role == "user":
				out = append(out, textMessage("assistant", "I have read the results."))
			case last.role() != role || role == "tool":
			case len(last.calls()) == 0:
				last.set("content", joinContent(last.m["content"], m.m["content"]))
				if calls := m.m["tool_calls"]; calls != nil {
					last.set("tool_calls", calls)
				}
				continue
			}
		}
		out = append(out, m)
	}
	if lead != nil {
		out = append(out, textMessage("user", ""))
		out[len(out)-1].set("content", lead)
	}
	return out
}

func textMessage(role, text string) message {
	return decoded([]json.RawMessage{encode(map[string]string{"role": role, "content": text})})[0]
}

// joinContent returns two contents as one: a text if both are.
func joinContent(a, b json.RawMessage) json.RawMessage {
	empty := func(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" || string(v) == `""` }
	switch {
	case empty(a):
		return b
	case empty(b):
		return a
	}
	first, plainFirst := jsonl.String(a)
	second, plainSecond := jsonl.String(b)
	if plainFirst && plainSecond {
		return quoted(first + "\n\n" + second)
	}
	var parts []json.RawMessage
	for _, v := range []json.RawMessage{a, b} {
		if text, ok := jsonl.String(v); ok {
			parts = append(parts, encode(map[string]string{"type": "text", "text": text}))
			continue
		}
		for part := range jsonl.Elements(v) {
			parts = append(parts, part)
		}
	}
	return encode(parts)
}

// chatEvent adds a chunk of a chat completion, or a whole one.
func chatEvent(a *answer, data []byte) error {
	if usage := jsonl.Get(data, "usage"); len(usage) > 0 && usage[0] == '{' {
		a.addUsage(usage)
	}
	for choice := range jsonl.Elements(jsonl.Get(data, "choices")) {
		if n := jsonl.Get(choice, "index"); len(n) > 0 && string(n) != "0" && string(n) != "null" {
			continue // only one was asked for
		}
		delta := jsonl.Get(choice, "delta")
		if message := jsonl.Get(choice, "message"); len(message) > 0 && message[0] == '{' {
			delta = message
		}
		if err := a.addDelta(delta); err != nil {
			return err
		}
		if text := jsonl.GetString(choice, "text"); text != "" && delta == nil {
			if err := a.addText(text); err != nil {
				return err
			}
		}
		if reason := jsonl.GetString(choice, "finish_reason"); reason != "" {
			a.reason, a.ended = reason, true
		}
	}
	return nil
}

// addUsage reads how many tokens a call took and gave, of which some were cached by the server.
func (a *answer) addUsage(usage []byte) {
	number := func(path ...string) (int64, bool) {
		var n json.Number
		if raw := jsonl.Get(usage, path...); raw == nil || json.Unmarshal(raw, &n) != nil {
			return 0, false
		}
		v, err := n.Float64()
		return int64(v), err == nil
	}
	first := func(paths ...[]string) int64 {
		for _, path := range paths {
			if n, ok := number(path...); ok {
				return n
			}
		}
		return 0
	}
	in := first([]string{"prompt_tokens"}, []string{"input_tokens"})
	out := first([]string{"completion_tokens"}, []string{"output_tokens"})
	if in+out == 0 {
		return
	}
	written := first([]string{"prompt_tokens_details", "cache_write_tokens"}, []string{"cache_creation_input_tokens"}) // OpenRouter, LiteLLM
	a.usage = map[string]any{"input_tokens": in, "output_tokens": out, "cached_tokens": first([]string{"prompt_tokens_details", "cached_tokens"},
		[]string{"input_tokens_details", "cached_tokens"}, []string{"prompt_cache_hit_tokens"}, []string{"cached_tokens"})} // the third is DeepSeek's, the last Moonshot's
	if written > 0 {
		a.usage["cache_write_input_tokens"] = written
	}
}

// reasoningFields have reasoning as text, by server: DeepSeek and llama.cpp; OpenRouter, vLLM and Ollama; Copilot.
var reasoningFields = []string{"reasoning_content", "reasoning", "reasoning_text"}

// keptFields are other members that servers want back: OpenRouter, Google, LiteLLM, Copilot.
var keptFields = []string{"reasoning_details", "extra_content", "thinking_blocks", "reasoning_opaque", "provider_specific_fields"}

func (a *answer) addDelta(d []byte) error {
	for _, field := range reasoningFields {
		said, thought := textOf(jsonl.Get(d, field))
		if text := said + thought; text != "" {
			a.thoughtIn = field
			if err := a.addReasoning(text); err != nil {
				return err
			}
			break
		}
	}
	for _, field := range keptFields {
		if v := jsonl.Get(d, field); len(v) > 0 && string(v) != "null" && string(v) != "[]" && string(v) != "{}" {
			a.keep(field, v)
		}
	}
	said, thought := textOf(jsonl.Get(d, "content"))
	if err := a.addReasoning(thought); err != nil {
		return err
	}
	if err := a.addText(said); err != nil {
		return err
	}
	a.refusal.WriteString(jsonl.GetString(d, "refusal"))
	for c := range jsonl.Elements(jsonl.Get(d, "tool_calls")) {
		if err := a.addPiece(chatPiece(c)); err != nil {
			return err
		}
	}
	if c := jsonl.Get(d, "function_call"); len(c) > 0 && c[0] == '{' { // before there were tools
		return a.addPiece(chatPiece(encode(map[string]json.RawMessage{"index": json.RawMessage("0"), "function": c})))
	}
	return nil
}

// chatPiece reads a piece of a call. Members that the API does not name are kept: thought signatures.
func chatPiece(c []byte) callPiece {
	p := callPiece{index: -1, id: jsonl.GetString(c, "id"), name: jsonl.GetString(c, "function", "name"), arguments: rawText(jsonl.Get(c, "function", "arguments"))}
	var n int
	if raw := jsonl.Get(c, "index"); raw != nil && json.Unmarshal(raw, &n) == nil && string(raw) != "null" && n >= 0 {
		p.index = n
	}
	others := object{}
	inFunction := object{}
	for name, v := range jsonl.Fields(c) {
		switch name {
		case "index", "id", "type", "function":
		default:
			others[name] = json.RawMessage(v)
		}
	}
	for name, v := range jsonl.Fields(jsonl.Get(c, "function")) {
		if name != "name" && name != "arguments" {
			inFunction[name] = json.RawMessage(v)
		}
	}
	if len(inFunction) > 0 {
		others["function"] = encode(inFunction)
	}
	for name, v := range others {
		if string(v) == "null" || string(v) == "{}" || string(v) == `""` {
			delete(others, name)
		}
	}
	if len(others) > 0 {
		p.kept = encode(others)
	}
	return p
}
