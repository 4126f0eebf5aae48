package copilot_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/copilot"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/store/layout"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

// sample is a session with a subagent, a line of the shell, and a compaction.
var sample = []string{
	`{"type":"session.start","data":{"sessionId":"c-1","version":1,"copilotVersion":"1.0","context":{"cwd":"/w","branch":"main"}},"id":"a","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}`,
	`{"type":"user.message","data":{"content":"list","transformedContent":"<current_datetime>…","interactionId":"i","delivery":"idle"},"id":"b","timestamp":"2026-01-01T00:00:01.000Z","parentId":"a"}`,
	`{"type":"hook.start","data":{"input":{"prompt":"list"}},"id":"b2","timestamp":"2026-01-01T00:00:01.000Z","parentId":"b"}`,
	`{"type":"session.usage_record","data":{"usage":{"model":"m","inputTokens":9,"outputTokens":2,"cacheReadTokens":4,"cacheWriteTokens":0,"cost":1}},"id":"c","timestamp":"2026-01-01T00:00:02.000Z","parentId":"b2"}`,
	`{"type":"assistant.message","data":{"messageId":"m1","model":"m","content":"so","reasoningText":"hm","toolRequests":[{"toolCallId":"t1","name":"task","arguments":{"prompt":"count"}},{"toolCallId":"t2","name":"bash","arguments":{"command":"false"}}],"interactionId":"i"},"id":"d","timestamp":"2026-01-01T00:00:03.000Z","parentId":"c"}`,
	`{"type":"tool.execution_start","data":{"toolCallId":"t1","toolName":"task","arguments":{"prompt":"count"},"toolTitle":"Helper"},"id":"e","timestamp":"2026-01-01T00:00:03.000Z","parentId":"d"}`,
	`{"type":"user.message","agentId":"s1","data":{"content":"count"},"id":"f","timestamp":"2026-01-01T00:00:04.000Z","parentId":"e"}`,
	`{"type":"assistant.message","agentId":"s1","data":{"messageId":"m2","content":"two"},"id":"g","timestamp":"2026-01-01T00:00:05.000Z","parentId":"f"}`,
	`{"type":"subagent.completed","agentId":"s1","data":{"toolCallId":"t1","totalTokens":7},"id":"h","timestamp":"2026-01-01T00:00:06.000Z","parentId":"g"}`,
	`{"type":"tool.execution_complete","data":{"toolCallId":"t1","success":true,"result":{"content":"two"}},"id":"i","timestamp":"2026-01-01T00:00:06.000Z","parentId":"h"}`,
	`{"type":"tool.execution_complete","data":{"toolCallId":"t2","success":true,"shellExecution":{"exitCode":1},"result":{"content":"no"}},"id":"j","timestamp":"2026-01-01T00:00:07.000Z","parentId":"i"}`,
	`{"type":"tool.user_requested","data":{"toolCallId":"u1","toolName":"local_shell","arguments":{"command":"pwd"}},"id":"k","timestamp":"2026-01-01T00:00:08.000Z","parentId":"j"}`,
	`{"type":"session.compaction_complete","data":{"success":true,"summaryContent":"all done","trigger":"manual"},"id":"l","timestamp":"2026-01-01T00:00:09.000Z","parentId":"k"}`,
	`{"type":"session.compaction_complete","data":{"success":false,"outcome":"cancelled"},"id":"m","timestamp":"2026-01-01T00:00:10.000Z","parentId":"l"}`,
}

func FuzzCopilot(f *testing.F) { imp.Fuzz(f, copilot.Format.Name, sample) }

// TestCopilot: a subagent's lines are a fork, which ends before the result of its call.
func TestCopilot(t *testing.T) {
	items, _ := imp.Items(t, copilot.Format.Name, "events.jsonl", formattest.Lines(sample...), formattest.Seen{})
	formattest.Want(t, items,
		`event {"name":"session.start","data":{"sessionId":"c-1","version":1,"copilotVersion":"1.0","context":{"cwd":"/w","branch":"main"}}}`,
		`message {"role":"user","content":"list"}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":9,"output_tokens":2,"cached_input_tokens":4,"cache_write_input_tokens":0},"cost":1}}`,
		`event {"name":"thinking","data":{"thinking":"hm"}}`,
		`message {"role":"assistant","content":"so"}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"task","arguments":"{\"prompt\":\"count\"}"}},{"id":"t2","type":"function","function":{"name":"bash","arguments":"{\"command\":\"false\"}"}}]}`,
		`agent-s1message {"role":"user","content":"count"}`,
		`agent-s1message {"role":"assistant","content":"two"}`,
		`event {"name":"subagent.completed","data":{"toolCallId":"t1","totalTokens":7}} ends agent-s1`,
		`tool_result {"results":["two","no"]}`,
		`event {"name":"tool.detail","data":{"call_id":"t1","toolTitle":"Helper"}}`,
		`event {"name":"tool.detail","data":{"call_id":"t2","shellExecution":{"exitCode":1}}}`,
		`event {"name":"shell","data":{"toolCallId":"u1","toolName":"local_shell","arguments":{"command":"pwd"}}}`,
		`anchor {"name":"compaction","state":{"summary":"all done","success":true,"trigger":"manual"}}`,
		`event {"name":"session.compaction_complete","data":{"outcome":"cancelled"}}`,
	)
}

