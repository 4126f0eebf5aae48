package crush_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/crush"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

const (
	session = "11111111-2222-4333-8444-555555555555"
	child   = "m-2$$c1"
)

// database is a database with Crush's tables.
type database struct {
	*testing.T
	*sql.DB
	path string
}

func newDatabase(t *testing.T) database {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop", ".crush")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "crush.db")
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	d := database{t, db, path}
	d.run(`CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL, prompt_tokens INTEGER, completion_tokens INTEGER,
		cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL, created_at INTEGER NOT NULL, summary_message_id TEXT)`)
	d.run(`CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL, model TEXT,
		created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, finished_at INTEGER, provider TEXT, is_summary_message INTEGER NOT NULL DEFAULT 0)`)
	d.session(session, nil)
	return d
}

func (d database) run(query string, args ...any) {
	d.Helper()
	if _, err := d.Exec(query, args...); err != nil {
		d.Fatal(err)
	}
}

func (d database) session(id string, parent any) {
	d.run(`INSERT INTO sessions VALUES (?, ?, 'Small tasks', 900, 20, 0.5, 1790000000, 1790000000, NULL)`, id, parent)
}

// add adds a message. Its parts are given as pairs of a type and data.
func (d database) add(sessionID, id, role string, parts ...string) {
	d.Helper()
	var list []string
	for i := 0; i < len(parts); i += 2 {
		list = append(list, fmt.Sprintf(`{"type":%q,"data":%s}`, parts[i], parts[i+1]))
	}
	d.run(`INSERT INTO messages VALUES (?, ?, ?, ?, 'm', 1790000000, ?, NULL, 'p', ?)`, id, sessionID, role, "["+strings.Join(list, ",")+"]",
		time.Now().Unix(), strings.HasPrefix(id, "summary"))
}

const (
	stopped = `{"reason":"stop","time":0}`
	used    = `{"reason":"tool_use","time":1}`
	ended   = `{"reason":"end_turn","time":1}`
)

// fill adds a turn with a subagent and a failing command, an error of the model, a command that the user ran with "!",
// and a summary.
func (d database) fill() {
	d.add(session, "m-1", "user", "text", `{"text":"count"}`, "finish", stopped)
	d.add(session, "m-2", "assistant", "reasoning", `{"thinking":"hm","signature":"","started_at":1,"finished_at":1}`, "text", `{"text":"so"}`,
		"tool_call", `{"id":"c1","name":"agent","input":"{\"prompt\": \"count\"}","finished":true}`,
		"tool_call", `{"id":"c2","name":"bash","input":"{\"command\":\"false\"}","finished":true}`, "finish", used)
	d.session(child, session)
	d.add(child, "m-3", "user", "text", `{"text":"count"}`, "finish", stopped)
	d.add(child, "m-4", "assistant", "text", `{"text":"two"}`, "finish", ended)
	d.add(session, "m-5", "tool", "tool_result", `{"tool_call_id":"c1","name":"agent","content":"two","metadata":"","is_error":false}`, "finish", stopped)
	d.add(session, "m-6", "tool", "tool_result", `{"tool_call_id":"c2","name":"bash","content":"no\n\nExit code 3","metadata":"{\"output\":\"no\",\"start_time\":5}","is_error":false}`, "finish", stopped)
	d.add(session, "m-7", "assistant", "finish", `{"reason":"error","time":1,"message":"Unauthorized","details":"401"}`)
	d.add(session, "m-8", "user", "shell_command", `{"command":"pwd","output":"/w","exit_code":0}`, "finish", stopped)
	d.add(session, "summary-1", "assistant", "text", `{"text":"all done"}`, "finish", ended)
}

