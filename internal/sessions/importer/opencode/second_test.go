package opencode_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/opencode"
	"tape/internal/sessions/importer/record"
)

// secondTables are those of version 2, with a session and a subagent's.
var secondTables = []string{
	`CREATE TABLE session_v2(id text primary key, project_id text, parent_id text, fork_session_id text, slug text, directory text, title text, version text, model text, cost real, revert text, time_created integer, time_updated integer)`,
	`CREATE TABLE session_message(id text primary key, session_id text, type text, seq integer, time_created integer, time_updated integer, data text)`,
	`INSERT INTO session_v2 VALUES('ses_2','p','ses_1',NULL,'s','/w','count','2.0.12',NULL,0,NULL,1789030801000,1789030802000),('ses_1','p',NULL,NULL,'s','/w','the title','2.0.12',NULL,0,NULL,1789030800000,1789030809000)`,
	`INSERT INTO session_message VALUES
		('msg_1','ses_1','user',2,1789030800000,0,'{"text":"one","files":[{"data":"aGk=","mime":"image/png","name":"b.png","source":{"type":"inline"}}],"time":{"created":1789030800000}}'),
		('msg_0','ses_1','agent-switched',1,1789030800000,0,'{"agent":"build","time":{"created":1789030800000}}'),
		('msg_2','ses_1','assistant',3,1789030801000,0,'{"agent":"build","model":{"id":"m","providerID":"x"},"cost":0.25,"finish":"stop","tokens":{"input":3,"output":2,"reasoning":1,"cache":{"read":4,"write":5}},"time":{"created":1789030801000,"completed":1789030802000},
			"content":[{"type":"reasoning","text":"hm"},{"type":"tool","id":"c1","name":"bash","state":{"status":"completed","input":{"command":"ls"},"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},"time":{"created":1789030801100,"completed":1789030801200}},
				{"type":"tool","id":"c2","name":"bash","state":{"status":"error","input":{},"error":{"type":"unknown","message":"no"}},"time":{"created":1789030801100}},{"type":"text","text":"two"}]}'),
		('msg_3','ses_1','synthetic',4,1789030802000,0,'{"text":"go on","time":{"created":1789030802000}}'),
		('msg_4','ses_1','shell',5,1789030803000,0,'{"command":"pwd","output":{"output":"/w"},"time":{"created":1789030803000}}'),
		('msg_5','ses_1','compaction',6,1789030804000,0,'{"status":"completed","reason":"auto","summary":"so far","recent":"user: one","model":{"id":"m","providerID":"x"},"tokens":{"input":7,"output":1,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":1789030804000}}'),
		('msg_55','ses_1','compaction',6,1789030804500,0,'{"status":"failed","reason":"auto","error":{"type":"unknown","message":"no"},"cost":0.5,"tokens":{"input":9,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"time":{"created":1789030804500}}'),
		('msg_6','ses_1','idle',7,1789030805000,0,'{"outcome":"succeeded","time":{"created":1789030805000}}'),
		('msg_7','ses_2','user',1,1789030801500,0,'{"text":"sub","time":{"created":1789030801500}}')`,
}

