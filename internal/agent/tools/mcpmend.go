package tools

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/text/jsonl"
)

// mended returns a message of a server in the form that the protocol asks for, so that one odd tool, or one odd part of a
// result, does not cost the others: a tool whose members have other types keeps its name and its schema, a part of another
// kind becomes a text, and an id that comes back as a text is a number again.
// (kenn-io/msgvault#626, anthropics/claude-code#88049, modelcontextprotocol/python-sdk#192)
func mended(message []byte) []byte {
	var m map[string]json.RawMessage
	if bytes.Contains(message, []byte(`"method"`)) && jsonl.Get(message, "method") != nil || json.Unmarshal(message, &m) != nil {
		return message
	}
	changed := false
	set := func(in map[string]json.RawMessage, name string, v any) {
		if raw, err := json.Marshal(v); err == nil {
			in[name], changed = raw, true
		}
	}
	if id, ok := jsonl.String(m["id"]); ok {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil {
			set(m, "id", n)
		}
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(m["result"], &result) == nil && result != nil {
		before := changed
		changed = false
		if list := result["tools"]; len(list) > 0 && json.Unmarshal(list, new([]mcp.Tool)) != nil {
			set(result, "tools", mendedTools(list))
		}
		if content := result["content"]; len(content) > 0 && json.Unmarshal(m["result"], new(mcp.CallToolResult)) != nil {
			set(result, "content", mendedContent(content))
		}
		if changed {
			set(m, "result", result)
		}
		changed = changed || before
	}
	if !changed {
		return message
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return message
	}
	return raw
}

// mendedTools returns the tools that have a name.
func mendedTools(list json.RawMessage) []json.RawMessage {
	out := []json.RawMessage{}
	for el := range jsonl.Elements(list) {
		if json.Unmarshal(el, new(mcp.Tool)) == nil {
			out = append(out, el)
			continue
		}
		tool := map[string]any{"name": jsonl.GetString(el, "name"), "description": jsonl.GetString(el, "description"), "inputSchema": json.RawMessage(`{}`)}
		if schema := jsonl.Get(el, "inputSchema"); jsonl.IsObject(schema) {
			tool["inputSchema"] = json.RawMessage(schema)
		}
		if raw, err := json.Marshal(tool); err == nil && tool["name"] != "" {
			out = append(out, raw)
		}
	}
	return out
}

// mendedContent returns a result's content as a list, with a text in the place of each part that is none of the protocol.
func mendedContent(content json.RawMessage) []json.RawMessage {
	if content[0] != '[' {
		content = append(append(json.RawMessage("["), content...), ']')
	}
	out := []json.RawMessage{}
	for el := range jsonl.Elements(content) {
		whole := append(append([]byte(`{"content":[`), el...), "]}"...)
		if json.Unmarshal(whole, new(mcp.CallToolResult)) == nil {
			out = append(out, el)
			continue
		}
		text, ok := jsonl.String(el)
		if !ok {
			text = string(el)
		}
		if raw, err := json.Marshal(map[string]string{"type": "text", "text": text}); err == nil {
			out = append(out, raw)
		}
	}
	return out
}

// mendedEvents mends the messages in a stream of server-sent events.
type mendedEvents struct{ messageLines }

func (m *mendedEvents) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if len(line) == 0 && err != nil {
			return 0, err
		}
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			line = append(append([]byte("data: "), mended(bytes.TrimSpace(data))...), '\n')
		}
		m.rest = line
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}
