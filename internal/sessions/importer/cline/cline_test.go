package cline_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/cline"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

const id = "1767225600000_ab12c"

// sample has the messages of a session: two calls with their results, one of which failed, and an error.
var sample = []string{
	`{"id":"m1","role":"user","content":[{"type":"text","text":"<user_input mode=\"act\">list <b> & c</user_input>"}],"ts":1767225601000}`,
	`{"id":"m2","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"so"},{"type":"tool_use","id":"t1","name":"run_commands","input":{"commands":["ls","false"]}},{"type":"tool_use","id":"t2","name":"editor","input":{"path":"/w/a","new_text":"x\n"}}],"ts":1767225602000,"modelInfo":{"id":"m","provider":"p"},"metrics":{"inputTokens":9,"outputTokens":2,"cacheReadTokens":4,"cacheWriteTokens":1,"cost":0.5}}`,
	`{"id":"m3","role":"user","content":[{"type":"tool_result","tool_use_id":"t1","name":"run_commands","content":[{"query":"ls","result":"a\n","success":true},{"query":"false","result":"","error":"Command exited with code 1","success":false}]},{"type":"tool_result","tool_use_id":"t2","name":"editor","content":"{\"query\":\"edit:/w/a\",\"result\":\"done\",\"success\":true}"}],"ts":1767225603000}`,
	`{"id":"m4","role":"assistant","content":[{"type":"text","text":"all done"}],"ts":1767225604000,"modelInfo":{"id":"m","provider":"p"},"metrics":{"inputTokens":20,"outputTokens":3,"cacheReadTokens":0,"cacheWriteTokens":0}}`,
	`{"id":"m5","role":"user","content":[{"type":"text","text":"<user_input mode=\"plan\">go on</user_input>"}],"ts":1767225610000}`,
	`{"id":"error_1","role":"assistant","content":[{"type":"text","text":"no key"}],"ts":1767225611000,"metadata":{"displayOnly":true,"displayRole":"error"},"modelInfo":{"id":"m"}}`,
}

// document returns a file with the first n messages.
func document(n int) []byte {
	return fmt.Appendf(nil, "{\n \"version\": 1,\n \"updated_at\": \"2026-01-01T00:00:09.000Z\",\n \"agent\": \"lead\",\n \"sessionId\": %q,\n \"origin\": {\"mode\": \"user\", \"sessionId\": %q, \"version\": \"3.0\"},\n \"messages\": [%s],\n \"system_prompt\": \"be good\"\n}\n",
		id, id, strings.Join(sample[:n], ",\n"))
}

const session = `{"version":1,"session_id":"` + id + `","source":"cli","pid":7,"compaction_path":"/x","started_at":"2026-01-01T00:00:00.000Z","status":"running","provider":"p","model":"m","cwd":"/w",
 "prompt":"<user_input mode=\"act\">list <b> & c</user_input>","metadata":{"title":"Files","git":{"branch":"main"},"checkpoint":{"history":[{"ref":"ff","createdAt":1767225601500,"runCount":1,"kind":"commit"}]}}}`

const compacted = `{"version":1,"source_last_message_key":"id:m4","messages":[{"role":"user","content":[{"type":"text","text":"Context summary:\n\nlisted"}],"metadata":{"kind":"compaction_summary","summary":"listed","details":{"readFiles":["/w/a"]},"tokensBefore":99,"generatedAt":1767225605000}},` + `{"id":"m4","role":"assistant","content":[]}]}`

// write creates a session's folder with these files, and returns the path of the file with its messages.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), id)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, id+".messages.json")
}

func FuzzCline(f *testing.F) { imp.Fuzz(f, cline.Format.Name, sample) }

