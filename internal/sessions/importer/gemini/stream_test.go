package gemini_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/gemini"
)

var streamSample = []string{
	`{"type":"init","timestamp":"2026-01-30T06:18:17.750Z","session_id":"6727b31e-11a1-4351-b526-000000000001","model":"gemini-3-pro"}`,
	`{"type":"message","timestamp":"2026-01-30T06:18:17.751Z","role":"user","content":"list"}`,
	`{"type":"message","timestamp":"2026-01-30T06:18:18.000Z","role":"assistant","content":"I lo","delta":true}`,
	`{"type":"message","timestamp":"2026-01-30T06:18:18.100Z","role":"assistant","content":"ok.","delta":true}`,
	`{"type":"tool_use","timestamp":"2026-01-30T06:18:19.000Z","tool_name":"run_shell_command","tool_id":"c1","parameters":{"command":"ls"}}`,
	`{"type":"tool_use","timestamp":"2026-01-30T06:18:19.001Z","tool_name":"read_file","tool_id":"c2","parameters":{"path":"a"}}`,
	`{"type":"tool_result","timestamp":"2026-01-30T06:18:20.000Z","tool_id":"c1","status":"success","output":"a"}`,
	`{"type":"tool_result","timestamp":"2026-01-30T06:18:20.001Z","tool_id":"c2","status":"error","error":{"type":"x","message":"no"}}`,
	`{"type":"error","timestamp":"2026-01-30T06:18:21.000Z","severity":"warning","message":"slow"}`,
	`{"type":"message","timestamp":"2026-01-30T06:18:22.000Z","role":"assistant","content":"Done.","delta":true}`,
	`{"type":"result","timestamp":"2026-01-30T06:18:23.000Z","status":"success","stats":{"total_tokens":120,"input_tokens":100,"output_tokens":15,"cached":60,"input":40,"duration_ms":9,"tool_calls":2,"models":{"gemini-3-pro":{"total_tokens":120,"input_tokens":100,"output_tokens":15,"cached":60,"input":40}}}}`,
}

func FuzzGeminiStream(f *testing.F) { imp.Fuzz(f, gemini.Stream.Name, streamSample) }

// TestStream: the parts of an answer are one message; the sums are by model.
func TestStream(t *testing.T) {
	if f := importer.All().Detect("transcript.jsonl", formattest.Lines(streamSample...)); f != &gemini.Stream {
		t.Fatalf("taken for %v", f)
	}
	seen := formattest.Seen{}
	items, _ := imp.Items(t, gemini.Stream.Name, "x.jsonl", formattest.Lines(streamSample...), seen)
	formattest.Want(t, items,
		`event {"name":"init","data":{"session_id":"6727b31e-11a1-4351-b526-000000000001","model":"gemini-3-pro"}}`,
		`message {"role":"user","content":"list"}`,
		`message {"role":"assistant","content":"I look."}`,
		`tool_call {"calls":[{"id":"c1","type":"function","function":{"name":"run_shell_command","arguments":"{\"command\":\"ls\"}"}},{"id":"c2","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}`,
		`tool_result {"results":["a","no"]}`,
		`event {"name":"tool.detail","data":{"call_id":"c2","error":{"type":"x"}}}`,
		`event {"name":"error","data":{"severity":"warning","message":"slow"}}`,
		`message {"role":"assistant","content":"Done."}`,
		`event {"name":"run","data":{"model":"gemini-3-pro","usage":{"input_tokens":100,"output_tokens":15,"cached_input_tokens":60,"total_tokens":120,"reasoning_output_tokens":5}}}`,
		`event {"name":"result","data":{"status":"success","duration_ms":9,"tool_calls":2}}`,
	)
	if again, _ := imp.Items(t, gemini.Stream.Name, "x.jsonl", formattest.Lines(streamSample...), seen); len(again) > 0 {
		t.Errorf("read again: %s", formattest.Show(again))
	}
	const another = `{"type":"message","timestamp":"2026-01-30T06:18:18.000Z","role":"assistant","content":"hi","name":"bob"}`
	if f := importer.All().Detect("x.jsonl", formattest.Lines(another)); f == &gemini.Stream {
		t.Error("another program's message is taken for one of this stream")
	}
	items, _ = imp.Items(t, gemini.Stream.Name, "x.jsonl", formattest.Lines(another), formattest.Seen{})
	if meta := string(items[0].Entry.Meta); !strings.Contains(meta, `"name":"bob"`) {
		t.Errorf("a member is lost: %s", meta)
	}
	cut := formattest.Seen{}
	imp.Items(t, gemini.Stream.Name, "x.jsonl", formattest.Lines(streamSample[:3]...), cut)
	items, _ = imp.Items(t, gemini.Stream.Name, "x.jsonl", formattest.Lines(streamSample[:5]...), cut)
	if got := formattest.Show(items); !strings.HasPrefix(got, `message {"role":"assistant","content":"ok."}`) {
		t.Errorf("an import was made within an answer; the next one has\n%s", got)
	}
}