// readStored returns the entries of a session in a database.
func readStored(t *testing.T, path string) (items []record.Item) {
	t.Helper()
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	_, err = importer.Read(t.Context(), &opencode.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return items
}

func execute(t *testing.T, path string, questions ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range questions {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSecond: version 2 keeps whole messages in other tables (vshulcz/deja-vu#3924, vibe-cafe/vibe-usage#114).
func TestSecond(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".local", "share", "opencode", "opencode.db")
	execute(t, path, secondTables...)
	found, err := importer.Discover(t.Context(), &opencode.Format, "/w", func(name string) string { return map[string]string{"HOME": home}[name] })
	if want := []string{filepath.Join(path, "ses_1"), filepath.Join(path, "ses_2")}; err != nil || !slices.Equal(found, want) {
		t.Fatalf("found %q, %v; want %q", found, err, want)
	}
	items := readStored(t, found[0])
	formattest.Want(t, items,
		`event {"name":"session","data":{"id":"ses_1","slug":"s","projectID":"p","directory":"/w","version":"2.0.12"}}`,
		`event {"name":"part.agent-switched","data":{"agent":"build"}}`,
		`event {"name":"tape.title","data":{"title":"the title"}}`,
		`message {"role":"user","content":[{"type":"text","text":"one"},{"type":"image_url","filename":"b.png","mime":"image/png","from":{"type":"inline"},"image_url":"data:image/png;base64,aGk="}]}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{}"}}]}`,
		`tool_result {"results":["a\nb","no"]}`,
		`event {"name":"tool.detail","data":{"call_id":"c1","time":{"end":1789030801200,"start":1789030801100}}}`,
		`event {"name":"tool.detail","data":{"call_id":"c2","time":{"start":1789030801100}}}`,
		`message {"role":"assistant","content":"two"}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":3,"output_tokens":2,"reasoning_output_tokens":1,"cached_input_tokens":4,"cache_write_input_tokens":5},"agent":"build","cost":0.25,"finish":"stop","providerID":"x"}}`,
		`message {"role":"user","content":"go on"}`,
		`event {"name":"part.shell","data":{"command":"pwd","output":{"output":"/w"}}}`,
		`anchor {"name":"compaction","state":{"summary":"so far","reason":"auto","recent":"user: one","status":"completed"}}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":7,"output_tokens":1,"reasoning_output_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0},"providerID":"x"}}`,
		`event {"name":"compaction","data":{"error":{"message":"no","type":"unknown"},"reason":"auto","status":"failed"}}`,
		`event {"name":"run","data":{"usage":{"input_tokens":9,"output_tokens":0,"reasoning_output_tokens":0,"cached_input_tokens":0,"cache_write_input_tokens":0},"cost":0.5}}`,
		`event {"name":"part.idle","data":{"outcome":"succeeded"}}`)
	if got := formattest.Typed(items); !slices.Equal(got, []string{"one"}) {
		t.Errorf("typed %q, want only what a person asked", got)
	}
	info, err := importer.Identify(t.Context(), found[1])
	if err != nil || info.Session != "ses_1" || info.Agent != "agent-ses_2" {
		t.Errorf("the subagent's session is %+v, %v", info, err)
	}
}

// TestSecondGoesOn: a session of version 1 that goes on in version 2 has each message once, with the keys that it had.
func TestSecondGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	database(t, path)
	before := readStored(t, filepath.Join(path, "ses_1"))
	execute(t, path, secondTables[:3]...)
	execute(t, path, `INSERT INTO session_message VALUES
		('msg_a','ses_1','user',1,1789030800000,0,'{"text":"one","time":{"created":1789030800000}}'),
		('msg_b','ses_1','assistant',2,1789030801000,0,'{"model":{"id":"m"},"content":[{"type":"text","text":"two"}],"time":{"created":1789030801000,"completed":1789030802000}}'),
		('msg_c','ses_1','user',3,1789030900000,0,'{"text":"and now","time":{"created":1789030900000}}')`)
	after := readStored(t, filepath.Join(path, "ses_1"))
	had := map[string]bool{}
	for _, it := range before {
		for _, key := range it.Keys {
			had[key] = true
		}
	}
	var later []record.Item
	for _, it := range after {
		if !slices.ContainsFunc(it.Keys, func(key string) bool { return had[key] }) {
			later = append(later, it)
		}
	}
	formattest.Want(t, later, `message {"role":"user","content":"and now"}`)
	if list, err := importer.Sessions(t.Context(), &opencode.Format, path); err != nil || len(list) != 2 {
		t.Errorf("sessions %v, %v; want each once", list, err)
	}
}

// TestStoredUndo: what a person took back is also out of the context if the session is in the database.
func TestStoredUndo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	database(t, path)
	execute(t, path, `ALTER TABLE session ADD COLUMN revert text`, `UPDATE session SET revert = '{"messageID":"msg_2"}' WHERE id = 'ses_1'`)
	for _, it := range readStored(t, filepath.Join(path, "ses_1")) {
		if text := string(it.Entry.Payload); strings.Contains(text, `"two"`) != strings.Contains(string(it.Entry.Meta), `"context":false`) && strings.Contains(text, "content") {
			t.Errorf("%s has the meta %s", text, it.Entry.Meta)
		}
	}
}
