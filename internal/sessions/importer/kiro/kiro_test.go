package kiro_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/kiro"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

const id = "11111111-2222-4333-8444-555555555555"

var sample = []string{
	`{"version":"v1","kind":"Prompt","data":{"message_id":"p","content":[{"kind":"text","data":"list it"}],"meta":{"timestamp":1781220419}}}`,
	`{"version":"v1","kind":"AssistantMessage","data":{"message_id":"a","content":[{"kind":"thinking","data":{"text":"hm","signature":"s"}},{"kind":"text","data":"So."},{"kind":"toolUse","data":{"toolUseId":"t1","name":"read","input":{"path":"."}}},{"kind":"toolUse","data":{"toolUseId":"t2","name":"shell","input":{"command":"false"}}}]}}`,
	`{"version":"v1","kind":"ToolResults","data":{"message_id":"r","content":[{"kind":"toolResult","data":{"toolUseId":"t1","content":[{"kind":"text","data":"a.go"}],"status":"success"}},{"kind":"toolResult","data":{"toolUseId":"t2","content":[{"kind":"json","data":{"exit":1}}],"status":"error"}}],"results":{"t1":{"lines":7}}}}`,
	`{"version":"v1","kind":"AssistantMessage","data":{"message_id":"b","content":[{"kind":"text","data":"Done."}]}}`,
}

func FuzzKiro(f *testing.F) { imp.Fuzz(f, kiro.Format.Name, sample) }

