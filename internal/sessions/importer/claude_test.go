package importer

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// ln makes a Claude Code line. rest is what is special about it.
func ln(uuid, parent, rest string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/w","sessionId":"s-1","version":"2.1.1",%s,"uuid":"%s","timestamp":"2026-03-01T10:00:00.5Z"}`, p, rest, uuid)
}

func userLn(uuid, parent, content string) string {
	return ln(uuid, parent, `"type":"user","message":{"role":"user","content":`+content+`}`)
}

func answerLn(uuid, parent, msg, block string) string {
	return ln(uuid, parent, `"type":"assistant","message":{"id":"`+msg+`","role":"assistant","model":"m","content":[`+block+`],"usage":{"output_tokens":`+fmt.Sprint(len(uuid))+`}},"requestId":"q"`)
}

func callBlock(id string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"do ` + id + `"}}`
}

func resultBlock(id, content string) string {
	return `[{"tool_use_id":"` + id + `","type":"tool_result","content":` + content + `}]`
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
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		answerLn("a1", "u1", "m1", `{"type":"thinking","thinking":"hm","signature":"s"}`),
		answerLn("a2", "a1", "m1", `{"type":"text","text":"first"}`),
		answerLn("a3", "a2", "m1", callBlock("c1")),
		userLn("r1", "a3", resultBlock("c1", `"one"`)),
		ln("p1", "a3", `"type":"progress","data":{"type":"bash_progress","output":"."}`),
		answerLn("a4-last", "a3", "m1", callBlock("c2")),
		ln("r2", "a4-last", `"type":"user","message":{"role":"user","content":[{"tool_use_id":"c2","type":"tool_result","content":"two","is_error":true}]},"toolUseResult":{"stdout":"two","stderr":"","code":3,"interrupted":false}`),
		userLn("u2", "r2", `[{"type":"text","text":"look"},{"type":"image","source":{"data":"AA"}}]`),
	), tapeSeen{})
	want(t, items,
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
		t.Errorf("date %s", got)
	}
}

// TestClaudeMidMessage: a file that was imported while a message was being
// written gives the rest of it as further entries.
func TestClaudeMidMessage(t *testing.T) {
	ls := []string{
		userLn("u1", "", `"hi"`),
		answerLn("a1", "u1", "m1", callBlock("c1")),
		answerLn("a2-2", "a1", "m1", callBlock("c2")),
		userLn("r2", "a2-2", resultBlock("c2", `"two"`)),
		userLn("r1", "a1", resultBlock("c1", `"one"`)),
	}
	seen := tapeSeen{}
	read(t, ClaudeCode, "x.jsonl", lines(ls[:2]...), seen)
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(ls...), seen)
	want(t, items, callEntry("c2"), run("m1", 4), `tool_result {"results":["one","two"]}`)
}

func TestClaudeMissingResult(t *testing.T) {
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(
		answerLn("a1", "", "m1", callBlock("c1")),
		answerLn("a2", "a1", "m1", callBlock("c2")),
		answerLn("a3", "a2", "m1", callBlock("c3")),
		userLn("r2", "a2", resultBlock("c2", `"two"`)),
		userLn("u2", "r2", `"stop"`),
		userLn("r1", "u2", resultBlock("c1", `"late"`)),
	), tapeSeen{})
	want(t, items, callEntry("c1", "c2", "c3"), run("m1", 2),
		`tool_result {"results":[null,"two"]}`, `message {"role":"user","content":"stop"}`, `tool_result {"results":["late"]}`)
}

func TestClaudePhases(t *testing.T) {
	items, stats := read(t, ClaudeCode, "x.jsonl", lines(
		`{"type":"summary","summary":"A title that goes on for rather longer than any name of a phase ought to","leafUuid":"z"}`,
		userLn("u1", "", `"hi"`),
		ln("b1", "", `"logicalParentUuid":"u1","type":"system","subtype":"compact_boundary","content":"Conversation compacted","level":"info","compactMetadata":{"trigger":"auto","preTokens":155}`),
		ln("d1", "b1", `"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"so far"}`),
		userLn("u2", "d1", `"<command-name>/clear</command-name>\n<command-args></command-args>"`),
		ln("mc", "u2", `"type":"system","subtype":"microcompact_boundary","content":"Context microcompacted"`),
		`{"type":"queue-operation","operation":"enqueue","sessionId":"s-1","content":"later","timestamp":"2026-03-01T11:00:00Z"}`,
		`{"type":"never-seen","a":{"b":[1e400]},"sessionId":"s-1"}`,
	), tapeSeen{})
	if stats.Damaged > 0 {
		t.Errorf("%+v", stats)
	}
	want(t, items,
		`anchor {"name":"A title that goes on for rather longer than any name of a","state":{"summary":"A title that goes on for rather longer than any name of a phase ought to","leaf":"z"}}`,
		`message {"role":"user","content":"hi"}`,
		`anchor {"name":"compaction","state":{"summary":"so far","trigger":"auto","pre_tokens":155}}`,
		`anchor {"name":"clear","state":{"content":"<command-name>/clear</command-name>\n<command-args></command-args>"}}`,
		`event {"name":"system.microcompact_boundary","data":{"content":"Context microcompacted"}}`,
		`event {"name":"queue-operation","data":{"operation":"enqueue","content":"later"}}`,
		`event {"name":"never-seen","data":{"a":{"b":[1e400]}}}`,
	)
}

