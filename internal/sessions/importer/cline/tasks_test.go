package cline_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/cline"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

const taskMessages = `[{"role":"user","content":[{"type":"text","text":"<task>\nfix it\n</task>"},{"type":"text","text":"<environment_details>\n# Current Working Directory (/w) Files\n</environment_details>"}],"ts":1789030800000},
{"role":"assistant","content":[{"type":"text","text":"I read."},{"type":"tool_use","id":"t1","name":"read_file","input":{"path":"a.go"}}],"ts":1789030801000},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"package a"}]}],"ts":1789030802000},
{"role":"user","content":"[read_file for 'b.go'] Result:\nnone","ts":1789030803000}]`

func FuzzTasks(f *testing.F) {
	imp.Fuzz(f, cline.Tasks.Name, strings.Split(strings.Trim(taskMessages, "[]"), ",\n"))
}

// TestTask: what the program puts around and beside a person's words is not theirs; tokens and cost are in the file beside
// (Kilo-Org/kilocode#11243). A task is named after its folder.
func TestTask(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "1789030800000")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"api_conversation_history.json": taskMessages,
		"task_metadata.json":            `{"model_usage":[{"model_id":"m"}]}`,
		"ui_messages.json":              `[{"ts":1789030800500,"type":"say","say":"api_req_started","text":"{\"request\":\"r\",\"tokensIn\":7,\"tokensOut\":5,\"cacheReads\":3,\"cost\":0.5}"},{"ts":1789030804000,"type":"say","say":"api_req_started","text":"{}"}]`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "api_conversation_history.json")
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Format != cline.Tasks.Name || info.Session != "1789030800000" || string(info.State) != `{"task":"1789030800000","cwd":"/w"}` {
		t.Errorf("info: %+v (%s), %v", info, info.State, err)
	}
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	if _, err := importer.Read(t.Context(), &cline.Tasks, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	formattest.Want(t, items,
		`message {"role":"user","content":"fix it"}`,
		`event {"name":"environment","data":{"environment":"\n# Current Working Directory (/w) Files\n","cwd":"/w"}}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":7,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":0},"cost":0.5}}`,
		`message {"role":"assistant","content":"I read."}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a.go\"}"}}]}`,
		`tool_result {"results":["package a"]}`,
		`event {"name":"tool.text","data":{"tool.text":"[read_file for 'b.go'] Result:\nnone"}}`)
}