func TestGrows(t *testing.T) { imp.Grows(t, kiro.Format.Name, sample, 1) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	b := make([]byte, src.Size)
	if _, err := src.R.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPlaces: sessions of the command line are found as lines, and in the database if there are no lines; those of the
// editor are objects.
func TestPlaces(t *testing.T) {
	home := t.TempDir()
	lines := filepath.Join(home, ".kiro", "sessions", "cli", id+".jsonl")
	write(t, lines, string(formattest.Lines(sample...)))
	write(t, filepath.Join(home, ".kiro", "sessions", "cli", id+".json"), `{"session_id":"`+id+`","cwd":"/w","created_at":"2026-06-11T23:26:46Z","title":"A list","parent_session_id":null,"session_state":{"rts_model_state":{"model_info":{"model_id":"m"}},
		"conversation_metadata":{"user_turn_metadatas":[{"message_ids":["p","b"],"input_token_count":0,"output_token_count":3,"metering_usage":[{"value":0.5,"unit":"credit"}],"end_timestamp":1781220500}]}}}`)
	path := filepath.Join(home, ".local", "share", "kiro-cli", "data.sqlite3")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{
		`CREATE TABLE conversations(key TEXT, value TEXT)`, `CREATE TABLE conversations_v2(key TEXT, conversation_id TEXT, value TEXT, created_at INTEGER, updated_at INTEGER)`,
		`INSERT INTO conversations_v2 VALUES('/w','` + id + `','{"history":[]}',1,2),
			('/w','c-1','{"model_info":{"model_id":"m"},"latest_summary":["what was",{}],"history":[{"user":{"additional_context":"more","content":{"Prompt":{"prompt":"see"}},"timestamp":"2026-05-17T10:00:00Z"},"assistant":{"ToolUse":{"message_id":"a1","content":"So.","tool_uses":[{"id":"t","name":"sh","args":{"x":1}}]}},"request_metadata":{"model_id":"n","stream_end_timestamp_ms":1779012010000}}]}',1779012000000,1779012030000)`,
		`INSERT INTO conversations VALUES('/w','{"conversation_id":"c-0","history":[[{"content":{"Prompt":{"prompt":"old"}}},{"ToolUse":{"content":"","tool_uses":[{"id":"t","name":"ls","args":{}}]}}],[{"content":{"ToolUseResults":{"tool_use_results":[{"tool_use_id":"t","content":[{"Text":"a.go"},{"Json":{"n":1}}],"status":"Error"}]}}},{"Response":{"content":"Done."}}]]}'), ('/x','not JSON')`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	session := filepath.Join(home, ".config", "Kiro", "User", "globalStorage", "kiro.kiroagent", "workspace-sessions", "x", "s-1.json")
	write(t, filepath.Join(filepath.Dir(session), "sessions.json"), `[{"sessionId":"s-1"}]`)
	write(t, session, "{\n"+`"sessionId":"s-1","title":"In the editor","workspaceDirectory":"/w","history":[{"message":{"role":"user","content":[{"type":"text","text":"ask"}],"id":"m1"}},{"message":{"role":"assistant","content":"On it.","id":"m2"},"promptLogs":[{"completion":"All of it."}],"executionId":"e"}]}`)
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	found, err := importer.Discover(t.Context(), &kiro.Format, "/w", getenv)
	if want := []string{filepath.Join(path, "c-1"), filepath.Join(path, "c-0"), lines, session}; err != nil || !slices.Equal(found, want) {
		t.Fatalf("found %q, %v; want %q", found, err, want)
	}
	for name, want := range map[string][]string{
		lines: {`message {"role":"user","content":"list it"}`, `event {"name":"thinking","data":{"thinking":"hm"}}`, `message {"role":"assistant","content":"So."}`,
			`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"read","arguments":"{\"path\":\".\"}"}},{"id":"t2","type":"function","function":{"name":"shell","arguments":"{\"command\":\"false\"}"}}]}`,
			`tool_result {"results":["a.go","{\"exit\":1}"]}`, `event {"name":"tool.detail","data":{"call_id":"t1","detail":{"lines":7}}}`, `message {"role":"assistant","content":"Done."}`,
			`event {"name":"run","data":{"model":"m","usage":{"output_tokens":3},"metering_usage":[{"value":0.5,"unit":"credit"}],"end_timestamp":1781220500}}`, `event {"name":"tape.title","data":{"title":"A list"}}`},
		found[0]: {`anchor {"name":"compaction","state":{"summary":"what was"}}`, `message {"role":"user","content":"see"}`, `event {"name":"context","data":{"additional_context":"more"}}`, `message {"role":"assistant","content":"So."}`,
			`tool_call {"calls":[{"id":"t","type":"function","function":{"name":"sh","arguments":"{\"x\":1}"}}]}`, `event {"name":"run","data":{"model":"n","stream_end_timestamp_ms":1779012010000}}`},
		found[1]: {`message {"role":"user","content":"old"}`, `tool_call {"calls":[{"id":"t","type":"function","function":{"name":"ls","arguments":"{}"}}]}`,
			`tool_result {"results":["a.go\n{\"n\":1}"]}`, `message {"role":"assistant","content":"Done."}`},
		session: {`message {"role":"user","content":"ask"}`, `message {"role":"assistant","content":"On it."}`, `message {"role":"assistant","content":"All of it."}`,
			`event {"name":"context","data":{"executionId":"e"}}`, `event {"name":"tape.title","data":{"title":"In the editor"}}`},
	} {
		b, seen := read(t, name), formattest.Seen{}
		items, _ := imp.Items(t, kiro.Format.Name, name, b, seen)
		formattest.Want(t, items, want...)
		if again, _ := imp.Items(t, kiro.Format.Name, name, b, seen); len(again) > 0 {
			t.Errorf("read again, want no entries: %s", formattest.Show(again))
		}
		if got, _ := imp.Detect("x", b); got != kiro.Format.Name {
			t.Errorf("%s is taken for %q", name, got)
		}
	}
	if info, err := importer.Identify(t.Context(), lines); err != nil || info.Session != id || string(info.State) != `{"sessionId":"`+id+`","model":"m","cwd":"/w"}` {
		t.Errorf("the session is %+v (%s), %v", info, info.State, err)
	}
}

// TestChat: instructions in an earlier version's file are no messages of a person.
func TestChat(t *testing.T) {
	chat := `{"executionId":"e-1","chat":[{"role":"human","content":"<identity>be Kiro</identity>"},{"role":"human","content":"<kiro-ide-message>plan it</kiro-ide-message>"},{"role":"bot","content":"Here."},{"role":"tool","content":"done"}],"metadata":{"modelId":"m","startTime":1752000000000}}`
	if got, _ := imp.Detect("x.chat", []byte(chat)); got != kiro.Chat.Name {
		t.Errorf("it is taken for %q", got)
	}
	items, _ := imp.Items(t, kiro.Chat.Name, "x.chat", []byte(chat), formattest.Seen{})
	formattest.Want(t, items, `event {"name":"human","data":{"content":"<identity>be Kiro</identity>"}}`, `message {"role":"user","content":"plan it"}`, `message {"role":"assistant","content":"Here."}`,
		`event {"name":"tool","data":{"content":"done"}}`, `event {"name":"execution","data":{"executionId":"e-1","metadata":{"modelId":"m","startTime":1752000000000}}}`)
}

// A file of JSON is left out beside its transcript only: other agents may have such a folder, too.
func TestIsNote(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sessions", "cli")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "1.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"1.json": true, "1.jsonl": false, "2.json": false} {
		if got := kiro.Format.Files.IsNote(filepath.ToSlash(filepath.Join(dir, name)), name); got != want {
			t.Errorf("IsNote(%s) is %v", name, got)
		}
	}
}
