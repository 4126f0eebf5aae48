package recorder_test

import (
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/recorder"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/internal/testkit"
	storetest "tape/internal/testkit/store"
	"tape/repo"
)

// TestSoakHostile imports what somebody else put into a folder: databases and transcripts in the forms that tape knows,
// with mistakes, lies and links. Each gives a result or an error, none brings a text from elsewhere, and none is added to a
// session of another project or agent.
func TestSoakHostile(t *testing.T) {
	rnd := testkit.Random(t)
	for n := range testkit.Size(10, 500) {
		h := newHostile(t, rnd)
		what, path := h.make()
		if !t.Run(fmt.Sprintf("%d %s", n, what), func(t *testing.T) { h.check(t, path) }) {
			return
		}
	}
}

// secret is a text that is only in the user's files, and precious one that is only in the user's sessions.
const secret, precious = "not for anybody else", "what the user said"

// hostile is a user with two projects: shop, with sessions, and evil, which came from somebody else.
type hostile struct {
	*testing.T
	*rand.Rand
	home, shop, evil string
	of               map[string]string // the sessions of shop, by format
	secret           string            // a file of the user's, which is also a database
}

func newHostile(t *testing.T, rnd *rand.Rand) *hostile {
	t.Helper()
	home := workspace.ResolvePath(t.TempDir())
	t.Setenv("HOME", home)
	t.Setenv("TAPE_HOME", filepath.Join(home, ".tape"))
	h := &hostile{T: t, Rand: rnd, home: home, shop: storetest.Mkdir(t, home, "shop"), evil: storetest.Mkdir(t, home, "evil"), secret: filepath.Join(home, "private.db")}
	h.of = map[string]string{"claude-code": "11111111-1111-4111-8111-111111111111", "codex": "22222222-2222-4222-8222-222222222222", "crush": "33333333-3333-4333-8333-333333333333",
		"opencode": "ses_4444", "qwen": "55555555-5555-4555-8555-555555555555", "gemini": "66666666-6666-4666-8666-666666666666"}
	h.database("crush", h.secret, "c-private", h.home, secret, nil)
	for format := range h.of {
		h.take(h.shop, h.write(filepath.Join(home, "kept", format), format, h.of[format], h.shop, precious))
	}
	return h
}

// take imports a path into the workspace of a project, which it makes if it is missing.
func (h *hostile) take(project, path string) []error {
	h.Helper()
	in, of, err := projects.ForSession(project, "")
	storetest.Must(h, err)
	s, err := repo.Open(h.Context(), in, nil)
	if errors.Is(err, repo.ErrNotFound) {
		s, _, err = repo.Init(h.Context(), in, nil)
		storetest.Must(h, errors.Join(err, (*workspace.Store)(s).NoteProject(of)))
	}
	storetest.Must(h, err)
	var failed []error
	batch := importer.NewBatch(s, "test", importer.OpenFile, func(_ importer.Result, err error) error {
		failed = append(failed, err)
		return nil
	})
	defer batch.Close()
	files, err := importer.Files(h.Context(), path)
	if err != nil {
		return []error{err}
	}
	for _, f := range files {
		storetest.Must(h, batch.File(h.Context(), f.Name, importer.Options{Fallback: f.Fallback}))
	}
	storetest.Must(h, batch.Flush(h.Context()))
	return failed
}

// said returns all that is on the tapes of a project's workspace, by tape.
func (h *hostile) said(t *testing.T, project string) map[string]string {
	t.Helper()
	out := map[string]string{}
	in, _, err := projects.ForSession(project, "")
	storetest.Must(t, err)
	s, err := repo.Open(t.Context(), in, nil)
	if errors.Is(err, repo.ErrNotFound) {
		return out
	}
	storetest.Must(t, err)
	tapes, err := s.Tapes(t.Context())
	storetest.Must(t, err)
	for _, tp := range tapes {
		for e, err := range tp.Entries(t.Context(), repo.Query{}) {
			storetest.Must(t, err)
			out[tp.Name()] += string(e.Raw) + "\n"
		}
	}
	return out
}