// TestUsage: versions that note no more than the output of an answer note the rest when Copilot ends, by model; the output
// counts once. A segment with usage records needs neither.
func TestUsage(t *testing.T) {
	line := func(n int, typ, data string) string {
		return fmt.Sprintf(`{"type":%q,"data":%s,"id":"e%d","timestamp":"2026-01-01T00:00:%02d.000Z","parentId":null}`, typ, data, n, n)
	}
	metrics := `{"modelMetrics":{"m":{"requests":{"cost":1},"usage":{"inputTokens":10,"outputTokens":5,"cacheReadTokens":6,"cacheWriteTokens":1}}}}`
	items, _ := imp.Items(t, copilot.Format.Name, "events.jsonl", formattest.Lines(
		line(1, "session.start", `{"sessionId":"c-1"}`),
		line(2, "session.model_change", `{"newModel":"m"}`),
		line(3, "assistant.message", `{"content":"a","outputTokens":3}`),
		line(4, "session.shutdown", metrics),
		line(5, "session.resume", `{}`),
		line(6, "session.usage_record", `{"usage":{"model":"m","inputTokens":9,"outputTokens":2}}`),
		line(7, "assistant.message", `{"content":"b","outputTokens":2}`),
		line(8, "session.shutdown", metrics)), formattest.Seen{})
	var runs []string
	for _, i := range items {
		if strings.Contains(string(i.Entry.Payload), `"run"`) {
			runs = append(runs, string(i.Entry.Payload))
		}
	}
	want := []string{
		`{"name":"run","data":{"model":"m","usage":{"output_tokens":3}}}`,
		`{"name":"run","data":{"model":"m","usage":{"input_tokens":10,"output_tokens":2,"cached_input_tokens":6,"cache_write_input_tokens":1}}}`,
		`{"name":"run","data":{"model":"m","usage":{"input_tokens":9,"output_tokens":2}}}`,
	}
	if !slices.Equal(runs, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(runs, "\n"), strings.Join(want, "\n"))
	}
}

// TestWhoTyped: texts of skills, messages of agents and what goes on by itself are no prompts; what was taken back is not in
// the context.
func TestWhoTyped(t *testing.T) {
	line := func(n int, typ, data string) string {
		return fmt.Sprintf(`{"type":%q,"data":%s,"id":"e%d","timestamp":"2026-01-01T00:00:%02d.000Z","parentId":null}`, typ, data, n, n)
	}
	items, _ := imp.Items(t, copilot.Format.Name, "events.jsonl", formattest.Lines(
		line(1, "session.start", `{"sessionId":"c-1"}`),
		line(2, "user.message", `{"content":"make a pdf","delivery":"idle"}`),
		line(3, "user.message", `{"content":"# How to make PDFs","source":"skill-pdf"}`),
		line(4, "user.message", `{"content":"and a title","delivery":"steering"}`),
		line(5, "user.message", `{"content":"go on","isAutopilotContinuation":true}`),
		line(6, "user.message", `{"content":"review it","source":"agent-a1"}`),
		line(7, "user.message", `{"content":"wrong way"}`),
		line(8, "assistant.message", `{"content":"oh"}`),
		line(9, "session.snapshot_rewind", `{"upToEventId":"e7","eventsRemoved":2}`),
		line(10, "session.context_cleared", `{"messagesCleared":4}`),
		line(11, "user.message", `{"content":"the end"}`)), formattest.Seen{})
	var typed []string
	for _, it := range items {
		e := layout.Entry{Kind: it.Entry.Kind, Payload: it.Entry.Payload, Meta: it.Entry.Meta}
		if asked := about.Prompt(e); asked != "" && !e.Hidden() {
			typed = append(typed, asked)
		}
	}
	if strings.Join(typed, ", ") != "make a pdf, and a title, the end" {
		t.Errorf("typed %q in\n%s", typed, formattest.Show(items))
	}
}

// TestResultBeforeEnd: Copilot may write the result of a subagent's call before the end of the subagent. The entries are the
// same; but a subagent that works on in the background has a result at once.
func TestResultBeforeEnd(t *testing.T) {
	started := `{"type":"subagent.started","agentId":"s1","data":{"toolCallId":"t1"},"id":"e2","timestamp":"2026-01-01T00:00:03.000Z","parentId":"e"}`
	usual := slices.Insert(slices.Clone(sample), 6, started)
	end := slices.IndexFunc(usual, func(line string) bool { return strings.Contains(line, "subagent.completed") })
	swapped := slices.Clone(usual)
	swapped[end], swapped[end+1] = swapped[end+1], swapped[end]
	read := func(lines []string) string {
		items, _ := imp.Items(t, copilot.Format.Name, "events.jsonl", formattest.Lines(lines...), formattest.Seen{})
		return formattest.Show(items)
	}
	if got, want := read(swapped), read(usual); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	background := slices.Delete(slices.Clone(usual), end+1, end+3)
	background = slices.Insert(background, 7, usual[end+1])
	background[4] = strings.Replace(background[4], `,{"toolCallId":"t2","name":"bash","arguments":{"command":"false"}}`, "", 1)
	if got := read(background); strings.Index(got, `["two"`) > strings.Index(got, "subagent.completed") {
		t.Errorf("the result is after the subagent's end:\n%s", got)
	}
	imp.Grows(t, copilot.Format.Name, swapped, 1)
}