// TestCline: title, checkpoint and compaction come from the session's other files, and get their places in the order.
func TestCline(t *testing.T) {
	path := write(t, map[string]string{id + ".json": session, id + ".compaction.json": compacted})
	seen := formattest.Seen{}
	items, stats := imp.Items(t, cline.Format.Name, path, document(len(sample)), seen)
	formattest.Want(t, items,
		`event {"name":"session","data":{"source":"cli"}}`,
		`system {"content":"be good"}`,
		`message {"role":"user","content":"list <b> & c"}`,
		`event {"name":"tape.title","data":{"title":"Files"}}`,
		`event {"name":"checkpoint","data":{"ref":"ff","createdAt":1767225601500,"runCount":1,"kind":"commit"}}`,
		`event {"name":"thinking","data":{"thinking":"hm","signature":"s"}}`,
		`message {"role":"assistant","content":"so"}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"run_commands","arguments":"{\"commands\":[\"ls\",\"false\"]}"}},{"id":"t2","type":"function","function":{"name":"editor","arguments":"{\"path\":\"/w/a\",\"new_text\":\"x\\n\"}"}}]}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":9,"output_tokens":2,"cached_input_tokens":4,"cache_write_input_tokens":1},"cost":0.5,"provider":"p"}}`,
		`tool_result {"results":[[{"type":"text","text":"a\n"},{"type":"text","text":"Command exited with code 1"}],"done"]}`,
		`event {"name":"tool.detail","data":{"call_id":"t2","query":"edit:/w/a"}}`,
		`message {"role":"assistant","content":"all done"}`,
		`event {"name":"run","data":{"model":"m","usage":{"input_tokens":20,"output_tokens":3,"cached_input_tokens":0,"cache_write_input_tokens":0},"provider":"p"}}`,
		`anchor {"name":"compaction","state":{"summary":"listed","details":{"readFiles":["/w/a"]},"tokensBefore":99}}`,
		`message {"role":"user","content":"go on"}`,
		`event {"name":"model.error","data":{"message":"no key","modelInfo":{"id":"m"}}}`,
	)
	for i, want := range map[int]string{2: `"mode":"act"`, 9: `"is_error":["t1"]`} {
		if is := string(items[i].Entry.Meta); !strings.Contains(is, want) {
			t.Errorf("entry %d: meta %s, want %s in it", i+1, is, want)
		}
	}
	if stats.Damaged > 0 || len(stats.Problems) > 0 {
		t.Errorf("want no damage and no problems: %+v", stats)
	}
	if again, _ := imp.Items(t, cline.Format.Name, path, document(len(sample)), seen); len(again) > 0 {
		t.Errorf("read again, want no entries: %s", formattest.Show(again))
	}
	info, err := imp.Describe(t.Context(), cline.Format.Name, formattest.Source(path, document(len(sample))))
	want := `{"sessionId":"` + id + `","cwd":"/w","version":"3.0","model":"m","provider":"p","gitBranch":"main"}`
	if err != nil || info.Session != id || string(info.State) != want || info.First != "" {
		t.Errorf("%+v %s, %v; want session %s with %s", info, info.State, err, id, want)
	}
	if got, ok := imp.Detect("x.json", document(1)[:300]); !ok || got != cline.Format.Name {
		t.Errorf("taken for %q, want %q", got, cline.Format.Name)
	}
}

func TestGrows(t *testing.T) { imp.Grows(t, cline.Format.Name, sample, 1) }

// TestRewritten: if a file is read while it is rewritten, at whatever byte, the next import reads the rest, and adds
// nothing twice.
func TestRewritten(t *testing.T) {
	path := write(t, map[string]string{id + ".json": session, id + ".compaction.json": compacted})
	whole := document(len(sample))
	once, _ := imp.Items(t, cline.Format.Name, path, whole, formattest.Seen{})
	for n := 0; n < len(whole); n += 3 {
		seen := formattest.Seen{}
		first, stats := imp.Items(t, cline.Format.Name, path, whole[:n], seen)
		if stats.Damaged > 0 {
			t.Fatalf("after %d bytes: %+v", n, stats)
		}
		second, _ := imp.Items(t, cline.Format.Name, path, whole, seen)
		if got, want := formattest.KeysOf(append(first, second...)), formattest.KeysOf(once); !slices.Equal(got, want) {
			t.Fatalf("after %d bytes: lost %v, added %v", n, formattest.Minus(want, got), formattest.Minus(got, want))
		}
	}
}

