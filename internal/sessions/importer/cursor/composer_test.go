package cursor_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/cursor"
	"tape/internal/sessions/importer/formattest"
)

const (
	composer = "54000000-0000-4000-8000-000000000003"
	known    = "64000000-0000-4000-8000-000000000001" // has a transcript
)

// database makes the editor's database: a session with a bubble that was taken back, one that has a transcript, one of the
// first version, one of a subagent, one without bubbles, and one that is not JSON.
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
	if _, err := db.Exec(`CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)`); err != nil {
		t.Fatal(err)
	}
	for _, row := range [][2]string{
		{"composerData:" + composer, `{"composerId":"` + composer + `","name":"A fix","createdAt":1789030800000,"lastUpdatedAt":1789030809000,"unifiedMode":"agent","modelConfig":{"modelName":"m"},"workspaceIdentifier":{"uri":{"fsPath":"/w"}},
			"createdOnBranch":"dev","fullConversationHeadersOnly":[{"bubbleId":"b1","type":1},{"bubbleId":"b2","type":2},{"bubbleId":"b3","type":2},{"bubbleId":"b4","type":2},{"bubbleId":"b5","type":2}],"usageData":{"m":{"costInCents":25,"amount":2}}}`},
		{"bubbleId:" + composer + ":b0", `{"bubbleId":"b0","type":1,"text":"taken back"}`},
		{"bubbleId:" + composer + ":b2", `{"bubbleId":"b2","type":2,"text":"So.","thinking":{"text":"hm","signature":"s"},"createdAt":"2026-09-10T09:00:02.000Z","tokenCount":{"inputTokens":20,"outputTokens":3}}`},
		{"bubbleId:" + composer + ":b1", `{"bubbleId":"b1","type":1,"text":"see","images":["data:image/png;base64,aGk="],"createdAt":"2026-09-10T09:00:01.000Z","context":{"notepads":[],"fileSelections":[{"uri":"a.go"}]}}`},
		{"bubbleId:" + composer + ":b3", `{"bubbleId":"b3","type":2,"text":"","toolFormerData":{"toolCallId":"t1","name":"run_terminal_cmd","status":"completed","rawArgs":"{\"command\": \"ls\"}","params":"{\"command\":\"ls\"}","result":"{\"output\":\"a.go\",\"exitCode\":3}","userDecision":"accepted"}}`},
		{"bubbleId:" + composer + ":b4", `{"bubbleId":"b4","type":2,"toolFormerData":{"toolCallId":"t2","name":"edit","status":"cancelled","rawArgs":"not JSON","userDecision":"rejected"}}`},
		{"bubbleId:" + composer + ":b5", `{"bubbleId":"b5","type":2,"toolFormerData":{"toolCallId":"t3","name":"read","status":"error","params":"{}","error":"{\"clientVisibleErrorMessage\":\"no such file\"}"}}`},
		{"composerData:" + known, `{"composerId":"` + known + `","fullConversationHeadersOnly":[{"bubbleId":"x"}]}`},
		{"composerData:old", `{"composerId":"old","createdAt":1789030800000,"conversation":[{"bubbleId":"o1","type":1,"text":"old one"},{"bubbleId":"o2","type":2,"isThought":true,"text":"deep"}]}`},
		{"composerData:task-1", `{"composerId":"task-1","subagentInfo":{"parentComposerId":"` + composer + `"},"fullConversationHeadersOnly":[{"bubbleId":"s1"}]}`},
		{"bubbleId:task-1:s1", `{"bubbleId":"s1","type":1,"text":"sub","workspaceUris":["file:///w/sub"]}`},
		{"composerData:empty", `{"composerId":"empty","fullConversationHeadersOnly":[]}`}, {"composerData:bad", `{"composerId`},
	} {
		if _, err := db.Exec(`INSERT INTO cursorDiskKV VALUES(?, ?)`, row[0], []byte(row[1])); err != nil {
			t.Fatal(err)
		}
	}
}

// TestComposer: sessions of the editor are found and read, unless there is a transcript.
func TestComposer(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".config", "Cursor", "User", "globalStorage", "state.vscdb")
	database(t, path)
	folder := filepath.Join(home, ".cursor", "projects", "w", "agent-transcripts")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, known+".jsonl"), formattest.Lines(sample...), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := importer.Discover(t.Context(), &cursor.Format, "/w", func(name string) string { return map[string]string{"HOME": home}[name] })
	if want := []string{filepath.Join(path, composer)}; err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q, %v; want %q", found, err, want)
	}
	list, err := importer.Sessions(t.Context(), &cursor.Format, path)
	if err != nil || len(list) != 3 || list[1].ID != "old" || list[2].Parent != composer {
		t.Errorf("sessions: %+v, %v", list, err)
	}
	read := func(id string) []byte {
		t.Helper()
		src, closer, err := importer.OpenSource(filepath.Join(path, id), nil)
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
	b, seen := read(composer), formattest.Seen{}
	items, _ := imp.Items(t, cursor.Format.Name, "x", b, seen)
	formattest.Want(t, items,
		`message {"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":"data:image/png;base64,aGk="}]}`,
		`event {"name":"context","data":{"context":{"fileSelections":[{"uri":"a.go"}]}}}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"So."}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":20,"output_tokens":3}}}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"run_terminal_cmd","arguments":"{\"command\":\"ls\"}"}}]}`,
		`tool_result {"results":["a.go"]}`,
		`event {"name":"tool.detail","data":{"call_id":"t1","result":{"exitCode":3},"userDecision":"accepted","status":"completed"}}`,
		`tool_call {"calls":[{"id":"t2","type":"function","function":{"name":"edit","arguments":"{\"arguments\":\"not JSON\"}"}}]}`,
		`event {"name":"tool.detail","data":{"call_id":"t2","userDecision":"rejected","status":"cancelled"}}`,
		`tool_call {"calls":[{"id":"t3","type":"function","function":{"name":"read","arguments":"{}"}}]}`,
		`tool_result {"results":["no such file"]}`,
		`event {"name":"tool.detail","data":{"call_id":"t3","status":"error"}}`,
		`message {"role":"user","content":"taken back"} hidden`,
		`event {"name":"composer","data":{"unifiedMode":"agent","modelConfig":{"modelName":"m"},"createdOnBranch":"dev"}}`,
		`event {"name":"run","data":{"model":"m","message_id":"`+composer+`/m","cost":0.25,"amount":2}}`,
		`event {"name":"tape.title","data":{"title":"A fix"}}`)
	if again, _ := imp.Items(t, cursor.Format.Name, "x", b, seen); len(again) > 0 {
		t.Errorf("read again, want no entries: %s", formattest.Show(again))
	}
	if got, _ := imp.Detect("x", b); got != cursor.Format.Name {
		t.Errorf("the session is taken for %q", got)
	}
	items, _ = imp.Items(t, cursor.Format.Name, "x", read("old"), formattest.Seen{})
	formattest.Want(t, items, `message {"role":"user","content":"old one"}`, `event {"name":"thinking","data":{"thinking":"deep"}}`)
	for id, want := range map[string]string{composer: `"gitBranch":"dev","cwd":"/w"`, "task-1": `"cwd":"/w/sub"`} {
		info, err := importer.Identify(t.Context(), filepath.Join(path, id))
		if err != nil || info.Session != composer || !strings.Contains(string(info.State), want) || (info.Agent != "") != (id == "task-1") {
			t.Errorf("%s is %+v (%s), %v", id, info, info.State, err)
		}
	}
}
