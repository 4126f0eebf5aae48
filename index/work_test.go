package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tape/internal/store/layout"
	"tape/repo"
)

// drafts makes drafts of lines with the fields date, kind, payload and, if any, meta.
func drafts(lines ...string) []repo.Draft {
	var out []repo.Draft
	for _, l := range lines {
		f := strings.Split(l, " | ")
		d := repo.Draft{Date: f[0], Kind: f[1], Payload: json.RawMessage(f[2])}
		if len(f) > 3 {
			d.Meta = json.RawMessage(f[3])
		}
		out = append(out, d)
	}
	return out
}

// worked is a session of two turns: one before and one after midnight in Berlin, which is 22:00 UTC.
var worked = drafts(
	`2026-10-24T21:50:00Z | event | {"name":"environment","data":{"cwd":"/shop","model":"opus"}} | {"source":{"format":"claude-code"}}`,
	`2026-10-24T21:50:00Z | message | {"role":"user","content":"why is it slow?"}`,
	`2026-10-24T21:51:00Z | tool_call | {"calls":[{"id":"1","function":{"name":"Read","arguments":{"file_path":"/shop/a.go"}}}]}`,
	`2026-10-24T21:52:00Z | tool_result | {"results":["x"]} | {"call_ids":["1"]}`,
	`2026-10-24T21:52:00Z | event | {"name":"run","data":{"model":"opus","usage":{"input_tokens":10,"cache_read_input_tokens":100,"output_tokens":2}}}`,
	`2026-10-24T22:10:00Z | message | {"role":"user","content":"fix it"} | {"author":"Bob <b@x>"}`,
	`2026-10-24T22:11:00Z | tool_call | {"calls":[{"id":"2","function":{"name":"Write","arguments":{"file_path":"/shop/a.go","content":"1\n2\n"}}}]}`,
	`2026-10-24T22:12:00Z | tool_result | {"results":["x"]} | {"call_ids":["2"]}`,
	`2026-10-24T22:13:00Z | event | {"name":"run","data":{"model":"haiku","usage":{"input_tokens":5,"output_tokens":1}}}`)

