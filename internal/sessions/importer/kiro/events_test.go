package kiro_test

import (
	"path/filepath"
	"slices"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/kiro"
	"tape/internal/sessions/importer/record"
)

var events = []string{
	`{"id":"m0","timestamp":"2026-09-01T17:52:55.268Z","payload":{"type":"user","content":"list it","images":[],"documents":[]}}`,
	`{"id":"m1","timestamp":"2026-09-01T17:52:56.000Z","payload":{"type":"turn_start","executionId":"x"}}`,
	`{"id":"m2","timestamp":"2026-09-01T17:53:01.908Z","payload":{"type":"assistant","content":"hm","operationType":"Reasoning","executionId":"x"}}`,
	`{"id":"m3","timestamp":"2026-09-01T17:53:02.000Z","payload":{"type":"tool_call","toolCallId":"t1","toolName":"execute_bash","args":{"command":"ls"},"status":"pending","kind":"execute"}}`,
	`{"id":"m4","timestamp":"2026-09-01T17:53:02.500Z","payload":{"type":"tool_call","toolCallId":"t1","toolName":"execute_bash","args":{"command":"ls"},"status":"approved","kind":"execute"}}`,
	`{"id":"m5","timestamp":"2026-09-01T17:53:03.000Z","payload":{"type":"tool_result","toolCallId":"t1","content":"no","success":false}}`,
	`{"id":"m6","timestamp":"2026-09-01T17:53:04.000Z","payload":{"type":"tool_call","toolName":"read","args":{"path":"a"}}}`,
	`{"id":"m7","timestamp":"2026-09-01T17:53:05.000Z","payload":{"type":"tool_result","content":"package a","success":true}}`,
	`{"id":"m8","timestamp":"2026-09-01T17:53:06.000Z","payload":{"type":"assistant","content":"Done.","operationType":"Say","executionId":"x"}}`,
	`{"id":"m9","timestamp":"2026-09-01T17:53:07.000Z","payload":{"type":"usage_summary","executionId":"x","status":"success","promptTurnSummaries":[{"unit":"credit","usage":1.5}]}}`,
	`{"id":"m10","timestamp":"2026-09-01T17:53:08.000Z","payload":{"type":"assistant","content":"what was","operationType":"Summary"}}`,
}

func FuzzEvents(f *testing.F) { imp.Fuzz(f, kiro.Format.Name, events) }

// TestEvents: since version 1.0 of the editor a session is a folder with events (junhoyeo/tokscale#813).
func TestEvents(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".kiro", "sessions", "8e890988228762f5", "sess_"+id)
	path := filepath.Join(dir, "messages.jsonl")
	write(t, path, string(formattest.Lines(events...)))
	write(t, filepath.Join(dir, "session.json"), `{"schemaVersion":"1.0.0","dataModelVersion":1,"id":"sess_`+id+`","title":"A list","workspacePaths":["/w"],"createdAt":"2026-09-01T17:52:50Z","modelId":"m"}`)
	found, err := importer.Discover(t.Context(), &kiro.Format, "/w", func(name string) string { return map[string]string{"HOME": home}[name] })
	if err != nil || !slices.Equal(found, []string{path}) {
		t.Fatalf("found %q, %v", found, err)
	}
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Session != "sess_"+id || string(info.State) != `{"sessionId":"sess_`+id+`","model":"m","cwd":"/w"}` {
		t.Errorf("info: %+v (%s), %v", info, info.State, err)
	}
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	if _, err := importer.Read(t.Context(), &kiro.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	formattest.Want(t, items,
		`message {"role":"user","content":"list it"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"execute_bash","arguments":"{\"command\":\"ls\"}"}}]}`,
		`event {"name":"tool_call","data":{"toolCallId":"t1","toolName":"execute_bash","status":"approved","kind":"execute"}}`,
		`tool_result {"results":["no"]}`,
		`tool_call {"calls":[{"id":"call-m6","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}`,
		`tool_result {"results":["package a"]}`,
		`message {"role":"assistant","content":"Done."}`,
		`event {"name":"run","data":{"model":"m","status":"success","promptTurnSummaries":[{"unit":"credit","usage":1.5}]}}`,
		`anchor {"name":"compaction","state":{"summary":"what was"}}`,
		`event {"name":"tape.title","data":{"title":"A list"}}`)
}

// TestFoldersOfOthers: a folder of another program may have the name of a session's.
func TestFoldersOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sess_1")
	ours, other := filepath.Join(dir, "x", "messages.jsonl"), filepath.Join(dir, "x.jsonl")
	write(t, other, `{"role":"user","content":"ask"}`)
	if !importer.All().IsTranscript(other) {
		t.Errorf("%s is left out", other)
	}
	write(t, filepath.Join(dir, "messages.jsonl"), "")
	if importer.All().IsTranscript(other) || !importer.All().IsTranscript(ours) {
		t.Error("what is beside a session is not left out")
	}
}
