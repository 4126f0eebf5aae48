package claudecode_test

import (
	"fmt"
	"testing"

	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/formattest"
)

// TestServerCalls: what the model's service runs itself, an advisor or a search of the web, is a call with its result, both
// blocks of the answer (thedotmack/claude-mem#3165, agentclientprotocol/claude-agent-acp#914, daymade/claude-code-skills#472).
// Before, neither counted as a call, and no word of a result was text.
func TestServerCalls(t *testing.T) {
	blocks := []string{
		`{"type":"text","text":"I ask."}`,
		`{"type":"server_tool_use","id":"srvtoolu_1","name":"advisor","input":{}}`,
		`{"type":"advisor_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"advisor_result","text":"Schema first."}}`,
		`{"type":"text","text":"So I do."}`,
		`{"type":"server_tool_use","id":"srvtoolu_2","name":"web_search","input":{"query":"x"}}`,
		`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_2","content":[{"type":"web_search_result","title":"X","url":"https://x","encrypted_content":"AA"}]}`,
		`{"type":"server_tool_use","id":"srvtoolu_3","name":"web_fetch","input":{"url":"y"}}`,
		`{"type":"web_fetch_tool_result","tool_use_id":"srvtoolu_3","content":{"type":"web_fetch_tool_result_error","error_code":"url_not_accessible"}}`,
		callBlock("c1"),
	}
	ls := []string{formattest.ClaudeUser("u1", "", `"hi"`)}
	before := "u1"
	for i, b := range blocks {
		uuid := fmt.Sprint("a", i)
		ls = append(ls, formattest.ClaudeAnswer(uuid, before, "m1", b))
		before = uuid
	}
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(ls...), formattest.Seen{})
	said := func(text string) string { return `message {"role":"assistant","content":"` + text + `"}` }
	called := func(id, name, input string) string {
		return `tool_call {"calls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":"` + input + `"}}]}`
	}
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`,
		said("I ask."), called("srvtoolu_1", "advisor", "{}"), `tool_result {"results":["Schema first."]}`,
		said("So I do."), called("srvtoolu_2", "web_search", `{\"query\":\"x\"}`), `tool_result {"results":["X https://x"]}`,
		`event {"name":"tool.detail","data":{"call_id":"srvtoolu_2","content":[{"type":"web_search_result","title":"X","url":"https://x","encrypted_content":"AA"}]}}`,
		called("srvtoolu_3", "web_fetch", `{\"url\":\"y\"}`), `tool_result {"results":["url_not_accessible"]}`,
		callEntry("c1"),
		`event {"name":"run","data":{"model":"m","usage":{"output_tokens":2},"message_id":"m1","request_id":"q"}}`,
	)
	imp.Grows(t, claudecode.Format.Name, ls, 1)
}