func TestClaudeAbandoned(t *testing.T) {
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		answerLn("a1", "u1", "m1", `{"type":"text","text":"yes"}`),
		userLn("u2", "a1", `"wrong"`),
		answerLn("a2", "u2", "m2", callBlock("c1")),
		userLn("r1", "a2", resultBlock("c1", `"out"`)),
		userLn("u3", "a1", `"right"`),
		answerLn("a3", "u3", "m3", callBlock("c2")),
		answerLn("a4", "a3", "m3", callBlock("c3")),
		userLn("r2", "a3", resultBlock("c2", `"2"`)),
		userLn("r3", "a4", resultBlock("c3", `"3"`)),
	), tapeSeen{})
	want(t, items,
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

// TestClaudeLostParent: a line that was lost to damage abandons nothing.
func TestClaudeLostParent(t *testing.T) {
	items, stats := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		userLn("u2", "u1", `"there"`)[:50],
		userLn("u3", "u2", `"again"`),
	), tapeSeen{})
	if stats.Damaged != 1 || strings.Contains(show(items), "hidden") {
		t.Errorf("%+v\n%s", stats, show(items))
	}
}

func TestClaudeEnvironment(t *testing.T) {
	moved := func(l string) string { return strings.Replace(l, `"cwd":"/w"`, `"cwd":"/w/sub"`, 1) }
	b := lines(userLn("u1", "", `"a"`), moved(userLn("u2", "u1", `"b"`)), moved(userLn("u3", "u2", `"c"`)))
	items, _ := read(t, ClaudeCode, "x.jsonl", b, tapeSeen{})
	want(t, items, `message {"role":"user","content":"a"}`, `event {"name":"environment","data":{"cwd":"/w/sub"}}`,
		`message {"role":"user","content":"b"}`, `message {"role":"user","content":"c"}`)
	info, err := Describe(context.Background(), ClaudeCode, source1("x.jsonl", b))
	if err != nil || string(info.State) != `{"cwd":"/w","version":"2.1.1","sessionId":"s-1"}` {
		t.Errorf("%s, %v", info.State, err)
	}
}

func TestDamage(t *testing.T) {
	good := userLn("u1", "", `"a"`)
	other := userLn("u2", "u1", `"b"`)
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
		"lone surrogate":   {userLn("u1", "", `"\ud800 \udc00"`), 1, 0, ""},
		"inner of a relay": {`{"type":"progress","data":{"message":{"type":"user","message":{"role":"user","content":"x"},"uuid":"i","timestamp":"2026-01-01T00:00:00Z"}`, 0, 1, ""},
	} {
		items, stats := read(t, ClaudeCode, "x.jsonl", lines(c.line), tapeSeen{})
		messages, raw := 0, ""
		for _, it := range items {
			if it.Entry.Kind == record.KindMessage {
				messages++
			} else {
				raw = jsonl.GetString(it.Entry.Payload, "data", "raw")
			}
		}
		if messages != c.messages || stats.Damaged != c.damaged || c.raw != "" && raw != c.raw {
			t.Errorf("%s: %d messages, %+v, raw %.80q", name, messages, stats, raw)
		}
	}
}