// lines returns the session as the lines that the importer reads.
func (d database) lines() []string {
	d.Helper()
	src, closer, err := importer.OpenSource(filepath.Join(d.path, session), nil)
	if err != nil {
		d.Fatal(err)
	}
	b := make([]byte, src.Size)
	if _, err := src.R.ReadAt(b, 0); err != nil {
		d.Fatal(err)
	}
	if err := closer.Close(); err != nil {
		d.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// TestCrush: a subagent is a fork, a command with an exit code other than 0 has failed, a summary is an anchor.
func TestCrush(t *testing.T) {
	d := newDatabase(t)
	d.fill()
	items, stats := imp.Items(t, crush.Format.Name, session, formattest.Lines(d.lines()...), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"count"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"so"}`,
		`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"agent","arguments":"{\"prompt\":\"count\"}"}},{"id":"c2","type":"function","function":{"name":"bash","arguments":"{\"command\":\"false\"}"}}]}`,
		`agent-m-2-c1message {"role":"user","content":"count"}`,
		`agent-m-2-c1message {"role":"assistant","content":"two"}`,
		`agent-m-2-c1event {"name":"run","data":{"model":"m","provider":"p"}}`,
		`event {"name":"subagent.completed","data":{"call_id":"c1"}} ends agent-m-2-c1`,
		`tool_result {"results":["two","no\n\nExit code 3"]}`,
		`event {"name":"tool.detail","data":{"call_id":"c2","start_time":5}}`,
		`event {"name":"run","data":{"model":"m","provider":"p"}}`,
		`event {"name":"model.error","data":{"model":"m","provider":"p","reason":"error","message":"Unauthorized","details":"401"}}`,
		`event {"name":"tape.title","data":{"title":"Small tasks"}}`,
		`event {"name":"shell","data":{"command":"pwd","output":"/w","exit_code":0}}`,
		`anchor {"name":"compaction","state":{"summary":"all done"}}`,
		`event {"name":"run","data":{"model":"m","provider":"p"}}`,
		`event {"name":"session.usage","data":{"prompt_tokens":900,"completion_tokens":20,"cost":0.5}}`,
	)
	if len(stats.Problems) > 0 {
		t.Errorf("want no problems: %v", stats.Problems)
	}
	if !strings.Contains(string(items[8].Entry.Meta), `"is_error":["c2"]`) {
		t.Errorf("the failed call is not marked: %s", items[8].Entry.Meta)
	}
	info, err := imp.Describe(t.Context(), crush.Format.Name, formattest.Source(session, formattest.Lines(d.lines()...)))
	if want := filepath.Dir(filepath.Dir(d.path)); err != nil || info.Session != session || !strings.Contains(string(info.State), string(record.Quote(want))) {
		t.Errorf("%+v %s, %v; want session %s in %s", info, info.State, err, session, want)
	}
}

func sample(f testing.TB) (out []string) {
	row := func(id, role, more string, parts ...string) string {
		return fmt.Sprintf(`{"crush":"message","id":%q,"session_id":"s","role":%q,"created_at":1790000000,"model":"m"%s,"parts":[%s]}`, id, role, more, strings.Join(parts, ","))
	}
	out = []string{
		`{"crush":"session","id":"s","created_at":1790000000,"cwd":"/w"}`,
		row("1", "user", "", `{"type":"text","data":{"text":"go"}}`, `{"type":"binary","data":{"Path":"a.png","MIMEType":"image/png","Data":"aGk="}}`),
		row("2", "assistant", "", `{"type":"tool_call","data":{"id":"c","name":"agent","input":"{}","finished":true}}`, `{"type":"finish","data":{"reason":"tool_use"}}`),
		row("3", "assistant", `,"agent":"agent-2-c"`, `{"type":"text","data":{"text":"two"}}`, `{"type":"finish","data":{"reason":"end_turn"}}`),
		row("4", "tool", "", `{"type":"tool_result","data":{"tool_call_id":"c","name":"agent","content":"two","is_error":false}}`),
		row("5", "assistant", "", `{"type":"text","data":{"text":"Two."}}`, `{"type":"finish","data":{"reason":"canceled","message":"User canceled request"}}`),
		`{"crush":"title","title":"Counting"}`,
		`{"crush":"usage","date":1790000000,"prompt_tokens":1,"cost":0.25}`,
	}
	for _, l := range out {
		if !json.Valid([]byte(l)) {
			f.Fatal(l)
		}
	}
	return out
}

func FuzzCrush(f *testing.F) { imp.Fuzz(f, crush.Format.Name, sample(f)) }

func TestGrows(t *testing.T) { imp.Grows(t, crush.Format.Name, sample(t), 1) }

// TestStreaming: each part of an answer is read when it is complete. If the answer has not changed for an hour, Crush
// was killed, and the incomplete part is read. Nothing is added twice.
func TestStreaming(t *testing.T) {
	d := newDatabase(t)
	seen := formattest.Seen{}
	read := func() []record.Item {
		items, _ := imp.Items(t, crush.Format.Name, session, formattest.Lines(d.lines()...), seen)
		return items
	}
	d.run(`UPDATE sessions SET title = 'Untitled Session', prompt_tokens = 0, completion_tokens = 0, cost = 0`)
	d.add(session, "m-1", "user", "text", `{"text":"go"}`, "finish", stopped)
	d.add(session, "m-2", "assistant", "reasoning", `{"thinking":"hm"}`, "text", `{"text":"I wa"}`)
	formattest.Want(t, read(), `message {"role":"user","content":"go"}`, `event {"name":"thinking","data":{"thinking":"hm"}}`)
	d.run(`UPDATE messages SET parts = replace(parts, '"I wa"}}', '"I wait."}},{"type":"tool_call","data":{"id":"c","name":"bash","input":"{}","finished":true}}')`)
	formattest.Want(t, read(), `message {"role":"assistant","content":"I wait."}`,
		`tool_call {"calls":[{"id":"c","type":"function","function":{"name":"bash","arguments":"{}"}}]}`)
	d.add(session, "m-3", "user", "text", `{"text":"on"}`, "finish", stopped)
	d.add(session, "m-4", "assistant", "text", `{"text":"half"}`)
	formattest.Want(t, read(), `event {"name":"run","data":{"model":"m","provider":"p"}}`, `message {"role":"user","content":"on"}`)
	d.run(`UPDATE messages SET updated_at = updated_at - 7200 WHERE id = 'm-4'`)
	formattest.Want(t, read(), `message {"role":"assistant","content":"half"}`, `event {"name":"run","data":{"model":"m","provider":"p"}}`)
	if again := read(); len(again) > 0 {
		t.Errorf("read again, want no entries: %s", formattest.Show(again))
	}
}

// TestNothingIsWrittenBeside: reading a database changes nothing in its folder, even while Crush has it open.
func TestNothingIsWrittenBeside(t *testing.T) {
	d := newDatabase(t)
	d.fill()
	dir := filepath.Dir(d.path)
	before := listing(t, dir)
	if before == "" || !strings.Contains(before, "crush.db-wal") {
		t.Fatalf("the database has no write-ahead log: %s", before)
	}
	d.lines()
	if after := listing(t, dir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func listing(t *testing.T, dir string) string {
	var b strings.Builder
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&b, e.Name(), st.Size(), st.ModTime())
	}
	return b.String()
}

// TestResumes: a session can be resumed if it is in a database of one of the listed projects, in that project.
func TestResumes(t *testing.T) {
	d := newDatabase(t)
	home := t.TempDir()
	user := record.Where{Home: home, Getenv: func(string) string { return "" }}
	if crush.Format.Resume.Has(user, session, "/here") != "" {
		t.Error("a missing session can be resumed")
	}
	dir := filepath.Join(home, ".local", "share", "crush")
	project := filepath.Dir(filepath.Dir(d.path))
	list, err := json.Marshal(map[string]any{"projects": []any{map[string]any{"path": home}, map[string]any{"path": project, "data_dir": ".crush"}}})
	if err != nil || os.MkdirAll(dir, 0o700) != nil || os.WriteFile(filepath.Join(dir, "projects.json"), list, 0o600) != nil {
		t.Fatal("cannot write the list of projects: ", err)
	}
	if dir := crush.Format.Resume.Has(user, session, "/here"); dir != project {
		t.Errorf("a session in the database of %s can be resumed in %q", project, dir)
	}
}
