package openai_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/openai"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var openAISample = []string{
	`{"role":"system","content":"be brief"}`,
	`{"role":"user","content":[{"type":"text","text":"weather?"}]}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"k1","type":"function","function":{"name":"w","arguments":"{\"city\":\"Ulm\"}"}},{"id":"k2","type":"function","function":{"name":"w","arguments":"{}"}}]}`,
	`{"role":"tool","tool_call_id":"k2","content":"rain"}`,
	`{"role":"tool","tool_call_id":"k1","content":"sun"}`,
	`{"role":"assistant","content":"Sun.","name":"bot"}`,
	`{"role":"user","content":"weather?"}`,
}

func TestOpenAI(t *testing.T) {
	wants := []string{
		`system {"content":"be brief"}`,
		`message {"role":"user","content":[{"type":"text","text":"weather?"}]}`,
		`tool_call {"calls":[{"id":"k1","type":"function","function":{"name":"w","arguments":"{\"city\":\"Ulm\"}"}},{"id":"k2","type":"function","function":{"name":"w","arguments":"{}"}}]}`,
		`tool_result {"results":["sun","rain"]}`,
		`message {"role":"assistant","content":"Sun.","name":"bot"}`,
		`message {"role":"user","content":"weather?"}`,
	}
	body := strings.Join(openAISample, ",")
	for name, b := range map[string]string{
		"lines": string(formattest.Lines(openAISample...)), "array": "[" + body + "]", "pretty": "[\n" + strings.ReplaceAll(body, ",{", ",\n  {") + "\n]\n",
		"object": `{"messages":[` + body + `]}`, "marked": record.ByteOrderMark + "[" + body + "]",
	} {
		items, stats := imp.Items(t, openai.Format.Name, name, []byte(b), formattest.Seen{})
		if stats.Damaged != 0 || stats.Records != len(openAISample) {
			t.Errorf("%s: %+v", name, stats)
		}
		formattest.Want(t, items, wants...)
	}
	conv := `{"messages":[` + strings.Join(openAISample[:2], ",") + `],"tools":[1]}`
	items, _ := imp.Items(t, openai.Format.Name, "train.jsonl", formattest.Lines(conv, conv), formattest.Seen{})
	formattest.Want(t, items,
		`anchor {"name":"conversation-1","state":{"tools":[1]}}`, wants[0], wants[1],
		`anchor {"name":"conversation-2","state":{"tools":[1]}}`, wants[0], wants[1])

	cut := "[" + openAISample[0] + "," + openAISample[1][:20]
	items, stats := imp.Items(t, openai.Format.Name, "cut", []byte(cut), formattest.Seen{})
	if stats.Damaged != 1 || len(items) != 2 {
		t.Errorf("want two entries, one of them damaged: %+v: %s", stats, formattest.Show(items))
	}
}

func FuzzOpenAI(f *testing.F) { imp.Fuzz(f, openai.Format.Name, openAISample) }

func TestDetected(t *testing.T) {
	if got, ok := imp.Detect("x", formattest.Lines(openAISample...)); !ok || got != openai.Format.Name {
		t.Errorf("taken for %q, want %q", got, openai.Format.Name)
	}
}

func TestGrows(t *testing.T) { imp.Grows(t, openai.Format.Name, openAISample, 1) }

// TestCallsInText: an export of database rows, such as Hermes', has the calls as a text.
func TestCallsInText(t *testing.T) {
	items, _ := imp.Items(t, openai.Format.Name, "x.jsonl", formattest.Lines(`{"role":"user","content":"ask"}`,
		`{"role":"assistant","content":"","tool_calls":"[{\"id\":\"t\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]"}`, `{"role":"tool","tool_call_id":"t","content":"a.go"}`), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"ask"}`,
		`tool_call {"calls":[{"id":"t","type":"function","function":{"name":"ls","arguments":"{}"}}]}`,
		`tool_result {"results":["a.go"]}`)
}

// TestAnthropics: programs with Anthropic's SDK keep messages in its form; their calls and results are such.
func TestAnthropics(t *testing.T) {
	lines := []string{
		`{"timestamp":"2026-07-16T00:39:22.755Z","role":"user","content":"look"}`,
		`{"timestamp":"2026-07-16T00:39:23.000Z","role":"assistant","content":[{"type":"text","text":"I do."},{"type":"tool_use","id":"t1","name":"Read","input":{"path":"a"}}]}`,
		`{"timestamp":"2026-07-16T00:39:24.000Z","role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true},{"type":"text","text":"go on"}]}`,
		`{"timestamp":"2026-07-16T00:39:25.000Z","role":"assistant","content":[{"type":"text","text":"Done."}]}`,
	}
	items, _ := imp.Items(t, openai.Format.Name, "x.jsonl", formattest.Lines(lines...), formattest.Seen{})
	formattest.Want(t, items,
		`message {"timestamp":"2026-07-16T00:39:22.755Z","role":"user","content":"look"}`,
		`message {"role":"assistant","content":"I do."}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}]}`,
		`tool_result {"results":["no"]}`,
		`message {"role":"user","content":"go on"}`,
		`message {"timestamp":"2026-07-16T00:39:25.000Z","role":"assistant","content":[{"type":"text","text":"Done."}]}`)
	imp.Grows(t, openai.Format.Name, lines, 1)

	items, _ = imp.Items(t, openai.Format.Name, "x.jsonl", formattest.Lines(`{"role":"user","content":"look"}`,
		`{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}},`+
			`{"type":"web_search_tool_result","tool_use_id":"s1","content":[{"type":"web_search_result","title":"X","url":"https://x"}]},{"type":"text","text":"Done."}]}`), formattest.Seen{})
	formattest.Want(t, items, `message {"role":"user","content":"look"}`,
		`tool_call {"calls":[{"id":"s1","type":"function","function":{"name":"web_search","arguments":"{\"query\":\"x\"}"}}]}`,
		`tool_result {"results":["X https://x"]}`,
		`event {"name":"tool.detail","data":{"call_id":"s1","content":[{"type":"web_search_result","title":"X","url":"https://x"}]}}`,
		`message {"role":"assistant","content":"Done."}`)
}