// TestUnfinished: a last line without its end waits until it is whole, and is no damage.
func TestUnfinished(t *testing.T) {
	first, last := userLn("u1", "", `"a"`)+"\n", userLn("u2", "u1", `"b"`)
	seen := tapeSeen{}
	for n := range len(last) + 1 {
		items, stats := read(t, ClaudeCode, "x.jsonl", []byte(first+last[:n]), seen)
		want := 0
		if n == 0 || n == len(last) {
			want = 1
		}
		if len(items) != want || stats.Damaged > 0 || len(stats.Problems) > 0 != (n > 0 && n < len(last)) {
			t.Errorf("%d bytes of it: %d items, %+v", n, len(items), stats)
		}
	}
}

// TestTooLarge: what is larger than an entry may be is kept in part.
func TestTooLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	long := strings.Repeat("x", jsonl.DefaultMaxLine)
	escaped := strings.Repeat(`\"`, 9<<19) // an entry has it escaped once more
	half := strings.Repeat("y", 9<<20)
	items, stats := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"`+long+`"`),
		answerLn("a1", "", "m1", `{"type":"tool_use","id":"c1","name":"W","input":{"content":"`+escaped+`"}}`),
		answerLn("a2", "a1", "m2", callBlock("c2")),
		answerLn("a3", "a2", "m2", callBlock("c3")),
		userLn("r2", "a2", resultBlock("c2", `"`+half+`"`)),
		userLn("r3", "a3", resultBlock("c3", `"`+half+`"`)),
	), tapeSeen{})
	var kinds []string
	for _, it := range items {
		kind := it.Entry.Kind
		if kind == record.KindEvent {
			kind = jsonl.GetString(it.Entry.Payload, "name")
		}
		kinds = append(kinds, kind)
	}
	// The second line is out of the reach of what opens the session.
	const wants = "import.damaged environment import.damaged run tool_call run tool_result tool_result"
	if got := strings.Join(kinds, " "); got != wants || stats.Damaged != 1 || len(stats.Problems) != 2 {
		t.Errorf("%s, want %s; %+v", got, wants, stats)
	}
	if n := jsonl.Get(items[0].Entry.Payload, "data", "size"); string(n) != fmt.Sprint(len(userLn("u1", "", `""`))+len(long)) {
		t.Errorf("size %s", n)
	}
}

// TestDeepRecord: a record as deep as may be does not make an entry that is
// deeper.
func TestDeepRecord(t *testing.T) {
	for n := jsonl.MaxDepth - 8; n < jsonl.MaxDepth; n++ {
		deep := strings.Repeat("[", n) + strings.Repeat("]", n)
		read(t, ClaudeCode, "x.jsonl", lines(
			userLn("u1", "", `[{"type":"x","v":`+deep+`}]`),
			ln("s1", "u1", `"type":"system","subtype":"x","v":`+deep),
			ln("u2", "s1", `"type":"user","odd":`+deep+`,"message":{"role":"user","content":"c"}`),
		), tapeSeen{})
	}
}

func TestReadStops(t *testing.T) {
	b := lines(generate(1, 30)...)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, format := range Formats {
		if _, err := Read(ctx, format, source1("x", b), tapeSeen{}.has, func(record.Item) error { return nil }); err == nil {
			t.Errorf("%s: read on after the context had ended", format)
		}
	}
	stop := fmt.Errorf("stop")
	_, err := Read(context.Background(), ClaudeCode, source1("x", b), tapeSeen{}.has, func(record.Item) error { return stop })
	if err == nil || !strings.Contains(err.Error(), "stop") {
		t.Errorf("error %v", err)
	}
	if _, err := Read(context.Background(), "x", source1("x", b), tapeSeen{}.has, nil); err == nil {
		t.Error("an unknown format was read")
	}
	_, err = Read(context.Background(), ClaudeCode, record.Source{Name: "x", R: bytes.NewReader(b), Size: int64(len(b)) + 100}, tapeSeen{}.has, func(record.Item) error { return nil })
	if err != nil {
		t.Errorf("a file that shrank: %v", err)
	}
}
