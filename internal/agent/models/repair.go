package models

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"tape/internal/text/jsonl"
)

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

func oneCall(list []message) (out []message) {
	for i := 0; i < len(list); i++ {
		calls := list[i].calls()
		if len(calls) < 2 {
			out = append(out, list[i])
			continue
		}
		end := i + 1
		for end < len(list) && list[end].role() == "tool" {
			end++
		}
		for n, c := range calls {
			m := list[i]
			if n > 0 {
				m = textMessage("assistant", "")
			}
			m.set("tool_calls", encode([]json.RawMessage{c}))
			out = append(out, m)
			for _, result := range list[i+1 : end] {
				if id, _ := jsonl.String(result.m["tool_call_id"]); id == jsonl.GetString(c, "id") {
					out = append(out, result)
				}
			}
		}
		i = end - 1
	}
	return out
}

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

// uniqueIDs changes ids of calls that have come before: servers of local models begin to count again in each answer.
func uniqueIDs(list []message) {
	const longest = 36 // OpenAI takes 40
	times, now := map[string]int{}, map[string]string{}
	for i := range list {
		calls := list[i].calls()
		for n, c := range calls {
			id := jsonl.GetString(c, "id")
			now[id] = id
			if times[id]++; times[id] > 1 {
				now[id] = fmt.Sprintf("%s_%d", id[:min(len(id), longest)], times[id])
				calls[n] = merged(c, encode(object{"id": quoted(now[id])}))
				list[i].set("tool_calls", encode(calls))
			}
		}
		if id, ok := jsonl.String(list[i].m["tool_call_id"]); ok && now[id] != "" && now[id] != id {
			list[i].set("tool_call_id", quoted(now[id]))
		}
	}
}

func noBlanks(list []message) {
	for i := range list {
		text, plain := list[i].text()
		if content := list[i].m["content"]; !plain && len(content) > 0 && content[0] == '[' {
			list[i].set("content", fullParts(content))
		}
		switch {
		case !plain || strings.TrimSpace(text) != "":
		case len(list[i].calls()) > 0:
			list[i].set("content", json.RawMessage("null"))
		default:
			list[i].set("content", quoted("(nothing)"))
		}
	}
}

// fullParts returns a content without the texts in it that are blank.
func fullParts(content json.RawMessage) json.RawMessage {
	out := []json.RawMessage{}
	for part := range jsonl.Elements(content) {
		if jsonl.GetString(part, "type") != "text" || strings.TrimSpace(jsonl.GetString(part, "text")) != "" {
			out = append(out, part)
		}
	}
	if len(out) == 0 {
		return quoted("(nothing)")
	}
	return encode(out)
}

// texts makes a text of each content that is a list without pictures, or nothing.
func texts(list []message) {
	for i := range list {
		content := list[i].m["content"]
		said, _ := textOf(content)
		switch {
		case len(content) > 0 && content[0] == '[' && !hasPicture(content):
			list[i].set("content", quoted(said))
		case said == "" && list[i].m != nil && (len(content) == 0 || content[0] != '['):
			list[i].set("content", quoted("(nothing)"))
		}
	}
}

func hasPicture(content []byte) bool {
	for part := range jsonl.Elements(content) {
		if isPicture(part) {
			return true
		}
	}
	return false
}

// namedResults gives each result the name of its tool.
func namedResults(list []message) {
	names := map[string]string{}
	for i, m := range list {
		for _, c := range m.calls() {
			names[jsonl.GetString(c, "id")] = jsonl.GetString(c, "function", "name")
		}
		if id, ok := jsonl.String(m.m["tool_call_id"]); ok && names[id] != "" {
			list[i].set("name", quoted(names[id]))
		}
	}
}

// told makes texts of calls and their results, for a server that knows neither.
func told(list []message) {
	for i, m := range list {
		said, _ := textOf(m.m["content"])
		for _, c := range m.calls() {
			said += "\n[called " + jsonl.GetString(c, "function", "name") + " with " + jsonl.GetString(c, "function", "arguments") + "]"
		}
		switch {
		case m.role() == "tool":
			list[i] = textMessage("user", "[result] "+said)
		case len(m.calls()) > 0:
			list[i] = textMessage("assistant", strings.TrimSpace(said))
		}
	}
}

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
