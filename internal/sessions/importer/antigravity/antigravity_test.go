package antigravity_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/antigravity"
	"tape/internal/sessions/importer/formattest"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var sample = []string{
	`{"step_index":0,"source":"USER_EXPLICIT","type":"USER_INPUT","status":"DONE","created_at":"2026-06-26T21:16:16Z","content":"<USER_REQUEST>\nlist it\n</USER_REQUEST>\n<USER_SETTINGS_CHANGE>\nThe user changed setting ` + "`Model Selection`" + ` from None to Gemini 3.5 Flash (High). No need to comment on it.\n</USER_SETTINGS_CHANGE>"}`,
	`{"step_index":1,"source":"SYSTEM","type":"CONVERSATION_HISTORY","status":"DONE","created_at":"2026-06-26T21:16:16Z"}`,
	`{"step_index":2,"source":"MODEL","type":"PLANNER_RESPONSE","status":"DONE","created_at":"2026-06-26T21:16:17Z","content":"So.","thinking":"hm","tool_calls":[{"name":"list_dir","args":{"DirectoryPath":"\"/w\"","Depth":"2"}},{"name":"run_command","args":{"CommandLine":"\"false\""}}],"usage":{"input_tokens":100,"output_tokens":50,"cached_content_token_count":20}}`,
	`{"step_index":3,"source":"MODEL","type":"LIST_DIRECTORY","status":"DONE","created_at":"2026-06-26T21:16:18Z","content":"a.go","truncated_fields":["content"]}`,
	`{"step_index":4,"source":"SYSTEM","type":"ERROR_MESSAGE","status":"DONE","created_at":"2026-06-26T21:16:19Z","content":"invalid tool call","error":"bad args"}`,
	`{"step_index":5,"source":"SYSTEM","type":"CHECKPOINT","status":"DONE","created_at":"2026-06-26T21:16:20Z","content":"what was"}`,
	`{"step_index":6,"source":"MODEL","type":"PLANNER_RESPONSE","status":"DONE","created_at":"2026-06-26T21:16:21Z","content":"Done."}`,
	`{"step_index":7,"source":"SYSTEM","type":"ERROR_MESSAGE","status":"DONE","created_at":"2026-06-26T21:16:22Z","error":"no capacity"}`,
}

func FuzzAntigravity(f *testing.F) { imp.Fuzz(f, antigravity.Format.Name, sample) }

func TestGrows(t *testing.T) { imp.Grows(t, antigravity.Format.Name, sample, 1) }

// TestSteps: the results of calls follow them in their order.
func TestSteps(t *testing.T) {
	if got, _ := imp.Detect("x.jsonl", formattest.Lines(sample...)); got != antigravity.Format.Name {
		t.Errorf("the transcript is taken for %q", got)
	}
	items, _ := imp.Items(t, antigravity.Format.Name, "x.jsonl", formattest.Lines(sample...), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"list it"}`,
		"event {\"name\":\"context\",\"data\":{\"text\":\"<USER_SETTINGS_CHANGE>\\nThe user changed setting `Model Selection` from None to Gemini 3.5 Flash (High). No need to comment on it.\\n</USER_SETTINGS_CHANGE>\"}}",
		`event {"name":"conversation_history"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"So."}`,
		`tool_call {"calls":[{"id":"call-2","type":"function","function":{"name":"list_dir","arguments":"{\"DirectoryPath\":\"/w\",\"Depth\":2}"}},{"id":"call-2/1","type":"function","function":{"name":"run_command","arguments":"{\"CommandLine\":\"false\"}"}}]}`,
		`event {"name":"run","data":{"model":"Gemini 3.5 Flash (High)","usage":{"input_tokens":100,"output_tokens":50,"cached_input_tokens":20}}}`,
		`tool_result {"results":["a.go","invalid tool call"]}`,
		`event {"name":"tool.detail","data":{"call_id":"call-2","truncated_fields":["content"]}}`,
		`event {"name":"tool.detail","data":{"call_id":"call-2/1","error":"bad args"}}`,
		`anchor {"name":"compaction","state":{"summary":"what was"}}`,
		`message {"role":"assistant","content":"Done."}`,
		`event {"name":"model.error","data":{"error":"no capacity"}}`)
}

// TestPlaces: of two files with the same steps, the one with the whole texts is read; the directory is in the history.
func TestPlaces(t *testing.T) {
	home := t.TempDir()
	const first, second = "11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"
	root := filepath.Join(home, ".gemini", "antigravity-cli")
	place := func(id, name string) string {
		return filepath.Join(root, "brain", id, ".system_generated", "logs", name)
	}
	for path, text := range map[string][]byte{
		place(first, "transcript.jsonl"): formattest.Lines(sample...), place(first, "transcript_full.jsonl"): formattest.Lines(sample...), place(second, "transcript.jsonl"): formattest.Lines(sample...),
		filepath.Join(root, "brain", first, ".system_generated", "messages", "m.json"): []byte("{}"),
		filepath.Join(root, "history.jsonl"):                                           formattest.Lines(`{"conversationId":"`+first+`","workspace":"/w","display":"list it"}`, `{"conversationId":"`+second+`","workspace":"/w","display":"list it"}`),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := importer.Discover(t.Context(), &antigravity.Format, "/w", func(name string) string { return map[string]string{"HOME": home}[name] })
	if want := []string{place(first, "transcript_full.jsonl"), place(second, "transcript.jsonl")}; err != nil || !slices.Equal(found, want) {
		t.Errorf("found %q, %v; want %q", found, err, want)
	}
	info, err := importer.Identify(t.Context(), place(first, "transcript_full.jsonl"))
	if err != nil || info.Session != first || string(info.State) != `{"sessionId":"`+first+`","cwd":"/w","model":"Gemini 3.5 Flash (High)"}` {
		t.Errorf("the session is %+v (%s), %v", info, info.State, err)
	}
}
