package importer

import (
	"context"
	"strings"
	"testing"

	"tape/internal/sessions/importer/bub"
	"tape/internal/sessions/importer/record"
)

var codexSample = []string{
	`{"timestamp":"2026-02-01T08:00:00.000Z","type":"session_meta","payload":{"id":"0199-aa","timestamp":"2026-02-01T08:00:00Z","cwd":"/w","originator":"codex_cli","cli_version":"0.50.0","instructions":null}}`,
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

var geminiSample = []string{
	`{"sessionId":"g-1","projectHash":"ff","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}`,
	`{"id":"1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"read a"}]}`,
	`{"id":"2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"","thoughts":[{"subject":"S","description":"D","timestamp":"2026-01-01T00:00:02.000Z"}],"tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0,"total":13},"model":"g-pro","toolCalls":[{"id":"t1","name":"read_file","args":{"path":"a"},"status":"executing"}]}`,
	`{"$set":{"lastUpdated":"2026-01-01T00:00:03.000Z"}}`,
	`{"id":"2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"","thoughts":[{"subject":"S","description":"D","timestamp":"2026-01-01T00:00:02.000Z"}],"tokens":{"input":10,"output":2,"cached":4,"thoughts":1,"tool":0,"total":13},"model":"g-pro","toolCalls":[{"id":"t1","name":"read_file","args":{"path":"a"},"result":[{"functionResponse":{"id":"t1","name":"read_file","response":{"output":"content of a"}}}],"status":"success","timestamp":"2026-01-01T00:00:04.000Z","resultDisplay":"content of a"}]}`,
	`{"id":"3","timestamp":"2026-01-01T00:00:05.000Z","type":"user","content":"wrong way"}`,
	`{"$rewindTo":"3"}`,
	`{"id":"4","timestamp":"2026-01-01T00:00:06.000Z","type":"user","content":"this way"}`,
	`{"id":"5","timestamp":"2026-01-01T00:00:07.000Z","type":"info","content":"a note"}`,
}

var openAISample = []string{
	`{"role":"system","content":"be brief"}`,
	`{"role":"user","content":[{"type":"text","text":"weather?"}]}`,
	`{"role":"assistant","content":null,"tool_calls":[{"id":"k1","type":"function","function":{"name":"w","arguments":"{\"city\":\"Ulm\"}"}},{"id":"k2","type":"function","function":{"name":"w","arguments":"{}"}}]}`,
	`{"role":"tool","tool_call_id":"k2","content":"rain"}`,
	`{"role":"tool","tool_call_id":"k1","content":"sun"}`,
	`{"role":"assistant","content":"Sun.","name":"bot"}`,
	`{"role":"user","content":"weather?"}`,
}

// openCodeSample are the messages of an export.
var openCodeSample = []string{
	`{"info":{"id":"m1","role":"user","time":{"created":1795337226161}},"parts":[{"id":"p1","type":"text","text":"list"},{"id":"p2","type":"file","url":"file:///a"}]}`,
	`{"info":{"id":"m2","role":"assistant","modelID":"m","tokens":{"input":5,"cache":{"read":1}},"time":{"created":1795337226200,"completed":1795337226900}},"parts":[{"id":"p3","type":"reasoning","text":"hm"},{"id":"p4","type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"ls"},"output":"a"}},{"id":"p5","type":"tool","tool":"bash","callID":"c2","state":{"status":"error","input":{},"error":"no"}},{"id":"p6","type":"text","text":"two"}]}`,
	`{"info":{"id":"m3","role":"user"},"parts":[{"id":"p7","type":"compaction","auto":true}]}`,
	`{"info":{"id":"m4","role":"assistant","summary":true},"parts":[{"id":"p8","type":"text","text":"so far"}]}`,
	`{"info":{"id":"m5","role":"assistant","error":{"name":"APIError"}},"parts":[{"id":"p9","type":"patch","hash":"h"}]}`,
}

var bubSample = []string{
	`{"id": 1, "kind": "anchor", "payload": {"name": "session/start", "state": {"owner": "human"}}, "meta": {}, "date": "2026-01-01T00:00:00+00:00"}`,
	`{"id": 2, "kind": "message", "payload": {"role": "user", "content": "你好"}, "meta": {"run_id": "r"}, "timestamp": 1767225600.25}`,
	`{"id": 3, "kind": "event", "payload": {"name": "run", "data": {"usage": {"total_tokens": 1e2}}}, "date": "2026-01-01T00:00:01+00:00", "more": [1]}`,
	`{"id": 4, "kind": "message", "payload": {"role": "user", "content": "again"}, "meta": {}, "date": "2026-01-01T00:00:02+00:00"}`,
	`{"id": 5, "kind": "message", "payload": {"role": "user", "content": "again"}, "meta": {}, "date": "2026-01-01T00:00:02+00:00"}`,
}

var samples = map[string][]string{Codex: codexSample, Gemini: geminiSample, OpenAI: openAISample, Bub: bubSample}

func TestSamplesGrow(t *testing.T) {
	for format, ls := range samples {
		if format == Gemini {
			continue // a message that is written again may be another entry
		}
		t.Run(format, func(t *testing.T) { grows(t, format, ls, 1) })
	}
}

func want(t *testing.T, items []record.Item, wants ...string) {
	t.Helper()
	got := strings.Split(strings.TrimSuffix(show(items), "\n"), "\n")
	for i := range max(len(got), len(wants)) {
		g, w := "(none)", "(none)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(wants) {
			w = wants[i]
		}
		if g != w {
			t.Errorf("entry %d:\n got %s\nwant %s", i+1, g, w)
		}
	}
}

