package goose_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/goose"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var sample = []string{
	`{"working_dir":"/w","description":"two things","message_count":3,"total_tokens":9,"accumulated_total_tokens":12,"accumulated_input_tokens":10,"accumulated_output_tokens":2}`,
	`{"role":"user","created":1750000000,"content":[{"type":"text","text":"list it"}]}`,
	`{"role":"assistant","created":1750000001,"content":[{"type":"text","text":"So."},{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"ls"}}}}]}`,
	`{"role":"user","created":1750000002,"content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":[{"type":"text","text":"a.go"}]}}]}`,
	`{"role":"assistant","created":1750000003,"content":[{"type":"toolRequest","id":"c2","toolCall":{"status":"error","error":"-32602: no such tool"}}]}`,
}

func FuzzGoose(f *testing.F) { imp.Fuzz(f, goose.Format.Name, sample) }

// TestLines: a file of an older version.
func TestLines(t *testing.T) {
	const name = "20250615_170640.jsonl"
	if got, _ := imp.Detect(name, formattest.Lines(sample...)); got != goose.Format.Name {
		t.Errorf("the file is taken for %q", got)
	}
	items, _ := imp.Items(t, goose.Format.Name, name, formattest.Lines(sample...), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"list it"}`,
		`message {"role":"assistant","content":"So."}`,
		`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"developer__shell","arguments":"{\"command\":\"ls\"}"}}]}`,
		`tool_result {"results":["a.go"]}`,
		`event {"name":"part.toolRequest","data":{"id":"c2","toolCall":{"status":"error","error":"-32602: no such tool"}}}`,
		`event {"name":"run","data":{"message_id":"20250615_170640","usage":{"input_tokens":10,"output_tokens":2,"total_tokens":12}}}`,
		`event {"name":"tape.title","data":{"title":"two things"}}`)
}

// TestExport: an export is one object with the same messages, whose tokens may be with them.
func TestExport(t *testing.T) {
	export := `{"id":"20260715_1","working_dir":"/w","name":"CLI Session","session_type":"user","extension_data":{},"created_at":"2026-07-15T09:00:00Z","conversation":[
{"id":"m1","role":"assistant","created":1784106012,"content":[{"type":"text","text":"Hi."}],"metadata":{"userVisible":true,"agentVisible":true,"inference":{"resolvedModel":"m"},"usage":{"inputTokens":5,"outputTokens":1,"cost":0.5}}}]}`
	if got, _ := imp.Detect("x.json", []byte(export)); got != goose.Format.Name {
		t.Errorf("an export is taken for %q", got)
	}
	items, _ := imp.Items(t, goose.Format.Name, "x.json", []byte(export), formattest.Seen{})
	formattest.Want(t, items, `event {"name":"session","data":{"session_type":"user"}}`, `message {"role":"assistant","content":"Hi."}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":5,"output_tokens":1},"cost":0.5}}`)
}

