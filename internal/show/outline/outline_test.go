package outline_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/internal/show/outline"
	"tape/internal/store/activity"
	"tape/repo"
)

// lines makes entries of lines: the second, the kind, the payload and perhaps the meta, with " | " between them.
func lines(t *testing.T, list ...string) []repo.Entry {
	t.Helper()
	var out []repo.Entry
	start := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	seq, anchor := 1, "session/start"
	for i, l := range list {
		f := strings.SplitN(l, " | ", 4)
		var second int
		if _, err := fmt.Sscan(f[0], &second); err != nil {
			t.Fatal(err)
		}
		if f[1] == "anchor" && i > 0 {
			seq, anchor = seq+1, "review"
		}
		e := repo.Entry{ID: int64(i + 1), Kind: f[1], Payload: json.RawMessage(f[2]), Meta: json.RawMessage(`{}`), Anchor: anchor, AnchorSeq: seq,
			Date: start.Add(time.Duration(second) * time.Second).Format(time.RFC3339Nano)}
		if len(f) > 3 {
			e.Meta = json.RawMessage(f[3])
		}
		out = append(out, e)
	}
	return out
}

func call(id, name, args string) string {
	raw, _ := json.Marshal(args)
	return `{"calls":[{"id":"` + id + `","type":"function","function":{"name":"` + name + `","arguments":` + string(raw) + `}}]}`
}

func outlineOf(t *testing.T, list []repo.Entry) *outline.Outline {
	t.Helper()
	o, err := outline.Of(t.Context(), func(yield func(repo.Entry, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOutline: what the head of a session says of two turns with a failure, an edit, a subagent, a pause and a handoff.
func TestOutline(t *testing.T) {
	o := outlineOf(t, lines(t,
		`0 | anchor | {"name":"session/start","state":{"cwd":"/shop","model":"opus"}}`,
		`0 | message | {"role":"user","content":"Fix the retry"}`,
		`10 | tool_call | `+call("1", "Bash", `{"command":"go test ./..."}`),
		`40 | tool_result | {"results":["Exit code 1"]} | {"call_ids":["1"],"is_error":["1"]}`,
		`50 | tool_call | `+call("2", "Edit", `{"file_path":"/shop/retry.go","old_string":"a","new_string":"b\nc"}`),
		`51 | tool_result | {"results":["done"]} | {"call_ids":["2"]}`,
		`52 | tool_call | `+call("3", "Task", `{"description":"Review the change","prompt":"Look at it"}`),
		`53 | message | {"role":"user","content":"Look at it"} | {"context":false,"origin":{"fork":"agent-7"}}`,
		`54 | message | {"role":"assistant","content":"I see"} | {"context":false,"origin":{"fork":"agent-7"}}`,
		`60 | tool_result | {"results":["fine"]} | {"call_ids":["3"]}`,
		`60 | event | {"name":"tool.detail","data":{"call_id":"3","agentId":"7"}}`,
		`61 | event | {"name":"run","data":{"model":"opus","usage":{"input_tokens":5,"output_tokens":9}}}`,
		`4000 | anchor | {"name":"review","summary":"s"}`,
		`4000 | message | {"role":"user","content":"Thanks, and now?"}`,
		`4010 | message | {"role":"assistant","content":"**Done.** All is well."}`))
	if o.Asked.Text != "Fix the retry" || o.Answer.Text != "**Done.** All is well." || o.Ending != activity.Answered || o.Answer.Entry != 15 {
		t.Errorf("asked %+v, ended %s %+v", o.Asked, o.Ending, o.Answer)
	}
	if len(o.Turns) != 2 || o.Turns[0].Calls != 3 || o.Turns[0].Failed != 1 || o.Turns[0].Tokens.Output != 9 || o.Turns[1].Calls != 0 || o.TurnOf(14) == nil || o.TurnOf(3) != nil {
		t.Errorf("turns: %+v", o.Turns)
	}
	files, added, removed := o.Changed()
	if len(files) != 1 || files[0].Path != "/shop/retry.go" || added != 2 || removed != 1 {
		t.Errorf("files: %+v +%d -%d", files, added, removed)
	}
	if failed := o.FailedCommands(); len(failed) != 1 || failed[0].Brief != "go test ./..." || failed[0].Entry != 3 || failed[0].Took != 30*time.Second {
		t.Errorf("failed: %+v", failed)
	}
	if h := o.SubagentOf("agent-7"); h == nil || h.Task != "Review the change" || h.First != 8 || h.Entries != 2 {
		t.Errorf("subagents: %+v", o.Subagents)
	}
	if i := slices.IndexFunc(o.Tools, func(tool outline.Tool) bool { return tool.Name == "Task" }); i < 0 || o.Tools[i].Active != 8*time.Second {
		t.Errorf("the call that started a subagent did not take all of its 8 s: %+v", o.Tools)
	}
	if len(o.Phases) != 2 || o.Phases[1].Name != "review" || o.Phases[1].First != 13 {
		t.Errorf("phases: %+v", o.Phases)
	}
	var marks []string
	for _, m := range o.Strip.Marks {
		marks = append(marks, fmt.Sprint(m.Entry, m.Sign))
		if m.At < 0 || m.At > 1 {
			t.Errorf("a mark is at %v, not from 0 to 1", m.At)
		}
	}
	if want := []string{"2prompt", "13handoff", "14prompt"}; !slices.Equal(marks, want) || len(o.Strip.Pauses) != 1 {
		t.Errorf("marks %q, want %q; pauses %v", marks, want, o.Strip.Pauses)
	}
}

// TestNothing: sessions without entries, dates or calls have an outline without files, failures and commits.
func TestNothing(t *testing.T) {
	for _, list := range [][]repo.Entry{nil, {{ID: 1, Kind: "anchor", Payload: json.RawMessage(`{}`), AnchorSeq: 1}},
		{{ID: 1, Kind: "message", Payload: json.RawMessage(`{"role":"user","content":"hi"}`), AnchorSeq: 1}}} {
		o := outlineOf(t, list)
		if len(o.Files)+len(o.Failed)+len(o.Commits) > 0 {
			t.Errorf("the outline of %d entries has files, failures or commits: %+v", len(list), o)
		}
	}
}
