package openhands_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/openhands"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var events = []string{
	`{"kind":"SystemPromptEvent","id":"e0000000","timestamp":"2026-01-01T00:00:00","source":"agent","system_prompt":{"type":"text","text":"be brief"},"tools":[{"name":"terminal"}]}`,
	`{"kind":"MessageEvent","id":"e0000001","timestamp":"2026-01-01T00:00:01","source":"user","llm_message":{"role":"user","content":[{"cache_prompt":false,"type":"text","text":"ask"},{"type":"image","image_urls":["https://example.org/a.png"]}]},"activated_skills":[]}`,
	`{"kind":"ActionEvent","id":"e0000002","timestamp":"2026-01-01T00:00:02","source":"agent","thought":[{"type":"text","text":"I look"}],"reasoning_content":"hm","thinking_blocks":[],"action":{"kind":"TerminalAction","command":"ls"},"tool_name":"terminal","tool_call_id":"t1","tool_call":{"id":"t1","name":"terminal","arguments":"{\"command\":\"ls\"}"},"llm_response_id":"r1"}`,
	`{"kind":"ObservationEvent","id":"e0000003","timestamp":"2026-01-01T00:00:03","source":"environment","tool_name":"terminal","tool_call_id":"t1","action_id":"e0000002","observation":{"kind":"TerminalObservation","content":[{"type":"text","text":"a.go"}],"is_error":false,"exit_code":7}}`,
	`{"kind":"ActionEvent","id":"e0000004","timestamp":"2026-01-01T00:00:04","thought":[],"tool_name":"edit","action":{"kind":"EditAction","path":"a.go"}}`,
	`{"kind":"UserRejectObservation","id":"e0000005","timestamp":"2026-01-01T00:00:05","action_id":"e0000004","rejection_reason":"no"}`,
	`{"kind":"MessageEvent","id":"e0000006","timestamp":"2026-01-01T00:00:06","source":"agent","llm_message":{"role":"assistant","content":[{"type":"text","text":"so"}]},"llm_response_id":"r2"}`,
	`{"kind":"Condensation","id":"e0000007","timestamp":"2026-01-01T00:00:07","source":"environment","forgotten_event_ids":["e0000001","e0000002","e0000003"],"summary":"all done","llm_response_id":"r3"}`,
	`{"kind":"ConversationStateUpdateEvent","id":"e0000008","timestamp":"2026-01-01T00:00:08","source":"environment","key":"execution_status","value":"finished"}`,
}

var want = []string{
	`system {"content":"be brief"}`,
	`event {"name":"system","data":{"tools":[{"name":"terminal"}]}}`,
	`message {"role":"user","content":[{"type":"text","text":"ask"},{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}`,
	`event {"name":"thinking","data":{"thinking":"hm"}}`,
	`message {"role":"assistant","content":"I look"}`,
	`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}]}`,
	`tool_result {"results":["a.go"]}`,
	`event {"name":"tool.detail","data":{"call_id":"t1","exit_code":7}}`,
	`tool_call {"calls":[{"id":"call-e0000004","type":"function","function":{"name":"edit","arguments":"{\"path\":\"a.go\"}"}}]}`,
	`tool_result {"results":["no"]}`,
	`message {"role":"assistant","content":"so"}`,
	`anchor {"name":"compaction","state":{"summary":"all done","kept":{"first":"e0000004"}}}`,
	`event {"name":"ConversationStateUpdateEvent","data":{"source":"environment","key":"execution_status","value":"finished"}}`,
}

func FuzzOpenHands(f *testing.F) { imp.Fuzz(f, openhands.Format.Name, events) }

func TestGrows(t *testing.T) { imp.Grows(t, openhands.Format.Name, events, 1) }

// TestExport: a list of events, also as a page of the interface.
func TestExport(t *testing.T) {
	list := "[" + strings.Join(events, ",\n") + "]"
	for _, text := range []string{list, `{"items":` + list + `,"next_page_id":null}`} {
		items, stats := imp.Items(t, openhands.Format.Name, "x.json", []byte(text), formattest.Seen{})
		if stats.Damaged != 0 {
			t.Errorf("%+v", stats)
		}
		formattest.Want(t, items, want...)
	}
	if got, _ := imp.Detect("x.json", []byte(list)); got != openhands.Format.Name {
		t.Errorf("taken for %q", got)
	}
}

