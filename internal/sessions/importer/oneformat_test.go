package importer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// samplesOf has the beginning of a transcript in each format, as its program writes it.
var samplesOf = map[string]string{
	"acp":           `{"at":"2026-01-01T00:00:00Z","from":"client","acp":{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"ask"}]}}}`,
	"aider":         "# aider chat started at 2026-01-01 00:00:00\n\n> Aider v0.86.2  \n\n#### ask  \n\n{\"role\": \"user\", \"content\": \"so\"}\n",
	"amp":           `{"v":1,"id":"T-1","created":1767225600000,"messages":[{"role":"user","messageId":0,"content":[{"type":"text","text":"ask"}]}],"title":"asks"}`,
	"antigravity":   `{"step_index":0,"source":"USER_EXPLICIT","type":"USER_INPUT","status":"DONE","created_at":"2026-01-01T00:00:00Z","content":"<USER_REQUEST>\nask\n</USER_REQUEST>"}`,
	"bub":           `{"id": 1, "kind": "message", "payload": {"role": "user", "content": "ask"}, "meta": {}, "date": "2026-01-01T00:00:00+00:00"}`,
	"chatgpt":       `[{"title":"asks","create_time":1767225600.5,"mapping":{"a":{"id":"a","message":{"id":"a","author":{"role":"user"},"content":{"content_type":"text","parts":["ask"]}},"parent":null,"children":[]}},"current_node":"a","conversation_id":"c"}]`,
	"claude-ai":     `[{"uuid":"c","name":"asks","created_at":"2026-01-01T00:00:00Z","chat_messages":[{"uuid":"m","text":"ask","sender":"human","created_at":"2026-01-01T00:00:00Z"}]}]`,
	"claude-code":   `{"parentUuid":null,"isSidechain":false,"cwd":"/w","sessionId":"s","version":"2.1.1","type":"user","message":{"role":"user","content":"ask"},"uuid":"u","timestamp":"2026-01-01T00:00:00Z"}`,
	"claude-stream": `{"type":"system","subtype":"init","cwd":"/w","session_id":"s","tools":["Task"],"model":"m","uuid":"1"}`,
	"cline":         `{"version":1,"updated_at":"2026-01-01T00:00:00Z","sessionId":"1767225600000_a","origin":"cli","agent":"lead","messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"ask"}],"ts":1767225601000}]}`,
	"cline-vscode":  `[{"role":"user","content":[{"type":"text","text":"<task>\nask\n</task>"},{"type":"text","text":"<environment_details>\n# Current Working Directory (/w) Files\n</environment_details>"}]}]`,
	"codex":         `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/w","originator":"codex","cli_version":"1"}}`,
	"codex-exec":    `{"type":"thread.started","thread_id":"019f0000-0000-7000-8000-0000000000ff"}`,
	"copilot":       `{"type":"session.start","data":{"sessionId":"s","version":1,"copilotVersion":"1.0","context":{"cwd":"/w","branch":"main"}},"id":"a","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}`,
	"crush":         `{"crush":"session","id":"s","created_at":1767225600,"cwd":"/w"}`,
	"cursor":        `{"role":"user","message":{"content":[{"type":"text","text":"<user_query>\nask\n</user_query>"}]}}`,
	"cursor-cli":    `{"cursor":"store","agentId":"84000000-0000-4000-8000-000000000001","name":"asks","createdAt":1767225600000}`,
	"droid":         `{"type":"session_start","id":"84000000-0000-4000-8000-000000000002","title":"asks","version":2,"cwd":"/w"}`,
	"gemini":        `{"sessionId":"g-1","projectHash":"ff","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z","kind":"main"}`,
	"gemini-stream": `{"type":"init","timestamp":"2026-01-01T00:00:00.000Z","session_id":"s","model":"m"}`,
	"goose":         `{"working_dir":"/w","description":"asks","message_count":1,"total_tokens":9}`,
	"grok":          `{"timestamp":1767225600,"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"ask"}}}}`,
	"hermes":        `{"hermes":"session","id":"s","source":"cli","started_at":1767225600.5}`,
	"kilo":          `{"fork":"kilo","info":{"id":"ses_1","version":"1","directory":"/w"},"messages":[{"info":{"id":"m1","role":"user","time":{"created":1767225600000}},"parts":[{"id":"p1","type":"text","text":"ask"}]}]}`,
	"mimocode":      `{"fork":"mimocode","info":{"id":"ses_1","version":"1","directory":"/w"},"messages":[{"info":{"id":"m1","role":"user","time":{"created":1767225600000}},"parts":[{"id":"p1","type":"text","text":"ask"}]}]}`,
	"kimi":          `{"type":"metadata","protocol_version":"1.10"}` + "\n" + `{"timestamp":1767225600.25,"message":{"type":"TurnBegin","payload":{"user_input":"ask"}}}`,
	"kiro":          `{"version":"v1","kind":"Prompt","data":{"message_id":"p","content":[{"kind":"text","data":"ask"}],"meta":{"timestamp":1767225600}}}`,
	"kiro-chat":     `{"executionId":"e","actionId":"act","context":[],"chat":[{"role":"human","content":"ask"}],"metadata":{"modelId":"m"}}`,
	"openai":        `[{"role":"system","content":"be brief"},{"role":"user","content":"ask"},{"role":"assistant","content":null,"tool_calls":[{"id":"k","type":"function","function":{"name":"ls","arguments":"{}"}}]}]`,
	"opencode":      `{"info":{"id":"ses_1","version":"1","directory":"/w"},"messages":[{"info":{"id":"m1","role":"user","time":{"created":1767225600000}},"parts":[{"id":"p1","type":"text","text":"ask"}]}]}`,
	"openhands":     `[{"kind":"MessageEvent","id":"e0000001","timestamp":"2026-01-01T00:00:01","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"ask"}]}}]`,
	"pi":            `{"type":"session","version":3,"id":"p","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}`,
	"qwen":          `{"uuid":"a","parentUuid":null,"sessionId":"q-1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","cwd":"/w","version":"0.24.4","message":{"role":"user","parts":[{"text":"ask"}]}}`,
	"zed":           `{"title":"asks","messages":[{"User":{"id":"u1","content":[{"Text":"ask"}]}}],"updated_at":"2026-01-01T00:00:00Z","version":"0.3.0"}`,
	"vscode-chat":   `{"version":3,"requesterUsername":"u","responderUsername":"GitHub Copilot","initialLocation":"panel","requests":[{"requestId":"r1","message":{"text":"ask","parts":[]},"response":[{"value":"so"}],"timestamp":1767225600000}],"sessionId":"84000000-0000-4000-8000-000000000001","creationDate":1767225600000}`,
}

