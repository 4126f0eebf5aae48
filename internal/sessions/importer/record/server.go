package record

import (
	"strings"

	"tape/internal/text/jsonl"
)

// IsServerCall reports whether a block of an answer is a call that the model's service itself has run, as it does an
// advisor, a search of the web and code (thedotmack/claude-mem#3165, agentclientprotocol/claude-agent-acp#914).
func IsServerCall(typ string) bool { return typ == "server_tool_use" || typ == "mcp_tool_use" }

// ServerResult returns the result of such a call, which is a block of the same answer, and what the service says about it
// besides its text, an object or nil. ok is false for other blocks.
func ServerResult(typ string, block []byte) (r Result, detail []byte, ok bool) {
	id := jsonl.GetString(block, "tool_use_id")
	if id == "" || !strings.HasSuffix(typ, "_tool_result") {
		return r, nil, false
	}
	content := Or(jsonl.Get(block, "content"), "null")
	code := jsonl.GetString(content, "error_code")
	r = Result{ID: id, Failed: code != "" || string(jsonl.Get(block, "is_error")) == "true"}
	text, all := Plain(content)
	if !all {
		text = Quote(serverText(content, code))
		if !jsonl.IsObject(content) || !NewObject(64).Rest(content, "type", "text", "error_code").Empty() {
			detail = NewObject(len(content)).Raw("content", content).Done()
		}
	}
	r.Content = text
	return r, detail, true
}

// serverText returns what a person reads of a service's result.
func serverText(content []byte, code string) string {
	var lines []string
	switch {
	case code != "":
		return code
	case jsonl.IsObject(content):
		for _, name := range []string{"text", "stdout", "stderr", "url"} {
			if text := jsonl.GetString(content, name); text != "" {
				lines = append(lines, text)
			}
		}
		if text := jsonl.GetString(content, "content", "source", "data"); text != "" && jsonl.GetString(content, "content", "source", "type") == "text" {
			lines = append(lines, text) // of a page of the web
		}
	default:
		for hit := range jsonl.Elements(content) {
			lines = append(lines, strings.TrimSpace(jsonl.GetString(hit, "title")+" "+jsonl.GetString(hit, "url")+jsonl.GetString(hit, "text")))
		}
	}
	return strings.Join(lines, "\n")
}
