package activity

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/store/layout"
)

// entries makes entries of lines: the second, the kind, the payload and the meta.
func entries(lines ...string) []layout.Entry {
	var out []layout.Entry
	start := time.Date(2026, 11, 20, 9, 59, 0, 0, time.UTC)
	for i, l := range lines {
		f := strings.SplitN(l, " | ", 4)
		var second int
		_, _ = fmt.Sscan(f[0], &second)
		e := layout.Entry{ID: int64(i + 1), Kind: f[1], Payload: json.RawMessage(f[2]), Meta: json.RawMessage(`{}`),
			Date: start.Add(time.Duration(second) * time.Second).Format(time.RFC3339Nano)}
		if len(f) > 3 {
			e.Meta = json.RawMessage(f[3])
		}
		if e.Kind == layout.KindAnchor {
			e.Anchor = layout.FirstAnchor
		}
		out = append(out, e)
	}
	return out
}

func add(s *Session, list []layout.Entry) {
	for _, e := range list {
		at, _ := e.Time()
		s.Add(e.ID, at.UnixMicro(), Read(e), false)
	}
}

// sumLines returns sums as lines.
func sumLines(s Sums) (out []string) {
	for _, w := range s.Work {
		out = append(out, fmt.Sprintf("work %d %s %q turns %d active %d in %d out %d cache %d+%d calls %d failed %d", w.Quarter/4%24, w.Model, w.Person,
			w.Turns, w.Active/1e6, w.Input, w.Output, w.CacheRead, w.CacheWrite, w.Calls, w.Failed))
	}
	for _, t := range s.Tools {
		out = append(out, fmt.Sprintf("tool %d %s calls %d failed %d active %d", t.Quarter/4%24, t.Name, t.Calls, t.Failed, t.Active/1e6))
	}
	for _, t := range s.Touches {
		out = append(out, fmt.Sprintf("file %s @%d reads %d writes %d +%d -%d", t.Path, t.Entry, t.Reads, t.Writes, t.Added, t.Removed))
	}
	return out
}

func calling(name, args string) string {
	raw, _ := json.Marshal(args)
	return `{"calls":[{"id":"c-` + name + `","type":"function","function":{"name":"` + name + `","arguments":` + string(raw) + `}}]}`
}

// session is a session as the importer of Claude Code makes it.
var session = entries(
	`0 | anchor | {"name":"session/start","state":{"owner":"human","cwd":"/shop","model":"opus"}}`,
	`0 | message | {"role":"user","content":"rename the flag"}`,
	`10 | tool_call | `+calling("Edit", `{"file_path":"/shop/a.go","old_string":"x\ny","new_string":"x\nz\nw"}`),
	`10 | event | {"name":"run","data":{"model":"opus","message_id":"m1","usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":7,"output_tokens":3}}}`,
	`11 | event | {"name":"run","data":{"model":"opus","message_id":"m1","usage":{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":7,"output_tokens":9}}}`,
	`20 | tool_result | {"results":["done"]} | {"call_ids":["c-Edit"]}`,
	`20 | event | {"name":"tool.detail","data":{"call_id":"c-Edit","structuredPatch":[{"lines":[" x","-y","+z","+w","+v"]}]}}`,
	`30 | tool_call | `+calling("Bash", `{"command":"cd sub && cat b.go > c.txt; go test ./... 2>/dev/null|tail -3"}`),
	`50 | tool_result | {"results":["Exit code 1\nFAIL"]} | {"call_ids":["c-Bash"],"is_error":["c-Bash"]}`,
	`55 | tool_call | `+calling("Write", `{"file_path":"/shop/new.txt","content":"1\n2\n"}`),
	`85 | tool_result | {"results":["The user doesn't want to proceed with this tool use. The tool use was rejected"]} | {"call_ids":["c-Write"],"is_error":["c-Write"]}`,
	`600 | message | {"role":"user","content":"go on"} | {"author":"Bob <b@x>"}`,
	`605 | message | {"role":"assistant","content":"done"}`,
	`665 | event | {"name":"session.continued","data":{"agent":"codex","session":"s"}}`,
	`725 | event | {"name":"tape.purged","data":{"entries":[2]}}`,
	`785 | event | {"name":"tape.star","data":{"starred":true}}`,
)

