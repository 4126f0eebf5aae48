package pi_test

import (
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/pi"
	"tape/internal/sessions/importer/record"
)

var imp = formattest.Importer{Formats: importer.All(), ReadAs: importer.Read, DescribeAs: importer.Describe}

// sample is a session whose user went back once, from d to b.
var sample = []string{
	`{"type":"session","version":3,"id":"p-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","parentSession":"/h/.pi/agent/sessions/--w--/2026-01-01T00-00-00-000Z_p-0.jsonl"}`,
	`{"type":"model_change","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","provider":"fake","modelId":"m"}`,
	`{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":[{"type":"text","text":"list"}],"timestamp":1}}`,
	`{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hm","thinkingSignature":"s"},{"type":"text","text":"so"},{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"ls"}}],"provider":"fake","model":"m","stopReason":"toolUse","usage":{"input":5,"output":2,"cacheRead":1,"cacheWrite":0,"totalTokens":8,"cost":{"input":0.1,"total":0.3}}}}`,
	`{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[{"type":"text","text":"a\n\nCommand exited with code 3"}],"isError":true,"details":{"truncation":{"lines":2000}}}}`,
	`{"type":"branch_summary","id":"e","parentId":"b","timestamp":"2026-01-01T00:00:05.000Z","fromId":"d","summary":"tried ls"}`,
	`{"type":"message","id":"f","parentId":"e","timestamp":"2026-01-01T00:00:06.000Z","message":{"role":"bashExecution","command":"pwd","output":"/w\n","exitCode":0}}`,
	`{"type":"compaction","id":"g","parentId":"f","timestamp":"2026-01-01T00:00:07.000Z","summary":"all done","tokensBefore":100}`,
	`{"type":"session_info","id":"h","parentId":"g","timestamp":"2026-01-01T00:00:08.000Z","name":"Files"}`,
	`{"type":"message","id":"i","parentId":"h","timestamp":"2026-01-01T00:00:09.000Z","message":{"role":"assistant","content":[],"model":"m","stopReason":"error","errorMessage":"no network"}}`,
}

func FuzzPi(f *testing.F) { imp.Fuzz(f, pi.Format.Name, sample) }

// TestPi: an abandoned branch is a fork; the session goes on beside it.
func TestPi(t *testing.T) {
	seen := formattest.Seen{}
	items, _ := imp.Items(t, pi.Format.Name, "x.jsonl", formattest.Lines(sample...), seen)
	formattest.Want(t, items,
		`event {"name":"session","data":{"version":3,"id":"p-1","cwd":"/w","parentSession":"/h/.pi/agent/sessions/--w--/2026-01-01T00-00-00-000Z_p-0.jsonl"}}`,
		`event {"name":"model_change","data":{"provider":"fake","modelId":"m"}}`,
		`message {"role":"user","content":"list"}`,
		`branch-cevent {"name":"thinking","data":{"thinking":"hm","thinkingSignature":"s"}}`,
		`branch-cmessage {"role":"assistant","content":"so"}`,
		`branch-ctool_call {"calls":[{"id":"t1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}]}`,
		`branch-cevent {"name":"run","data":{"model":"m","usage":{"input_tokens":5,"output_tokens":2,"cache_read_input_tokens":1,"cache_creation_input_tokens":0,"total_tokens":8},"cost":0.3,"provider":"fake","stopReason":"toolUse"}}`,
		`branch-ctool_result {"results":["a\n\nCommand exited with code 3"]}`,
		`branch-cevent {"name":"tool.detail","data":{"call_id":"t1","details":{"truncation":{"lines":2000}}}}`,
		`event {"name":"branch_summary","data":{"fromId":"d","summary":"tried ls"}}`,
		`event {"name":"shell","data":{"command":"pwd","output":"/w\n","exitCode":0}}`,
		`anchor {"name":"compaction","state":{"summary":"all done","tokensBefore":100}}`,
		`event {"name":"tape.title","data":{"title":"Files"}}`,
		`event {"name":"model.error","data":{"message":"no network","reason":"error"}}`,
		`event {"name":"run","data":{"model":"m","stopReason":"error"}}`,
	)
	if again, _ := imp.Items(t, pi.Format.Name, "x.jsonl", formattest.Lines(sample...), seen); len(again) > 0 {
		t.Errorf("read again, want no entries: %s", formattest.Show(again))
	}
}