// check imports a path into evil's workspace, and into shop's, as if the user were lured to.
func (h *hostile) check(t *testing.T, path string) {
	before := h.said(t, h.shop)
	for _, project := range []string{h.evil, h.shop} {
		for _, err := range h.take(project, path) {
			if err != nil && strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without a word")
			}
		}
	}
	after := h.said(t, h.shop)
	for name, text := range before {
		if after[name] != text {
			t.Errorf("the tape %s of another project or agent has changed:\n%s", name, short(strings.TrimPrefix(after[name], text)))
		}
	}
	for name, text := range h.said(t, h.evil) {
		if strings.Contains(text, secret) || strings.Contains(text, precious) {
			t.Errorf("the tape %s has what is elsewhere:\n%s", name, short(text))
		}
	}
	for name, text := range after {
		if strings.Contains(text, secret) {
			t.Errorf("the tape %s has what is elsewhere:\n%s", name, short(text))
		}
	}
	places := recorder.Places{}
	for format, id := range h.of {
		if in, _, err := places.Of(t.Context(), format, id, h.evil, ""); err == nil && workspace.ProjectOf(in).Dir == h.shop {
			t.Errorf("a session of %s in another project goes to the workspace of the one with its id", format)
		}
	}
}

// make makes something hostile, and says what.
func (h *hostile) make() (what, path string) {
	formats := slices.Sorted(maps.Keys(h.of))
	format := formats[h.IntN(len(formats))]
	id := h.of[format]
	if h.IntN(4) == 0 { // an id of another agent's session, or one that is no name
		id = append(slices.Sorted(maps.Values(h.of)), "../../shop", "/", "", "a\x00b", strings.Repeat("x", 5000), "main", ".git")[h.IntN(13)]
	}
	if format == "crush" || format == "opencode" && h.IntN(2) == 0 {
		how, names := h.lies(format)
		var done []string
		path = h.write(filepath.Join(h.evil, ".crush"), format, id, h.evil, "evil", func(db *sql.DB) {
			for range 1 + h.IntN(3) {
				i := h.IntN(len(how))
				done = append(done, names[i])
				for _, statement := range how[i] {
					_, _ = db.Exec(statement) // a later one may not fit an earlier one
				}
			}
		})
		return fmt.Sprintf("%s %q %s %s", format, short(id), strings.Join(done, ", "), h.damage(path)), path
	}
	path = h.write(filepath.Join(h.evil, "sessions"), format, id, h.evil, "evil", nil)
	return fmt.Sprintf("%s %q %s", format, short(id), h.damage(path)), path
}

func short(id string) string { return id[:min(len(id), 400)] }