// TestSession adds up a session: the waits for the person (nine seconds for an edit, thirty for a call that was
// rejected), the pause of eight minutes and what was done with the tape afterwards are not work, the rejected call has not failed, and the message in two runs counts once.
func TestSession(t *testing.T) {
	var s Session
	add(&s, session)
	want := []string{
		`work 9 opus "" turns 1 active 46 in 5 out 9 cache 100+7 calls 3 failed 1`,
		`work 10 opus "Bob <b@x>" turns 1 active 5 in 0 out 0 cache 0+0 calls 0 failed 0`,
		`tool 9 Edit calls 1 failed 0 active 0`,
		`tool 9 Bash calls 1 failed 1 active 20`,
		`tool 9 Write calls 1 failed 0 active 0`,
		`file /shop/a.go @3 reads 0 writes 1 +3 -1`,
		`file /shop/sub/b.go @8 reads 1 writes 0 +0 -0`,
		`file /shop/sub/c.txt @8 reads 0 writes 1 +0 -0`,
	}
	if got := sumLines(s.Take()); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := sumLines(s.Take()); got != nil {
		t.Errorf("the second Take returns %v, want nothing", got)
	}
}

// TestContinues: if the session is saved after any entry and continued, the sums are the same.
func TestContinues(t *testing.T) {
	sum := func(parts ...Sums) map[string]int64 {
		out := map[string]int64{}
		for _, p := range parts {
			for _, w := range p.Work {
				for i, n := range []int64{w.Turns, w.Active, w.Input, w.Output, w.CacheRead, w.CacheWrite, w.Calls, w.Failed} {
					out[fmt.Sprint("work", w.Quarter, w.Person, i)] += n
				}
			}
			for _, w := range p.Tools {
				out[fmt.Sprint("tool", w.Quarter, w.Name)] += 1000*w.Calls + 100*w.Failed + w.Active
			}
			for _, f := range p.Touches {
				for i, n := range []int64{f.Reads, f.Writes, f.Added, f.Removed} {
					out[fmt.Sprint("file", f.Path, f.Entry, i)] += n
				}
			}
		}
		for k, n := range out {
			if n == 0 {
				delete(out, k)
			}
		}
		return out
	}
	var whole Session
	add(&whole, session)
	want := sum(whole.Take())
	for n := range session {
		var a, b Session
		add(&a, session[:n])
		first := a.Take()
		raw, err := json.Marshal(a)
		if err == nil {
			err = json.Unmarshal(raw, &b)
		}
		if err != nil {
			t.Fatal(err)
		}
		add(&b, session[n:])
		if got := sum(first, b.Take()); !reflect.DeepEqual(got, want) {
			t.Errorf("saved after %d entries: %v, want %v", n, got, want)
		}
	}
}

