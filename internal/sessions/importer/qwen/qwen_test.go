package qwen_test

import (
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/qwen"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

// sample is a session whose user took its last prompt back.
var sample = []string{
	`{"uuid":"a","parentUuid":null,"sessionId":"q-1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","provenance":"real_user","cwd":"/w","version":"0.24.4","gitBranch":"main","message":{"role":"user","parts":[{"text":"<system-reminder>x</system-reminder>"},{"text":"list"}]}}`,
	`{"uuid":"b","parentUuid":"a","sessionId":"q-1","timestamp":"2026-01-01T00:00:02.000Z","type":"system","subtype":"ui_telemetry","systemPayload":{"uiEvent":{"event.name":"qwen-code.api_response","response_text":"so"}}}`,
	`{"uuid":"c","parentUuid":"b","sessionId":"q-1","timestamp":"2026-01-01T00:00:03.000Z","type":"assistant","model":"m","message":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"so"},{"functionCall":{"id":"t1","name":"run_shell_command","args":{"command":"ls"}}}]},"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":2,"thoughtsTokenCount":1,"totalTokenCount":11,"cachedContentTokenCount":4},"contextWindowSize":100}`,
	`{"uuid":"d","parentUuid":"c","sessionId":"q-1","timestamp":"2026-01-01T00:00:04.000Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"t1","name":"run_shell_command","response":{"output":"Output: a\nExit Code: 3\nSignal: (none)"}}}]},"toolCallResult":{"callId":"t1","status":"success","resultDisplay":"a"}}`,
	`{"uuid":"e","parentUuid":"d","sessionId":"q-1","timestamp":"2026-01-01T00:00:05.000Z","type":"user","message":{"role":"user","parts":[{"text":"wrong way"}]}}`,
	`{"uuid":"f","parentUuid":"d","sessionId":"q-1","timestamp":"2026-01-01T00:00:06.000Z","type":"system","subtype":"rewind","systemPayload":{"truncatedCount":2}}`,
	`{"uuid":"g","parentUuid":"f","sessionId":"q-1","timestamp":"2026-01-01T00:00:07.000Z","type":"system","subtype":"custom_title","systemPayload":{"customTitle":"Files","titleSource":"manual"}}`,
	`{"uuid":"h","parentUuid":"g","sessionId":"q-1","timestamp":"2026-01-01T00:00:08.000Z","type":"system","subtype":"chat_compression","systemPayload":{"info":{"triggerReason":"manual"},"compressedHistory":[{"role":"user","parts":[{"text":"<state_snapshot>s</state_snapshot>"}]},{"role":"model","parts":[{"text":"ok"}]}]}}`,
	`{"uuid":"i","parentUuid":"h","sessionId":"q-1","timestamp":"2026-01-01T00:00:09.000Z","type":"system","subtype":"custom_title","systemPayload":{"customTitle":"Files","titleSource":"manual"}}`,
}

func FuzzQwen(f *testing.F) { imp.Fuzz(f, qwen.Format.Name, sample) }

// TestQwen: a prompt that was taken back is a fork; a title that comes again is not repeated.
func TestQwen(t *testing.T) {
	seen := formattest.Seen{}
	items, _ := imp.Items(t, qwen.Format.Name, "x.jsonl", formattest.Lines(sample...), seen)
	formattest.Want(t, items,
		`message {"role":"user","content":"<system-reminder>x</system-reminder>"}`,
		`message {"role":"user","content":"list"}`,
		`event {"name":"system.ui_telemetry","data":{"event.name":"qwen-code.api_response"}}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"so"}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"run_shell_command","arguments":"{\"command\":\"ls\"}"}}]}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":9,"output_tokens":2,"reasoning_output_tokens":1,"total_tokens":11,"cached_input_tokens":4},"contextWindowSize":100}}`,
		`tool_result {"results":["Output: a\nExit Code: 3\nSignal: (none)"]}`,
		`event {"name":"tool.detail","data":{"call_id":"t1","status":"success","resultDisplay":"a"}}`,
		`branch-emessage {"role":"user","content":"wrong way"}`,
		`event {"name":"system.rewind","data":{"truncatedCount":2}}`,
		`event {"name":"tape.title","data":{"title":"Files"}}`,
		`anchor {"name":"compaction","state":{"summary":"<state_snapshot>s</state_snapshot>","triggerReason":"manual"}}`,
	)
	if is := string(items[7].Entry.Meta); !strings.Contains(is, `"is_error":["t1"]`) {
		t.Errorf("the result of a failed command is not marked as an error: %s", is)
	}
	read := slices.Clone(sample)
	for i := range read {
		read[i] = strings.ReplaceAll(read[i], "run_shell_command", "read_file")
	}
	items, _ = imp.Items(t, qwen.Format.Name, "x.jsonl", formattest.Lines(read...), formattest.Seen{})
	if is := string(items[7].Entry.Meta); strings.Contains(is, "is_error") {
		t.Errorf("a file with the words of a failure was read, and its result is marked as an error: %s", is)
	}
	if again, _ := imp.Items(t, qwen.Format.Name, "x.jsonl", formattest.Lines(sample...), seen); len(again) > 0 {
		t.Errorf("read again, want no entries: %s", formattest.Show(again))
	}
}

// TestWhoTyped: notices and what a goal says are no prompts; what was typed while the model worked has its own words.
func TestWhoTyped(t *testing.T) {
	user := func(id, parent, more, text string) string {
		return `{"uuid":"` + id + `","parentUuid":` + parent + `,"sessionId":"q-1","timestamp":"2026-01-01T00:00:01.000Z","type":"user",` + more + `"cwd":"/w","message":{"role":"user","parts":[{"text":"` + text + `"}]}}`
	}
	items, _ := imp.Items(t, qwen.Format.Name, "x.jsonl", formattest.Lines(
		user("a", "null", `"provenance":"real_user",`, "list"),
		user("b", `"a"`, `"subtype":"mid_turn_user_message","provenance":"real_user","systemPayload":{"displayText":"and sort"},`, `\n[User message received during tool execution]: and sort`),
		user("c", `"b"`, `"subtype":"notification","provenance":"system",`, "a job is done"),
		user("d", `"c"`, `"subtype":"cron",`, "check"),
		user("e", `"d"`, `"provenance":"goal_runtime",`, "go on"),
		user("f", `"e"`, `"subtype":"realtime_message","provenance":"real_user",`, "read it to me"),
	), formattest.Seen{})
	if typed := formattest.Typed(items); len(items) != 6 || strings.Join(typed, ", ") != "list, and sort, read it to me" {
		t.Errorf("%d entries, typed %q", len(items), typed)
	}
}

// TestGrows: if the user never goes back, reading a file again while it grows gives the same as reading it once.
func TestGrows(t *testing.T) { imp.Grows(t, qwen.Format.Name, sample[:5], 1) }
