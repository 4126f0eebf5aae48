package zed_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/importer/zed"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

const (
	now = `{"version":"0.3.0","title":"A fix","updated_at":"2026-03-01T09:01:05.5Z","model":{"provider":"p","model":"m"},"detailed_summary":null,"profile":"write",
"initial_project_snapshot":{"worktree_snapshots":[{"worktree_path":"/w","git_state":{"current_branch":"dev"}}]},
"cumulative_token_usage":{"input_tokens":30,"output_tokens":4},"request_token_usage":{"u1":{"input_tokens":20,"output_tokens":3}},"messages":[
{"User":{"id":"u1","content":[{"Text":"see "},{"Mention":{"uri":{"File":{"abs_path":"/w/a.go"}},"content":"package a"}},{"Image":{"source":"aGk="}}]}},
{"Agent":{"content":[{"Thinking":{"text":"hm","signature":"s"}},{"Text":"So."},{"ToolUse":{"id":"t2","name":"terminal","raw_input":"{}","input":{"type":"json","value":{"command":"ls"}},"is_input_complete":true}},{"ToolUse":{"id":"t1","name":"grep","raw_input":"{\"x\":1}","input":{"x":1}}}],
"tool_results":{"t1":{"tool_use_id":"t1","tool_name":"grep","is_error":true,"content":{"Text":"none"},"output":"none"},"t2":{"tool_use_id":"t2","tool_name":"terminal","is_error":false,"content":[{"Text":"a.go"},{"Image":{"source":"aGk="}}],"output":{"exit":7}}}}},
{"Compaction":{"Summary":"what was"}},"Resume",{"Agent":{"content":[{"RedactedThinking":"x"},{"Text":"Done."}],"tool_results":{}}}]}`
	before = `{"version":"0.2.0","summary":"An old one","updated_at":"2025-05-01T09:01:05Z","messages":[{"id":1,"role":"user","segments":[{"type":"text","text":"list"}],"context":"<files>"},
{"id":2,"role":"assistant","segments":[{"type":"thinking","text":"hm"},{"type":"text","text":"So."}],"tool_uses":[{"id":"t","name":"ls","input":{}}],"tool_results":[{"tool_use_id":"t","is_error":false,"content":"a.go"}]},{"id":3,"role":"system","segments":[]}]}`
)

