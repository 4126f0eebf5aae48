package acp_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/acp"
	"tape/internal/sessions/importer/formattest"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

// acpLines are lines as tape acp stores them: each begins with its sender.
func acpLines(ls ...string) []byte {
	for i, l := range ls {
		from, msg, _ := strings.Cut(l, " ")
		ls[i] = fmt.Sprintf(`{"at":"2026-05-01T10:00:%02dZ","from":%q,"acp":%s}`, i%60, from, msg)
	}
	return formattest.Lines(ls...)
}

func acpUpdate(fields string) string {
	return `agent {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s-1","update":{` + fields + `}}}`
}

func acpText(who, text string) string {
	return acpUpdate(fmt.Sprintf(`"sessionUpdate":"%s_chunk","content":{"type":"text","text":%q}`, who, text))
}

// acpTurn returns the messages of a turn, without the response to its prompt.
func acpTurn() []string {
	return []string{
		`client {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":"fix it"}]}}`,
		acpText("agent_thought", "hm"),
		acpText("agent_message", "I "), acpText("agent_message", "look."),
		acpUpdate(`"sessionUpdate":"tool_call","toolCallId":"t1","title":"Read a.go","kind":"read","status":"pending"`),
		acpUpdate(`"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"in_progress","rawInput":{"path":"a.go"}`),
		acpUpdate(`"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"package a"}}]`),
		acpUpdate(`"sessionUpdate":"tool_call","toolCallId":"t2","title":"rm","kind":"execute","status":"failed","rawInput":{"cmd":"rm x"},"rawOutput":{"code":1}`),
		acpText("agent_message", "Done."),
	}
}

func acpSession() []string {
	return append(append([]string{
		`client {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`,
		`agent {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"fixer","version":"2.0"}}}`,
		`client {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}`,
		`agent {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s-1","models":{"currentModelId":"m-1"}}}`,
	}, acpTurn()...),
		`agent {"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s-1","options":[]}}`,
		`client {"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}`,
		`agent {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`)
}

var acpEntries = []string{
	`event {"name":"initialize","data":{"params":{"protocolVersion":1},"result":{"protocolVersion":1,"agentInfo":{"name":"fixer","version":"2.0"}}}}`,
	`event {"name":"session/new","data":{"params":{"cwd":"/w","mcpServers":[]},"result":{"sessionId":"s-1","models":{"currentModelId":"m-1"}}}}`,
	`message {"role":"user","content":"fix it"}`,
	`event {"name":"thinking","data":{"thinking":"hm"}}`,
	`message {"role":"assistant","content":"I look."}`,
	`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.go\"}"}}]}`,
	`tool_result {"results":["package a"]}`,
	`event {"name":"tool.detail","data":{"call_id":"t1","kind":"read","title":"Read a.go"}}`,
	`tool_call {"calls":[{"id":"t2","type":"function","function":{"name":"execute","arguments":"{\"cmd\":\"rm x\"}"}}]}`,
	`tool_result {"results":[{"code":1}]}`,
	`event {"name":"tool.detail","data":{"call_id":"t2","kind":"execute","title":"rm"}}`,
	`message {"role":"assistant","content":"Done."}`,
	`event {"name":"session/request_permission","data":{"params":{"sessionId":"s-1","options":[]},"result":{"outcome":{"outcome":"cancelled"}}}}`,
	`event {"name":"run","data":{"model":"m-1","stop_reason":"end_turn"}}`,
}

func TestACP(t *testing.T) {
	b := acpLines(acpSession()...)
	items, stats := imp.Items(t, acp.Format.Name, "s-1.jsonl", b, formattest.Seen{})
	formattest.Want(t, items, acpEntries...)
	if stats.Damaged != 0 {
		t.Errorf("want no damaged lines: %+v", stats)
	}
	info, err := importer.Describe(context.Background(), &acp.Format, formattest.Source("x.jsonl", b))
	if err != nil || info.Session != "s-1" || string(info.State) != `{"agent":"fixer","agent_version":"2.0","cwd":"/w","model":"m-1"}` {
		t.Errorf("%+v %s, %v; want session s-1 with agent, cwd and model", info, info.State, err)
	}
	if f, ok := imp.Detect("x.jsonl", b); f != acp.Format.Name || !ok {
		t.Errorf("taken for %q, want %q", f, acp.Format.Name)
	}
}

// TestACPLoaded: an agent sends a loaded session again, and then goes on.
func TestACPLoaded(t *testing.T) {
	load := []string{`client {"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s-1","cwd":"/w"}}`}
	loaded := `agent {"jsonrpc":"2.0","id":1,"result":null}`
	again := append(append(load, acpText("user_message", "fix it")), acpTurn()[1:]...)
	rest := []string{
		`client {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s-1","prompt":[{"type":"text","text":"fix it"}]}}`,
		acpText("user_message", "fix it"), acpText("agent_message", "Done."),
		`agent {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}`,
	}
	whole := append(append(append(acpSession(), again...), loaded), rest...)
	items, _ := imp.Items(t, acp.Format.Name, "s-1.jsonl", acpLines(whole...), formattest.Seen{})
	more := []string{
		`event {"name":"session/load","data":{"params":{"sessionId":"s-1","cwd":"/w"},"result":null}}`,
		`message {"role":"user","content":"fix it"}`,
		`message {"role":"assistant","content":"Done."}`,
		`event {"name":"run","data":{"model":"m-1","stop_reason":"end_turn"}}`,
	}
	formattest.Want(t, items, append(acpEntries, more...)...)

	// A session that began elsewhere is known only from what is sent again.
	items, _ = imp.Items(t, acp.Format.Name, "s-1.jsonl", acpLines(append(again, loaded)...), formattest.Seen{})
	formattest.Want(t, items, append(acpEntries[2:12:12], more[0])...)
}

func FuzzACP(f *testing.F) {
	imp.Fuzz(f, acp.Format.Name, strings.Split(strings.TrimSpace(string(acpLines(acpSession()...))), "\n"))
}
