package droid_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/droid"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var sample = []string{
	`{"type":"session_start","id":"84000000-0000-4000-8000-000000000002","title":"ask","version":2,"cwd":"/w"}`,
	`{"type":"message","id":"94000000-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"ask"}]}}`,
	`{"type":"message","id":"94000000-0000-4000-8000-000000000002","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"so"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"a.go"}}]},"parentId":"94000000-0000-4000-8000-000000000001"}`,
	`{"type":"message","id":"94000000-0000-4000-8000-000000000003","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"none"}]},"parentId":"94000000-0000-4000-8000-000000000002"}`,
	`{"type":"compaction_state","id":"c1","timestamp":"2026-01-01T00:00:03.000Z","summaryText":"all done"}`,
}

func FuzzDroid(f *testing.F) { imp.Fuzz(f, droid.Format.Name, sample) }

func TestGrows(t *testing.T) { imp.Grows(t, droid.Format.Name, sample, 1) }

// TestDroid: the tokens are those of the settings beside the session.
func TestDroid(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "84000000-0000-4000-8000-000000000002.jsonl")
	for name, text := range map[string]string{path: string(formattest.Lines(sample...)),
		filepath.Join(dir, "84000000-0000-4000-8000-000000000002.settings.json"): `{"model":"m","tokenUsage":{"inputTokens":10,"outputTokens":20,"cacheCreationTokens":5,"cacheReadTokens":100,"thinkingTokens":3}}`} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := importer.Files(t.Context(), dir); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Format != droid.Format.Name || string(info.State) != `{"sessionId":"84000000-0000-4000-8000-000000000002","cwd":"/w","model":"m"}` {
		t.Errorf("info: %+v (%s), %v", info, info.State, err)
	}
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	if _, err := importer.Read(t.Context(), &droid.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	formattest.Want(t, items,
		`event {"name":"session","data":{"id":"84000000-0000-4000-8000-000000000002","title":"ask","version":2,"cwd":"/w"}}`,
		`message {"role":"user","content":"ask"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"so"}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"Read","arguments":"{\"file_path\":\"a.go\"}"}}]}`,
		`tool_result {"results":["none"]}`,
		`anchor {"name":"compaction","state":{"summary":"all done"}}`,
		`event {"name":"run","data":{"model":"m","message_id":"84000000-0000-4000-8000-000000000002","usage":{"input_tokens":10,"output_tokens":20,"cache_creation_input_tokens":5,"cache_read_input_tokens":100,"reasoning_output_tokens":3}}}`)
}

// TestPrinted: what droid exec prints has no calls within messages, and its last line repeats the answer.
func TestPrinted(t *testing.T) {
	lines := formattest.Lines(
		`{"type":"system","subtype":"init","cwd":"/w","session_id":"s","tools":["LS"],"model":"m"}`,
		`{"type":"message","role":"user","id":"m1","text":"list","timestamp":1767225600000,"session_id":"s"}`,
		`{"type":"tool_call","id":"c1","messageId":"m2","toolId":"LS","toolName":"LS","parameters":{"path":"."},"timestamp":1767225601000,"session_id":"s"}`,
		`{"type":"tool_result","id":"c1","messageId":"m3","toolId":"LS","isError":true,"value":"none","timestamp":1767225602000,"session_id":"s"}`,
		`{"type":"message","role":"assistant","id":"m4","text":"Nothing.","timestamp":1767225603000,"session_id":"s"}`,
		`{"type":"completion","finalText":"Nothing.","numTurns":1,"usage":{"input_tokens":10,"output_tokens":5},"session_id":"s","timestamp":1767225604000}`)
	if got, _ := imp.Detect("a.jsonl", lines); got != droid.Format.Name {
		t.Errorf("taken for %q", got)
	}
	items, _ := imp.Items(t, droid.Format.Name, "a.jsonl", lines, formattest.Seen{})
	formattest.Want(t, items,
		`event {"name":"system.init","data":{"cwd":"/w","tools":["LS"],"model":"m"}}`,
		`message {"role":"user","content":"list"}`,
		`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"LS","arguments":"{\"path\":\".\"}"}}]}`,
		`tool_result {"results":["none"]}`,
		`message {"role":"assistant","content":"Nothing."}`,
		`event {"name":"run","data":{"usage":{"input_tokens":10,"output_tokens":5}}}`,
		`event {"name":"completion","data":{"numTurns":1}}`)
}

// TestReminders: Droid puts reminders before what a person said, and finds a title (phnx-labs/agi-cli#486).
func TestReminders(t *testing.T) {
	items, _ := imp.Items(t, droid.Format.Name, "a.jsonl", formattest.Lines(
		`{"type":"session_start","id":"84000000-0000-4000-8000-000000000002","title":"list","sessionTitle":"A list","cwd":"/w"}`,
		`{"type":"message","id":"94000000-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"<system-reminder>\nbe nice\n</system-reminder>"},{"type":"text","text":"list"}]}}`,
		`{"type":"message","id":"94000000-0000-4000-8000-000000000002","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"text","text":"so"}],"modelId":"m"}}`), formattest.Seen{})
	formattest.Want(t, items,
		`event {"name":"session","data":{"id":"84000000-0000-4000-8000-000000000002","title":"list","sessionTitle":"A list","cwd":"/w"}}`,
		`message {"role":"user","content":"list"}`,
		`event {"name":"context","data":{"text":"be nice"}}`,
		`message {"role":"assistant","content":"so"}`,
		`event {"name":"tape.title","data":{"title":"A list"}}`)
}

// TestQuotedReminder: reminders may be before and below what a person said, which may quote one.
func TestQuotedReminder(t *testing.T) {
	said := func(id, text string) string {
		return `{"type":"message","id":"94000000-0000-4000-8000-00000000000` + id + `","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"` + text + `"}]}}`
	}
	items, _ := imp.Items(t, droid.Format.Name, "a.jsonl", formattest.Lines(
		said("1", `<system-reminder>one</system-reminder>\nfix it\n<system-reminder>two</system-reminder>\n`),
		said("2", `what is <system-reminder>x</system-reminder> for?`),
		said("3", `why </system-reminder> and then <system-reminder>?`)), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"fix it"}`,
		`event {"name":"context","data":{"text":"one"}}`,
		`event {"name":"context","data":{"text":"two"}}`,
		`message {"role":"user","content":"what is <system-reminder>x</system-reminder> for?"}`,
		`message {"role":"user","content":"why </system-reminder> and then <system-reminder>?"}`)
}

// TestOtherLines: lines of a session keep the keys that they had before what droid exec prints was read.
func TestOtherLines(t *testing.T) {
	items, _ := imp.Items(t, droid.Format.Name, "a.jsonl", formattest.Lines(
		`{"type":"session_start","id":"84000000-0000-4000-8000-000000000002","title":"list","cwd":"/w"}`,
		`{"type":"system","id":"s1","text":"be nice"}`, `{"type":"error","id":"e1","text":"no"}`), formattest.Seen{})
	for i, want := range []string{"84000000-0000-4000-8000-000000000002", "s1", "e1"} {
		if !slices.Equal(items[i].Keys, []string{want}) {
			t.Errorf("entry %d has the keys %q, want %s", i, items[i].Keys, want)
		}
	}
}
