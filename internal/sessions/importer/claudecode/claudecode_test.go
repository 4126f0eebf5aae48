package claudecode_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

func callBlock(id string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"do ` + id + `"}}`
}

func run(msg string, n int) string {
	return fmt.Sprintf(`event {"name":"run","data":{"model":"m","usage":{"output_tokens":%d},"message_id":"%s","request_id":"q"}}`, n, msg)
}

func callEntry(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, `{"id":"`+id+`","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"do `+id+`\"}"}}`)
	}
	return `tool_call {"calls":[` + strings.Join(calls, ",") + `]}`
}

func TestClaudeMessage(t *testing.T) {
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", `{"type":"thinking","thinking":"hm","signature":"s"}`),
		formattest.ClaudeAnswer("a2", "a1", "m1", `{"type":"text","text":"first"}`),
		formattest.ClaudeAnswer("a3", "a2", "m1", callBlock("c1")),
		formattest.ClaudeUser("r1", "a3", formattest.ClaudeResult("c1", `"one"`)),
		formattest.ClaudeLine("p1", "a3", `"type":"progress","data":{"type":"bash_progress","output":"."}`),
		formattest.ClaudeAnswer("a4-last", "a3", "m1", callBlock("c2")),
		formattest.ClaudeLine("r2", "a4-last", `"type":"user","message":{"role":"user","content":[{"tool_use_id":"c2","type":"tool_result","content":"two","is_error":true}]},"toolUseResult":{"stdout":"two","stderr":"","code":3,"interrupted":false}`),
		formattest.ClaudeUser("u2", "r2", `[{"type":"text","text":"look"},{"type":"image","source":{"data":"AA"}}]`),
	), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`,
		`event {"name":"thinking","data":{"thinking":"hm","signature":"s"}}`,
		`message {"role":"assistant","content":"first"}`,
		callEntry("c1", "c2"),
		run("m1", len("a4-last")),
		`event {"name":"progress.bash_progress","data":{"output":"."}}`,
		`tool_result {"results":["one","two"]}`,
		`event {"name":"tool.detail","data":{"call_id":"c2","code":3}}`,
		`message {"role":"user","content":[{"type":"text","text":"look"},{"type":"image","source":{"data":"AA"}}]}`,
	)
	const meta = `{"call_ids":["c1","c2"],"is_error":["c2"],"source":{"format":"claude-code","ids":["r1","r2"]}}`
	if got := string(items[6].Entry.Meta); got != meta {
		t.Errorf("meta %s, want %s", got, meta)
	}
	if got := items[0].Entry.Date; got != "2026-03-01T10:00:00.500000+00:00" {
		t.Errorf("date %s, want that of the line, in UTC", got)
	}
}

// TestClaudeMidMessage: a file that was imported while a message was being
// written gives the rest of it as further entries.
func TestClaudeMidMessage(t *testing.T) {
	ls := []string{
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", callBlock("c1")),
		formattest.ClaudeAnswer("a2-2", "a1", "m1", callBlock("c2")),
		formattest.ClaudeUser("r2", "a2-2", formattest.ClaudeResult("c2", `"two"`)),
		formattest.ClaudeUser("r1", "a1", formattest.ClaudeResult("c1", `"one"`)),
	}
	seen := formattest.Seen{}
	imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(ls[:2]...), seen)
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(ls...), seen)
	formattest.Want(t, items, callEntry("c2"), run("m1", 4), `tool_result {"results":["one","two"]}`)
}

func TestClaudeMissingResult(t *testing.T) {
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeAnswer("a1", "", "m1", callBlock("c1")),
		formattest.ClaudeAnswer("a2", "a1", "m1", callBlock("c2")),
		formattest.ClaudeAnswer("a3", "a2", "m1", callBlock("c3")),
		formattest.ClaudeUser("r2", "a2", formattest.ClaudeResult("c2", `"two"`)),
		formattest.ClaudeUser("u2", "r2", `"stop"`),
		formattest.ClaudeUser("r1", "u2", formattest.ClaudeResult("c1", `"late"`)),
	), formattest.Seen{})
	formattest.Want(t, items, callEntry("c1", "c2", "c3"), run("m1", 2),
		`tool_result {"results":[null,"two"]}`, `message {"role":"user","content":"stop"}`, `tool_result {"results":["late"]}`)
}