// TestPromptAlone: the prompt of a session that was killed before its first answer is read from ID.json. It is not
// added again when the session goes on, nor while the file with the messages is being rewritten.
func TestPromptAlone(t *testing.T) {
	path := write(t, map[string]string{id + ".json": session})
	seen := formattest.Seen{}
	open := formattest.Source(path, document(0))
	open.Open = true
	none := func(record.Item) error {
		t.Error("the prompt of an open session is emitted before its answer")
		return nil
	}
	if _, err := imp.Read(t.Context(), cline.Format.Name, open, seen.Has, none); err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{0, 60, len(document(0)) - 4} {
		if items, _ := imp.Items(t, cline.Format.Name, path, document(0)[:cut], formattest.Seen{}); len(items) > 0 {
			t.Errorf("%d bytes of the document, want no entries: %s", cut, formattest.Show(items))
		}
	}
	empty := bytes.Replace(document(0), []byte(",\n \"system_prompt\": \"be good\""), nil, 1)
	items, _ := imp.Items(t, cline.Format.Name, path, empty, seen)
	formattest.Want(t, items,
		`event {"name":"session","data":{"source":"cli"}}`,
		`message {"role":"user","content":"list <b> & c"}`,
		`event {"name":"tape.title","data":{"title":"Files"}}`,
		`event {"name":"checkpoint","data":{"ref":"ff","createdAt":1767225601500,"runCount":1,"kind":"commit"}}`,
	)
	items, _ = imp.Items(t, cline.Format.Name, path, document(2), seen)
	formattest.Want(t, items[:3], `system {"content":"be good"}`, `event {"name":"thinking","data":{"thinking":"hm","signature":"s"}}`, `message {"role":"assistant","content":"so"}`)
}

// TestCopied: a session that /undo has started names the former one. The copied messages have no usage.
func TestCopied(t *testing.T) {
	later := strings.ReplaceAll(string(document(4)), id, "1767225606000_xy")
	path := write(t, map[string]string{"1767225606000_xy.json": strings.ReplaceAll(session, id, "1767225606000_xy")})
	path = filepath.Join(filepath.Dir(path), "1767225606000_xy.messages.json")
	items, _ := imp.Items(t, cline.Format.Name, path, []byte(later), formattest.Seen{})
	for _, it := range items {
		if strings.Contains(string(it.Entry.Payload), `"usage":`) {
			t.Errorf("the usage is counted again: %s", it.Entry.Payload)
		}
	}
	info, err := imp.Describe(t.Context(), cline.Format.Name, formattest.Source(path, []byte(later)))
	if err != nil || info.First != "m1" {
		t.Errorf("%+v, %v; want m1 as the first message", info, err)
	}
	has, own := cline.HasFirst(t.Context(), formattest.Source(path, []byte(later)), "m1")
	has2, own2 := cline.HasFirst(t.Context(), formattest.Source("x/"+id+".messages.json", document(1)), "m1")
	if !has || own || !has2 || !own2 {
		t.Errorf("has the first message, and it is its own: the copy %v %v, want true false; the session %v %v, want true true", has, own, has2, own2)
	}
}

