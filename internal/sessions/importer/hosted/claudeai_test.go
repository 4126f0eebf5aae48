package hosted_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/hosted"
)

func claudeMessage(id, parent, sender, content, more string) string {
	if parent != "" {
		more += `,"parent_message_uuid":"` + parent + `"`
	}
	return `{"uuid":"` + id + `","text":"","content":[` + content + `],"sender":"` + sender + `","created_at":"2026-01-01T00:00:01Z","updated_at":"2026-01-01T00:00:01Z","attachments":[],"files":[]` + more + `}`
}

func claudeConversation(id string, messages ...string) string {
	return `{"uuid":"` + id + `","name":"Weather","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:09Z","account":{"uuid":"me"},"chat_messages":[` + strings.Join(messages, ",") + `]}`
}

func claudeText(s string) string {
	return `{"start_timestamp":"2026-01-01T00:00:02Z","stop_timestamp":"2026-01-01T00:00:03Z","type":"text","text":"` + s + `","citations":[]}`
}

const claudeRoot = "00000000-0000-4000-8000-000000000000"

// claudeSample has a conversation with an edited question, one that names no parents, and one with a tool.
var claudeSample = []string{
	claudeConversation("c-1",
		claudeMessage("a1", claudeRoot, "human", claudeText("sun?"), ""), claudeMessage("b1", "a1", "assistant", claudeText("No."), ""),
		claudeMessage("a2", claudeRoot, "human", claudeText("rain?"), ""), claudeMessage("b2", "a2", "assistant", claudeText("Yes."), "")),
	claudeConversation("c-2",
		strings.Replace(claudeMessage("p", "", "human", "", ""), `"text":""`, `"text":"read"`, 1),
		strings.Replace(strings.Replace(claudeMessage("q", "", "human", claudeText("this"), ""), `"attachments":[]`, `"attachments":[{"file_name":"a.txt","file_size":3,"file_type":"txt","extracted_content":"one"}]`, 1),
			`"files":[]`, `"files":[{"file_name":"b.png"}]`, 1)),
	claudeConversation("c-3",
		claudeMessage("u", claudeRoot, "human", claudeText("count"), ""),
		claudeMessage("v", "u", "assistant", `{"type":"thinking","thinking":"hm","start_timestamp":null},`+claudeText("so")+
			`,{"type":"tool_use","id":"t1","name":"repl","input":{"code":"2"}},{"type":"tool_result","tool_use_id":"t1","name":"repl","content":[{"type":"text","text":"2"}],"is_error":true},{"type":"token_budget"},`+claudeText("two"), "")),
}

func FuzzClaudeAI(f *testing.F) { imp.Fuzz(f, hosted.ClaudeAI.Name, claudeSample) }

// TestClaudeAI: the answer to a question that was edited later is on a fork; attachments are parts of their message.
func TestClaudeAI(t *testing.T) {
	seen := formattest.Seen{}
	items, _ := imp.Items(t, hosted.ClaudeAI.Name, "x.json", []byte(claudeSample[0]), seen)
	fork := items[2].Fork
	formattest.Want(t, items,
		`event {"name":"session","data":{"uuid":"c-1"}}`,
		`event {"name":"tape.title","data":{"title":"Weather"}}`,
		fork+`message {"role":"user","content":"sun?"}`, fork+`message {"role":"assistant","content":"No."}`,
		`message {"role":"user","content":"rain?"}`, `message {"role":"assistant","content":"Yes."}`)
	if !strings.HasPrefix(fork, "branch-") {
		t.Errorf("fork %q, want branch-…", fork)
	}
	items, _ = imp.Items(t, hosted.ClaudeAI.Name, "x.json", []byte(claudeSample[1]), seen)
	formattest.Want(t, items[2:],
		`message {"role":"user","content":"read"}`,
		`message {"role":"user","content":[{"type":"text","text":"this"},{"type":"text","text":"one","file_name":"a.txt","file_size":3,"file_type":"txt"},{"type":"file","file_name":"b.png"}]}`)
	items, _ = imp.Items(t, hosted.ClaudeAI.Name, "x.json", []byte(claudeSample[2]), seen)
	formattest.Want(t, items[2:],
		`message {"role":"user","content":"count"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"so"}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"repl","arguments":"{\"code\":\"2\"}"}}]}`,
		`tool_result {"results":["2"]}`,
		`event {"name":"part.token_budget"}`,
		`message {"role":"assistant","content":"two"}`)
}

// TestSummary: the summary that claude.ai makes of a conversation is kept, and a voice note is part of the answer
// (danny-avila/LibreChat#11124, osteele/claude-chat-viewer#5).
func TestSummary(t *testing.T) {
	seen := formattest.Seen{}
	with := strings.Replace(claudeConversation("c-4", claudeMessage("u", claudeRoot, "human", claudeText("ask"), ""),
		claudeMessage("v", "u", "assistant", `{"type":"voice_note","title":"v","text":"said"},`+claudeText("written"), "")), `"name":"Weather"`, `"name":"","summary":"**Overview**"`, 1)
	items, _ := imp.Items(t, hosted.ClaudeAI.Name, "x.json", []byte(with), seen)
	formattest.Want(t, items,
		`event {"name":"session","data":{"uuid":"c-4"}}`,
		`event {"name":"session.summary","data":{"text":"**Overview**"}}`,
		`message {"role":"user","content":"ask"}`,
		`message {"role":"assistant","content":"said"}`,
		`message {"role":"assistant","content":"written"}`)
	items, _ = imp.Items(t, hosted.ClaudeAI.Name, "x.json", []byte(strings.Replace(with, "Overview", "Longer overview", 1)), seen)
	formattest.Want(t, items, `event {"name":"session.summary","data":{"text":"**Longer overview**"}}`)
}

// TestNewerExport: a newer export adds what is new.
func TestNewerClaudeAI(t *testing.T) {
	seen := formattest.Seen{}
	imp.Items(t, hosted.ClaudeAI.Name, "x.json", []byte(claudeSample[2]), seen)
	newer := strings.TrimSuffix(claudeSample[2], "]}") + "," + claudeMessage("w", "v", "human", claudeText("thanks"), "") + "]}"
	items, _ := imp.Items(t, hosted.ClaudeAI.Name, "x.json", []byte(newer), seen)
	formattest.Want(t, items, `message {"role":"user","content":"thanks"}`)
}

func TestDetectedClaudeAI(t *testing.T) {
	for _, b := range []string{claudeSample[0], "[" + strings.Join(claudeSample, ",") + "]", "[" + claudeSample[0][:len(claudeSample[0])-50]} {
		if got, ok := imp.Detect("conversations.json", []byte(b)); !ok || got != hosted.ClaudeAI.Name {
			t.Errorf("taken for %q, want %q: %s", got, hosted.ClaudeAI.Name, b)
		}
	}
	info, err := imp.Describe(t.Context(), hosted.ClaudeAI.Name, formattest.Source("conversations.json", []byte(claudeSample[0])))
	if err != nil || info.Session != "c-1" || info.Started != "2026-01-01T00:00:00.000000+00:00" {
		t.Errorf("%+v, %v; want session c-1 with its date", info, err)
	}
}