// TestWork: sums and files are the same whether the index catches up after every entry or is rebuilt. When a tape
// is reset, its work is no longer in them.
func TestWork(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	main := openTape(t, s, "")
	x := testIndex(t, s)
	for _, d := range worked {
		mustAppend(t, main, d)
		mustSync(t, x)
	}
	wantEqual(t, "after each entry", s.IndexFile(), rebuilt(t, s))
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	says := func(what string, by By, f WorkFilter, want string) {
		t.Helper()
		list, err := x.Work(t.Context(), by, f)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, len(list))
		for i, w := range list {
			got[i] = fmt.Sprint(w.Key, " ", w.Sessions, w.Turns, w.Active, w.Tokens, w.Calls, w.Failed)
		}
		if is := strings.Join(got, "; "); is != want {
			t.Errorf("%s: got %s, want %s", what, is, want)
		}
	}
	says("all", ByNothing, WorkFilter{}, " 1 2 3m0s map[haiku:{5 1 0 0 0 {0 0 0 0 0 0}} opus:{10 2 100 0 0 {0 0 0 0 0 0}}] 2 0")
	says("by day", ByDay, WorkFilter{Zone: berlin}, "2026-10-24 1 1 1m0s map[opus:{10 2 100 0 0 {0 0 0 0 0 0}}] 1 0; 2026-10-25 1 1 2m0s map[haiku:{5 1 0 0 0 {0 0 0 0 0 0}} opus:{0 0 0 0 0 {0 0 0 0 0 0}}] 1 0")
	says("by tool", ByTool, WorkFilter{}, "Read 1 0 0s map[] 1 0; Write 1 0 0s map[] 1 0")
	says("by project", ByProject, WorkFilter{Since: time.Date(2026, 10, 24, 22, 10, 0, 0, time.UTC)}, "/shop 1 1 2m0s map[haiku:{5 1 0 0 0 {0 0 0 0 0 0}} opus:{0 0 0 0 0 {0 0 0 0 0 0}}] 1 0")
	says("by person", ByPerson, WorkFilter{Until: time.Date(2026, 10, 24, 21, 50, 0, 0, time.UTC)}, "Test <test@example.org> 1 1 1m0s map[opus:{10 2 100 0 0 {0 0 0 0 0 0}}] 1 0")
	says("by project and model", ByProject.And(ByModel), WorkFilter{}, "/shop\x1ehaiku 1 0 1m0s map[haiku:{5 1 0 0 0 {0 0 0 0 0 0}}] 0 0; /shop\x1eopus 1 2 2m0s map[opus:{10 2 100 0 0 {0 0 0 0 0 0}}] 2 0")
	kolkata := time.FixedZone("IST", 5*3600+1800)
	says("half an hour beside the hours", ByDay, WorkFilter{Zone: kolkata}, "2026-10-25 1 2 3m0s map[haiku:{5 1 0 0 0 {0 0 0 0 0 0}} opus:{10 2 100 0 0 {0 0 0 0 0 0}}] 2 0")
	says("another project", ByAgent, WorkFilter{Project: func(dir string) bool { return dir == "/else" }}, "")
	says("its agent", ByAgent, WorkFilter{Agent: func(a string) bool { return a == "claude-code" }, Tapes: []string{main.Name()}},
		"claude-code 1 2 3m0s map[haiku:{5 1 0 0 0 {0 0 0 0 0 0}} opus:{10 2 100 0 0 {0 0 0 0 0 0}}] 2 0")
	files := func(f FileFilter) string {
		t.Helper()
		list, err := x.Files(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		each, err := x.Touches(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(list, each)
	}
	const want = "[{main /shop/a.go 1 1 2 0 2026-10-24 21:51:00 +0000 UTC 2026-10-24 22:11:00 +0000 UTC}] " +
		"[{main /shop/a.go 4 2026-10-24 21:51:00 +0000 UTC 1 0 0 0} {main /shop/a.go 8 2026-10-24 22:11:00 +0000 UTC 0 1 2 0}]"
	for what, f := range map[string]FileFilter{"all": {}, "by name": {Bases: []string{"x", "a.go"}}, "of the tape": {Tapes: []string{"main"}}} {
		if got := files(f); got != strings.ReplaceAll(want, "] [", "][") && got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	for what, f := range map[string]FileFilter{"another name": {Bases: []string{"b.go"}}, "another tape": {Tapes: []string{"x"}}, "no match": {Match: func(string) bool { return false }}} {
		if got := files(f); got != "[] []" && got != "[][]" {
			t.Errorf("%s: got %s, want no files", what, got)
		}
	}
	if _, err := main.Reset(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	mustSync(t, x)
	wantEqual(t, "after a reset", s.IndexFile(), rebuilt(t, s))
	if got := files(FileFilter{}); got != "[] []" && got != "[][]" {
		t.Errorf("after a reset: got %s, want no files", got)
	}
}

// TestWorkCancelled: whoever stops a sum by person while it is made gets an error.
func TestWorkCancelled(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	mustAppend(t, openTape(t, s, ""), worked...)
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(string) bool { cancel(); return true }
	if list, err := testIndex(t, s).Work(ctx, ByPerson, WorkFilter{Agent: stop}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v (%v), want that it was cancelled", list, err)
	}
}

// TestWorkBeforeItsModel: when a session's first model becomes known, earlier work in the same quarter of an hour is added to what a
// subagent did with that model.
func TestWorkBeforeItsModel(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	main := openTape(t, s, "")
	x := testIndex(t, s)
	for _, d := range drafts(
		`2026-10-24T21:00:00Z | message | {"role":"user","content":"why is it slow?"}`,
		`2026-10-24T21:01:00Z | event | {"name":"run","data":{"model":"opus","usage":{"input_tokens":10,"output_tokens":2}}} | {"context":false}`,
		`2026-10-24T21:02:00Z | event | {"name":"run","data":{"model":"opus","usage":{"input_tokens":20,"output_tokens":3}}}`) {
		mustSync(t, x)
		mustAppend(t, main, d)
		if out := mustSync(t, x); out.Entries != 1 {
			t.Errorf("%d entries were added, want only the new one: the index was rebuilt", out.Entries)
		}
	}
	wantEqual(t, "after each entry", s.IndexFile(), rebuilt(t, s))
	list, err := x.Work(t.Context(), ByNothing, WorkFilter{})
	if err != nil || len(list) != 1 || fmt.Sprint(list[0].Turns, list[0].Active, list[0].Tokens) != "1 2m0s map[opus:{30 5 0 0 0 {0 0 0 0 0 0}}]" {
		t.Errorf("got %+v, want one turn of two minutes with opus, %v", list, err)
	}
}

// TestWorkOfSubagents: the work of a subagent's session counts for the session that it belongs to.
func TestWorkOfSubagents(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	for _, name := range []string{"s1", "s1/agent-x"} {
		tp, err := s.CreateTape(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "s1/agent-x" {
			state := json.RawMessage(`{"owner":"agent","parent":"s1"}`)
			if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: layout.FirstAnchor, State: state}); err != nil {
				t.Fatal(err)
			}
		}
		mustAppend(t, tp, worked...)
	}
	list, err := testIndex(t, s).Work(t.Context(), ByNothing, WorkFilter{})
	if err != nil || len(list) != 1 || list[0].Sessions != 1 || list[0].Turns != 2 || list[0].Calls != 4 {
		t.Errorf("got %+v (%v), want 1 session with 2 turns and 4 calls", list, err)
	}
}

// TestWorkOfForks: forks of a tape, and forks of those, are one session with the tape.
func TestWorkOfForks(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	main := openTape(t, s, "")
	try := mustFork(t, main, "try", "")
	for _, tp := range []*repo.Tape{main, try, mustFork(t, try, "deep", "")} {
		mustAppend(t, tp, worked...)
	}
	list, err := testIndex(t, s).Work(t.Context(), ByNothing, WorkFilter{})
	if err != nil || len(list) != 1 || list[0].Sessions != 1 || list[0].Calls != 6 {
		t.Errorf("got %+v (%v), want 1 session with 6 calls", list, err)
	}
}

// TestDigests: the prompts, commits and changed files in a range of time, for each session with its subagents.
func TestDigests(t *testing.T) {
	t.Parallel()
	s := testStore(t)
	for _, name := range []string{"s1", "s1/agent-x", "s2"} {
		tp, err := s.CreateTape(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "s1/agent-x" {
			if _, err := tp.Handoff(t.Context(), repo.Anchor{Name: layout.FirstAnchor, State: json.RawMessage(`{"owner":"agent","parent":"s1"}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if name == "s2" {
			mustAppend(t, tp, drafts(`2026-10-20T10:00:00Z | message | {"role":"user","content":"long ago"}`)...)
			continue
		}
		mustAppend(t, tp, worked...)
		mustAppend(t, tp, drafts(
			`2026-10-24T22:14:00Z | event | {"name":"project.commit","data":{"id":"1a2b3c4","subject":"fix it"}}`,
			`2026-10-24T22:15:00Z | message | {"role":"assistant","content":"Done."}`)...)
	}
	list, err := testIndex(t, s).Digests(t.Context(), WorkFilter{Since: time.Date(2026, 10, 24, 22, 0, 0, 0, time.UTC), Until: time.Date(2026, 10, 24, 23, 0, 0, 0, time.UTC)})
	if err != nil || len(list) != 1 {
		t.Fatalf("got %v (%v), want the digest of s1", list, err)
	}
	g := list[0]
	got := fmt.Sprint(g.About.Name, " ", g.About.Title, g.Last.Minute(), g.Prompts, g.Commits, g.Ending, g.Answer)
	for _, f := range g.Files {
		got += fmt.Sprint(" ", f.Path, f.Writes, f.Added)
	}
	const want = "s1 why is it slow?14 [{s1 7 2026-10-24 22:10:00 +0000 UTC fix it}] " +
		"[{s1 11 2026-10-24 22:14:00 +0000 UTC 1a2b3c4 fix it} {s1/agent-x 12 2026-10-24 22:14:00 +0000 UTC 1a2b3c4 fix it}]answeredDone. /shop/a.go2 4"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
