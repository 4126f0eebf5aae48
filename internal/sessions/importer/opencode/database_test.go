package opencode_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/opencode"
	"tape/internal/sessions/importer/record"
)

// database makes opencode's database: a session with a message that has a part which is not JSON, and a subagent's.
func database(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the log still has everything
	for _, q := range []string{
		`CREATE TABLE session(id text primary key, project_id text, parent_id text, slug text, directory text, title text, version text, share_url text, time_created integer, time_updated integer)`,
		`CREATE TABLE message(id text primary key, session_id text, time_created integer, time_updated integer, data text)`,
		`CREATE TABLE part(id text primary key, message_id text, session_id text, time_created integer, time_updated integer, data text)`,
		`INSERT INTO session VALUES('ses_2','p','ses_1','s','/w','count','1.18','',1789030801000,1789030802000),('ses_1','p',NULL,'s','/w','the title','1.18',NULL,1789030800000,1789030809000)`,
		`INSERT INTO message VALUES('msg_2','ses_1',1789030801000,0,'{"role":"assistant","time":{"created":1789030801000,"completed":1789030802000},"modelID":"m","cost":0.25,"tokens":{"input":3,"output":2,"reasoning":1,"cache":{"read":4,"write":5}}}'),
			('msg_1','ses_1',1789030800000,0,'{"role":"user","time":{"created":1789030800000}}'), ('msg_3','ses_2',1789030801500,0,'{"role":"user","time":{"created":1789030801500}}')`,
		`INSERT INTO part VALUES('prt_3','msg_2','ses_1',0,0,'not JSON'),('prt_2','msg_2','ses_1',0,0,'{"type":"text","text":"two"}'),('prt_1','msg_1','ses_1',0,0,'{"type":"text","text":"one"}'),
			('prt_4','msg_3','ses_2',0,0,'{"type":"text","text":"sub"}')`,
	} {
		if _, err := db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDatabase: a session of opencode's database is found and read as its export is (ccusage/ccusage#966).
func TestDatabase(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".local", "share", "opencode", "opencode.db")
	database(t, path)
	found, err := importer.Discover(t.Context(), &opencode.Format, "/w", func(name string) string { return map[string]string{"HOME": home}[name] })
	if want := []string{filepath.Join(path, "ses_1"), filepath.Join(path, "ses_2")}; err != nil || !slices.Equal(found, want) {
		t.Fatalf("found %q, %v; want %q", found, err, want)
	}
	src, closer, err := importer.OpenSource(found[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	_, err = importer.Read(t.Context(), &opencode.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	formattest.Want(t, items,
		`event {"name":"session","data":{"id":"ses_1","slug":"s","projectID":"p","directory":"/w","version":"1.18"}}`,
		`message {"role":"user","content":"one"}`,
		`message {"role":"assistant","content":"two"}`,
		`event {"name":"part.unreadable","data":{"data":"not JSON"}}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":3,"output_tokens":2,"reasoning_output_tokens":1,"cached_input_tokens":4,"cache_write_input_tokens":5},"cost":0.25}}`,
		`event {"name":"tape.title","data":{"title":"the title"}}`)
	info, err := importer.Identify(t.Context(), found[1])
	if err != nil || info.Session != "ses_1" || info.Agent != "agent-ses_2" {
		t.Errorf("the subagent's session is %+v, %v", info, err)
	}
}
