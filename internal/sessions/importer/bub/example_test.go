package bub_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/bub"
	"tape/internal/sessions/importer/formattest"
)

// llmLogs makes a database as the program llm has it, with the columns that the example reads.
const llmLogs = `
import sqlite3, sys
sqlite3.connect(sys.argv[1]).executescript('''
CREATE TABLE conversations (id TEXT, name TEXT, model TEXT);
CREATE TABLE responses (id TEXT, model TEXT, prompt TEXT, response TEXT, conversation_id TEXT, datetime_utc TEXT, input_tokens INTEGER, output_tokens INTEGER);
CREATE TABLE tool_calls (id INTEGER, response_id TEXT, name TEXT, arguments TEXT, tool_call_id TEXT);
CREATE TABLE tool_results (id INTEGER, response_id TEXT, output TEXT, tool_call_id TEXT);
INSERT INTO conversations VALUES ('c1', 'The time', 'm'), ('c2', 'Empty', 'm');
INSERT INTO responses VALUES ('r1', 'm', 'what time is it?', '', 'c1', '2026-01-01T00:00:00.5+00:00', 10, 5), ('r2', 'm', '', 'ten', 'c1', '2026-01-01T00:00:02+00:00', 20, NULL);
INSERT INTO tool_calls VALUES (1, 'r1', 'clock', '{"zone": "UTC"}', 'k1');
INSERT INTO tool_results VALUES (1, 'r2', '10:00', 'k1');
''')`

// What docs/examples/import_llm.py writes is imported: several sessions with titles, dates, calls, results and tokens.
func TestExample(t *testing.T) {
	if out, err := exec.Command("python3", "--version").CombinedOutput(); err != nil {
		t.Skipf("python3 does not run: %v %s", err, out)
	}
	program, err := filepath.Abs(filepath.Join("..", "..", "..", "..", "docs", "examples", "import_llm.py"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	db, folder := filepath.Join(dir, "logs.db"), filepath.Join(dir, "sessions")
	for _, args := range [][]string{{"-c", llmLogs, db}, {program, db, folder}} {
		if out, err := exec.Command("python3", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if files, err := importer.Files(t.Context(), folder); err != nil || len(files) != 2 {
		t.Fatalf("files %v, %v; want one for each conversation", files, err)
	}
	b, err := os.ReadFile(filepath.Join(folder, "c1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if format, _ := imp.Detect("c1.jsonl", b); format != bub.Format.Name {
		t.Errorf("taken for %q", format)
	}
	items, stats := imp.Items(t, bub.Format.Name, "c1.jsonl", b, formattest.Seen{})
	if stats.Damaged != 0 || items[2].Entry.Date != "2026-01-01T00:00:00.5+00:00" {
		t.Errorf("%+v, date %s", stats, items[2].Entry.Date)
	}
	formattest.Want(t, items,
		`anchor {"name":"session/start","state":{"agent":"llm","sessionId":"c1","model":"m"}}`,
		`event {"name":"tape.title","data":{"title":"The time"}}`,
		`message {"role":"user","content":"what time is it?"}`,
		`tool_call {"calls":[{"id":"k1","type":"function","function":{"name":"clock","arguments":"{\"zone\": \"UTC\"}"}}]}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":10,"output_tokens":5}}}`,
		`tool_result {"results":["10:00"]}`,
		`message {"role":"assistant","content":"ten"}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":20,"output_tokens":0}}}`)
}
