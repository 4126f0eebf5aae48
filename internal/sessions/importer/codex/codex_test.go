package codex_test

import (
	"context"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/formattest"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var codexSample = []string{`{"timestamp":"2026-02-01T08:00:00.000Z","type":"session_meta","payload":{"id":"0199-aa","timestamp":"2026-02-01T08:00:00Z","cwd":"/w","originator":"codex_cli","cli_version":"0.50.0","instructions":null}}`,
	`{"timestamp":"2026-02-01T08:00:01.000Z","type":"turn_context","payload":{"turn_id":"1","cwd":"/w","model":"gpt-x"}}`,
	`{"timestamp":"2026-02-01T08:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"list files"}]}}`,
	`{"timestamp":"2026-02-01T08:00:02.000Z","type":"event_msg","payload":{"type":"user_message","message":"list files","kind":"plain"}}`,
	`{"timestamp":"2026-02-01T08:00:03.000Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"**Look**"}}`,
	`{"timestamp":"2026-02-01T08:00:03.100Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"**Look**"}],"content":null,"encrypted_content":"gAAA"}}`,
	`{"timestamp":"2026-02-01T08:00:04.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}}`,
	`{"timestamp":"2026-02-01T08:00:04.000Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c2","status":"completed"}}`,
	`{"timestamp":"2026-02-01T08:00:05.000Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":"done"}}`,
	`{"timestamp":"2026-02-01T08:00:05.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":90,"cached_input_tokens":40,"output_tokens":7,"reasoning_output_tokens":2,"total_tokens":97},"last_token_usage":{"input_tokens":50,"cached_input_tokens":40,"output_tokens":5,"reasoning_output_tokens":1,"total_tokens":55},"model_context_window":1000},"rate_limits":null}}`,
	`{"timestamp":"2026-02-01T08:00:06.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"a.txt\",\"metadata\":{\"exit_code\":0}}"}}`,
	`{"timestamp":"2026-02-01T08:00:07.000Z","type":"event_msg","payload":{"type":"agent_message","message":"One file."}}`,
	`{"timestamp":"2026-02-01T08:00:07.100Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"One file."}]}}`,
	`{"timestamp":"2026-02-01T08:00:08.000Z","type":"event_msg","payload":{"type":"agent_message","message":"Only on the screen."}}`,
	`{"timestamp":"2026-02-01T08:00:09.000Z","type":"compacted","payload":{"message":"short","replacement_history":[{"role":"user"}]}}`,
	`{"timestamp":"2026-02-01T08:00:10.000Z","type":"turn_context","payload":{"turn_id":"2","cwd":"/w","model":"gpt-x"}}`,
	`{"timestamp":"2026-02-01T08:00:10.000Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}`,
	`{"timestamp":"2026-02-01T08:00:11.000Z","type":"new_thing","payload":{"x":1}}`,
}

func TestCodex(t *testing.T) {
	items, _ := imp.Items(t, codex.Format.Name, "rollout-x.jsonl", formattest.Lines(codexSample...), formattest.Seen{})
	formattest.Want(t, items,
		`event {"name":"session_meta","data":{"id":"0199-aa","timestamp":"2026-02-01T08:00:00Z","cwd":"/w","originator":"codex_cli","cli_version":"0.50.0","instructions":null}}`,
		`event {"name":"turn_context","data":{"turn_id":"1","cwd":"/w","model":"gpt-x"}}`,
		`message {"role":"user","content":"list files"}`,
		`event {"name":"thinking","data":{"thinking":"**Look**","encrypted_content":"gAAA"}}`,
		`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"shell","arguments":"{\"command\":[\"ls\"]}"}},{"id":"c2","type":"function","function":{"name":"apply_patch","arguments":"{\"input\":\"*** Begin\"}"}}]}`,
		`event {"name":"run","data":{"model":"gpt-x","usage":{"input_tokens":50,"cached_input_tokens":40,"output_tokens":5,"reasoning_output_tokens":1,"total_tokens":55},"total_token_usage":{"input_tokens":90,"cached_input_tokens":40,"output_tokens":7,"reasoning_output_tokens":2,"total_tokens":97},"model_context_window":1000}}`,
		`tool_result {"results":["{\"output\":\"a.txt\",\"metadata\":{\"exit_code\":0}}","done"]}`,
		`message {"role":"assistant","content":"One file."}`,
		`message {"role":"assistant","content":"Only on the screen."}`,
		`anchor {"name":"compaction","state":{"summary":"short","replacement_history":[{"role":"user"}]}}`,
		`event {"name":"turn_aborted","data":{"reason":"interrupted"}}`,
		`event {"name":"new_thing","data":{"x":1}}`,
	)
	old := formattest.Lines(
		`{"id":"old-1","timestamp":"2025-06-01T00:00:00Z","instructions":"be nice","git":{}}`,
		`{"record_type":"state"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`,
		`{"type":"local_shell_call","call_id":"s1","status":"completed","action":{"type":"exec","command":["ls"]}}`,
		`{"type":"function_call_output","call_id":"s1","output":{"content":"x","success":false}}`,
	)
	items, _ = imp.Items(t, codex.Format.Name, "rollout-y.jsonl", old, formattest.Seen{})
	formattest.Want(t, items,
		`event {"name":"session_meta","data":{"id":"old-1","timestamp":"2025-06-01T00:00:00Z","instructions":"be nice","git":{}}}`,
		`event {"name":"state","data":{"record_type":"state"}}`,
		`message {"role":"user","content":"hi"}`,
		`tool_call {"calls":[{"id":"s1","type":"function","function":{"name":"local_shell","arguments":"{\"status\":\"completed\",\"type\":\"exec\",\"command\":[\"ls\"]}"}}]}`,
		`tool_result {"results":[{"content":"x","success":false}]}`,
	)
	info, err := importer.Describe(context.Background(), &codex.Format, formattest.Source("rollout-y.jsonl", old))
	if err != nil || info.Session != "old-1" || info.Started != "2025-06-01T00:00:00.000000+00:00" {
		t.Errorf("%+v, %v; want session old-1 with its date", info, err)
	}
}

func FuzzCodex(f *testing.F) { imp.Fuzz(f, codex.Format.Name, codexSample) }

func TestDetected(t *testing.T) {
	if got, ok := imp.Detect("x", formattest.Lines(codexSample...)); !ok || got != codex.Format.Name {
		t.Errorf("taken for %q, want %q", got, codex.Format.Name)
	}
}

func TestGrows(t *testing.T) { imp.Grows(t, codex.Format.Name, codexSample, 1) }
