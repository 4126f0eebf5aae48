package kimi_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/kimi"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

// cli is a session of Kimi CLI.
var cli = []string{
	`{"type":"metadata","protocol_version":"1.10"}`,
	`{"timestamp":1767225600.25,"message":{"type":"TurnBegin","payload":{"user_input":[{"type":"text","text":"ask"},{"type":"image_url","image_url":{"url":"https://example.org/a.png","id":null}}]}}}`,
	`{"timestamp":1767225601.5,"message":{"type":"StepBegin","payload":{"n":1}}}`,
	`{"timestamp":1767225602.5,"message":{"type":"ContentPart","payload":{"type":"think","think":"hm","encrypted":null}}}`,
	`{"timestamp":1767225603.5,"message":{"type":"ToolCall","payload":{"type":"function","id":"Task:0","function":{"name":"Task","arguments":"{\"prompt\":\"look\"}"},"extras":null}}}`,
	`{"timestamp":1767225604.5,"message":{"type":"StatusUpdate","payload":{"context_usage":0.5,"token_usage":{"input_other":10,"output":5,"input_cache_read":3,"input_cache_creation":0},"message_id":"m1","plan_mode":false}}}`,
	`{"timestamp":1767225605.5,"message":{"type":"SubagentEvent","payload":{"parent_tool_call_id":"Task:0","agent_id":"a1","event":{"type":"ContentPart","payload":{"type":"text","text":"looked"}}}}}`,
	`{"timestamp":1767225606.5,"message":{"type":"ToolResult","payload":{"tool_call_id":"Task:0","return_value":{"is_error":true,"output":"","message":"it failed","display":[]}}}}`,
	`{"timestamp":1767225607.5,"message":{"type":"ContentPart","payload":{"type":"text","text":"so"}}}`,
	`{"timestamp":1767225608.5,"message":{"type":"TurnEnd","payload":{}}}`,
	`{"timestamp":1767225609.5,"message":{"type":"SteerInput","payload":{"user_input":"more"}}}`,
	`{"timestamp":1767225610.5,"message":{"type":"Notification","payload":{"id":"n1","title":"done"}}}`,
}

// code is a session of Kimi Code.
var code = []string{
	`{"type":"metadata","protocol_version":"1.4","created_at":1767225600000}`,
	`{"type":"config.update","cwd":"/w","modelAlias":"kimi/m","systemPrompt":"You are Kimi.","time":1767225600100}`,
	`{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"today is Monday"}],"toolCalls":[],"origin":{"kind":"injection","variant":"date"}},"time":1767225600200}`,
	`{"type":"turn.prompt","input":[{"type":"text","text":"ask"}],"origin":{"kind":"user"},"time":1767225600300}`,
	`{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"ask"}],"toolCalls":[],"origin":{"kind":"user"}},"time":1767225600301}`,
	`{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"s1","turnId":"t1","step":0},"time":1767225601000}`,
	`{"type":"context.append_loop_event","event":{"type":"content.part","uuid":"c1","turnId":"t1","step":0,"stepUuid":"s1","part":{"type":"think","think":"hm"}},"time":1767225601100}`,
	`{"type":"context.append_loop_event","event":{"type":"tool.call","uuid":"k1","turnId":"t1","step":0,"stepUuid":"s1","toolCallId":"call-1","name":"Bash","args":{"command":"ls"}},"time":1767225601200}`,
	`{"type":"context.append_loop_event","event":{"type":"tool.result","parentUuid":"k1","toolCallId":"call-1","result":{"output":"a.go","note":"cut"}},"time":1767225601300}`,
	`{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"s1","turnId":"t1","step":0,"usage":{"inputOther":10,"output":5,"inputCacheRead":3,"inputCacheCreation":2},"finishReason":"tool_use"},"time":1767225601400}`,
	`{"type":"usage.record","model":"m","usage":{"inputOther":10,"output":5,"inputCacheRead":3,"inputCacheCreation":2},"usageScope":"turn","time":1767225601401}`,
	`{"type":"context.append_loop_event","event":{"type":"content.part","uuid":"c2","turnId":"t1","step":1,"stepUuid":"s2","part":{"type":"text","text":"so"}},"time":1767225602100}`,
	`{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"s2","turnId":"t1","step":1,"usage":{"inputOther":1,"output":2,"inputCacheRead":0,"inputCacheCreation":0}},"time":1767225602400}`,
	`{"type":"context.apply_compaction","summary":"all done","compactedCount":2,"tokensBefore":100,"tokensAfter":30,"time":1767225603000}`,
	`{"type":"usage.record","model":"m","usage":{"inputOther":7,"output":8,"inputCacheRead":0,"inputCacheCreation":0},"usageScope":"session","time":1767225603001}`,
}