// TestGrows: if the user never goes back, reading a file again while it grows gives the same as reading it once.
func TestGrows(t *testing.T) { imp.Grows(t, pi.Format.Name, sample[:5], 1) }

// TestSpent: what a summary took counts, as does the model that a tool used, and a compaction that repeats the messages
// it keeps names the first of them (docs/session-format.md of pi, grafana/agento11y#495).
func TestSpent(t *testing.T) {
	usage := `"usage":{"input":5,"output":2,"cost":{"total":0.5}}`
	lines := []string{
		sample[0], sample[1],
		`{"type":"message","id":"b","parentId":"a","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"list","timestamp":1}}`,
		`{"type":"message","id":"c","parentId":"b","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"agent","arguments":{}}],"model":"m","stopReason":"toolUse","timestamp":2}}`,
		`{"type":"message","id":"d","parentId":"c","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"toolResult","toolCallId":"t1","toolName":"agent","content":"found",` + usage + `,"timestamp":3}}`,
		`{"type":"message","id":"e","parentId":"d","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"user","content":"go on","timestamp":4}}`,
		`{"type":"compaction","id":"f","parentId":"e","timestamp":"2026-01-01T00:00:06.000Z","summary":"all","tokensBefore":9,` + usage + `,"retainedTail":[{"role":"user","content":"go on","timestamp":4}]}`,
		`{"type":"branch_summary","id":"g","parentId":"f","timestamp":"2026-01-01T00:00:07.000Z","fromId":"f","summary":"tried",` + usage + `}`,
	}
	run := func(model string) string {
		return `event {"name":"run","data":{` + model + `"usage":{"input_tokens":5,"output_tokens":2},"cost":0.5}}`
	}
	items, _ := imp.Items(t, pi.Format.Name, "x.jsonl", formattest.Lines(lines...), formattest.Seen{})
	formattest.Want(t, items[2:],
		`message {"role":"user","content":"list"}`,
		`tool_call {"calls":[{"id":"t1","type":"function","function":{"name":"agent","arguments":"{}"}}]}`,
		`event {"name":"run","data":{"model":"m","stopReason":"toolUse"}}`,
		`tool_result {"results":["found"]}`,
		run(""),
		`message {"role":"user","content":"go on"}`,
		`anchor {"name":"compaction","state":{"summary":"all","tokensBefore":9,"kept":{"first":"e"}}}`,
		run(`"model":"m",`),
		`event {"name":"branch_summary","data":{"fromId":"f","summary":"tried"}}`,
		run(`"model":"m",`),
	)
	imp.Grows(t, pi.Format.Name, lines, 1)
}

// TestForkedFrom: a file names the session that it was forked from.
func TestForkedFrom(t *testing.T) {
	info, err := imp.Describe(t.Context(), pi.Format.Name, formattest.Source("x.jsonl", formattest.Lines(sample...)))
	if want := `{"cwd":"/w","forked_from":"p-0"}`; err != nil || info.Session != "p-1" || string(info.State) != want {
		t.Errorf("%s %s, %v; want %s", info.Session, info.State, err, want)
	}
}

// TestOmp: omp writes the session's title in a line before the header (junhoyeo/tokscale#802).
func TestOmp(t *testing.T) {
	lines := append([]string{`{"type":"title","v":1,"title":"Files","pad":"    "}`}, sample[:3]...)
	items, _ := imp.Items(t, pi.Format.Name, "x.jsonl", formattest.Lines(lines...), formattest.Seen{})
	if got := formattest.Show(items); !strings.HasPrefix(got, `event {"name":"tape.title","data":{"title":"Files"}}`) {
		t.Errorf("the title is missing in %s", got)
	}
	if format, ok := imp.Detect("x.jsonl", formattest.Lines(lines...)); !ok || format != pi.Format.Name {
		t.Errorf("the file is read as %q", format)
	}
	user := record.Where{Home: "/h", Getenv: func(string) string { return "" }}
	if !slices.Contains(pi.Format.Files.Folders(user), "/h/.omp/agent/sessions") {
		t.Errorf("sessions are looked for in %v", pi.Format.Files.Folders(user))
	}
}
