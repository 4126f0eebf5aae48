package codex_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

func recordLine(response, usage string) string {
	return `{"timestamp":"2026-11-01T08:00:05.000Z","type":"token_usage_record","payload":{"thread_id":"t","turn_id":"1","response_id":"` + response + `","usage":` + usage + `,"turn_token_usage":{},"thread_token_usage":` + usage + `}}`
}

func countLine(last, total string) string {
	return `{"timestamp":"2026-11-01T08:00:05.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":` + total + `},"last_token_usage":` + last + `}}}`
}

func used(total string) string {
	return `{"input_tokens":` + total + `,"cached_input_tokens":0,"output_tokens":0,"total_tokens":` + total + `}`
}

// TestUsageRecords: from the first token_usage_record on, each response counts once, whether a token_count says the same or
// not (xiufengsun/TokenTracker#652), also that of a compaction (openai/codex#47003), and what no response used does not.
func TestUsageRecords(t *testing.T) {
	head := []string{
		`{"timestamp":"2026-11-01T08:00:00.000Z","type":"session_meta","payload":{"id":"0199-aa","timestamp":"2026-11-01T08:00:00Z","cwd":"/w"}}`,
		`{"timestamp":"2026-11-01T08:00:01.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"1"}}`,
		`{"timestamp":"2026-11-01T08:00:01.000Z","type":"event_msg","payload":{"type":"thread_settings_applied","thread_settings":{"model":"gpt-y"}}}`,
		`{"timestamp":"2026-11-01T08:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}}`,
	}
	end := `{"timestamp":"2026-11-01T08:00:09.000Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"1"}}`
	compacted := `{"timestamp":"2026-11-01T08:00:08.000Z","type":"compacted","payload":{"message":"so far","compaction_response_id":"r3"}}`
	for name, x := range map[string]struct {
		lines []string
		want  string
	}{
		"records alone":      {[]string{recordLine("r1", used("10")), recordLine("r2", used("20")), end}, "10 20"},
		"both":               {[]string{recordLine("r1", used("10")), countLine(used("10"), "10"), recordLine("r2", used("20")), countLine(used("20"), "30"), end}, "10 20"},
		"a version between":  {[]string{countLine(used("5"), "5"), recordLine("r1", used("10")), countLine(used("10"), "15"), end}, "5 10"},
		"a compaction":       {[]string{recordLine("r1", used("10")), countLine(used("10"), "10"), recordLine("r3", used("7")), compacted, countLine(`{"input_tokens":0,"output_tokens":0,"total_tokens":3}`, "10"), end}, "10 7"},
		"the window is full": {[]string{recordLine("r1", used("10")), countLine(used("10"), "10"), countLine(used("228921"), "258400"), end}, "10"},
		"the same again":     {[]string{recordLine("r1", used("10")), countLine(used("10"), "10"), countLine(used("10"), "10"), end}, "10"},
	} {
		lines := append(append([]string{}, head...), x.lines...)
		items, _ := imp.Items(t, codex.Format.Name, "rollout-x.jsonl", formattest.Lines(lines...), formattest.Seen{})
		if x.want != runs(t, items) {
			t.Errorf("%s: responses of %q tokens, want %s", name, runs(t, items), x.want)
		}
		imp.Grows(t, codex.Format.Name, lines, 1)
		for n := range lines { // each response counts once, wherever the file ended when it was first read
			seen := formattest.Seen{}
			first, _ := imp.Items(t, codex.Format.Name, "rollout-x.jsonl", formattest.Lines(lines[:n]...), seen)
			second, _ := imp.Items(t, codex.Format.Name, "rollout-x.jsonl", formattest.Lines(lines...), seen)
			if got := runs(t, append(first, second...)); got != x.want {
				t.Errorf("%s, read after %d lines and again: responses of %q tokens, want %s", name, n, got, x.want)
			}
		}
	}
}

// runs returns how many tokens each response used.
func runs(t *testing.T, items []record.Item) string {
	t.Helper()
	var got []string
	for _, it := range items {
		if data := jsonl.Get(it.Entry.Payload, "data"); jsonl.GetString(it.Entry.Payload, "name") == record.EventRun {
			got = append(got, string(jsonl.Get(data, "usage", "total_tokens")))
			if jsonl.GetString(data, "model") != "gpt-y" {
				t.Errorf("a run has the model %s", jsonl.Get(data, "model"))
			}
		}
	}
	return strings.Join(got, " ")
}