// TestSubagent: a subagent's file belongs to the session that started it, and does not repeat that session's prompt.
func TestSubagent(t *testing.T) {
	path := filepath.Join(filepath.Dir(write(t, map[string]string{id + ".json": session})), "agent_17_x.messages.json")
	doc := []byte(`{"agent":"subagent","sessionId":"` + id + `__agent_17_x","origin":{"mode":"subagent","parentThreadId":"` + id + `","subagent":"agent_17_x"},"updated_at":"","messages":[{"id":"s1","role":"user","content":"count","ts":1767225601000}]}`)
	items, _ := imp.Items(t, cline.Format.Name, path, doc, formattest.Seen{})
	formattest.Want(t, items, `message {"role":"user","content":"count"}`)
	info, err := imp.Describe(t.Context(), cline.Format.Name, formattest.Source(path, doc))
	if err != nil || info.Session != id || info.Agent != "agent-17_x" || !strings.Contains(string(info.State), `"cwd":"/w"`) {
		t.Errorf("%+v %s, %v; want agent-17_x of session %s in /w", info, info.State, err, id)
	}
}

// TestTold: a hook names the session, from which the path of its file follows. The end of a subagent does not end the
// turn.
func TestTold(t *testing.T) {
	user := record.Where{Home: "/h", Getenv: func(string) string { return "" }}
	input := `{"taskId":"conv_1","sessionContext":{"rootSessionId":"` + id + `"},"workspaceInfo":{"rootPath":"/w"},"parent_agent_id":%s,"hookName":"agent_end","turn":{"outputText":"done"}}`
	file := "/h/.cline/data/sessions/" + id + "/" + id + ".messages.json"
	for parent, want := range map[string]string{
		"null":  `{"session_id":"` + id + `","hook_event_name":"TaskComplete","cwd":"/w","transcript_path":"` + file + `","last_assistant_message":"done"}`,
		`"a_1"`: `{"session_id":"` + id + `","hook_event_name":"SubagentTaskComplete","cwd":"/w","transcript_path":"` + file + `"}`,
	} {
		if got := string(cline.Format.Agent.TranslateInput(fmt.Appendf(nil, input, parent), user)); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	if got := cline.Format.Agent.TranslateInput([]byte(`{"sessionContext":{"rootSessionId":"../../x"}}`), user); got != nil {
		t.Errorf("an input without a session's id gives %s, want nothing", got)
	}
}

// TestResults: a result is the text that the model got, in whatever shape Cline stores it.
func TestResults(t *testing.T) {
	for content, want := range map[string]string{
		`[{"query":"ls","result":"a","success":true}]`:                                       `"a"`,
		`[{"query":"sleep","result":"","error":"was aborted","success":false}]`:              `"was aborted" failed`,
		`"{\"query\":\"edit:a\",\"error\":\"no such text\",\"success\":false}"`:              `"no such text" failed`,
		`"{\"text\":\"two\",\"iterations\":2,\"finishReason\":\"completed\"}"`:               `"two"`,
		`"{\"content\":[{\"type\":\"text\",\"text\":\"ping\"}]}"`:                            `"ping"`,
		`"{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}"`:             `"no" failed`,
		`"{\"error\":\"No. -- This tool call was rejected by the user and not executed.\"}"`: `"No. -- This tool call was rejected by the user and not executed." failed`,
		`[{"type":"image","data":"AA==","mediaType":"image/png"}]`:                           `[{"type":"image","data":"AA==","mimeType":"image/png"}]`,
		`"a text"`:                        `"a text"`,
		`[{"type":"text","text":"part"}]`: `"part"`,
	} {
		items, _ := imp.Items(t, cline.Format.Name, "x", formattest.Lines(
			`{"id":"a","role":"assistant","content":[{"type":"tool_use","id":"t","name":"x","input":{}}]}`,
			`{"id":"b","role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":`+content+`}]}`), formattest.Seen{})
		i := slices.IndexFunc(items, func(it record.Item) bool { return it.Entry.Kind == record.KindToolResult })
		if i < 0 {
			t.Errorf("%s: no result", content)
			continue
		}
		got := strings.TrimSuffix(strings.TrimPrefix(string(items[i].Entry.Payload), `{"results":[`), `]}`)
		if strings.Contains(string(items[i].Entry.Meta), `"is_error":["t"]`) {
			got += " failed"
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", content, got, want)
		}
	}
}
