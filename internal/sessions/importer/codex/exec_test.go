package codex_test

import (
	"testing"

	"tape/internal/sessions/importer/codex"
	"tape/internal/sessions/importer/formattest"
)

// execSample is a session of two turns.
var execSample = []string{
	`{"type":"thread.started","thread_id":"019f0000-0000-7000-8000-0000000000ff"}`,
	`{"type":"turn.started"}`,
	`{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"hm"}}`,
	`{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"false","aggregated_output":"","exit_code":null,"status":"in_progress"}}`,
	`{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"false","aggregated_output":"no","exit_code":1,"status":"failed"}}`,
	`{"type":"item.completed","item":{"id":"item_2","type":"mcp_tool_call","server":"s","tool":"t","arguments":{"a":1},"result":{"content":[{"type":"text","text":"yes"}]},"status":"completed"}}`,
	`{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"done"}}`,
	`{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":50,"output_tokens":9}}`,
	`{"type":"turn.started"}`,
	`{"type":"turn.completed","usage":{"input_tokens":150,"cached_input_tokens":60,"output_tokens":10}}`,
	`{"type":"turn.failed","error":{"message":"no network"}}`,
}

func FuzzCodexExec(f *testing.F) { imp.Fuzz(f, codex.Exec.Name, execSample) }

// TestExec: an item is a call with its result, or a message; a turn's tokens are what the sums have more than before.
func TestExec(t *testing.T) {
	items, _ := imp.Items(t, codex.Exec.Name, "a.jsonl", formattest.Lines(execSample...), formattest.Seen{})
	for i := range items {
		for _, key := range items[i].Keys {
			if len(key) < len("sha256:") {
				t.Errorf("the key %q is not made from the content", key)
			}
		}
	}
	if n := len(items); n != 9 {
		t.Errorf("%d items, want 9:\n%s", n, formattest.Show(items))
	}
	formattest.Want(t, items[len(items)-3:],
		`event {"name":"run","data":{"usage":{"input_tokens":100,"cached_input_tokens":50,"output_tokens":9}}}`,
		`event {"name":"run","data":{"usage":{"input_tokens":50,"cached_input_tokens":10,"output_tokens":1}}}`,
		`event {"name":"turn.failed","data":{"error":{"message":"no network"}}}`)
}
