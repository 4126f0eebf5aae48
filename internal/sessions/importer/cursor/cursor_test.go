package cursor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/cursor"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var sample = []string{
	`{"role":"user","message":{"content":[{"type":"text","text":"<open_files>a.go</open_files>\n<user_query>\nbuild it\n</user_query>"}]}}`,
	`{"role":"assistant","message":{"content":[{"type":"text","text":"Starting."},{"type":"tool_use","name":"Write","input":{"path":"api.ts"}}]}}`,
	`{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"path":"api.ts"}}]}}`,
	`{"role":"user","message":{"content":[{"type":"text","text":"thanks"}]}}`,
}

func FuzzCursor(f *testing.F) { imp.Fuzz(f, cursor.Format.Name, sample) }

// TestCursor: what a person said is their message, what Cursor adds an event; calls without ids get some.
func TestCursor(t *testing.T) {
	items, _ := imp.Items(t, cursor.Format.Name, "a.jsonl", formattest.Lines(sample...), formattest.Seen{})
	var got []string
	for _, i := range items {
		got = append(got, i.Entry.Kind)
	}
	if want := "message event message tool_call message"; !strings.HasPrefix(strings.Join(got, " "), "message event message tool_call") {
		t.Errorf("got %v, want %s", got, want)
	}
	formattest.Want(t, items[:3],
		`message {"role":"user","content":"build it"}`,
		`event {"name":"context","data":{"text":"<open_files>a.go</open_files>"}}`,
		`message {"role":"assistant","content":"Starting."}`)
}

// TestPlace: the file's name has the session's id, its folder the directory, whose name may have dashes.
func TestPlace(t *testing.T) {
	home := t.TempDir()
	project := filepath.Join(home, "my-shop.web")
	const id, sub = "64000000-0000-4000-8000-000000000001", "74000000-0000-4000-8000-000000000002"
	folder := filepath.Join(home, ".cursor", "projects", strings.TrimLeft(record.Dashed(project), "-"), "agent-transcripts", id)
	for _, dir := range []string{project, filepath.Join(folder, "subagents")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{id + ".jsonl", "subagents/" + sub + ".jsonl"} {
		if err := os.WriteFile(filepath.Join(folder, name), formattest.Lines(sample...), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := importer.Discover(t.Context(), &cursor.Format, project, func(name string) string { return map[string]string{"HOME": home}[name] })
	if err != nil || len(found) != 2 {
		t.Errorf("found %q, %v", found, err)
	}
	info, err := importer.Identify(t.Context(), filepath.Join(folder, "subagents", sub+".jsonl"))
	if err != nil || info.Session != id || info.Agent != "agent-"+sub || info.Started == "" {
		t.Errorf("the subagent's file: %+v, %v", info, err)
	}
}

// TestDates: newer versions say when a person said something, and what went wrong (S2thend/cursor-history).
func TestDates(t *testing.T) {
	lines := formattest.Lines(
		`{"role":"user","message":{"content":[{"type":"text","text":"<timestamp>Friday, Jul 31, 2026, 2:07 PM (UTC+3)</timestamp>\n<user_query>\nbuild it\n</user_query>"}]}}`,
		`{"type":"error","error":"upstream timeout"}`,
		`{"role":"assistant","message":{"content":[{"type":"text","text":"Done."}]},"model":"m"}`,
		`{"type":"turn_ended","status":"success"}`)
	items, _ := imp.Items(t, cursor.Format.Name, "a.jsonl", lines, formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"build it"}`,
		`event {"name":"context","data":{"text":"<timestamp>Friday, Jul 31, 2026, 2:07 PM (UTC+3)</timestamp>"}}`,
		`event {"name":"error","data":{"error":"upstream timeout"}}`,
		`message {"role":"assistant","content":"Done."}`,
		`event {"name":"turn_ended","data":{"status":"success"}}`)
	for _, i := range items {
		if i.Entry.Date != "2026-07-31T11:07:00.000000+00:00" {
			t.Errorf("%s has the date %q", i.Entry.Kind, i.Entry.Date)
		}
	}
}

// TestDateOfFirstPrompt: a session begins with its first prompt, also if another line comes before.
func TestDateOfFirstPrompt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	lines := formattest.Lines(`{"type":"error","error":"no network"}`,
		`{"role":"user","message":{"content":[{"type":"text","text":"<timestamp>Friday, Jul 31, 2026, 2:07 PM (UTC+3)</timestamp>\n<user_query>\nbuild it\n</user_query>"}]}}`)
	if err := os.WriteFile(path, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Started != "2026-07-31T11:07:00.000000+00:00" {
		t.Errorf("it began %q, %v", info.Started, err)
	}
}