func TestCodex(t *testing.T) {
	items, _ := read(t, Codex, "rollout-x.jsonl", lines(codexSample...), tapeSeen{})
	want(t, items,
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
	old := lines(
		`{"id":"old-1","timestamp":"2025-06-01T00:00:00Z","instructions":"be nice","git":{}}`,
		`{"record_type":"state"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`,
		`{"type":"local_shell_call","call_id":"s1","status":"completed","action":{"type":"exec","command":["ls"]}}`,
		`{"type":"function_call_output","call_id":"s1","output":{"content":"x","success":false}}`,
	)
	items, _ = read(t, Codex, "rollout-y.jsonl", old, tapeSeen{})
	want(t, items,
		`event {"name":"session_meta","data":{"id":"old-1","timestamp":"2025-06-01T00:00:00Z","instructions":"be nice","git":{}}}`,
		`event {"name":"state","data":{"record_type":"state"}}`,
		`message {"role":"user","content":"hi"}`,
		`tool_call {"calls":[{"id":"s1","type":"function","function":{"name":"local_shell","arguments":"{\"status\":\"completed\",\"type\":\"exec\",\"command\":[\"ls\"]}"}}]}`,
		`tool_result {"results":[{"content":"x","success":false}]}`,
	)
	info, err := Describe(context.Background(), Codex, source1("rollout-y.jsonl", old))
	if err != nil || info.Session != "old-1" || info.Started != "2025-06-01T00:00:00.000000+00:00" {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestGeminiWorkspace finds the directory, which only the model is told.
func TestGeminiWorkspace(t *testing.T) {
	b := lines(geminiSample[0], `{"$set":{"messages":[{"type":"user","content":[{"text":"<session_context>\n- **Workspace Directories:**\n  - /home/dev/shop\n- **Directory Structure:**\n"}]}]}}`)
	info, err := Describe(context.Background(), Gemini, source1("/x/session-1.jsonl", b))
	if want := `{"projectHash":"ff","cwd":"/home/dev/shop"}`; err != nil || string(info.State) != want {
		t.Errorf("got %s, %v; want %s", info.State, err, want)
	}
}

func TestGemini(t *testing.T) {
	wants := []string{
		`message {"role":"user","content":"read a"}`,
		`event {"name":"thinking","data":{"subject":"S","thinking":"D","timestamp":"2026-01-01T00:00:02.000Z"}}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]}`,
		`event {"name":"run","data":{"model":"g-pro","usage":{"input_tokens":10,"output_tokens":2,"cached_input_tokens":4,"reasoning_output_tokens":1,"tool_tokens":0,"total_tokens":13}}}`,
		`tool_result {"results":["content of a"]}`,
		`message {"role":"user","content":"wrong way"} hidden`,
		`event {"name":"session.rewind","data":{"$rewindTo":"3"}}`,
		`message {"role":"user","content":"this way"}`,
		`event {"name":"gemini.info","data":{"content":"a note"}}`,
	}
	items, _ := read(t, Gemini, "s.jsonl", lines(geminiSample...), tapeSeen{})
	want(t, items[1:], wants...)

	seen := tapeSeen{}
	read(t, Gemini, "s.jsonl", lines(geminiSample[:3]...), seen)
	items, _ = read(t, Gemini, "s.jsonl", lines(geminiSample...), seen)
	want(t, items, wants[4:]...)

	doc := "{\n \"sessionId\": \"g-2\", \"startTime\": \"2026-01-01T00:00:00Z\",\n \"messages\": [\n" + strings.Join([]string{geminiSample[1], geminiSample[4]}, ",\n") + "\n]}\n"
	items, stats := read(t, Gemini, "s.json", []byte(doc), tapeSeen{})
	if stats.Damaged > 0 {
		t.Errorf("%+v", stats)
	}
	want(t, items[1:], wants[:5]...)
	info, err := Describe(context.Background(), Gemini, source1("s.json", []byte(doc)))
	if err != nil || info.Session != "g-2" {
		t.Errorf("%+v, %v", info, err)
	}
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
		"lines": string(lines(openAISample...)), "array": "[" + body + "]", "pretty": "[\n" + strings.ReplaceAll(body, ",{", ",\n  {") + "\n]\n",
		"object": `{"messages":[` + body + `]}`, "marked": record.ByteOrderMark + "[" + body + "]",
	} {
		items, stats := read(t, OpenAI, name, []byte(b), tapeSeen{})
		if stats.Damaged != 0 || stats.Records != len(openAISample) {
			t.Errorf("%s: %+v", name, stats)
		}
		want(t, items, wants...)
	}
	conv := `{"messages":[` + strings.Join(openAISample[:2], ",") + `],"tools":[1]}`
	items, _ := read(t, OpenAI, "train.jsonl", lines(conv, conv), tapeSeen{})
	want(t, items,
		`anchor {"name":"conversation-1","state":{"tools":[1]}}`, wants[0], wants[1],
		`anchor {"name":"conversation-2","state":{"tools":[1]}}`, wants[0], wants[1])

	cut := "[" + openAISample[0] + "," + openAISample[1][:20]
	items, stats := read(t, OpenAI, "cut", []byte(cut), tapeSeen{})
	if stats.Damaged != 1 || len(items) != 2 {
		t.Errorf("%+v: %s", stats, show(items))
	}
}

func TestBub(t *testing.T) {
	b := lines(bubSample...)
	items, _ := read(t, Bub, "0f__telegram%3A12.jsonl", b, tapeSeen{})
	if len(items) != len(bubSample) {
		t.Fatalf("%d items", len(items))
	}
	var keys bub.Keys
	for i, it := range items {
		if string(it.Line) != bubSample[i] {
			t.Errorf("line %d: %s", i+1, it.Line)
		}
		d, err := it.Entry.Normalize()
		if err != nil {
			t.Fatal(err)
		}
		if k := keys.Next(d); k != it.Keys[0] {
			t.Errorf("key of entry %d: %s, want %s", i+1, k, it.Keys[0])
		}
	}
	if got := items[1].Entry.Date; got != "2026-01-01T00:00:00.250000+00:00" {
		t.Errorf("date %s", got)
	}
	info, err := Describe(context.Background(), Bub, source1("/x/0f__telegram%3A12.jsonl", b))
	if err != nil || info.Session != "telegram:12" {
		t.Errorf("%+v, %v", info, err)
	}
}

func TestDetect(t *testing.T) {
	for format, ls := range samples {
		if got, ok := Detect("x", lines(ls...)); !ok || got != format {
			t.Errorf("%s taken for %q", format, got)
		}
	}
	if got, _ := Detect("x", lines(generate(2, 20)...)); got != ClaudeCode {
		t.Errorf("claude-code taken for %q", got)
	}
	for _, format := range Formats {
		if format == OpenAI || format == Bub {
			continue
		}
		t.Run(format, func(t *testing.T) {
			for name, b := range fixture(t, format) {
				if got, _ := Detect(name, b[:min(len(b), 64<<10)]); got != format {
					t.Errorf("%s taken for %q", name, got)
				}
			}
		})
	}
	for head, format := range map[string]string{
		"[\n  {\n    \"role\": \"user\",":             OpenAI,
		"{\n  \"sessionId\": \"x\",\n \"messages\": ": Gemini,
		"[1,2]": "", "hello": "", "": "",
		`{"info":{"id":"ses_1"},"messages":[{"info":{"role":"user"},"parts":[]}]}`:                                    OpenCode,
		"{\n  \"info\": {},\n  \"messages\": [\n    {\n      \"info\": {\n        \"role\": \"user\"\n      }\n    }": OpenCode,
		// Lists of messages that are in another format.
		"[\n {\"info\": {\"role\": \"user\"}, \"parts\": []},\n {":      "",
		`{"sessionId":"x","messages":[{"role":"user","content":"hi"}]}`: OpenAI,
		`{"sessionId":"x","messages":[{"text":"hi"}]}`:                  "",
		`{"messages":[]}`: "", "{\n\"messages\": [],\n\"role\": 1": "",
	} {
		if got, _ := Detect("-", []byte(head)); got != format {
			t.Errorf("%q taken for %q, want %q", head, got, format)
		}
	}
}

func TestFixturesOfOthers(t *testing.T) {
	for _, format := range []string{Codex, Gemini} {
		t.Run(format, func(t *testing.T) {
			for name, b := range fixture(t, format) {
				items, stats := read(t, format, name, b, tapeSeen{})
				if stats.Damaged > 0 {
					t.Errorf("%+v", stats)
				}
				have := map[string]int{}
				for _, it := range items {
					leaves(decode(t, it.Entry.Payload), func(s string) { have[s]++ })
				}
				for line := range strings.Lines(string(b)) {
					rec := decode(t, []byte(line)).(map[string]any)
					for _, field := range []string{"content", "toolCalls", "payload"} {
						leaves(rec[field], func(s string) {
							switch s {
							case "message", "function_call", "input_text", "output_text":
							default:
								if have[s] == 0 {
									t.Errorf("%.80q is lost", s)
								}
							}
						})
					}
				}
			}
		})
	}
}
