package acp_test

import (
	"os"
	"path/filepath"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/acp"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

const update = `{"timestamp":1767225600,"method":"session/update","params":{"sessionId":"s1","update":`

var grok = []string{
	update + `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"ask"},"_meta":{"promptIndex":0}},"_meta":{"agentTimestampMs":1767225600250}}}`,
	update + `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}}}`,
	update + `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I "}}}}`,
	update + `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"look"}}}}`,
	update + `{"sessionUpdate":"tool_call","toolCallId":"k1","title":"list_dir","rawInput":{"path":"."},"_meta":{"x.ai/tool":{"name":"list_dir"}}}}}`,
	update + `{"sessionUpdate":"tool_call_update","toolCallId":"k1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"no"}}],"rawOutput":{"output":[110,111,110,101],"output_for_prompt":"exit: 1\nnone","exit_code":1}}}}`,
	update + `{"sessionUpdate":"turn_completed","prompt_id":"p1","stop_reason":"end_turn","usage":{"inputTokens":100,"outputTokens":20,"cachedReadTokens":60,"cacheCreationTokens":10,"reasoningTokens":5,"costUsdTicks":1381600000,"modelUsage":{"m":{"inputTokens":100,"outputTokens":20,"cachedReadTokens":60,"cacheCreationTokens":10,"reasoningTokens":5,"costUsdTicks":1381600000}}}}}}`,
	update + `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"wrong"},"_meta":{"promptIndex":1}}}}`,
	update + `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"indeed"}}}}`,
	update + `{"sessionUpdate":"rewind_marker","target_prompt_index":1}}}`,
	update + `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"right"},"_meta":{"promptIndex":1}}}}`,
	update + `{"sessionUpdate":"compaction_checkpoint","checkpoint_id":"c1","checkpoint_file":"compaction_checkpoints/c1.json"}}}`,
	update + `{"sessionUpdate":"turn_completed","prompt_id":"p2","usage":{"inputTokens":1,"outputTokens":2}}}}`,
}

func FuzzGrok(f *testing.F) { imp.Fuzz(f, acp.Grok.Name, grok) }

// TestGrokGrows: without the rewind, which changes what is in the context.
func TestGrokGrows(t *testing.T) { imp.Grows(t, acp.Grok.Name, grok[:2], 1) }

// TestGrok: what the user went back behind is in no context. Tokens are by model, and title, model and directory are
// beside.
func TestGrok(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".grok", "sessions", "%2Fw", "s1")
	if err := os.MkdirAll(filepath.Join(dir, "compaction_checkpoints"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"updates.jsonl": string(formattest.Lines(grok...)), "chat_history.jsonl": `{"type":"user","content":"ask"}`,
		"summary.json":                   `{"info":{"id":"s1","cwd":"/w"},"session_summary":"asks","generated_title":"The door","current_model_id":"m0","head_branch":"main","parent_session_id":"s0","session_kind":"fork"}`,
		"compaction_checkpoints/c1.json": `{"compacted_history":[{"type":"system","content":"be brief"},{"type":"user","content":[{"type":"text","text":"all done"}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if files, err := importer.Files(t.Context(), dir); err != nil || len(files) != 1 {
		t.Errorf("files %v, %v", files, err)
	}
	path := filepath.Join(dir, "updates.jsonl")
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Format != acp.Grok.Name || info.Session != "s1" || info.Started != "2026-01-01T00:00:00.250000+00:00" ||
		string(info.State) != `{"sessionId":"s1","cwd":"/w","model":"m0","gitBranch":"main","forked_from":"s0"}` {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	if _, err := importer.Read(t.Context(), &acp.Grok, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	formattest.Want(t, items,
		`message {"role":"user","content":"ask"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"I look"}`,
		`tool_call {"calls":[{"id":"k1","type":"function","function":{"name":"list_dir","arguments":"{\"path\":\".\"}"}}]}`,
		`tool_result {"results":["exit: 1\nnone"]}`,
		`event {"name":"tool.detail","data":{"call_id":"k1","_meta":{"x.ai/tool":{"name":"list_dir"}},"rawOutput":{"exit_code":1},"title":"list_dir"}}`,
		`event {"name":"run","data":{"model":"m","message_id":"p1/m","usage":{"input_tokens":30,"output_tokens":20,"cache_read_input_tokens":60,"cache_creation_input_tokens":10,"reasoning_output_tokens":5},"cost":0.13816,"prompt_id":"p1","stop_reason":"end_turn"}}`,
		`event {"name":"tape.title","data":{"title":"The door"}}`,
		`message {"role":"user","content":"wrong"} hidden`,
		`message {"role":"assistant","content":"indeed"} hidden`,
		`event {"name":"rewind_marker","data":{"target_prompt_index":1}}`,
		`message {"role":"user","content":"right"}`,
		`anchor {"name":"compaction","state":{"summary":"all done","checkpoint_id":"c1","checkpoint_file":"compaction_checkpoints/c1.json"}}`,
		`event {"name":"run","data":{"model":"m0","message_id":"p2/m0","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"prompt_id":"p2"}}`)
}

// liveGrok reads a session of Grok that goes on, with a summary beside.
func liveGrok(t *testing.T, summary string, lines ...string) []record.Item {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"updates.jsonl": string(formattest.Lines(lines...)), "summary.json": summary} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src, closer, err := importer.OpenSource(filepath.Join(dir, "updates.jsonl"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	src.Open, src.Idle = true, true
	var items []record.Item
	if _, err := importer.Read(t.Context(), &acp.Grok, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return items
}

// TestGrokLive: Grok may write the title after the first turn. What follows waits for it, up to the next prompt. A call
// waits for the results of those beside it.
func TestGrokLive(t *testing.T) {
	turn, ran := grok[6:7], update+`{"sessionUpdate":"hook_execution","event_name":"session_end"}}}`
	const title, named = `event {"name":"tape.title","data":{"title":"The door"}}`, `{"generated_title":"The door"}`
	run := `event {"name":"run","data":{"model":"m","message_id":"p1/m","usage":{"input_tokens":30,"output_tokens":20,"cache_read_input_tokens":60,"cache_creation_input_tokens":10,"reasoning_output_tokens":5},"cost":0.13816,"prompt_id":"p1","stop_reason":"end_turn"}}`
	const end, ask, more = `event {"name":"hook_execution","data":{"event_name":"session_end"}}`, `message {"role":"user","content":"ask"}`, `message {"role":"user","content":"wrong"}`
	formattest.Want(t, liveGrok(t, `{"session_summary":"ask"}`, grok[0], turn[0], ran), ask, run)
	formattest.Want(t, liveGrok(t, named, grok[0], turn[0], ran), ask, run, title, end)
	formattest.Want(t, liveGrok(t, `{}`, grok[0], turn[0], ran, grok[7]), ask, run, end, more)
	formattest.Want(t, liveGrok(t, named, grok[0], turn[0], ran, grok[7]), ask, run, title, end, more)
	both := liveGrok(t, `{}`, grok[4], update+`{"sessionUpdate":"tool_call","toolCallId":"k2","title":"list_dir","rawInput":{"path":"/"}}}}`, grok[5])
	if last := both[len(both)-1].Entry; last.Kind != record.KindToolCall {
		t.Errorf("before the second result, there is %s %s", last.Kind, last.Payload)
	}
}

// TestGrokMCP: the result of an MCP server is its text.
func TestGrokMCP(t *testing.T) {
	items := liveGrok(t, `{}`, grok[4], update+`{"sessionUpdate":"tool_call_update","toolCallId":"k1","status":"completed","rawOutput":{"type":"MCP","tool_name":"find","output":{"OkayOutput":"2 hits"}}}}}`)
	formattest.Want(t, items[:2],
		`tool_call {"calls":[{"id":"k1","type":"function","function":{"name":"list_dir","arguments":"{\"path\":\".\"}"}}]}`,
		`tool_result {"results":["2 hits"]}`)
}

// TestGrokSubagent: newer versions note only in the folder of a session which subagents it started.
func TestGrokSubagent(t *testing.T) {
	const id, parent = "01a22b41-e2ce-7fe0-8177-f4ca657ffeaf", "01a22b41-d3a8-76f0-879a-2e8c70d99d57"
	dir := filepath.Join(t.TempDir(), ".grok", "sessions")
	for name, text := range map[string]string{
		"%2Fw/" + parent + "/subagents/" + id + "/meta.json": `{}`,
		"%2Fv/" + id + "/summary.json":                       `{"info":{"id":"` + id + `","cwd":"/v"},"session_kind":"subagent","current_model_id":"other"}`,
		"%2Fv/" + id + "/updates.jsonl":                      string(formattest.Lines(update + `{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"count"},"_meta":{"modelId":"m"}}}}`)),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	info, err := importer.Identify(t.Context(), filepath.Join(dir, "%2Fv", id, "updates.jsonl"))
	if err != nil || info.Session != parent || info.Agent != "agent-"+id || string(info.State) != `{"sessionId":"`+id+`","cwd":"/v","model":"m"}` {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
}

// TestGrokTold: the input of hooks has names of its own, and the last event of a session is a Stop.
func TestGrokTold(t *testing.T) {
	const id = "01a22b41-d3a8-76f0-879a-2e8c70d99d57"
	user := record.Where{Home: t.TempDir(), Getenv: func(string) string { return "" }}
	const start = `{"session_id":"` + id + `","hook_event_name":`
	for input, want := range map[string]string{
		`"hookEventName":"user_prompt_submit","prompt":"hi"`:                                                    start + `"UserPromptSubmit","cwd":"/w"}`,
		`"hookEventName":"stop","reason":"end_turn","lastAssistantMessage":"so","transcriptPath":"/u"`:          start + `"Stop","cwd":"/w","transcript_path":"/u","last_assistant_message":"so"}`,
		`"hookEventName":"stop","reason":"shutdown","hook_event_name":"Stop","transcriptPath":"/u"`:             start + `"SessionEnd","cwd":"/w","transcript_path":"/u"}`,
		`"hookEventName":"session_end","hook_event_name":"SessionEnd","session_id":"x","transcript_path":"/no"`: start + `"SessionEnd","cwd":"/w"}`,
	} {
		if got := acp.Grok.Agent.TranslateInput([]byte(`{"sessionId":"`+id+`","cwd":"/w",`+input+`}`), user); string(got) != want {
			t.Errorf("%s: %s, want %s", input, got, want)
		}
	}
	if got := acp.Grok.Agent.TranslateInput([]byte(`{"sessionId":"../x","hookEventName":"stop"}`), user); got != nil {
		t.Errorf("an id that is not a UUID gives %s, want nothing", got)
	}
}
