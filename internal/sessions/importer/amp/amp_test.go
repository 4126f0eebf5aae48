package amp_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/amp"
	"tape/internal/sessions/importer/formattest"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

var messages = []string{
	`{"role":"user","messageId":0,"content":[{"type":"text","text":"ask"}],"meta":{"sentAt":1767225600000}}`,
	`{"role":"assistant","messageId":1,"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"so"},{"type":"tool_use","id":"t1","name":"Bash","input":{"cmd":"ls"},"complete":true}],"state":{"type":"complete","stopReason":"tool_use"},"usage":{"model":"m","inputTokens":10,"outputTokens":5,"cacheCreationInputTokens":1,"cacheReadInputTokens":2,"totalInputTokens":13,"timestamp":"2026-01-01T00:00:02Z"}}`,
	`{"role":"user","messageId":2,"content":[{"type":"tool_result","toolUseID":"t1","run":{"status":"error","result":{"output":"a.go","exitCode":1}}}]}`,
	`{"role":"user","messageId":3,"content":[{"type":"summary","summary":{"type":"message","summary":"all done"}},{"type":"text","text":"more"}]}`,
}

func document(messages ...string) []byte {
	return []byte("{\n  \"v\": 9,\n  \"id\": \"T-0001\",\n  \"created\": 1767225600000,\n  \"messages\": [" + strings.Join(messages, ",\n") +
		`],"nextMessageId":4,"title":"The door","agentMode":"smart","env":{"initial":{"trees":[{"uri":"file:///w/x","repository":{"ref":"refs/heads/main"}}]}}}`)
}

func FuzzAmp(f *testing.F) { imp.Fuzz(f, amp.Format.Name, messages) }

// TestAmp: results are as Amp has them, and the title comes after the messages.
func TestAmp(t *testing.T) {
	b := document(messages...)
	if got, _ := imp.Detect("x.json", b[:200]); got != amp.Format.Name {
		t.Errorf("taken for %q", got)
	}
	info, err := imp.Describe(t.Context(), amp.Format.Name, formattest.Source("x.json", b))
	if err != nil || info.Session != "T-0001" || string(info.State) != `{"sessionId":"T-0001","cwd":"/w/x","gitBranch":"main","model":"m"}` {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
	seen := formattest.Seen{}
	first, _ := imp.Items(t, amp.Format.Name, "x.json", document(messages[:2]...), seen)
	items, _ := imp.Items(t, amp.Format.Name, "x.json", b, seen)
	formattest.Want(t, append(first, items...),
		`message {"role":"user","content":"ask"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"so"}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"Bash","arguments":"{\"cmd\":\"ls\"}"}}]}`,
		`event {"name":"run","data":{"model":"m","message_id":"message:1","usage":{"input_tokens":10,"output_tokens":5,"cache_creation_input_tokens":1,"cache_read_input_tokens":2}}}`,
		`event {"name":"thread","data":{"agentMode":"smart","env":{"initial":{"trees":[{"uri":"file:///w/x","repository":{"ref":"refs/heads/main"}}]}}}}`,
		`event {"name":"tape.title","data":{"title":"The door"}}`,
		`tool_result {"results":[{"output":"a.go","exitCode":1}]}`,
		`anchor {"name":"compaction","state":{"summary":"all done"}}`,
		`message {"role":"user","content":"more"}`)
}

// TestLedger: older threads have the tokens beside the messages.
func TestLedger(t *testing.T) {
	b := []byte(`{"id":"T-2","created":1767225600000,"messages":[{"role":"user","content":[{"type":"text","text":"ask"}]}],"usageLedger":{"events":[{"timestamp":"2026-01-01T00:00:02Z","model":"m","credits":1.5,"tokens":{"input":3,"output":4}}]}}`)
	items, _ := imp.Items(t, amp.Format.Name, "x.json", b, formattest.Seen{})
	if got := formattest.Show(items); !strings.Contains(got, `"usage":{"input_tokens":3,"output_tokens":4,"cache_read_input_tokens":0},"credits":1.5}`) {
		t.Error(got)
	}
}