// later has records of a newer version: tokens come before the step ends, and messages are told to others, too.
var later = []string{
	`{"type":"metadata","protocol_version":"1.5","created_at":1767225600000}`,
	`{"type":"turn.prompt","agentId":"main","input":[{"type":"text","text":"ask"}],"origin":{"kind":"user"},"time":1767225600300}`,
	`{"type":"context.append_message","agentId":"main","message":{"role":"user","content":[{"type":"text","text":"ask"}],"toolCalls":[],"origin":{"kind":"user"}},"time":1767225600301}`,
	`{"message":{"message":{"role":"user","content":[{"type":"text","text":"ask"}]},"meta":{"source":"input"}},"type":"agent.message.appended","time":1767225600302,"kind":"event"}`,
	`{"type":"context.append_loop_event","event":{"type":"step.begin","uuid":"s1","turnId":"0","step":1},"time":1767225601000}`,
	`{"type":"llm.tools_snapshot","agentId":"main","hash":"h","tools":[{"name":"Bash","description":"long"}],"time":1767225601001}`,
	`{"type":"llm.request","agentId":"main","model":"m","modelAlias":"mine","time":1767225601002}`,
	`{"type":"usage.record","agentId":"main","model":"mine","usage":{"inputOther":10,"output":5,"inputCacheRead":3,"inputCacheCreation":2},"usageScope":"turn","time":1767225601003}`,
	`{"type":"context.append_loop_event","event":{"type":"content.part","uuid":"c1","stepUuid":"s1","part":{"type":"text","text":"so"}},"time":1767225601100}`,
	`{"type":"context.append_loop_event","event":{"type":"step.end","uuid":"s1","usage":{"inputOther":10,"output":5,"inputCacheRead":3,"inputCacheCreation":2}},"time":1767225601400}`,
	`{"message":{"message":{"role":"assistant","content":[{"type":"text","text":"so"}],"toolCalls":[]}},"type":"agent.message.appended","time":1767225601401,"kind":"event"}`,
}

