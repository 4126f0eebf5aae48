package hermes_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // as Hermes has it

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/hermes"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var sample = []string{
	`{"hermes":"session","subagent_of":"","id":"s1","source":"cli","model":"m","system_prompt":"be brief","started_at":1767225600.5,"cwd":"/w","git_branch":"main","title":"The door","input_tokens":10,"output_tokens":5,"cache_read_tokens":3,"estimated_cost_usd":0.25}`,
	`{"hermes":"message","id":1,"session_id":"s1","role":"user","content":"ask","timestamp":1767225601,"active":1}`,
	`{"hermes":"message","id":2,"session_id":"s1","role":"assistant","content":null,"reasoning":"hm","reasoning_content":"hm","tool_calls":[{"id":"t1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}],"timestamp":1767225602,"finish_reason":"tool_calls","active":1}`,
	`{"hermes":"message","id":3,"session_id":"s1","role":"tool","content":"a.go","tool_call_id":"t1","tool_name":"terminal","timestamp":1767225603,"active":1}`,
	`{"hermes":"message","id":4,"session_id":"s1","role":"user","content":"wrong","timestamp":1767225604,"active":0,"compacted":0}`,
	`{"hermes":"message","id":5,"session_id":"s1","role":"user","content":"\u0000json:[{\"type\":\"text\",\"text\":\"look\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"https://example.org/a.png\"}}]","timestamp":1767225605,"active":1}`,
	`{"hermes":"message","id":6,"session_id":"s1","role":"user","content":"all done","timestamp":1767225606,"_compressed_summary":1,"active":1}`,
	`{"hermes":"message","id":7,"session_id":"s1","role":"user","content":"ask","timestamp":1767225601,"active":1}`,
}

func FuzzHermes(f *testing.F) { imp.Fuzz(f, hermes.Format.Name, sample) }

func TestGrows(t *testing.T) { imp.Grows(t, hermes.Format.Name, sample[:7], 1) }

func TestHermes(t *testing.T) {
	items, _ := imp.Items(t, hermes.Format.Name, "x.jsonl", formattest.Lines(sample...), formattest.Seen{})
	formattest.Want(t, items,
		`system {"content":"be brief"}`,
		`message {"role":"user","content":"ask"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}}]}`,
		`tool_result {"results":["a.go"]}`,
		`message {"role":"user","content":"wrong"} hidden`,
		`message {"role":"user","content":[{"type":"text","text":"look"},{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}`,
		`anchor {"name":"compaction","state":{"summary":"all done"}}`,
		`event {"name":"run","data":{"model":"m","message_id":"s1","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":0,"reasoning_output_tokens":0},"cost":0.25}}`,
		`event {"name":"tape.title","data":{"title":"The door"}}`)
}

// TestDocument: older versions kept a session as one object, whose messages have no dates. One may be said twice.
func TestDocument(t *testing.T) {
	whole := `{"session_id":"s1","model":"m","session_start":"2026-01-01T00:00:00Z","last_updated":"2026-01-01T00:00:09Z","cwd":"/w","message_count":4,"messages":[{"role":"session_meta"},{"role":"user","content":"ask"},
{"role":"assistant","content":"so","reasoning":"hm","tool_calls":[{"id":"t1","call_id":"t1","type":"function","function":{"name":"shell","arguments":"{}"}}]},{"role":"tool","content":"a.go","tool_call_id":"t1"},{"role":"user","content":"ask"}]}`
	items, _ := imp.Items(t, hermes.Format.Name, "x.json", []byte(whole), formattest.Seen{})
	formattest.Want(t, items,
		`event {"name":"session_meta"}`,
		`message {"role":"user","content":"ask"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"so"}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"shell","arguments":"{}"}}]}`,
		`tool_result {"results":["a.go"]}`,
		`message {"role":"user","content":"ask"}`)
}

// TestDatabase: sessions come before their subagents. What follows a compaction is no subagent.
func TestDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT, model TEXT, model_config TEXT, parent_session_id TEXT, started_at REAL, ended_at REAL, end_reason TEXT, cwd TEXT, title TEXT);
		CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT, timestamp REAL);
		INSERT INTO sessions VALUES ('sub', 'tool', 'm', NULL, 'two', 1767225601, NULL, NULL, NULL, NULL), ('one', 'cli', 'm', NULL, NULL, 1767225600, 1767225700, 'compression', '/w', 'The door'),
			('two', 'cli', 'm', NULL, 'one', 1767225700, NULL, NULL, '/w', NULL), ('branch', 'cli', 'm', '{"_branched_from":"two"}', 'two', 1767225800, NULL, NULL, '/w', NULL);
		INSERT INTO messages VALUES (1, 'one', 'user', 'ask', NULL, 1767225600), (2, 'one', 'assistant', 'so', '[{"name":"ls","arguments":{"a":1}}]', 1767225601)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := importer.Sessions(t.Context(), &hermes.Format, path)
	var got []string
	for _, s := range list {
		got = append(got, s.ID+" "+s.Parent)
	}
	if want := []string{"one ", "two ", "branch ", "sub two"}; err != nil || len(got) != 4 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] || got[3] != want[3] {
		t.Errorf("%q, %v; want %q", got, err, want)
	}
	for id, state := range map[string]string{"one": `{"sessionId":"one","cwd":"/w","model":"m","source":"cli"}`, "two": `{"sessionId":"two","cwd":"/w","model":"m","source":"cli","follows":"one"}`,
		"branch": `{"sessionId":"branch","cwd":"/w","model":"m","source":"cli","forked_from":"two"}`} {
		info, err := importer.Identify(t.Context(), filepath.Join(path, id))
		if err != nil || info.Session != id || string(info.State) != state {
			t.Errorf("%+v (%s), %v", info, info.State, err)
		}
	}
	if info, err := importer.Identify(t.Context(), filepath.Join(path, "sub")); err != nil || info.Session != "two" || info.Agent != "agent-sub" {
		t.Errorf("%+v, %v", info, err)
	}
	src, closer, err := importer.OpenSource(filepath.Join(path, "one"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	if _, err := importer.Read(t.Context(), &hermes.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil || len(items) != 4 {
		t.Errorf("%s, %v", formattest.Show(items), err)
	}
}