func TestClaudePhases(t *testing.T) {
	items, stats := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		`{"type":"summary","summary":"Of another session","leafUuid":"z"}`,
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeLine("b1", "", `"logicalParentUuid":"u1","type":"system","subtype":"compact_boundary","content":"Conversation compacted","level":"info","compactMetadata":{"trigger":"auto","preTokens":155}`),
		formattest.ClaudeLine("d1", "b1", `"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"so far"}`),
		formattest.ClaudeUser("u2", "d1", `"<command-name>/clear</command-name>\n<command-args></command-args>"`),
		formattest.ClaudeLine("mc", "u2", `"type":"system","subtype":"microcompact_boundary","content":"Context microcompacted"`),
		`{"type":"queue-operation","operation":"enqueue","sessionId":"s-1","content":"later","timestamp":"2026-03-01T11:00:00Z"}`,
		`{"type":"summary","summary":"Greetings","leafUuid":"u1"}`,
		`{"type":"never-seen","a":{"b":[1e400]},"sessionId":"s-1"}`,
	), formattest.Seen{})
	if stats.Damaged > 0 {
		t.Errorf("want no damaged lines: %+v", stats)
	}
	formattest.Want(t, items,
		`event {"name":"summary","data":{"summary":"Of another session","leafUuid":"z"}}`,
		`message {"role":"user","content":"hi"}`,
		`anchor {"name":"compaction","state":{"summary":"so far","trigger":"auto","pre_tokens":155}}`,
		`anchor {"name":"clear","state":{"content":"<command-name>/clear</command-name>\n<command-args></command-args>"}}`,
		`event {"name":"system.microcompact_boundary","data":{"content":"Context microcompacted"}}`,
		`event {"name":"queue-operation","data":{"operation":"enqueue","content":"later"}}`,
		`event {"name":"tape.title","data":{"title":"Greetings","leaf":"u1"}}`,
		`event {"name":"never-seen","data":{"a":{"b":[1e400]}}}`,
	)
}

