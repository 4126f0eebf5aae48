package claudecode_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/formattest"
)

// streamSample is a session of two turns, with a subagent.
var streamSample = []string{
	`{"type":"system","subtype":"init","cwd":"/w","session_id":"s-1","tools":["Task"],"model":"m","uuid":"1"}`,
	`{"type":"stream_event","event":{"type":"message_start"},"parent_tool_use_id":null,"session_id":"s-1","uuid":"1b"}`,
	`{"type":"assistant","message":{"id":"m1","role":"assistant","model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","id":"t1","name":"Task","input":{"prompt":"count"}}],"usage":{"input_tokens":3,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s-1","uuid":"2"}`,
	`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"count"}]},"parent_tool_use_id":"t1","session_id":"s-1","uuid":"3"}`,
	`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{"type":"text","text":"no"}]}]},"parent_tool_use_id":null,"session_id":"s-1","uuid":"4"}`,
	`{"type":"result","subtype":"success","num_turns":1,"result":"x","session_id":"s-1","usage":{"input_tokens":3},"modelUsage":{"m":{"inputTokens":6,"outputTokens":5,"cacheReadInputTokens":20,"cacheCreationInputTokens":1,"costUSD":0.25}},"uuid":"5"}`,
	`{"type":"assistant","message":{"id":"m2","role":"assistant","model":"m","content":"done","usage":{"input_tokens":3,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s-1","uuid":"6"}`,
	`{"type":"result","subtype":"success","num_turns":2,"result":"x","session_id":"s-1","modelUsage":{"m":{"inputTokens":8,"outputTokens":6,"cacheReadInputTokens":30,"cacheCreationInputTokens":1,"costUSD":0.75}},"uuid":"7"}`,
}

func FuzzClaudeStream(f *testing.F) { imp.Fuzz(f, claudecode.Stream.Name, streamSample) }

// TestStream: a turn's sums are what the session's have more than before, and the answers' own usage does not count. The
// lines may be an array (zzstoatzz/plyr.fm#2015).
func TestStream(t *testing.T) {
	array := "[" + streamSample[0] + "," + streamSample[2] + "," + streamSample[3] + "," + streamSample[4] + "," + streamSample[5] + "," + streamSample[6] + "," + streamSample[7] + "]"
	for name, b := range map[string][]byte{"lines.jsonl": formattest.Lines(streamSample...), "array.json": []byte(array)} {
		if got, _ := imp.Detect(name, b); got != claudecode.Stream.Name {
			t.Errorf("%s is taken for %q", name, got)
		}
		items, _ := imp.Items(t, claudecode.Stream.Name, name, b, formattest.Seen{})
		formattest.Want(t, items,
			`event {"name":"system.init","data":{"cwd":"/w","tools":["Task"],"model":"m"}}`,
			`event {"name":"thinking","data":{"thinking":"hm"}}`,
			`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"Task","arguments":"{\"prompt\":\"count\"}"}}]}`,
			`agent-t1message {"role":"user","content":"count"}`,
			`tool_result {"results":["no"]}`,
			`event {"name":"result","data":{"subtype":"success","num_turns":1,"usage":{"input_tokens":3}}}`,
			`event {"name":"run","data":{"model":"m","usage":{"input_tokens":6,"output_tokens":5,"cache_read_input_tokens":20,"cache_creation_input_tokens":1},"cost":0.25}}`,
			`message {"role":"assistant","content":"done"}`,
			`event {"name":"result","data":{"subtype":"success","num_turns":2}}`,
			`event {"name":"run","data":{"model":"m","usage":{"input_tokens":2,"output_tokens":1,"cache_read_input_tokens":10,"cache_creation_input_tokens":0},"cost":0.5}}`)
	}
}

// TestKilled: without an end, the answers' usage counts.
func TestKilled(t *testing.T) {
	items, _ := imp.Items(t, claudecode.Stream.Name, "a.jsonl", formattest.Lines(streamSample[0], streamSample[6]), formattest.Seen{})
	formattest.Want(t, items,
		`event {"name":"system.init","data":{"cwd":"/w","tools":["Task"],"model":"m"}}`,
		`message {"role":"assistant","content":"done"}`,
		`event {"name":"run","data":{"model":"m","message_id":"m2","usage":{"input_tokens":3,"output_tokens":1}}}`)
	advised := strings.Replace(streamSample[6], `"usage":{`, `"usage":{"iterations":[{"type":"message","output_tokens":1},{"type":"advisor_message","model":"wise","output_tokens":7}],`, 1)
	items, _ = imp.Items(t, claudecode.Stream.Name, "a.jsonl", formattest.Lines(streamSample[0], advised), formattest.Seen{})
	if got := formattest.Show(items); !strings.Contains(got, `{"model":"wise","message_id":"m2/1","usage":{"output_tokens":7}}`) {
		t.Errorf("the advisor's run is missing in\n%s", got)
	}
}

// TestSynthetic: the summary of a compaction, which the program prints as a message of the user, is no prompt.
func TestSynthetic(t *testing.T) {
	user := `{"type":"user","message":{"role":"user","content":"fix it"},"parent_tool_use_id":null,"session_id":"s-1","uuid":"8","isReplay":true}`
	summary := `{"type":"user","message":{"role":"user","content":"This session is being continued"},"parent_tool_use_id":null,"session_id":"s-1","uuid":"9","isReplay":false,"isSynthetic":true}`
	items, _ := imp.Items(t, claudecode.Stream.Name, "a.jsonl", formattest.Lines(streamSample[0], user, summary), formattest.Seen{})
	if got := formattest.Typed(items); len(items) != 3 || len(got) != 1 || got[0] != "fix it" {
		t.Errorf("typed %q, want only what a person asked", got)
	}
}

// TestResumed: a process that goes on with the session sums up anew (anthropics/claude-code#83239).
func TestResumed(t *testing.T) {
	result := func(uuid, cost, sums string) string {
		return `{"type":"result","subtype":"success","num_turns":1,"session_id":"s","uuid":"` + uuid + `","total_cost_usd":` + cost + `,"usage":{"input_tokens":1,"output_tokens":1},"modelUsage":{"m":{` + sums + `,"costUSD":` + cost + `}}}`
	}
	items, _ := imp.Items(t, claudecode.Stream.Name, "x.jsonl", formattest.Lines(
		result("1", "0.25", `"inputTokens":10,"outputTokens":5,"cacheReadInputTokens":100,"cacheCreationInputTokens":50`),
		result("2", "0.5", `"inputTokens":12,"outputTokens":9,"cacheReadInputTokens":300,"cacheCreationInputTokens":60`),
		result("3", "0.125", `"inputTokens":7,"outputTokens":19,"cacheReadInputTokens":120,"cacheCreationInputTokens":5`)), formattest.Seen{})
	var got []string
	for _, i := range items {
		if p := string(i.Entry.Payload); strings.Contains(p, `"name":"run"`) {
			got = append(got, p)
		}
	}
	want := []string{`"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":50},"cost":0.25`,
		`"input_tokens":2,"output_tokens":4,"cache_read_input_tokens":200,"cache_creation_input_tokens":10},"cost":0.25`,
		`"input_tokens":7,"output_tokens":19,"cache_read_input_tokens":120,"cache_creation_input_tokens":5},"cost":0.125`}
	for i, w := range want {
		if i >= len(got) || !strings.Contains(got[i], w) {
			t.Errorf("run %d: %s, want %s", i, got, w)
		}
	}
}
