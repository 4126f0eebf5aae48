package copilot_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/copilot"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

const (
	first = `{"requestId":"r1","timestamp":1789030800000,"modelId":"copilot/gpt-5","message":{"text":"fix it","parts":[]},"response":[{"value":"Let me see."}],
"result":{"metadata":{"toolCallRounds":[{"response":"I look.","thinking":{"text":"hm"},"toolCalls":[{"id":"t1","name":"read_file","arguments":"{\"path\":\"a.go\"}"}]},{"response":"Done.","toolCalls":[]}],"toolCallResults":{"t1":{"content":[{"value":"package a"}]}}}}}`
	second = `{"requestId":"r2","timestamp":1789030801000,"message":{"text":"thanks"},"response":[{"value":"You are "},{"value":"welcome."},{"kind":"toolInvocationSerialized","toolCallId":"t2","toolId":"run","invocationMessage":{"value":"ran"},"pastTenseMessage":"ok","toolSpecificData":{"command":"ls"}}],"result":{}}`
	whole  = `{"version":3,"responderUsername":"GitHub Copilot","sessionId":"s-1","creationDate":1789030800000,"customTitle":"A fix","requests":[` + first + "," + second + `]}`
)

// TestVSCode: a session is one object, or a log of changes of it, and gives the same entries.
func TestVSCode(t *testing.T) {
	one := `{"version":3,"responderUsername":"GitHub Copilot","sessionId":"s-1","creationDate":1789030800000,"requests":[]}`
	log := formattest.Lines(`{"kind":0,"v":`+one+`}`, `{"kind":2,"k":["requests"],"v":[{"requestId":"gone"},{"requestId":"too"}]}`, `{"kind":2,"k":["requests"],"i":0,"v":[{"requestId":"r1","timestamp":1789030800000,"modelId":"copilot/gpt-5","message":{"text":"fix it","parts":[]}}]}`,
		`{"kind":1,"k":["requests",0,"response"],"v":[{"value":"Let me see."}]}`, `{"kind":1,"k":["customTitle"],"v":"A fix"}`, `{"kind":1,"k":["x"],"v":1}`, `{"kind":3,"k":["x"]}`,
		`{"kind":1,"k":["requests",0,"result"],"v":{"metadata":{"toolCallRounds":[{"response":"I look.","thinking":{"text":"hm"},"toolCalls":[{"id":"t1","name":"read_file","arguments":"{\"path\":\"a.go\"}"}]},{"response":"Done.","toolCalls":[]}],"toolCallResults":{"t1":{"content":[{"value":"package a"}]}}}}}`,
		`{"kind":2,"k":["requests"],"v":[`+second+`]}`)
	for name, b := range map[string][]byte{"s-1.json": []byte(whole), "s-1.jsonl": log} {
		if got, _ := imp.Detect(name, b); got != copilot.VSCode.Name {
			t.Errorf("%s is taken for %q", name, got)
		}
		items, _ := imp.Items(t, copilot.VSCode.Name, name, b, formattest.Seen{})
		formattest.Want(t, items,
			`message {"role":"user","content":"fix it"}`,
			`event {"name":"thinking","data":{"thinking":"hm"}}`,
			`message {"role":"assistant","content":"I look."}`,
			`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}}]}`,
			`tool_result {"results":["package a"]}`,
			`message {"role":"assistant","content":"Done."}`,
			`event {"name":"run","data":{"model":"copilot/gpt-5"}}`,
			`message {"role":"user","content":"thanks"}`,
			`message {"role":"assistant","content":"You are welcome."}`,
			`tool_call {"calls":[{"id":"t2","type":"function","function":{"name":"run","arguments":"{\"message\":\"ran\",\"command\":\"ls\"}"}}]}`,
			`tool_result {"results":["ok"]}`,
			`event {"name":"run"}`,
			`event {"name":"tape.title","data":{"title":"A fix"}}`)
	}
}

// TestPlace: the directory is in a file beside the folder of the session.
func TestPlace(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "Code", "User", "workspaceStorage", "abc")
	for name, text := range map[string]string{"workspace.json": `{"folder":"file:///w%20x"}`, "chatSessions/s-1.json": whole, "chatSessions/cut.json": whole[:200], "state.json": "{}"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := importer.Discover(t.Context(), &copilot.VSCode, "/w x", func(name string) string { return map[string]string{"HOME": home}[name] })
	if err != nil || len(found) == 0 {
		t.Fatalf("found %q, %v", found, err)
	}
	info, err := importer.Identify(t.Context(), filepath.Join(dir, "chatSessions", "s-1.json"))
	if err != nil || info.Session != "s-1" || string(info.State) != `{"sessionId":"s-1","cwd":"/w x"}` {
		t.Errorf("info: %+v (%s), %v", info, info.State, err)
	}
	src := formattest.Source("cut.json", []byte(whole[:200]))
	if _, err := importer.Read(t.Context(), &copilot.VSCode, src, func(string, string) bool { return false }, func(record.Item) error { return nil }); err != nil {
		t.Errorf("a cut file: %v", err)
	}
}

// TestNoBeginning: a log may lack the object that it changes (microsoft/vscode#317478).
func TestNoBeginning(t *testing.T) {
	items, _ := imp.Items(t, copilot.VSCode.Name, "x.jsonl", formattest.Lines(`{"kind":1,"k":["hasPendingEdits"],"v":true}`,
		`{"kind":2,"k":["requests"],"v":[{"requestId":"r","message":{"text":"ask","parts":[]},"response":[{"value":"so"}],"result":{"metadata":{}},"timestamp":1767225601000}]}`), formattest.Seen{})
	if got := formattest.Show(items); !strings.Contains(got, `"content":"ask"`) || !strings.Contains(got, `"content":"so"`) {
		t.Errorf("got %s", got)
	}
}