// TestFolder: each event is a file, in the order of the numbers. The state has the tokens.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "conversations", "0123")
	if err := os.MkdirAll(filepath.Join(dir, "events"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"events/.eventlog.lock": "", "events/event-99999-0000000a.json": `{"kind":"Mess`, "TASKS.json": "[]",
		"base_state.json": `{"id":"c1","agent":{"llm":{"model":"m","usage_id":"agent"}},"workspace":{"working_dir":"/w"},"stats":{"usage_to_metrics":{"agent":{"model_name":"m","costs":[{"model":"m","cost":0.5,"timestamp":1767225602}],"token_usages":[{"model":"m","prompt_tokens":10,"completion_tokens":5,"cache_read_tokens":3,"cache_write_tokens":2,"reasoning_tokens":1,"response_id":"r1"}]}}}}`}
	for i, e := range events {
		files[fmt.Sprintf("events/event-%05d-e000000%d.json", i, i)] = e
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := importer.Files(t.Context(), dir); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v; want the state alone", files, err)
	}
	path := filepath.Join(dir, "base_state.json")
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Format != openhands.Format.Name || string(info.State) != `{"sessionId":"c1","cwd":"/w","model":"m"}` || info.Started != "2026-01-01T00:00:00.000000+00:00" {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	stats, err := importer.Read(t.Context(), &openhands.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	})
	if err != nil || stats.Damaged != 1 || !strings.Contains(stats.Problems[0].Msg, "event-99999-0000000a.json") {
		t.Errorf("%+v, %v; want a problem with the event that was cut off", stats, err)
	}
	formattest.Want(t, items, append(want,
		`event {"name":"run","data":{"model":"m","message_id":"r1","usage":{"input_tokens":5,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"reasoning_output_tokens":1},"cost":0.5}}`)...)
}

// TestBranch: what somebody went back behind stays, hidden (samzong/Recall#229).
func TestBranch(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "events"), 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"base_state.json": `{"id":"c1","agent":{"llm":{"model":"m"}},"workspace":"/w","leaf_event_id":"e0000003"}`}
	for i, parent := range []string{"", `,"parent_id":"e0000000"`, `,"parent_id":"e0000001"`, `,"parent_id":"e0000000"`} {
		files[fmt.Sprintf("events/event-%05d-e000000%d.json", i, i)] = fmt.Sprintf(`{"kind":"MessageEvent","id":"e000000%d","timestamp":"2026-01-01T00:00:0%d"%s,"source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"%d"}]}}`, i, i, parent, i)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src, closer, err := importer.OpenSource(filepath.Join(dir, "base_state.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	if _, err := importer.Read(t.Context(), &openhands.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	formattest.Want(t, items,
		`message {"role":"user","content":"0"}`,
		`message {"role":"user","content":"1"} hidden`,
		`message {"role":"user","content":"2"} hidden`,
		`message {"role":"user","content":"3"}`)
	info, err := importer.Identify(t.Context(), filepath.Join(dir, "base_state.json"))
	if err != nil || string(info.State) != `{"sessionId":"c1","cwd":"/w","model":"m"}` {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
}

// TestLateState: the state may be older than the last events, and its changes are events beside the branch, also between a
// call and its result (ConversationState in OpenHands/software-agent-sdk).
func TestLateState(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "events"), 0o700); err != nil {
		t.Fatal(err)
	}
	event := func(n int, parent, kind, rest string) string {
		return fmt.Sprintf(`{"kind":"%s","id":"e%d","parent_id":"%s","timestamp":"2026-01-01T00:00:0%d",%s}`, kind, n, parent, n, rest)
	}
	said := func(text string) string {
		return `"source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"` + text + `"}]}`
	}
	for i, text := range []string{
		event(0, "__root__", "MessageEvent", said("ask")),
		event(1, "e0", "MessageEvent", said("taken back")),
		event(2, "e0", "ActionEvent", `"source":"agent","tool_name":"run","tool_call_id":"t","tool_call":{"id":"t","name":"run","arguments":"{}"},"action":{"kind":"A"}`),
		event(3, "e2", "ConversationStateUpdateEvent", `"source":"environment","key":"execution_status","value":"running"`),
		event(4, "e2", "ObservationEvent", `"source":"environment","tool_name":"run","tool_call_id":"t","action_id":"e2","observation":{"kind":"O","content":[{"type":"text","text":"ok"}]}`),
		event(5, "e4", "MessageEvent", said("and")),
	} {
		if err := os.WriteFile(filepath.Join(dir, "events", fmt.Sprintf("event-%05d-e%d.json", i, i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "base_state.json"), []byte(`{"id":"c1","agent":{"llm":{"model":"m"}},"workspace":"/w","leaf_event_id":"e2"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	src, closer, err := importer.OpenSource(filepath.Join(dir, "base_state.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	if _, err := importer.Read(t.Context(), &openhands.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	formattest.Want(t, items,
		`message {"role":"user","content":"ask"}`,
		`message {"role":"user","content":"taken back"} hidden`,
		`tool_call {"calls":[{"id":"t","type":"function","function":{"name":"run","arguments":"{}"}}]}`,
		`event {"name":"ConversationStateUpdateEvent","data":{"source":"environment","key":"execution_status","value":"running"}}`,
		`tool_result {"results":["ok"]}`,
		`message {"role":"user","content":"and"}`)
}