// database makes a database: a thread, one of an older version, and one of a subagent, which is compressed.
func database(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`CREATE TABLE threads(id TEXT PRIMARY KEY, summary TEXT, updated_at TEXT, data_type TEXT, data BLOB, parent_id TEXT, folder_paths TEXT, created_at TEXT)`); err != nil {
		t.Fatal(err)
	}
	for _, row := range [][]any{{"z1", "A fix", "2026-03-01T09:01:05+00:00", "json", []byte(now), nil, "/w\n/x", "2026-03-01T09:00:00+00:00"},
		{"z2", "Side", "2026-03-01T09:00:05+00:00", "zstd", []byte{0x28, 0xb5, 0x2f, 0xfd}, "z1", "/w", nil}, {"z3", "An old one", "2025-05-01T09:01:05+00:00", "json", before, nil, "/w", nil}} {
		if _, err := db.Exec(`INSERT INTO threads VALUES(?, ?, ?, ?, ?, ?, ?, ?)`, row...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDatabase: threads are found without being read, and read. What is compressed is read by tape-host only.
func TestDatabase(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".local", "share", "zed", "threads", "threads.db")
	database(t, path)
	getenv := func(name string) string { return map[string]string{"HOME": home}[name] }
	if !importer.NeedsHost(t.Context(), nil, importer.All(), getenv) || !importer.NeedsHost(t.Context(), []string{path}, importer.All(), getenv) || !importer.NeedsHost(t.Context(), []string{filepath.Join(path, "z1")}, importer.All(), getenv) {
		t.Error("tape-host is not asked to unpack threads")
	}
	found, err := importer.Discover(t.Context(), &zed.Format, "/w", getenv)
	if want := []string{filepath.Join(path, "z3"), filepath.Join(path, "z1"), filepath.Join(path, "z2")}; err != nil || !slices.Equal(found, want) {
		t.Fatalf("found %q, %v; want %q", found, err, want)
	}
	formattest.Want(t, read(t, found[1]),
		`event {"name":"thread","data":{"profile":"write","initial_project_snapshot":{"worktree_snapshots":[{"worktree_path":"/w","git_state":{"current_branch":"dev"}}]}}}`,
		`message {"role":"user","content":[{"type":"text","text":"see "},{"type":"mention","uri":{"File":{"abs_path":"/w/a.go"}}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]}`,
		`event {"name":"context","data":{"mentions":[{"uri":{"File":{"abs_path":"/w/a.go"}},"content":"package a"}]}}`,
		`event {"name":"request.usage","data":{"model":"m","message_id":"u1","usage":{"input_tokens":20,"output_tokens":3}}}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"So."}`,
		`tool_call {"calls":[{"id":"t2","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"ls\"}"}},{"id":"t1","type":"function","function":{"name":"grep","arguments":"{\"x\":1}"}}]}`,
		`tool_result {"results":[[{"type":"text","text":"a.go"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}],"none"]}`,
		`event {"name":"tool.detail","data":{"call_id":"t2","output":{"exit":7}}}`,
		`anchor {"name":"compaction","state":{"summary":"what was"}}`,
		`event {"name":"message","data":{"message":"Resume"}}`,
		`event {"name":"part.redacted_thinking","data":{"data":"x"}}`,
		`message {"role":"assistant","content":"Done."}`,
		`event {"name":"run","data":{"model":"m","message_id":"z1","usage":{"input_tokens":30,"output_tokens":4}}}`,
		`event {"name":"tape.title","data":{"title":"A fix"}}`)
	formattest.Want(t, read(t, found[0]),
		`message {"role":"user","content":"list"}`,
		`event {"name":"context","data":{"text":"<files>"}}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"So."}`,
		`tool_call {"calls":[{"id":"t","type":"function","function":{"name":"ls","arguments":"{}"}}]}`,
		`tool_result {"results":["a.go"]}`,
		`event {"name":"message.system","data":{"id":3}}`,
		`event {"name":"tape.title","data":{"title":"An old one"}}`)
	if _, _, err := importer.OpenSource(found[2], nil); !errors.Is(err, record.ErrPacked) {
		t.Errorf("a compressed thread: %v, want %v", err, record.ErrPacked)
	}
	if info, err := importer.Identify(t.Context(), found[1]); err != nil || info.Session != "z1" || string(info.State) != `{"sessionId":"z1","cwd":"/w","gitBranch":"dev","model":"m","provider":"p","dates":"of the thread"}` {
		t.Errorf("the thread is %+v (%s), %v", info, info.State, err)
	}
}

// read reads a session twice, the second time from its tape's keys: nothing may be new.
func read(t *testing.T, path string) []record.Item {
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
	seen := formattest.Seen{}
	items, _ := imp.Items(t, zed.Format.Name, path, b, seen)
	if again, _ := imp.Items(t, zed.Format.Name, path, b, seen); len(again) > 0 {
		t.Errorf("read again, want no entries: %s", formattest.Show(again))
	}
	if got, _ := imp.Detect("x.json", b); got != zed.Format.Name {
		t.Errorf("the thread is taken for %q", got)
	}
	return items
}

// TestDamaged: a thread that is cut off is an error or damage, never nothing.
func TestDamaged(t *testing.T) {
	items, stats := imp.Items(t, zed.Format.Name, "x.json", []byte(now[:500]), formattest.Seen{})
	if len(items) == 0 && stats.Damaged == 0 && len(stats.Problems) == 0 {
		t.Error("a thread that is cut off gives nothing, not even a problem")
	}
}