// write writes a session as its agent does: into a database, with what change does to it, or into a file.
func (h *hostile) write(dir, format, id, cwd, text string, change ...func(*sql.DB)) string {
	h.Helper()
	storetest.Mkdir(h, dir)
	switch format {
	case "crush":
		path := filepath.Join(dir, "crush.db")
		if dir != filepath.Join(h.evil, ".crush") {
			path = filepath.Join(storetest.Mkdir(h, cwd, ".crush"), "crush.db")
		}
		h.database(format, path, id, cwd, text, change)
		return path
	case "opencode":
		if len(change) > 0 && change[0] != nil {
			path := filepath.Join(dir, "opencode.db")
			h.database(format, path, id, cwd, text, change)
			return path
		}
	}
	path := filepath.Join(dir, "session.jsonl")
	q := func(s string) string { return fmt.Sprintf("%q", strings.ToValidUTF8(s, "?")) }
	var lines string
	switch format {
	case "claude-code":
		for i := range 3 {
			lines += fmt.Sprintf(`{"parentUuid":null,"cwd":%s,"sessionId":%s,"type":"user","message":{"role":"user","content":%s},"uuid":"u%d","timestamp":"2026-03-01T10:00:0%dZ"}`+"\n", q(cwd), q(id), q(text), i, i)
		}
	case "qwen":
		lines = fmt.Sprintf(`{"uuid":"q1","parentUuid":null,"sessionId":%s,"timestamp":"2026-03-01T10:00:00Z","type":"user","cwd":%s,"version":"0.1","message":{"role":"user","parts":[{"text":%s}]}}`+"\n", q(id), q(cwd), q(text))
	case "codex":
		lines = fmt.Sprintf(`{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":%s,"cwd":%s}}`+"\n"+
			`{"timestamp":"2026-03-01T10:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":%s}]}}`+"\n", q(id), q(cwd), q(text))
	case "gemini":
		path = filepath.Join(dir, "session-1.json")
		lines = fmt.Sprintf(`{"sessionId":%s,"projectHash":"%x","startTime":"2026-03-01T10:00:00Z","messages":[{"id":%s,"timestamp":"2026-03-01T10:00:00Z","type":"user","content":%s}]}`, q(id), sha256.Sum256([]byte(cwd)), q(text), q(text))
	case "opencode":
		path = filepath.Join(dir, "session.json")
		lines = fmt.Sprintf(`{"info":{"id":%s,"directory":%s,"title":"t","version":"1","time":{"created":1790000000000}},"messages":[{"info":{"id":"m1","role":"user","time":{"created":1790000000000}},"parts":[{"id":"p1","type":"text","text":%s}]}]}`, q(id), q(cwd), q(text))
	}
	storetest.WriteFile(h, path, []byte(lines))
	return path
}

// database makes a database of an agent with one session.
func (h *hostile) database(format, path, id, cwd, text string, change []func(*sql.DB)) {
	h.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	storetest.Must(h, err)
	db.SetMaxOpenConns(1)
	run := func(statement string, args ...any) {
		_, err := db.Exec(statement, args...)
		storetest.Must(h, err)
	}
	if format == "crush" {
		run(`CREATE TABLE sessions (id TEXT, parent_session_id TEXT, title TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, cost REAL, updated_at INTEGER, created_at INTEGER)`)
		run(`CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, parts TEXT, model TEXT, created_at INTEGER, updated_at INTEGER, finished_at INTEGER, provider TEXT)`)
		run(`INSERT INTO sessions VALUES (?, NULL, 'a title', 1, 1, 0.1, 1790000000, 1790000000)`, id)
		run(`INSERT INTO messages VALUES ('m1', ?, 'user', ?, 'm', 1790000000, 1790000000, NULL, 'p')`, id, fmt.Sprintf(`[{"type":"text","data":{"text":%q}}]`, text))
	} else {
		run(`CREATE TABLE session (id TEXT, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT, version TEXT, time_created INTEGER, time_updated INTEGER)`)
		run(`CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT)`)
		run(`CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER, time_updated INTEGER, data TEXT)`)
		run(`INSERT INTO session VALUES (?, 'p', NULL, ?, 'a title', '1', 1790000000000, 1790000000000)`, id, cwd)
		run(`INSERT INTO message VALUES ('m1', ?, 1790000000000, 1790000000000, '{"role":"user","time":{"created":1790000000000}}')`, id)
		run(`INSERT INTO part VALUES ('p1', 'm1', ?, 1790000000000, 1790000000000, ?)`, id, fmt.Sprintf(`{"type":"text","text":%q}`, text))
	}
	for _, f := range change {
		if f != nil {
			f(db)
		}
	}
	storetest.Must(h, db.Close())
}

