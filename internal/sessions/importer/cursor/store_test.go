package cursor_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // as Cursor has it

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/cursor"
	"tape/internal/sessions/importer/formattest"
)

// store makes a database of the command line. The root lists messages, and another list; one message is in a protobuf
// message, and one is missing.
func store(t *testing.T, path, agent string, messages ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	put := func(data []byte) []byte {
		id := sha256.Sum256(data)
		if _, err := db.Exec(`INSERT OR IGNORE INTO blobs VALUES(?, ?)`, hex.EncodeToString(id[:]), data); err != nil {
			t.Fatal(err)
		}
		return id[:]
	}
	if _, err := db.Exec(`CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB); CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)`); err != nil {
		t.Fatal(err)
	}
	root := []byte{0x2a, 2, 8, 50} // another field
	for _, m := range messages[:2] {
		root = append(append(root, 0x0a, 32), put([]byte(m))...)
	}
	var below []byte
	for _, m := range messages[2:] {
		below = append(append(below, 0x0a, 32), put(append(binary.AppendUvarint([]byte{0x22}, uint64(len(m))), m...))...)
	}
	missing := sha256.Sum256([]byte("gone"))
	below = append(append(below, 0x0a, 32), missing[:]...)
	root = append(append(root, 0x12, 32), put(below)...)
	meta := `{"agentId":"` + agent + `","latestRootBlobId":"` + hex.EncodeToString(put(root)) + `","name":"A list","createdAt":1767225600000,"lastUsedModel":"m","blobEncryptionKey":"secret"}`
	if _, err := db.Exec(`INSERT INTO meta VALUES('0', ?)`, hex.EncodeToString([]byte(meta))); err != nil {
		t.Fatal(err)
	}
}

// TestStore: sessions of the command line are found in its databases, unless there is a transcript
// (getagentseal/codeburn#986).
func TestStore(t *testing.T) {
	home := t.TempDir()
	messages := []string{
		`{"role":"system","content":"be brief"}`,
		`{"role":"user","content":"<user_info>\nWorkspace Path: /w\n</user_info>"}`,
		`{"role":"user","content":[{"type":"text","text":"<user_query>\nls\n</user_query>"}]}`,
		`{"role":"assistant","content":[{"type":"reasoning","text":"hm"},{"type":"tool-call","toolCallId":"t","toolName":"ls","args":{"p":1}}]}`,
		`{"role":"tool","content":[{"type":"tool-result","toolCallId":"t","toolName":"ls","result":"a.go"}]}`,
	}
	const a, b, c = "84000000-0000-4000-8000-00000000000a", "84000000-0000-4000-8000-00000000000b", "84000000-0000-4000-8000-00000000000c"
	for path, agent := range map[string]string{"chats/e4e9/" + a: a, "acp-sessions/" + b: b, "chats/e4e9/" + c: c} {
		store(t, filepath.Join(home, ".cursor", path, "store.db"), agent, messages...)
	}
	transcript := filepath.Join(home, ".cursor", "projects", "w", "agent-transcripts", c, c+".jsonl")
	if err := os.MkdirAll(filepath.Dir(transcript), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(transcript, formattest.Lines(sample...), 0o600); err != nil {
		t.Fatal(err)
	}
	var found []string
	dbs, _ := importer.Databases(&cursor.CLI, func(name string) string { return map[string]string{"HOME": home}[name] })
	for _, db := range dbs {
		list, err := importer.Sessions(t.Context(), &cursor.CLI, db.Path)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			found = append(found, s.ID)
		}
	}
	if slices.Sort(found); !slices.Equal(found, []string{a, b}) {
		t.Errorf("found %q", found)
	}
	path := filepath.Join(home, ".cursor", "chats", "e4e9", a, "store.db", a)
	ofProject, err := importer.Discover(t.Context(), &cursor.CLI, "/w", func(name string) string { return map[string]string{"HOME": home}[name] })
	if err != nil || !slices.Contains(ofProject, path) || len(ofProject) != 2 {
		t.Errorf("sessions of the project: %q, %v", ofProject, err)
	}
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Session != a || info.Format != cursor.CLI.Name || string(info.State) != `{"sessionId":"`+a+`","model":"m","cwd":"/w","dates":"of the session"}` {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	raw := make([]byte, src.Size)
	if _, err := src.R.ReadAt(raw, 0); err != nil {
		t.Fatal(err)
	}
	items, _ := imp.Items(t, cursor.CLI.Name, "x", raw, formattest.Seen{})
	formattest.Want(t, items,
		`system {"content":"be brief"}`,
		`event {"name":"context","data":{"text":"<user_info>\nWorkspace Path: /w\n</user_info>"}}`,
		`message {"role":"user","content":"ls"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`tool_call {"calls":[{"id":"t","type":"function","function":{"name":"ls","arguments":"{\"p\":1}"}}]}`,
		`tool_result {"results":["a.go"]}`,
		`event {"name":"import.damaged","data":{"reason":"messages that cannot be read","messages":1}}`,
		`event {"name":"tape.title","data":{"title":"A list"}}`)
}

// TestManyTimes: a small database may list a message many times.
func TestManyTimes(t *testing.T) {
	message := `{"role":"user","content":"` + strings.Repeat("x", 32<<20) + `"}`
	answers := map[string]string{
		"00":                     strings.Repeat("0a20"+strings.Repeat("01", 32), 9),
		strings.Repeat("01", 32): hex.EncodeToString([]byte(message)),
	}
	err := cursor.CLI.Files.Database.Write(t.Context(), func(_ context.Context, _ string, args ...any) ([][]byte, error) {
		if len(args) == 0 {
			return [][]byte{[]byte(`{"value":"` + hex.EncodeToString([]byte(`{"agentId":"a","latestRootBlobId":"00"}`)) + `"}`)}, nil
		}
		return [][]byte{[]byte(`{"data":"` + answers[args[0].(string)] + `"}`)}, nil
	}, "store.db", "a", io.Discard)
	if err == nil || !strings.Contains(err.Error(), "too much for one session") {
		t.Errorf("%v", err)
	}
}