// TestLater: each message and the tokens of each step are there once. Where nothing else has the messages, they are read
// from what is told to others.
func TestLater(t *testing.T) {
	items, _ := imp.Items(t, kimi.Format.Name, "x.jsonl", formattest.Lines(later...), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"ask"}`,
		`event {"name":"llm.tools_snapshot","data":{"tools":["Bash"],"hash":"h"}}`,
		`event {"name":"llm.request","data":{"model":"m","modelAlias":"mine"}}`,
		`message {"role":"assistant","content":"so"}`,
		`event {"name":"run","data":{"message_id":"s1","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2},"model":"m"}}`)
	items, _ = imp.Items(t, kimi.Format.Name, "x.jsonl", formattest.Lines(later[0], later[3], later[10]), formattest.Seen{})
	formattest.Want(t, items, `message {"role":"user","content":"ask"}`, `message {"role":"assistant","content":"so"}`)
}

func FuzzKimi(f *testing.F) { imp.Fuzz(f, kimi.Format.Name, cli) }

func FuzzKimiCode(f *testing.F) { imp.Fuzz(f, kimi.Format.Name, code) }

func TestGrows(t *testing.T) { imp.Grows(t, kimi.Format.Name, cli, 1) }

func TestDetected(t *testing.T) {
	for _, sample := range [][]string{cli, code, cli[1:], code[2:]} {
		if got, _ := imp.Detect("x.jsonl", formattest.Lines(sample...)); got != kimi.Format.Name {
			t.Errorf("taken for %q: %s", got, sample[0])
		}
	}
}

// write writes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, path string) []record.Item {
	t.Helper()
	src, closer, err := importer.OpenSource(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	var items []record.Item
	if _, err := importer.Read(t.Context(), &kimi.Format, src, func(string, string) bool { return false }, func(i record.Item) error {
		items = append(items, i)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return items
}

// TestParts: the arguments of a call may come in parts, between which a subagent does something.
func TestParts(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"wire.jsonl": string(formattest.Lines(`{"type":"metadata","protocol_version":"1.6"}`,
		`{"timestamp":1767225600,"message":{"type":"TurnBegin","payload":{"user_input":"ask"}}}`,
		`{"timestamp":1767225601,"message":{"type":"ToolCall","payload":{"type":"function","id":"t1","function":{"name":"Agent","arguments":"{\"a\":1}"}}}}`,
		`{"timestamp":1767225602,"message":{"type":"ToolCall","payload":{"type":"function","id":"t2","function":{"name":"Agent","arguments":"{\"b"}}}}`,
		`{"timestamp":1767225603,"message":{"type":"SubagentEvent","payload":{"parent_tool_call_id":"t1","agent_id":"x","event":{"type":"TurnBegin","payload":{"user_input":"count"}}}}}`,
		`{"timestamp":1767225604,"message":{"type":"ToolCallPart","payload":{"arguments_part":"\":"}}}`,
		`{"timestamp":1767225605,"message":{"type":"ToolCallPart","payload":{"arguments_part":"2}"}}}`,
		`{"timestamp":1767225606,"message":{"type":"ToolResult","payload":{"tool_call_id":"t2","return_value":{"is_error":false,"output":"two"}}}}`,
		`{"timestamp":1767225607,"message":{"type":"ToolResult","payload":{"tool_call_id":"t1","return_value":{"is_error":false,"output":"one"}}}}`))})
	var got []string
	for _, i := range read(t, filepath.Join(dir, "wire.jsonl")) {
		if i.Entry.Kind == record.KindToolCall {
			got = append(got, string(i.Entry.Payload))
		}
	}
	if all := strings.Join(got, "\n"); !strings.Contains(all, `"{\"a\":1}"`) || !strings.Contains(all, `"{\"b\":2}"`) {
		t.Errorf("calls: %s", all)
	}
}

// TestUndo: what was taken back stays, hidden (jhlee0409/claude-code-history-viewer#513).
func TestUndo(t *testing.T) {
	dir := t.TempDir()
	say := func(role, text string) string {
		return `{"type":"context.append_message","message":{"role":"` + role + `","content":[{"type":"text","text":"` + text + `"}],"toolCalls":[],"origin":{"kind":"user"}},"time":1784950605094}`
	}
	prompt := func(text string) string {
		return `{"type":"turn.prompt","input":[{"type":"text","text":"` + text + `"}],"origin":{"kind":"user"},"time":1784950605093}`
	}
	write(t, dir, map[string]string{"wire.jsonl": string(formattest.Lines(`{"type":"metadata","protocol_version":"1.4","created_at":1784950509920}`,
		prompt("one"), say("user", "one"), say("assistant", "first"), prompt("two"), say("user", "two"), say("assistant", "second"),
		`{"type":"context.undo","count":1,"time":1784950605099}`, prompt("three"), say("user", "three"), say("assistant", "third")))})
	formattest.Want(t, read(t, filepath.Join(dir, "wire.jsonl")),
		`message {"role":"user","content":"one"}`,
		`message {"role":"assistant","content":"first"}`,
		`message {"role":"user","content":"two"} hidden`,
		`message {"role":"assistant","content":"second"} hidden`,
		`event {"name":"context.undo","data":{"count":1}}`,
		`message {"role":"user","content":"three"}`,
		`message {"role":"assistant","content":"third"}`)
}

// TestSteered: what is said while a turn goes on waits, and more may be said before it is in the context.
func TestSteered(t *testing.T) {
	dir := t.TempDir()
	line := func(typ, text string) string {
		if typ == "context.append_message" {
			return `{"type":"` + typ + `","message":{"role":"user","content":[{"type":"text","text":"` + text + `"}],"toolCalls":[],"origin":{"kind":"user"}},"time":1784950605094}`
		}
		return `{"type":"` + typ + `","input":[{"type":"text","text":"` + text + `"}],"origin":{"kind":"user"},"time":1784950605093}`
	}
	const said = "context.append_message"
	write(t, dir, map[string]string{"wire.jsonl": string(formattest.Lines(`{"type":"metadata","protocol_version":"1.4","created_at":1784950509920}`,
		line("turn.steer", "stop"), line("turn.prompt", "go"), line(said, "stop"), line(said, "go"), line(said, "go")))})
	formattest.Want(t, read(t, filepath.Join(dir, "wire.jsonl")),
		`message {"role":"user","content":"stop"}`,
		`message {"role":"user","content":"go"}`,
		`message {"role":"user","content":"go"}`)
}

// TestContext: the first versions of Kimi CLI kept only what the model sees, without dates.
func TestContext(t *testing.T) {
	dir := t.TempDir()
	const folder = ".kimi/sessions/1cce3e60ac2d51100ef178d6509a4972/"
	lines := string(formattest.Lines(`{"role":"_system_prompt","content":"be brief"}`, `{"role":"_checkpoint","id":0}`, `{"role":"user","content":"ask"}`, `{"role":"_usage","token_count":9133}`,
		`{"role":"assistant","content":[{"type":"think","think":"hm"},{"type":"text","text":"so"}],"tool_calls":[{"id":"t1","type":"function","function":{"name":"Shell","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"t1","content":"a.go"}`, `{"role":"assistant","content":"Done."}`))
	write(t, dir, map[string]string{folder + "s1.jsonl": lines, folder + "s2/context.jsonl": lines, folder + "s2/wire.jsonl": `{"type":"metadata","protocol_version":"1.10"}`, folder + "s2/subagents/a1/context.jsonl": lines, ".kimi/kimi.json": `{"work_dirs":[{"path":"/w","kaos":"local"}]}`})
	files, err := importer.Files(t.Context(), filepath.Join(dir, ".kimi"))
	if err != nil || len(files) != 3 {
		t.Errorf("files %v, %v; want two sessions, and one that has not begun", files, err)
	}
	for i, f := range files[:2] {
		info, err := importer.Identify(t.Context(), f.Name)
		if want := []string{"s1", "s2"}[i]; err != nil || info.Session != want || string(info.State) != `{"sessionId":"`+want+`","cwd":"/w","dates":"of the file"}` {
			t.Errorf("%+v (%s), %v", info, info.State, err)
		}
		formattest.Want(t, read(t, f.Name),
			`system {"content":"be brief"}`,
			`message {"role":"user","content":"ask"}`,
			`event {"name":"context.usage","data":{"token_count":9133}}`,
			`event {"name":"thinking","data":{"thinking":"hm"}}`,
			`message {"role":"assistant","content":"so"}`,
			`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"Shell","arguments":"{}"}}]}`,
			`tool_result {"results":["a.go"]}`,
			`message {"role":"assistant","content":"Done."}`)
	}
}

// TestCLI: the directory is in kimi.json, the title in state.json. The other files are not transcripts.
func TestCLI(t *testing.T) {
	dir := t.TempDir()
	const session, fork = ".kimi/sessions/1cce3e60ac2d51100ef178d6509a4972/s1/", ".kimi/sessions/1cce3e60ac2d51100ef178d6509a4972/s2/"
	whole := string(formattest.Lines(cli...))
	write(t, dir, map[string]string{
		session + "wire.jsonl": whole, session + "state.json": `{"version":1,"custom_title":"The door"}`, session + "context.jsonl": `{"role":"user","content":"ask"}`,
		session + "subagents/a1/wire.jsonl": whole, ".kimi/kimi.json": `{"work_dirs":[{"path":"/v","kaos":"local"},{"path":"/w","kaos":"local"}]}`,
		fork + "wire.jsonl": whole, fork + "state.json": `{"custom_title":"Fork: The door"}`,
	})
	if files, err := importer.Files(t.Context(), filepath.Join(dir, ".kimi")); err != nil || len(files) != 2 {
		t.Errorf("files %v, %v; want those of two sessions", files, err)
	}
	path := filepath.Join(dir, session, "wire.jsonl")
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Session != "s1" || string(info.State) != `{"sessionId":"s1","cwd":"/w"}` {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
	info, err = importer.Identify(t.Context(), filepath.Join(dir, fork, "wire.jsonl"))
	if err != nil || info.Session != "s2" || !strings.Contains(string(info.State), `"forked_from":"s1"`) {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
	formattest.Want(t, read(t, path),
		`message {"role":"user","content":[{"type":"text","text":"ask"},{"type":"image_url","image_url":{"url":"https://example.org/a.png","id":null}}]}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`tool_call {"calls":[{"id":"Task:0","type":"function","function":{"name":"Task","arguments":"{\"prompt\":\"look\"}"}}]}`,
		`event {"name":"run","data":{"message_id":"m1","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":0},"context_usage":0.5}}`,
		`agent-a1message {"role":"assistant","content":"looked"}`,
		`tool_result {"results":["it failed"]} ends agent-a1`,
		`message {"role":"assistant","content":"so"}`,
		`message {"role":"user","content":"more"}`,
		`event {"name":"Notification","data":{"id":"n1","title":"done"}}`,
		`event {"name":"tape.title","data":{"title":"The door"}}`)
}

// TestCode: a prompt that is in the context, too, is one message, and the tokens of a step count once.
func TestCode(t *testing.T) {
	dir := t.TempDir()
	const session = ".kimi-code/sessions/wd_w_0123456789ab/session_1/"
	write(t, dir, map[string]string{
		session + "agents/main/wire.jsonl": string(formattest.Lines(code...)), session + "agents/agent-0/wire.jsonl": string(formattest.Lines(code...)),
		session + "state.json": `{"title":"The door","workDir":"/w/x","forkedFrom":"session_0"}`, session + "agents/main/blobs/x": "png",
	})
	path := filepath.Join(dir, session, "agents", "main", "wire.jsonl")
	info, err := importer.Identify(t.Context(), path)
	if err != nil || info.Session != "session_1" || info.Agent != "" || string(info.State) != `{"sessionId":"session_1","forked_from":"session_0","cwd":"/w/x","model":"kimi/m"}` {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
	const migrated = ".kimi-code/sessions/wd_w_0123456789ab/ses_s1/"
	write(t, dir, map[string]string{migrated + "agents/main/wire.jsonl": string(formattest.Lines(code...)), migrated + "state.json": `{"cwd":"/w/x","custom":{"imported_from_kimi_cli":true,"kimi_cli_session_id":"s1"}}`})
	if info, err := importer.Identify(t.Context(), filepath.Join(dir, migrated, "agents", "main", "wire.jsonl")); err != nil || !strings.Contains(string(info.State), `"forked_from":"s1"`) {
		t.Errorf("%+v (%s), %v; want the session of Kimi CLI", info, info.State, err)
	}
	sub, err := importer.Identify(t.Context(), filepath.Join(dir, session, "agents", "agent-0", "wire.jsonl"))
	if err != nil || sub.Session != "session_1" || sub.Agent != "agent-0" {
		t.Errorf("%+v, %v", sub, err)
	}
	const run = `event {"name":"run","data":{`
	formattest.Want(t, read(t, path),
		`system {"content":"You are Kimi."}`,
		`event {"name":"config.update","data":{"cwd":"/w","modelAlias":"kimi/m"}}`,
		`event {"name":"context.injection","data":{"content":"today is Monday","origin":{"kind":"injection","variant":"date"}}}`,
		`message {"role":"user","content":"ask"}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`tool_call {"calls":[{"id":"call-1","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"ls\"}"}}]}`,
		`tool_result {"results":["a.go"]}`,
		`event {"name":"tool.detail","data":{"call_id":"call-1","note":"cut"}}`,
		run+`"finishReason":"tool_use","message_id":"s1","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2},"model":"m"}}`,
		`message {"role":"assistant","content":"so"}`,
		`anchor {"name":"compaction","state":{"summary":"all done","compactedCount":2,"tokensBefore":100,"tokensAfter":30}}`,
		run+`"message_id":"s2","usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"model":"m"}}`,
		run+`"message_id":"sha256:5cc60349de21de42a49c74941ff289a1#1","usageScope":"session","usage":{"input_tokens":7,"output_tokens":8,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},"model":"m"}}`,
		`event {"name":"tape.title","data":{"title":"The door"}}`)
}

// TestTurns: the tokens of a turn's last step and the title come when the turn has ended, not after the next prompt. What a
// subagent was asked is what its session is about.
func TestTurns(t *testing.T) {
	dir := t.TempDir()
	const session = ".kimi-code/sessions/wd_w_0123456789ab/session_1/"
	ended := `{"type":"turn.ended","agentId":"main","turnId":0,"reason":"completed","time":1767225601500}`
	write(t, dir, map[string]string{
		session + "state.json":                `{"title":"The door"}`,
		session + "agents/main/wire.jsonl":    string(formattest.Lines(append(slices.Clone(later[:10]), ended, later[1], later[2])...)),
		session + "agents/agent-0/wire.jsonl": string(formattest.Lines(later[0], `{"type":"turn.prompt","agentId":"agent-0","input":[{"type":"text","text":"count"}],"origin":{"kind":"system_trigger","name":"subagent"},"time":1767225600300}`)),
		session + "agents/agent-0/notes.json": `{}`,
	})
	path := filepath.Join(dir, session, "agents", "main", "wire.jsonl")
	items := read(t, path)
	formattest.Want(t, items[3:],
		`message {"role":"assistant","content":"so"}`,
		`event {"name":"run","data":{"message_id":"s1","usage":{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2},"model":"m"}}`,
		`event {"name":"turn.ended","data":{"turnId":0,"reason":"completed"}}`,
		`event {"name":"tape.title","data":{"title":"The door"}}`,
		`message {"role":"user","content":"ask"}`)
	sub := kimi.Format.Files.OfSubagents(path, "session_1")
	if want := filepath.Join(dir, session, "agents", "agent-0", "wire.jsonl"); !slices.Equal(sub, []string{want}) {
		t.Fatalf("files of subagents: %q, want %s", sub, want)
	}
	if items := read(t, sub[0]); strings.Contains(string(items[0].Entry.Meta), "origin") {
		t.Errorf("the request to the subagent is nobody's: %s", items[0].Entry.Meta)
	}
}

// TestComplete: while a session runs, its tape waits for the request that names the model.
func TestComplete(t *testing.T) {
	for lines, want := range map[int]bool{3: false, 6: false, 7: true, len(later): true} {
		path := filepath.Join(t.TempDir(), "wire.jsonl")
		if err := os.WriteFile(path, formattest.Lines(later[:lines]...), 0o600); err != nil {
			t.Fatal(err)
		}
		if info, err := importer.Identify(t.Context(), path); err != nil || info.Complete != want {
			t.Errorf("%d lines: complete is %v, %v; want %v", lines, info.Complete, err, want)
		}
	}
}

// TestTold: the input of a hook names only the session.
func TestTold(t *testing.T) {
	home := t.TempDir()
	const wire = ".kimi-code/sessions/wd_w_0123456789ab/session_1/agents/main/wire.jsonl"
	write(t, home, map[string]string{wire: "{}\n"})
	user := record.Where{Home: home, Getenv: func(string) string { return "" }}
	for id, want := range map[string]string{
		"session_1": `{"session_id":"session_1","hook_event_name":"Stop","cwd":"/w","transcript_path":"` + filepath.Join(home, filepath.FromSlash(wire)) + `"}`,
		"session_2": `{"session_id":"session_2","hook_event_name":"Stop","cwd":"/w"}`,
		"session_?": "", "../session_1": "", "": "",
	} {
		got := kimi.Format.Agent.TranslateInput([]byte(`{"hook_event_name":"Stop","session_id":"`+id+`","cwd":"/w","stop_hook_active":false}`), user)
		if string(got) != want {
			t.Errorf("%q: %s, want %s", id, got, want)
		}
	}
}