// lies returns statements that make a database of an agent hostile, with their names.
func (h *hostile) lies(format string) (how [][]string, names []string) {
	session, message, text := "sessions", "messages", "parts"
	if format == "opencode" {
		session, message, text = "session", []string{"message", "part"}[h.IntN(2)], "data"
	}
	table := []string{session, message}[h.IntN(2)]
	const forever = `WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c) SELECT a AS id FROM c WHERE a < 0`
	add := func(name string, statements ...string) {
		how, names = append(how, statements), append(names, name)
	}
	add("a view", "ALTER TABLE "+table+" RENAME TO was", "CREATE VIEW "+table+" AS SELECT * FROM was")
	add("an endless view", "DROP TABLE "+table, "CREATE VIEW "+table+" AS "+forever)
	add("a virtual table", "DROP TABLE "+table, "CREATE VIRTUAL TABLE "+table+" USING fts5(id, session_id, data)")
	add("a computed column", "ALTER TABLE "+table+" ADD COLUMN more TEXT AS (hex(zeroblob(50000000)))")
	add("a trigger", "CREATE TRIGGER g AFTER INSERT ON "+table+" BEGIN DELETE FROM "+session+"; END", "CREATE TRIGGER v AFTER UPDATE ON "+table+" BEGIN SELECT hex(zeroblob(1000)); END")
	add("an index of expressions", "CREATE INDEX i ON "+table+" (hex(id)) WHERE length(id) > 1")
	add("a missing table", "DROP TABLE "+table)
	add("another collation", "PRAGMA writable_schema=ON", "UPDATE sqlite_schema SET sql = replace(sql, 'id TEXT', 'id TEXT COLLATE none')")
	add("a schema that lies", "PRAGMA writable_schema=ON", "UPDATE sqlite_schema SET rootpage = "+fmt.Sprint(h.IntN(6))+" WHERE name = '"+table+"'")
	add("a name that lies", "PRAGMA writable_schema=ON", "UPDATE sqlite_schema SET sql = 'CREATE VIEW "+table+" AS "+forever+"', type = 'view', rootpage = 0 WHERE name = '"+table+"'")
	add("many tables", "PRAGMA writable_schema=ON", "WITH RECURSIVE c(a) AS (SELECT 1 UNION ALL SELECT a + 1 FROM c WHERE a < 2000) INSERT INTO sqlite_schema SELECT 'table', 'x' || a, 'x' || a, 2, 'CREATE TABLE x' || a || ' (a)' FROM c")
	add("no text", "UPDATE "+message+" SET "+text+" = "+[]string{"NULL", "x'ff00fe'", "9e999", "-1", "'['", "'[[[[[[[[[['", "replace(hex(zeroblob(20000)), '0', '[')", "'\"' || char(0, 65279, 8238) || '\"'"}[h.IntN(8)])
	add("odd ids", "UPDATE "+table+" SET id = "+[]string{"NULL", "''", "'../../etc'", "x'ff'", "1.5", "'a/b'", "char(0)"}[h.IntN(7)])
	if format == "crush" {
		add("a circle of parents", "UPDATE sessions SET parent_session_id = id", "INSERT INTO sessions SELECT 'child', id, title, 1, 1, 0, updated_at, created_at FROM sessions")
		add("a session of others", "INSERT INTO sessions SELECT 'child$$c1', id, 't', 1, 1, 0, 1, 1 FROM sessions", "INSERT INTO messages SELECT 'm2', 'child$$c1', 'assistant', parts, 'm', 1, 1, 1, 'p' FROM messages")
	} else {
		add("the directory of others", "UPDATE session SET parent_id = '"+h.of["opencode"]+"'")
		add("a circle of parents", "UPDATE session SET parent_id = id")
	}
	add("twice", "INSERT INTO "+table+" SELECT * FROM "+table, "INSERT INTO "+table+" SELECT * FROM "+table)
	add("odd dates", "UPDATE "+session+" SET "+map[string]string{"crush": "created_at", "opencode": "time_created"}[format]+" = "+[]string{"NULL", "9e99", "-9e18", "'soon'", "x'00'"}[h.IntN(5)])
	return how, names
}