// TestOneFormat: a transcript is in one format by its content alone, whatever its name is, and in whichever order the
// formats are asked. Where another format's records have all members of a format's, the order decides, see [All].
func TestOneFormat(t *testing.T) {
	reversed := slices.Clone(All())
	slices.Reverse(reversed)
	dir := t.TempDir()
	for _, format := range All().Names() {
		sample := samplesOf[format]
		if sample == "" {
			t.Errorf("there is no sample of %s", format)
			continue
		}
		if got, _ := imp.Detect("sample", []byte(sample)); got != format {
			t.Errorf("%s is taken for %q", format, got)
		}
		if got := reversed.Detect("sample", []byte(sample)); (got == nil || got.Name != format) && format != "qwen" {
			t.Errorf("%s is taken for %v if the formats are asked in another order", format, got)
		}
		if err := os.WriteFile(filepath.Join(dir, format+".json"), []byte(sample+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Files(t.Context(), dir)
	if err != nil || len(files) != len(samplesOf) {
		t.Errorf("%d files, %v; want %d", len(files), err, len(samplesOf))
	}
	for _, f := range files {
		want := strings.TrimSuffix(filepath.Base(f.Name), ".json")
		if info, err := Identify(t.Context(), f.Name); err != nil && want != "chatgpt" && want != "claude-ai" || err == nil && info.Format != want {
			t.Errorf("%s is taken for %q, %v", f.Name, info.Format, err)
		}
	}
}

// TestOtherForms: some programs write more than one form, or lines among which are some that many programs write.
func TestOtherForms(t *testing.T) {
	for _, c := range []struct{ format, sample string }{
		{"chatgpt", `{"conversation_id":"c","title":"asks","mapping":{"a":{"parent":null,"message":{"author":{"role":"user"},"content":{"parts":["ask"]}}}}}`},
		{"droid", `{"type":"system","subtype":"init","cwd":"/w","session_id":"s","tools":[],"model":"m"}` + "\n" +
			`{"type":"message","role":"user","id":"m1","text":"ask","timestamp":1767225600000,"session_id":"s"}` + "\n" + `{"type":"completion","finalText":"so","session_id":"s"}`},
		{"hermes", "{\n" + `  "session_id": "s", "session_start": "2026-01-01T00:00:00Z", "last_updated": "2026-01-01T00:00:01Z", "message_count": 2,` + "\n" + `  "messages": [{"role": "session_meta"}, {"role": "user", "content": "ask"}]` + "\n}"},
		{"kimi", `{"role":"_checkpoint","id":0}` + "\n" + `{"role":"user","content":"ask"}` + "\n" + `{"role":"assistant","content":"so"}` + "\n" + `{"role":"user","content":"and"}`},
		{"kiro", `{"id":"m","timestamp":"2026-01-01T00:00:00Z","payload":{"type":"user","content":"ask"}}`},
		{"kiro", "{\n" + `  "sessionId": "s", "workspacePath": "/w", "history": [` + "\n" + `{"message": {"role": "user", "content": "ask"}}]}`},
		{"qwen", `{"type":"user","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","parts":[{"text":"ask"}]}}`},
	} {
		if got, _ := imp.Detect("sample", []byte(c.sample)); got != c.format {
			t.Errorf("%s is taken for %q: %s", c.format, got, c.sample)
		}
	}
}