func TestClaudeAbandoned(t *testing.T) {
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", `{"type":"text","text":"yes"}`),
		formattest.ClaudeUser("u2", "a1", `"wrong"`),
		formattest.ClaudeAnswer("a2", "u2", "m2", callBlock("c1")),
		formattest.ClaudeUser("r1", "a2", formattest.ClaudeResult("c1", `"out"`)),
		formattest.ClaudeUser("u3", "a1", `"right"`),
		formattest.ClaudeAnswer("a3", "u3", "m3", callBlock("c2")),
		formattest.ClaudeAnswer("a4", "a3", "m3", callBlock("c3")),
		formattest.ClaudeUser("r2", "a3", formattest.ClaudeResult("c2", `"2"`)),
		formattest.ClaudeUser("r3", "a4", formattest.ClaudeResult("c3", `"3"`)),
	), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`,
		`message {"role":"assistant","content":"yes"}`, run("m1", 2),
		`message {"role":"user","content":"wrong"} hidden`,
		callEntry("c1")+" hidden", run("m2", 2)+" hidden",
		`tool_result {"results":["out"]} hidden`,
		`message {"role":"user","content":"right"}`,
		callEntry("c2", "c3"), run("m3", 2),
		`tool_result {"results":["2","3"]}`,
	)
}

// TestClaudeLostParent: if a line is lost to damage, the lines after it still count.
func TestClaudeLostParent(t *testing.T) {
	items, stats := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeUser("u2", "u1", `"there"`)[:50],
		formattest.ClaudeUser("u3", "u2", `"again"`),
	), formattest.Seen{})
	if stats.Damaged != 1 || strings.Contains(formattest.Show(items), "hidden") {
		t.Errorf("want one damaged line and nothing hidden: %+v\n%s", stats, formattest.Show(items))
	}
}

func TestClaudeEnvironment(t *testing.T) {
	moved := func(l string) string { return strings.Replace(l, `"cwd":"/w"`, `"cwd":"/w/sub"`, 1) }
	b := formattest.Lines(formattest.ClaudeUser("u1", "", `"a"`), moved(formattest.ClaudeUser("u2", "u1", `"b"`)), moved(formattest.ClaudeUser("u3", "u2", `"c"`)))
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", b, formattest.Seen{})
	formattest.Want(t, items, `message {"role":"user","content":"a"}`, `event {"name":"environment","data":{"cwd":"/w/sub"}}`,
		`message {"role":"user","content":"b"}`, `message {"role":"user","content":"c"}`)
	info, err := importer.Describe(context.Background(), &claudecode.Format, formattest.Source("x.jsonl", b))
	if err != nil || string(info.State) != `{"cwd":"/w","version":"2.1.1","sessionId":"s-1"}` {
		t.Errorf("state %s, %v; want that of the first line", info.State, err)
	}
}

func TestDamage(t *testing.T) {
	good := formattest.ClaudeUser("u1", "", `"a"`)
	other := formattest.ClaudeUser("u2", "u1", `"b"`)
	for name, c := range map[string]struct {
		line     string
		messages int
		damaged  int
		raw      string
	}{
		"run together":     {good + other, 2, 0, ""},
		"cut, then whole":  {good[:60] + other, 1, 1, good[:60] + other},
		"whole, then cut":  {good + other[:60], 1, 1, good + other[:60]},
		"no JSON":          {"oops", 0, 1, "oops"},
		"a scalar":         {"17", 0, 1, "17"},
		"invalid UTF-8":    {strings.Replace(good, `"a"`, "\"\xff\"", 1), 0, 1, strings.Replace(good, `"a"`, "\"\uFFFD\"", 1)},
		"too deep":         {strings.Repeat("[", 100_000), 0, 1, strings.Repeat("[", 100_000)},
		"NUL bytes":        {"\x00\x00" + good, 1, 1, "\x00\x00" + good},
		"blank":            {" \t", 0, 0, ""},
		"byte order mark":  {record.ByteOrderMark + good, 1, 0, ""},
		"carriage return":  {good + "\r", 1, 0, ""},
		"lone surrogate":   {formattest.ClaudeUser("u1", "", `"\ud800 \udc00"`), 1, 0, ""},
		"inner of a relay": {`{"type":"progress","data":{"message":{"type":"user","message":{"role":"user","content":"x"},"uuid":"i","timestamp":"2026-01-01T00:00:00Z"}`, 0, 1, ""},
	} {
		items, stats := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(c.line), formattest.Seen{})
		messages, raw := 0, ""
		for _, it := range items {
			if it.Entry.Kind == record.KindMessage {
				messages++
			} else {
				raw = jsonl.GetString(it.Entry.Payload, "data", "raw")
			}
		}
		if messages != c.messages || stats.Damaged != c.damaged || c.raw != "" && raw != c.raw {
			t.Errorf("%s: %d messages, %+v, raw %.80q; want %d messages, %d damaged, raw %.80q", name, messages, stats, raw, c.messages, c.damaged, c.raw)
		}
	}
}

// TestUnfinished: an unfinished last line waits until it is complete, and is not damage.
func TestUnfinished(t *testing.T) {
	first, last := formattest.ClaudeUser("u1", "", `"a"`)+"\n", formattest.ClaudeUser("u2", "u1", `"b"`)
	seen := formattest.Seen{}
	for n := range len(last) + 1 {
		items, stats := imp.Items(t, claudecode.Format.Name, "x.jsonl", []byte(first+last[:n]), seen)
		want := 0
		if n == 0 || n == len(last) {
			want = 1
		}
		if len(items) != want || stats.Damaged > 0 || len(stats.Problems) > 0 != (n > 0 && n < len(last)) {
			t.Errorf("%d bytes of the last line: %d items, want %d; %+v", n, len(items), want, stats)
		}
	}
}

// TestTooLarge: a line that is larger than a record may be is stored in part.
func TestTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	long := strings.Repeat("x", record.MaxRecord)
	items, stats := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"`+long+`"`),
		formattest.ClaudeAnswer("a1", "", "m1", `{"type":"text","text":"hi"}`),
	), formattest.Seen{})
	if len(items) == 0 || jsonl.GetString(items[0].Entry.Payload, "name") != "import.damaged" || stats.Damaged != 1 || len(stats.Problems) != 1 {
		t.Fatalf("%d entries, %+v; want one damaged line", len(items), stats)
	}
	if n := jsonl.Get(items[0].Entry.Payload, "data", "size"); string(n) != fmt.Sprint(len(formattest.ClaudeUser("u1", "", `""`))+len(long)) {
		t.Errorf("size %s, want that of the line", n)
	}
}

