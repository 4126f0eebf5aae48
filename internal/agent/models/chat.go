package models

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

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
	q.lists = slices.ContainsFunc(list, func(m message) bool { return len(m.m["content"]) > 0 && m.m["content"][0] == '[' })
	filled(list, h)
	if h.gave(withoutTools) {
		told(list)
	}
	if h.gave(sameIDs) {
		uniqueIDs(list)
	}
	if h.gave(longIDs) {
		shortIDs(list)
	}
	if h.gave(withoutBlanks) {
		noBlanks(list)
	}
	if h.gave(onlyTexts) {
		texts(list)
	}
	if h.gave(namelessResults) {
		namedResults(list)
	}
	if h.gave(oneCallEach) {
		list = oneCall(list)
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
// oneCall puts each call into a message of its own, with its result after it.
// shortIDs gives each call an id of nine letters and digits, which is the same in each request.
// noBlanks leaves out empty texts beside calls, and says so in the place of others.
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
		out = append(out, tool{"function", function{view.ToolName(t.Name), h.description(t), h.schema(t)}})
	}
	return encode(out)
}

// withSystem puts the system prompt before the messages, or into the first one of the user.
// withCalls joins what the assistant says with the calls that follow, and makes objects of arguments that are none: some
// servers read all arguments, and refuse the request for good.
// merged returns an object with the members of another one.
// alternate makes messages of which, besides calls and their results, user and assistant alternate, and the user comes
// first: many chat templates insist on that (vllm-project/vllm#6862, microsoft/autogen#3597). What an anchor says goes
// into the message that follows. Some refuse a user's message right after a result (datapizza-labs/datapizza-ai#98).
// joinContent returns two contents as one: a text if both are.
// chatEvent adds a chunk of a chat completion, or a whole one.
func chatEvent(a *answer, data []byte) error {
	for _, path := range [][]string{{"usage"}, {"x_groq", "usage"}} {
		if usage := jsonl.Get(data, path...); hasMembers(usage) {
			a.addUsage(usage)
		}
	}
	for choice := range jsonl.Elements(jsonl.Get(data, "choices")) {
		if n := jsonl.Get(choice, "index"); len(n) > 0 && string(n) != "0" && string(n) != "null" {
			continue // only one was asked for
		}
		delta := jsonl.Get(choice, "delta")
		// Perplexity's chunks have a delta and all that came before; others have the whole message at the end.
		if message := jsonl.Get(choice, "message"); !hasMembers(delta) && hasMembers(message) && !a.saidAnything() {
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
		if usage := jsonl.Get(choice, "usage"); hasMembers(usage) { // Moonshot: earendil-works/pi#2017
			a.addUsage(usage)
		}
	}
	return nil
}

// hasMembers reports whether a value is an object, and not {}.
func hasMembers(raw []byte) bool { return len(raw) > 2 && raw[0] == '{' }

// saidAnything reports whether a part of the answer has come.
func (a *answer) saidAnything() bool {
	return a.text.Len()+a.reasoning.Len()+len(a.calls)+len(a.think.held) > 0
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
			if n, ok := number(path...); ok && n >= 0 {
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
		[]string{"input_tokens_details", "cached_tokens"}, []string{"prompt_cache_hit_tokens"}, []string{"cached_tokens"}, []string{"cache_read_input_tokens"})} // the third is DeepSeek's, then Moonshot's and LiteLLM's
	if written > 0 {
		a.usage["cache_write_input_tokens"] = written
	}
	if thought := first([]string{"completion_tokens_details", "reasoning_tokens"}, []string{"output_tokens_details", "reasoning_tokens"}); thought > 0 {
		a.usage["reasoning_output_tokens"] = thought
	}
	var cost float64 // OpenRouter's, in dollars: https://openrouter.ai/docs/use-cases/usage-accounting
	if raw := jsonl.Get(usage, "cost"); raw != nil && json.Unmarshal(raw, &cost) == nil && cost > 0 {
		a.usage["cost"] = cost
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
	said, thought := textOf(a.whole16(jsonl.Get(d, "content")))
	if err := a.addReasoning(thought); err != nil {
		return err
	}
	if err := a.addText(said); err != nil {
		return err
	}
	a.refusal.WriteString(jsonl.GetString(d, "refusal"))
	list := jsonl.Get(d, "tool_calls")
	if hasMembers(list) { // one call, and not in a list
		list = append(append([]byte("["), list...), ']')
	}
	for c := range jsonl.Elements(list) {
		a.listed = true
		if err := a.addPiece(chatPiece(c)); err != nil {
			return err
		}
	}
	if c := jsonl.Get(d, "function_call"); hasMembers(c) && !a.listed { // before there were tools
		return a.addPiece(chatPiece(encode(map[string]json.RawMessage{"index": json.RawMessage("0"), "function": c})))
	}
	return nil
}

// wholeCharacters returns an event in which no character is broken: the bytes of one that begins in an event and ends in
// the next are joined. (YoungCan-Wang/WyckoffTradingAgent#338)
func (a *answer) wholeCharacters(data []byte) []byte {
	var out []byte
	for len(data) > 0 {
		if r, n := utf8.DecodeRune(data); r != utf8.RuneError || n > 1 {
			out, data = append(out, data[:n]...), data[n:]
			continue
		}
		n := 1 // the bytes that are of no character
		for n < len(data) && data[n] >= utf8.RuneSelf && !utf8.RuneStart(data[n]) {
			n++
		}
		broken := append(a.bytes, data[:n]...)
		data, a.bytes = data[n:], nil
		switch {
		case utf8.Valid(broken):
			out = append(out, broken...)
		case utf8.RuneStart(broken[0]) && !utf8.FullRune(broken) && len(data) > 0 && data[0] == '"': // at the end of a text
			a.bytes = broken
		default:
			out = append(out, "\uFFFD"...)
		}
	}
	return out
}

// half16 finds the first half of a character of two UTF-16 units at the end of a JSON text (elie222/rakazo#416).
var half16 = regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}"$`)

// whole16 returns a JSON text without half a character at its end, which comes with the next piece.
func (a *answer) whole16(raw []byte) []byte {
	if len(raw) < 2 || raw[0] != '"' {
		return raw
	}
	if a.half != "" {
		raw = append([]byte(`"`+a.half), raw[1:]...)
		a.half = ""
	}
	if at := half16.FindIndex(raw); at != nil {
		a.half = string(raw[at[0] : len(raw)-1])
		raw = append(raw[:at[0]:at[0]], '"')
	}
	return raw
}

// chatPiece reads a piece of a call. Members that the API does not name are kept: thought signatures.
func chatPiece(c []byte) callPiece {
	p := callPiece{index: -1, id: jsonl.GetString(c, "id"), name: jsonl.GetString(c, "function", "name"), arguments: rawText(jsonl.Get(c, "function", "arguments"))}
	if jsonl.Get(c, "function") == nil { // some servers leave this level out
		p.name, p.arguments = jsonl.GetString(c, "name"), rawText(jsonl.Get(c, "arguments"))
	}
	var n int
	if raw := jsonl.Get(c, "index"); raw != nil && json.Unmarshal(raw, &n) == nil && string(raw) != "null" && n >= 0 {
		p.index = n
	}
	others := object{}
	inFunction := object{}
	for name, v := range jsonl.Fields(c) {
		switch name {
		case "index", "id", "type", "function", "name", "arguments":
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
