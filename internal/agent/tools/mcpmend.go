package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tape/internal/text/jsonl"
)

// mended returns a message of a server in the form that the protocol asks for, so that one odd tool, or one odd part of a
// result, does not cost the others: a tool whose members have other types keeps its name and its schema, a part of another
// kind becomes a text, an id that comes back as a text is a number again, and an answer that no client would know as one
// does not leave its call waiting.
// (kenn-io/msgvault#626, anthropics/claude-code#88049, modelcontextprotocol/python-sdk#192, modelcontextprotocol/python-sdk#1144)
func mended(message []byte) []byte {
	var m map[string]json.RawMessage
	if bytes.Contains(message, []byte(`"method"`)) && jsonl.Get(message, "method") != nil {
		return message
	}
	if err := json.Unmarshal(message, &m); err != nil {
		return brokenAnswer(message, err)
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
	if problem := m["error"]; m["id"] != nil && (len(problem) > 0 && string(problem) != "null" || m["result"] != nil) {
		if m["jsonrpc"] == nil {
			set(m, "jsonrpc", "2.0")
		}
		if len(problem) > 0 && string(problem) != "null" && json.Unmarshal(problem, new(jsonrpc.Error)) != nil {
			text, ok := jsonl.String(problem)
			if !ok {
				text = string(problem)
			}
			set(m, "error", jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text})
		}
	}
	var result map[string]json.RawMessage
	if len(m["result"]) > 0 && json.Unmarshal(m["result"], &result) != nil { // what is no object is content
		result = map[string]json.RawMessage{"content": m["result"]}
	}
	if result != nil {
		before := changed
		changed = false
		if content := bareContent(result); content != nil {
			set(result, "content", content)
		}
		if yes := result["isError"]; len(yes) > 0 && json.Unmarshal(yes, new(bool)) != nil {
			set(result, "isError", strings.EqualFold(string(yes), `"true"`))
		}
		if list := result["tools"]; len(list) > 0 && json.Unmarshal(list, new([]mcp.Tool)) != nil {
			set(result, "tools", mendedTools(list))
		}
		if content := result["content"]; len(content) > 0 && (changed || json.Unmarshal(m["result"], new(mcp.CallToolResult)) != nil) {
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

// bareContent returns the content of a result that has none of the protocol's members: that of the first version of the
// protocol, or the members themselves (cloudflare/mcp-server-cloudflare#12). It is nil for other results.
func bareContent(result map[string]json.RawMessage) json.RawMessage {
	if old := result["toolResult"]; result["content"] == nil && old != nil {
		if content := jsonl.Get(old, "content"); content != nil {
			return content
		}
		return old
	}
	for _, name := range []string{"content", "structuredContent", "tools", "nextCursor", "protocolVersion", "capabilities", "serverInfo", "resultType", "_meta", "isError"} {
		if result[name] != nil {
			return nil
		}
	}
	if len(result) == 0 {
		return nil
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return nil
	}
	return jsonl.AppendString(nil, string(raw))
}

// brokenAnswer returns an error in the place of an answer that is not JSON, such as one with NaN in it; other lines are
// returned as they are.
func brokenAnswer(line []byte, err error) []byte {
	text := bytes.TrimSpace(line)
	if strings.Contains(err.Error(), "unexpected end") { // it may go on in the next line
		return line
	}
	if len(text) == 0 || text[0] != '{' || text[len(text)-1] != '}' || !bytes.Contains(text, []byte(`"jsonrpc"`)) {
		return line
	}
	id := regexp.MustCompile(`"id" ?: ?"?(\d+)"?[,}]`).FindSubmatch(line)
	if id == nil {
		return line
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id[1], jsonrpc.CodeParseError, jsonl.AppendString(nil, "the server's answer is not JSON: "+err.Error()))
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
		switch kind := jsonl.GetString(el, "type"); {
		case kind == "image" || kind == "audio": // whose data nobody could read
			text = fmt.Sprintf("[%s, %s, not shown]", map[string]string{"image": "an image", "audio": "audio"}[kind], clip(jsonl.GetString(el, "mimeType"), 100))
		case !ok:
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