func TestGrows(t *testing.T) { imp.Grows(t, copilot.Format.Name, sample, 1) }

// TestResumes: a session can be resumed if its transcript exists.
func TestResumes(t *testing.T) {
	user := record.Where{Home: t.TempDir(), Getenv: func(string) string { return "" }}
	if copilot.Format.Resume.Has(user, "c-1", "/here") != "" {
		t.Error("a missing session can be resumed")
	}
	dir := filepath.Join(user.Home, ".copilot", "session-state", "c-1")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "events.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if copilot.Format.Resume.Has(user, "c-1", "/here") != "/here" {
		t.Error("a session with a transcript cannot be resumed")
	}
}

// TestTold: the event of a hook is found by the members of the input. The hooks of subagents are ignored.
func TestTold(t *testing.T) {
	const id = "50cee947-206a-4a14-8a3c-bfafb678c000"
	user := record.Where{Home: "/h", Getenv: func(string) string { return "" }}
	for more, event := range map[string]string{
		`"source":"new","initialPrompt":"hi"`: "sessionStart", `"prompt":"hi"`: "userPromptSubmitted", `"stopReason":"end_turn"`: "agentStop",
		`"trigger":"auto"`: "preCompact", `"reason":"complete"`: "sessionEnd", `"prompt":"hi","agentId":"a"`: "", `"toolName":"bash"`: "",
	} {
		want := ""
		if event != "" {
			want = `{"session_id":"` + id + `","hook_event_name":"` + event + `","cwd":"/w","transcript_path":"` + filepath.Join("/h/.copilot/session-state", id, "events.jsonl") + `"}`
		}
		if got := copilot.Format.Agent.TranslateInput([]byte(`{"sessionId":"`+id+`","cwd":"/w",`+more+`}`), user); string(got) != want {
			t.Errorf("%s: %s, want %s", more, got, want)
		}
	}
	if got := copilot.Format.Agent.TranslateInput([]byte(`{"sessionId":"../../x","cwd":"/w","prompt":"hi"}`), user); got != nil {
		t.Errorf("an id that is not a UUID gives %s, want nothing", got)
	}
}

// TestChat: newer versions of Copilot Chat keep transcripts in VS Code's storage, of which the directory is beside. One
// that VS Code itself keeps, too, is left to that (vshulcz/deja-vu#3637).
func TestChat(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "Code", "User", "workspaceStorage", "abc")
	lines := string(formattest.Lines(
		`{"type":"session.start","data":{"sessionId":"c-1","version":1,"producer":"copilot-agent","copilotVersion":"0.55.0","vscodeVersion":"1.127.0"},"id":"a","timestamp":"2026-06-02T23:06:54.049Z","parentId":null}`,
		`{"type":"user.message","data":{"content":"list"},"id":"b","timestamp":"2026-06-02T23:07:00.000Z","parentId":"a"}`,
		`{"type":"assistant.message","data":{"messageId":"m","content":"","toolRequests":[{"toolCallId":"t","name":"run","arguments":"{\"command\":\"ls\"}"}]},"id":"c","timestamp":"2026-06-02T23:07:02.000Z","parentId":"b"}`))
	for name, text := range map[string]string{"workspace.json": `{"folder":"file:///w"}`, "GitHub.copilot-chat/transcripts/c-1.jsonl": lines, "GitHub.copilot-chat/transcripts/c-2.jsonl": lines, "chatSessions/c-1.jsonl": `{"kind":0,"v":{"requests":[]}}`, "chatSessions/c-2.json": `{"requests":[{"requestId":"r"}]}`} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found, err := importer.Discover(t.Context(), &copilot.Format, "/w", func(name string) string { return map[string]string{"HOME": home}[name] })
	path := filepath.Join(dir, "GitHub.copilot-chat", "transcripts", "c-1.jsonl")
	if err != nil || !slices.Equal(found, []string{path}) {
		t.Errorf("found %q, %v", found, err)
	}
	info, err := importer.Identify(t.Context(), path)
	if err != nil || string(info.State) != `{"cwd":"/w","version":"0.55.0"}` {
		t.Errorf("%+v (%s), %v", info, info.State, err)
	}
	items, _ := imp.Items(t, copilot.Format.Name, "x", []byte(lines), formattest.Seen{})
	if last := items[len(items)-1].Entry; !strings.Contains(string(last.Payload), `"arguments":"{\"command\":\"ls\"}"`) {
		t.Errorf("the call is %s", last.Payload)
	}
}