// TestAgents reads calls of each agent: which files they touched, how many lines changed, and whether they failed.
func TestAgents(t *testing.T) {
	patch := `{"input":"*** Begin Patch\n*** Update File: a.go\n@@\n-two\n+zwei\n+drei\n*** Add File: b.go\n+one\n*** End Patch"}`
	for name, c := range map[string]struct {
		call, result, detail, meta string
		want                       []string
	}{
		"codex": {calling("apply_patch", patch), `Exit code: 0\nSuccess`, `{"call_id":"c-apply_patch"}`, ``,
			[]string{"file /p/a.go @2 reads 0 writes 1 +2 -1", "file /p/b.go @2 reads 0 writes 1 +1 -0"}},
		"codex moves": {calling("apply_patch",
			`{"input":"*** Begin Patch\n*** Update File: a.go\n*** Move to: c.go\n@@\n-two\n+zwei\n+drei\n*** End Patch"}`),
			`Exit code: 0\nSuccess`, `{"call_id":"c-apply_patch"}`, ``,
			[]string{"file /p/a.go @2 reads 0 writes 1 +0 -0", "file /p/c.go @2 reads 0 writes 1 +2 -1"}},
		"codex refused": {calling("apply_patch", patch), `patch rejected by user`, `{}`, ``, nil},
		"codex does not find the lines": {calling("apply_patch", patch), `apply_patch verification failed: Failed to find expected lines in /p/a.go:\none`, `{}`, ``,
			[]string{"failed apply_patch"}},
		"codex shell": {calling("exec_command", `{"cmd":"sed -i s/a/b/ x.go && ./run.sh","workdir":"/q"}`), `Chunk ID: 1\nProcess exited with code 2\nOutput:`, `{}`, ``,
			[]string{"failed exec_command", "file /q/x.go @2 reads 0 writes 1 +0 -0", "file /q/run.sh @2 reads 1 writes 0 +0 -0"}},
		"gemini": {calling("replace", `{"file_path":"/p/n.txt","old_string":"a","new_string":"b"}`), `ok`,
			`{"call_id":"c-replace","resultDisplay":{"diffStat":{"model_added_lines":4,"model_removed_lines":2}}}`, ``,
			[]string{"file /p/n.txt @2 reads 0 writes 1 +4 -2"}},
		"gemini shell": {calling("run_shell_command", `{"command":"false"}`), `<untrusted_context>\nOutput: \nExit Code: 1\n</untrusted_context>`, `{}`, ``,
			[]string{"failed run_shell_command"}},
		"opencode": {calling("edit", `{"filePath":"/p/n.txt","oldString":"a","newString":"b"}`), `ok`,
			`{"call_id":"c-edit","metadata":{"filediff":{"additions":1,"deletions":1}}}`, ``, []string{"file /p/n.txt @2 reads 0 writes 1 +1 -1"}},
		"opencode shell":  {calling("bash", `{"command":"false"}`), `no`, `{"call_id":"c-bash","metadata":{"exit":3}}`, ``, []string{"failed bash"}},
		"claude notebook": {calling("NotebookEdit", `{"notebook_path":"/p/n.ipynb","new_source":"1\n2"}`), `ok`, `{}`, ``, []string{"file /p/n.ipynb @2 reads 0 writes 1 +2 -0"}},
		"claude edits": {calling("MultiEdit", `{"file_path":"/p/n","edits":[{"old_string":"a","new_string":"b\nc"},{"old_string":"d","new_string":""}]}`), `ok`, `{}`, ``,
			[]string{"file /p/n @2 reads 0 writes 1 +2 -2"}},
		"claude failed": {calling("Edit", `{"file_path":"/p/n","old_string":"a","new_string":"b"}`), `String to replace not found`, `{}`, `,"is_error":["c-Edit"]`, []string{"failed Edit"}},
		"bub":           {calling("fs.write", `{"path":"n.txt","content":"a\nb\nc"}`), `ok`, `{}`, ``, []string{"file /p/n.txt @2 reads 0 writes 1 +3 -0"}},
		"cline":         {calling("editor", `{"path":"/p/n","old_text":"a","new_text":"b\nc"}`), `ok`, `{}`, ``, []string{"file /p/n @2 reads 0 writes 1 +2 -1"}},
		"cline reads": {calling("read_files", `{"files":[{"path":"a.txt","start_line":2},{"path":"/q/b.txt"}]}`), `ok`, `{}`, ``,
			[]string{"file /p/a.txt @2 reads 1 writes 0 +0 -0", "file /q/b.txt @2 reads 1 writes 0 +0 -0"}},
		"cline shell": {calling("run_commands", `{"commands":["cat a.go","touch b.go"]}`), `no`, `{}`, `,"is_error":["c-run_commands"]`,
			[]string{"failed run_commands", "file /p/a.go @2 reads 1 writes 0 +0 -0", "file /p/b.go @2 reads 0 writes 1 +0 -0"}},
		"unknown": {calling("mcp__linear__get", `{"path":"a/b.c"}`), `ok`, `{}`, ``, nil},
	} {
		var s Session
		add(&s, entries(`0 | anchor | {"state":{"cwd":"/p"}}`, `1 | tool_call | `+c.call,
			`2 | tool_result | {"results":["`+c.result+`"]} | {"call_ids":["`+strings.Split(c.call, `"`)[5]+`"]`+c.meta+`}`,
			`2 | event | {"name":"tool.detail","data":`+c.detail+`}`))
		sums := s.Take()
		var got []string
		for _, tool := range sums.Tools {
			if tool.Failed > 0 {
				got = append(got, "failed "+tool.Name)
			}
		}
		if got = append(got, sumLines(Sums{Touches: sums.Touches})...); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestProgramsOfCodex: Codex has events that say what a program of its model changed, repeats usages, and says when a
// command began, which is after a person allowed it.
func TestProgramsOfCodex(t *testing.T) {
	usage := `{"name":"run","data":{"model":"gpt","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2,"reasoning_output_tokens":1,"total_tokens":12},"total_token_usage":{"total_tokens":12}}}`
	var s Session
	add(&s, entries(
		`0 | message | {"role":"user","content":"why?"}`,
		`0 | event | `+usage, `1 | event | `+usage,
		`2 | event | {"name":"tool.run","data":{"item":"FileChange","status":"completed","changes":{"/p/n.txt":{"type":"update","unified_diff":"@@ -1 +1,2 @@\n-a\n+b\n+c\n"},"/p/old.txt":{"type":"update","move_path":"/p/moved.txt","unified_diff":"@@ -1 +1 @@\n-a\n+b\n"}}}}`,
		`3 | tool_call | `+calling("exec_command", `{"cmd":"make"}`),
		`63 | tool_result | {"results":["Chunk ID: 1\nProcess exited with code 0\n"]} | {"call_ids":["c-exec_command"]}`,
		`63 | event | {"name":"tool.detail","data":{"call_id":"c-exec_command","started_at_ms":1795168798000,"completed_at_ms":1795168802000}}`))
	// 09:59:58 to 10:00:02, four seconds after almost a minute of waiting.
	want := []string{`work 9 gpt "" turns 1 active 3 in 6 out 2 cache 4+0 calls 1 failed 0`, `work 10 gpt "" turns 0 active 4 in 0 out 0 cache 0+0 calls 0 failed 0`,
		`tool 9 exec_command calls 1 failed 0 active 0`, `tool 10 exec_command calls 0 failed 0 active 4`,
		`file /p/n.txt @4 reads 0 writes 1 +2 -1`, `file /p/old.txt @4 reads 0 writes 1 +0 -0`, `file /p/moved.txt @4 reads 0 writes 1 +1 -1`}
	if got := sumLines(s.Take()); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHelper: a subagent's task is not a turn, but its time and tokens count, the tokens for its own model.
func TestHelper(t *testing.T) {
	var s Session
	add(&s, entries(`0 | anchor | {"name":"session/start","state":{"owner":"agent","cwd":"/p"}}`, `0 | message | {"role":"user","content":"count"}`,
		`1 | event | {"name":"run","data":{"model":"small","usage":{"prompt_tokens":3,"completion_tokens":1}}} | {"context":false}`))
	got := sumLines(s.Take())
	if want := []string{`work 9  "" turns 0 active 1 in 0 out 0 cache 0+0 calls 0 failed 0`, `work 9 small "" turns 0 active 0 in 3 out 1 cache 0+0 calls 0 failed 0`}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHostile: values from transcripts may be anything.
func TestHostile(t *testing.T) {
	huge := strings.Repeat("a/b.c ", 20_000)
	var s Session
	add(&s, entries(`0 | tool_call | `+calling("bash", `{"command":"cat `+huge+`"}`), `0 | tool_result | {"results":["x"]}`,
		`1 | tool_call | {"calls":[{"id":7,"function":{"name":["x"],"arguments":{"path":3}}},null,"x"]}`, `1 | tool_result | {"results":[null,{},[]]} | {"call_ids":"x","is_error":{}}`,
		`1 | event | {"name":"run","data":{"usage":{"input_tokens":-5,"output_tokens":"x"}}}`, `1 | message | {"role":"tool","tool_call_id":"none"}`,
		`2 | tool_call | `+calling("Read", `{"file_path":"/`+huge+`"}`), `2 | tool_result | {"results":["x"]}`))
	got := s.Take()
	if len(got.Touches) > maxTouches {
		t.Errorf("one command touches %d files, want at most %d", len(got.Touches), maxTouches)
	}
	for _, l := range sumLines(got) {
		if len(l) > 200 {
			t.Errorf("a sum takes %d bytes, want at most 200: %.100s", len(l), l)
		}
	}
}

// TestNoted: tokens that the cache keeps for an hour are counted, and what an agent has noted as its cost: of a call of the
// model, each once, or of the whole session so far. Copilot's cost counts requests.
func TestNoted(t *testing.T) {
	var s Session
	add(&s, entries(
		`0 | event | {"name":"run","data":{"model":"m","message_id":"1","cost":0.25,"usage":{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":0,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_1h_input_tokens":4}}}}`,
		`1 | event | {"name":"run","data":{"model":"m","message_id":"1","cost":0.5,"usage":{"input_tokens":1,"output_tokens":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":5,"cache_creation":{"ephemeral_1h_input_tokens":4}}}}`,
		`2 | event | {"name":"run","data":{"model":"m","cost":0,"usage":{"input_tokens":7}}}`,
		`3 | event | {"name":"run","data":{"model":"m","cost":1,"usage":{"input_tokens":7}}} | {"source":{"format":"copilot"}}`,
		`4 | event | {"name":"session.usage","data":{"cost":1.5}}`,
		`5 | event | {"name":"session.usage","data":{"cost":2}}`))
	var got Tokens
	for _, w := range s.Take().Work {
		got.Add(w.Tokens)
	}
	if want := (Tokens{Input: 15, Output: 3, CacheWrite: 5, CacheLong: 4, Noted: Noted{Cost: 2.5e6, Input: 1, Output: 3, CacheWrite: 5, CacheLong: 4}}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