// database makes a database: a session with a compaction, and one of a subagent. Sessions without messages, and those
// that were not to be kept, are not listed.
func database(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, q := range []string{
		`CREATE TABLE schema_version(version integer)`,
		`CREATE TABLE sessions(id text, name text, session_type text, working_dir text, created_at text, updated_at text, extension_data text, provider_name text, model_config_json text, parent_session_id text)`,
		`CREATE TABLE messages(id integer primary key, message_id text, session_id text, role text, content_json text, created_timestamp integer, metadata_json text)`,
		`CREATE TABLE usage_ledger(id integer primary key, session_id text, created_timestamp integer, model text, input_tokens integer, output_tokens integer, cache_read_tokens integer, cost real, is_compaction integer)`,
		`INSERT INTO sessions VALUES('20260715_2','Side','sub_agent','/w','2026-07-15 09:00:09','2026-07-15 09:00:09','{}',NULL,NULL,'20260715_1'),
			('20260715_1','A fix','user','/w','2026-07-15 09:00:00','2026-07-15 09:01:00','{"todo.v0":{"content":"x"},"enabled_extensions.v0":{"env":"key"}}','p','{"model_name":"m"}',NULL),
			('20260715_3','Empty','user','/w','2026-07-15 09:00:00','','{}',NULL,NULL,NULL),('20260715_4','Hidden','hidden','/w','','','{}',NULL,NULL,NULL)`,
		`INSERT INTO messages(message_id, session_id, role, content_json, created_timestamp, metadata_json) VALUES
			('m0','20260715_1','user','[{"type":"text","text":"of another session"}]',1784105000,'{"userVisible":true,"agentVisible":false}'),
			('m1','20260715_1','user','[{"type":"text","text":"see"},{"type":"image","data":"aGk=","mimeType":"image/png"}]',1784106010,'{"userVisible":true,"agentVisible":false}'),
			('s1','20260715_1','user','[{"type":"text","text":"what was"}]',1784106011,'{"userVisible":false,"agentVisible":true}'),
			('msg_20260715_1_7','20260715_1','assistant','[{"type":"thinking","thinking":"I \"t"},{"type":"thinking","thinking":"h"},{"type":"thinking","thinking":"ink","signature":"s"},{"type":"thinking","thinking":"hm","signature":"s2"},{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"sh","arguments":{}}}}]',1784106012,NULL),
			('m3','20260715_1','user','[{"type":"toolResponse","id":"c","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"for the model","annotations":{"audience":["assistant"]}},{"type":"text","text":"for people","annotations":{"audience":["user"]}}],"isError":true}}}]',1784106013,NULL),
			('m4','20260715_1','assistant','not JSON',1784106014,NULL),
			('m5','20260715_2','user','[{"type":"text","text":"sub"}]',1784106015,NULL),('m6','20260715_4','user','[]',1784106015,NULL)`,
		`INSERT INTO usage_ledger VALUES(1,'20260715_1',1784106012,'m',8500,212,8000,0.25,0)`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDatabase: sessions in a database are found and read; a file beside it, whose session Goose has moved there, is not
// found.
func TestDatabase(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".local", "share", "goose", "sessions")
	path := filepath.Join(dir, "sessions.db")
	database(t, path)
	if err := os.WriteFile(filepath.Join(dir, "20250615_170640.jsonl"), formattest.Lines(sample...), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := importer.Discover(t.Context(), &goose.Format, "/w", func(name string) string { return map[string]string{"HOME": home}[name] })
	if want := []string{filepath.Join(path, "20260715_1"), filepath.Join(path, "20260715_2")}; err != nil || !slices.Equal(found, want) {
		t.Fatalf("found %q, %v; want %q", found, err, want)
	}
	src, closer, err := importer.OpenSource(found[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	_, err = importer.Read(t.Context(), &goose.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	formattest.Want(t, items,
		`event {"name":"session","data":{"session_type":"user","provider_name":"p","model_config_json":{"model_name":"m"}}}`,
		`message {"role":"user","content":"of another session"}`,
		`message {"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}`,
		`anchor {"name":"compaction","state":{"summary":"what was"}}`,
		`event {"name":"thinking","data":{"thinking":"I \"think"}}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`tool_call {"calls":[{"id":"c","type":"function","function":{"name":"sh","arguments":"{}"}}]}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":8500,"output_tokens":212,"cached_input_tokens":8000},"cost":0.25,"is_compaction":0}}`,
		`tool_result {"results":["for the model"]}`,
		`event {"name":"tool.detail","data":{"call_id":"c","shown":[{"type":"text","text":"for people","annotations":{"audience":["user"]}}]}}`,
		`message {"role":"assistant","content":"not JSON"}`,
		`event {"name":"session.extensions","data":{"todo.v0":{"content":"x"}}}`,
		`event {"name":"tape.title","data":{"title":"A fix"}}`)
	for i, want := range map[int]string{1: `"copied":true`, 8: `"is_error":["c"]`} {
		if !strings.Contains(string(items[i].Entry.Meta), want) {
			t.Errorf("entry %d has no %s: %s", i+1, want, items[i].Entry.Meta)
		}
	}
	if info, err := importer.Identify(t.Context(), found[1]); err != nil || info.Session != "20260715_1" || info.Agent != "agent-20260715_2" {
		t.Errorf("the subagent's session is %+v, %v", info, err)
	}
}

// TestNewExport: since version 1.46, an export has the sums in an object (entireio/external-agents#74).
func TestNewExport(t *testing.T) {
	items, _ := imp.Items(t, goose.Format.Name, "x.json", []byte(`{"id":"20260819_1","working_dir":"/w","usage":{"input_tokens":9},"accumulated_usage":{"input_tokens":124611,"output_tokens":394,"total_tokens":125005,"cache_read_input_tokens":112820,"cache_write_input_tokens":11777},"accumulated_cost":null,
		"conversation":[{"role":"user","created":1767225600,"content":[{"type":"text","text":"ask"}]}]}`), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"ask"}`,
		`event {"name":"run","data":{"message_id":"20260819_1","usage":{"input_tokens":124611,"output_tokens":394,"total_tokens":125005,"cached_input_tokens":112820,"cache_write_input_tokens":11777}}}`)
}