// TestDeepRecord: a record of the greatest depth does not become an entry that is too
// deep.
func TestDeepRecord(t *testing.T) {
	for n := jsonl.MaxDepth - 8; n < jsonl.MaxDepth; n++ {
		deep := strings.Repeat("[", n) + strings.Repeat("]", n)
		imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
			formattest.ClaudeUser("u1", "", `[{"type":"x","v":`+deep+`}]`),
			formattest.ClaudeLine("s1", "u1", `"type":"system","subtype":"x","v":`+deep),
			formattest.ClaudeLine("u2", "s1", `"type":"user","odd":`+deep+`,"message":{"role":"user","content":"c"}`),
		), formattest.Seen{})
	}
}

// TestNotedCost: the cost that older versions note with an answer is that of its run, also if the answer has several lines
// (ryoppippi/ccusage).
func TestNotedCost(t *testing.T) {
	noted := func(line, cost string) string {
		return strings.Replace(line, `"requestId"`, `"costUSD":`+cost+`,"requestId"`, 1)
	}
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		noted(formattest.ClaudeAnswer("a1", "u1", "m1", `{"type":"text","text":"one"}`), "0.125"),
		noted(formattest.ClaudeAnswer("a2", "a1", "m1", callBlock("c1")), "0.25"),
	), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`,
		`message {"role":"assistant","content":"one"}`,
		callEntry("c1"),
		`event {"name":"run","data":{"model":"m","usage":{"output_tokens":2},"message_id":"m1","request_id":"q","cost":0.25}}`,
	)
}

// TestAttempts: what an advisor used, and a model whose answer another one had to give, is not in the usage of the message
// (ccusage/ccusage#1115 and #1552). Each counts once, for its own model.
func TestAttempts(t *testing.T) {
	answer := func(uuid, block, iterations string) string {
		return strings.Replace(formattest.ClaudeAnswer(uuid, "u1", "m1", block), `"usage":{`, `"usage":{"iterations":[`+iterations+`],`, 1)
	}
	attempt := func(typ, model string, output int) string {
		return fmt.Sprintf(`{"type":"%s","model":"%s","output_tokens":%d}`, typ, model, output)
	}
	extra := func(n, output int, model string) string {
		return fmt.Sprintf(`event {"name":"run","data":{"model":"%s","usage":{"output_tokens":%d},"message_id":"m1/%d","request_id":"q"}}`, model, output, n) + "\n"
	}
	for name, c := range map[string]struct {
		iterations []string
		want       string
	}{
		"an advisor": {[]string{attempt("message", "m", 1), attempt("advisor_message", "wise", 7), attempt("message", "m", 1)}, extra(1, 7, "wise")},
		"a fallback": {[]string{attempt("message", "strict", 0), attempt("message", "strict", 5), attempt("fallback_message", "m", 2)}, extra(1, 5, "strict")},
		"none":       {[]string{attempt("message", "m", 2)}, ""},
	} {
		all := strings.Join(c.iterations, ",")
		items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
			formattest.ClaudeUser("u1", "", `"hi"`), answer("a1", `{"type":"text","text":"one"}`, all), answer("a2", callBlock("c1"), all)), formattest.Seen{})
		got := ""
		for line := range strings.Lines(formattest.Show(items)) {
			if strings.Contains(line, `"name":"run"`) && !strings.Contains(line, "iterations") {
				got += line
			}
		}
		if want := c.want; got != want {
			t.Errorf("%s: got runs\n%swant\n%s", name, got, want)
		}
	}
}

// TestHooksOfOthers: other agents run the hooks in Claude Code's settings, too. Grok gives its input the names of Claude
// Code besides its own.
func TestHooksOfOthers(t *testing.T) {
	const own = `{"session_id":"s-1","transcript_path":"/t/s-1.jsonl","cwd":"/w","hook_event_name":"Stop"}`
	for _, x := range []struct{ input, want string }{
		{own, own},
		{`{"hookEventName":"stop","sessionId":"s-2",` + own[1:], ""},
		{`{"cursor_version":"2.4.7",` + own[1:], ""},
	} {
		if got := claudecode.Format.Agent.TranslateInput([]byte(x.input), record.Where{}); string(got) != x.want {
			t.Errorf("%s becomes %s, want %q", x.input, got, x.want)
		}
	}
}
