package importer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/index"
)

// TestCopiedHistory: for each format whose sessions may begin with the history of another one, sums have it once, in
// each order of files.
func TestCopiedHistory(t *testing.T) {
	const id = "019f0000-0000-7000-8000-00000000000"
	claude := func(session, more string) string {
		return fmt.Sprintf(`{"parentUuid":null,"cwd":"/w","sessionId":%q,"type":"user","uuid":"u1","timestamp":"2026-09-10T09:00:01Z","message":{"role":"user","content":"ask"}%s}
{"parentUuid":"u1","cwd":"/w","sessionId":%q,"type":"assistant","uuid":"u2","timestamp":"2026-09-10T09:00:02Z","message":{"id":"m1","role":"assistant","model":"x","content":[{"type":"text","text":"re"}],"usage":{"input_tokens":1,"output_tokens":100}},"requestId":"r1"%s}
`, session, more, session, more)
	}
	codexTurn := func(at, turn string, total, used int) string {
		line := func(typ, payload string) string {
			return fmt.Sprintf(`{"timestamp":%q,"type":%q,"payload":%s}`+"\n", at, typ, payload)
		}
		return line("event_msg", `{"type":"task_started","turn_id":"`+turn+`"}`) + line("turn_context", `{"turn_id":"`+turn+`","cwd":"/w","model":"x"}`) +
			line("response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"ask"}]}`) +
			line("event_msg", fmt.Sprintf(`{"type":"token_count","info":{"total_token_usage":{"input_tokens":9,"output_tokens":%d,"total_tokens":%d},"last_token_usage":{"input_tokens":9,"output_tokens":%d,"total_tokens":%d}}}`, total, total+9, used, used+9)) +
			line("event_msg", `{"type":"task_complete","turn_id":"`+turn+`"}`)
	}
	codexMeta := func(at, n, more string) string {
		return fmt.Sprintf(`{"timestamp":%q,"type":"session_meta","payload":{"id":"%s%s","timestamp":%q,"cwd":"/w"%s}}`+"\n", at, id, n, at, more)
	}
	pi := func(n, at, more string) string {
		return fmt.Sprintf(`{"type":"session","version":3,"id":"%s%s","timestamp":%q,"cwd":"/w"%s}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-09-10T09:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"ask"}]}}
{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-09-10T09:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"re"}],"model":"x","usage":{"input":1,"output":100,"totalTokens":101}}}
`, id, n, at, more)
	}
	opencode := func(session, prefix string, created int) string {
		return fmt.Sprintf(`{"info":{"id":%q,"directory":"/w","version":"1","time":{"created":%d}},"messages":[
{"info":{"id":"%[3]s1","role":"user","time":{"created":1789000001000}},"parts":[{"id":"%[3]sp1","type":"text","text":"ask"}]},
{"info":{"id":"%[3]s2","role":"assistant","modelID":"x","time":{"created":1789000002000,"completed":1789000003000},"tokens":{"input":1,"output":100,"reasoning":0,"cache":{"read":0,"write":0}}},"parts":[{"id":"%[3]sp2","type":"text","text":"re"}]}]}`, session, created, prefix)
	}
	const then, later = "2026-09-10T09:00:00.000Z", "2026-09-11T09:00:00.000Z"
	own := strings.NewReplacer(`"u1"`, `"v1"`, `"u2"`, `"v2"`, `"m1"`, `"m2"`, "T09", "T11", "r1", "r2", ":100}", ":7}")
	long := strings.NewReplacer(`"m1"`, `"msg_01XFDUDYJgAACzvnptvVoYEL"`)
	for name, files := range map[string][2]string{
		// kenn-io/agentsview#1370: in the background; the lines have the same ids.
		"claude-code": {claude("a", ""), claude("b", `,"sessionKind":"bg"`) + own.Replace(claude("b", `,"sessionKind":"bg"`))},
		// steipete/CodexBar#627: a fork has the dates of the fork.
		"codex": {codexMeta(then, "a", "") + codexTurn("2026-09-10T09:00:01.000Z", "t1", 100, 100),
			codexMeta(later, "b", `,"forked_from_id":"`+id+`a"`) + codexMeta(later, "a", "") + codexTurn(later, "t1", 100, 100) + codexTurn("2026-09-11T09:01:00.000Z", "t2", 107, 7)},
		"pi":       {pi("a", then, ""), pi("b", later, `,"parentSession":"/x/1_`+id+`a.jsonl"`) + strings.NewReplacer(`"a1"`, `"b1"`, `"a2"`, `"b2"`, "09-10", "09-11", ":100,", ":7,").Replace(strings.SplitN(pi("b", later, ""), "\n", 2)[1])},
		"opencode": {opencode("ses_a", "a", 1789000000000), opencode("ses_b", "b", 1789000005000)},
		// ccusage/ccusage#1155: another agent has an answer of the session under other ids, but for that of the message.
		"claude-code request": {long.Replace(claude("a", "")),
			strings.NewReplacer(`"r1"`, `"r9"`, `"u1"`, `"x1"`, `"u2"`, `"x2"`).Replace(long.Replace(claude("b", ""))) + own.Replace(claude("b", ""))},
	} {
		name, _, _ := strings.Cut(name, " ")
		for _, order := range [][]int{{0, 1}, {1, 0}} {
			s, dir := testStore(t), t.TempDir()
			for _, i := range order {
				path := filepath.Join(dir, fmt.Sprintf("%s-%d.jsonl", name, i))
				if err := os.WriteFile(path, []byte(files[i]), 0o600); err != nil {
					t.Fatal(err)
				}
				mustImport(t, s, path, Options{Format: name})
			}
			x := index.New(s, nil)
			sums, err := x.Work(t.Context(), index.ByDay, index.WorkFilter{})
			if err := x.Close(); err != nil {
				t.Error(err)
			}
			var out, turns int64
			for _, w := range sums {
				turns += w.Turns
				for _, used := range w.Tokens {
					out += used.Output
				}
			}
			want := []int64{107, 2}
			if name == "opencode" { // its fork has nothing of its own
				want = []int64{100, 1}
			}
			if err != nil || !slices.Equal([]int64{out, turns}, want) {
				t.Errorf("%s, files %v: %d tokens, %d turns, want %v (%v)", name, order, out, turns, want, err)
			}
		}
	}
}