// damage damages a file, or replaces it or what is beside it by a link, and says how.
func (h *hostile) damage(path string) string {
	raw, err := os.ReadFile(path)
	storetest.Must(h, err)
	write := func(b []byte) { storetest.WriteFile(h, path, b) }
	link := func(name, to string) { storetest.Must(h, errors.Join(os.RemoveAll(name), os.Symlink(to, name))) }
	switch h.IntN(14) {
	case 0:
		for range 1 + h.IntN(20) {
			if len(raw) > 0 {
				raw[h.IntN(len(raw))] ^= byte(1 << h.IntN(8))
			}
		}
		write(raw)
		return "bits flipped"
	case 1:
		write(raw[:h.IntN(len(raw)+1)])
		return "cut"
	case 2:
		from := h.IntN(len(raw) + 1)
		clear(raw[from:min(len(raw), from+h.IntN(4096))])
		write(raw)
		return "zeros"
	case 3:
		link(path, h.secret)
		return "a link"
	case 4:
		link(path+"-wal", h.secret)
		return "a log that is a link"
	case 5:
		link(path+"-journal", h.secret)
		return "a journal that is a link"
	case 6:
		storetest.Must(h, errors.Join(os.Remove(path), os.Link(h.secret, path)))
		return "a hard link"
	case 7:
		log := make([]byte, h.IntN(10000))
		for i := range log {
			log[i] = byte(h.Uint32())
		}
		storetest.WriteFile(h, path+"-wal", append([]byte("\x37\x7f\x06\x82\x00\x2d\xe2\x18\x00\x00\x10\x00"), log...))
		return "a log of noise"
	case 8:
		write(append(raw, raw...))
		return "twice itself"
	case 9:
		write(append([]byte("\xef\xbb\xbf"), raw...))
		return "a mark of byte order"
	case 10:
		write(append(raw, []byte(strings.Repeat(`{"type":"user","message":`, 5000))...))
		return "nested"
	case 11:
		if len(raw) > 200 && strings.HasPrefix(string(raw), "SQLite") { // all pages are children of each other
			for page := 4096; page+12 < len(raw); page += 4096 {
				copy(raw[page:], []byte{5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, byte(1 + h.IntN(4))})
			}
			write(raw)
			return "pages in a circle"
		}
	}
	return "as it is"
}

// TestLinksInFolders: links in a folder that somebody made do not bring what is elsewhere, each with an error. In the
// folders of the user's agents they do: people put these on another disk.
func TestLinksInFolders(t *testing.T) {
	h := newHostile(t, rand.New(rand.NewPCG(1, 1)))
	for name, to := range map[string]string{"a.jsonl": filepath.Join(h.home, "kept", "claude-code", "session.jsonl"), ".crush": filepath.Join(h.shop, ".crush"), "more": filepath.Join(h.home, "kept")} {
		storetest.Must(t, os.Symlink(to, filepath.Join(h.evil, name)))
	}
	inside := h.write(filepath.Join(h.evil, "own"), "claude-code", "own-session", h.evil, "evil", nil)
	storetest.Must(t, os.Symlink(inside, filepath.Join(h.evil, "again.jsonl")))
	files, err := importer.Files(t.Context(), h.evil)
	storetest.Must(t, err)
	left := 0
	for _, f := range files {
		if f.Problem != nil {
			left++
		} else if real := workspace.ResolvePath(f.Name); !strings.HasPrefix(real, h.evil) {
			t.Errorf("%s is imported from %s", f.Name, real)
		}
	}
	if left != 3 || len(files) != 5 {
		t.Errorf("%d of %d files are left out, want 3 of 5: %v", left, len(files), files)
	}
	claude := storetest.Mkdir(t, h.home, ".claude", "projects")
	storetest.Must(t, os.Symlink(filepath.Join(h.home, "kept", "claude-code"), filepath.Join(claude, "-shop")))
	if files, err := importer.Files(t.Context(), claude); err != nil || len(files) != 1 || files[0].Problem != nil {
		t.Errorf("of the agent's own folder: %v, %v", files, err)
	}
}
