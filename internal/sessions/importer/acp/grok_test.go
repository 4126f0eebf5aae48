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
		`message {"role":"user","content":"wrong"} hidden`,
		`message {"role":"assistant","content":"indeed"} hidden`,
		`event {"name":"rewind_marker","data":{"target_prompt_index":1}}`,
		`message {"role":"user","content":"right"}`,
		`anchor {"name":"compaction","state":{"summary":"all done","checkpoint_id":"c1","checkpoint_file":"compaction_checkpoints/c1.json"}}`,
		`event {"name":"run","data":{"model":"m0","message_id":"p2/m0","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"prompt_id":"p2"}}`,
		`event {"name":"tape.title","data":{"title":"The door"}}`)
}
