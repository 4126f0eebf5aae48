package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/workspace"
	"tape/internal/store/writer"
	storetest "tape/internal/testkit/store"
	"tape/internal/text/jsonl"
	"tape/repo"
	"tape/repo/view"
)

// agentSession is a session with two parallel subagents.
var agentSession = []string{
	userLn("u1", "", `"hi"`),
	answerLn("a1", "u1", "m1", taskBlock("c1", "for c1")),
	answerLn("a2-2", "a1", "m1", taskBlock("c2", "for c2")),
	saidLn("p1", "x", "c1"),
	saidLn("p2", "y", "c2"),
	saidLn("p3", "x", "c1"),
	doneLn("r2", "a2-2", "c2", "y", "completed"),
	doneLn("r1", "a1", "c1", "x", "completed"),
	answerLn("a3", "r1", "m2", `{"type":"text","text":"bye"}`),
}

// fileOf writes a transcript and returns its path.
func fileOf(t *testing.T, name string, ls ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, lines(ls...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// outline shows each entry of a tape by its content, name or kind, and before it the fork that it came from.
func outline(t *testing.T, s *repo.Store, name string) string {
	t.Helper()
	var out []string
	for _, line := range tapeLines(t, s, name) {
		e, err := jsonl.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		label := e.Kind
		for _, field := range []string{"name", "content"} {
			if v := jsonl.GetString(e.Payload, field); v != "" {
				label = v
			}
		}
		if fork := jsonl.GetString(e.Meta, "origin", "fork"); fork != "" {
			label = fork + ":" + label
		}
		out = append(out, label)
	}
	return strings.Join(out, " ")
}

// mergedForks lists the merged forks of a tape as NAME@BASE+ENTRIES, the oldest first.
func mergedForks(t *testing.T, s *repo.Store, name string) string {
	t.Helper()
	tape, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	closed, err := tape.ClosedForks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range slices.Backward(closed) {
		if f.Status != repo.ForkMerged {
			t.Errorf("fork %s is %s", f.Name, f.Status)
		}
		out = append(out, fmt.Sprintf("%s@%d+%d", f.Fork, f.Base.Entry, f.Entries))
	}
	return strings.Join(out, " ")
}

const agentBeginning = "session/start hi tool_call run "

// TestImportAgents: a subagent becomes a fork that begins at its call, and is merged after the result.
func TestImportAgents(t *testing.T) {
	s := testStore(t)
	file := fileOf(t, "s.jsonl", agentSession...)
	res := mustImport(t, s, file, Options{})
	if got := strings.Join(res.Subagents, " "); got != "s-1/agent-x s-1/agent-y" || res.Imported != 13 {
		t.Errorf("%+v, want 13 entries and the subagents x and y", res)
	}
	all := agentBeginning + "tool_result tool.detail tool.detail agent-x:agent agent-x:p1 agent-x:p3 agent-y:agent agent-y:p2 bye run"
	if got := outline(t, s, "s-1"); got != all {
		t.Errorf("the tape has\n%s, not\n%s", got, all)
	}
	if got, want := mergedForks(t, s, "s-1"), "agent-x@3+3 agent-y@3+2"; got != want {
		t.Errorf("the forks are %s, want %s", got, want)
	}
	if res := mustImport(t, s, file, Options{}); res.Imported != 0 || res.Known != 13 || res.Subagents != nil {
		t.Errorf("a second import brought in %+v", res)
	}
	if got := outline(t, s, "s-1"); got != all {
		t.Errorf("after a second import the tape has\n%s, not\n%s", got, all)
	}
}

// TestImportAgentsGrow: new entries of a subagent become another fork of the same name. A fork without a
// result is merged at the end of the import.
func TestImportAgentsGrow(t *testing.T) {
	s := testStore(t)
	file := func(n int) string { return fileOf(t, "s.jsonl", agentSession[:n]...) }
	for _, step := range []struct {
		n           int
		tape, forks string
	}{
		{4, agentBeginning + "agent-x:agent agent-x:p1", "agent-x@3+2"},
		{6, " agent-y:agent agent-y:p2 agent-x:p3", "agent-x@3+2 agent-y@6+2 agent-x@6+1"},
		{9, " tool_result tool.detail tool.detail bye run", "agent-x@3+2 agent-y@6+2 agent-x@6+1"},
	} {
		before := ""
		if step.n > 4 {
			before = outline(t, s, "s-1")
		}
		mustImport(t, s, file(step.n), Options{})
		if got := outline(t, s, "s-1"); got != before+step.tape {
			t.Errorf("%d lines: the tape has\n%s, not\n%s", step.n, got, before+step.tape)
		}
		if got := mergedForks(t, s, "s-1"); got != step.forks {
			t.Errorf("%d lines: the forks are %s, want %s", step.n, got, step.forks)
		}
	}
}

// TestImportNoSubagents: subagents are left out; an import without the option adds them.
func TestImportNoSubagents(t *testing.T) {
	s := testStore(t)
	file := fileOf(t, "s.jsonl", agentSession...)
	own := fileOf(t, "agent-z.jsonl", sideLn("z", userLn("s1", "", `"alone"`)))
	without := Options{NoSubagents: true}
	if res := mustImport(t, s, own, without); res.Imported != 0 || res.LeftOut != 1 {
		t.Errorf("a subagent's own file: %+v, want one entry left out", res)
	}
	if tapes, err := s.Tapes(t.Context()); err != nil || len(tapes) != 1 {
		t.Errorf("it made a tape: %v, %v", tapes, err)
	}
	if res := mustImport(t, s, file, without); res.LeftOut != 5 || res.Subagents != nil {
		t.Errorf("%+v, want 5 entries left out", res)
	}
	main := agentBeginning + "tool_result tool.detail tool.detail bye run"
	if got := outline(t, s, "s-1"); got != main {
		t.Errorf("the tape has\n%s, not\n%s", got, main)
	}
	if res := mustImport(t, s, file, Options{}); res.Imported != 5 {
		t.Errorf("%+v, want 5 imported entries", res)
	}
	if got, want := outline(t, s, "s-1"), main+" agent-x:agent agent-x:p1 agent-x:p3 agent-y:agent agent-y:p2"; got != want {
		t.Errorf("after an import with subagents, the tape has\n%s, not\n%s", got, want)
	}
	identities(t, s, "s-1")
}

// TestImportAgentFile: a subagent's own file becomes a tape, unless the session's tape has the subagent. No
// entry is repeated.
func TestImportAgentFile(t *testing.T) {
	own := []string{
		sideLn("x", userLn("in-p1", "", `"p1"`)), sideLn("x", userLn("in-p3", "in-p1", `"p3"`)), sideLn("x", userLn("in-p5", "in-p3", `"p5"`)),
	}
	t.Run("after its session", func(t *testing.T) {
		s := testStore(t)
		mustImport(t, s, fileOf(t, "s.jsonl", agentSession...), Options{})
		before := outline(t, s, "s-1")
		if res := mustImport(t, s, fileOf(t, "agent-x.jsonl", own...), Options{}); res.Tape != "s-1" || res.Imported != 1 || res.Known != 2 {
			t.Errorf("%+v, want 1 new entry on s-1, and 2 known ones", res)
		}
		if got := outline(t, s, "s-1"); got != before+" agent-x:p5" {
			t.Errorf("the tape has\n%s, want only p5 in addition to\n%s", got, before)
		}
	})
	t.Run("before it", func(t *testing.T) {
		s := testStore(t)
		if res := mustImport(t, s, fileOf(t, "agent-x.jsonl", own...), Options{}); res.Tape != "s-1/agent-x" || res.Subagents != nil {
			t.Errorf("%+v, want the tape s-1/agent-x", res)
		}
		opening := tapeLines(t, s, "s-1/agent-x")[0]
		if !strings.Contains(opening, `"state":{"owner":"agent","parent":"s-1"`) {
			t.Errorf("it opens with %s", opening)
		}
		res := mustImport(t, s, fileOf(t, "s.jsonl", agentSession...), Options{})
		if got, want := strings.Join(res.Subagents, " "), "s-1/agent-x.2 s-1/agent-y"; got != want {
			t.Errorf("the subagents are %s, want %s", got, want)
		}
		if got := outline(t, s, "s-1"); !strings.Contains(got, " agent-x.2:agent agent-y:agent agent-y:p2 bye") {
			t.Errorf("the session's tape has\n%s; want of x only its call's entry, because s-1/agent-x has the others", got)
		}
		// From now on the subagent's entries go to the session's tape.
		if res := mustImport(t, s, fileOf(t, "agent-x.jsonl", append(own, sideLn("x", userLn("in-p7", "in-p5", `"p7"`)))...), Options{}); res.Tape != "s-1" || res.Imported != 1 {
			t.Errorf("%+v, want 1 new entry on s-1", res)
		}
	})
	t.Run("of no session", func(t *testing.T) {
		s := testStore(t)
		file := fileOf(t, "agent-x.jsonl", strings.Replace(own[0], `"sessionId":"s-1",`, "", 1))
		if res := mustImport(t, s, file, Options{}); res.Tape != "agent-x" || res.Imported != 1 {
			t.Errorf("%+v, want 1 entry on agent-x", res)
		}
	})
}

// TestImportHostileIDs: whatever ids a transcript has for its branches and subagents, it is imported, and again without a change.
func TestImportHostileIDs(t *testing.T) {
	pi := func(id, parent, text string) string {
		return `{"type":"message","id":` + quoted(id) + `,"parentId":"` + parent + `","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"` + text + `"}}`
	}
	copilot := func(id, agent, data string) string {
		return `{"type":"user.message","agentId":` + quoted(agent) + `,"data":{"content":"` + data + `"},"id":"` + id + `","timestamp":"2026-01-01T00:00:01.000Z"}`
	}
	qwen := func(id, agent string) string {
		return `{"uuid":"` + id + `","sessionId":"s-1","agentId":` + quoted(agent) + `,"timestamp":"2026-01-01T00:00:01.000Z","type":"user","message":{"role":"user","parts":[{"text":"sub"}]}}`
	}
	for _, id := range []string{"x/y", "/", "..", "../..", " ", "\x00\x1b\n", "\xff", "\u202e", `C:\x`, "x.lock", strings.Repeat("x", 70_000), strings.Repeat("é/", 600)} {
		for format, ls := range map[string][]string{
			"pi": {`{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z"}`,
				pi("a", "", "ask"), pi(id, "a", "sub"), pi(id+"2", "a", "sub"), pi("z", "a", "other")},
			"copilot": {`{"type":"session.start","data":{"sessionId":"s-1"},"id":"a","timestamp":"2026-01-01T00:00:00.000Z"}`,
				copilot("b", id, "sub"), copilot("c", id+"2", "sub")},
			"qwen": {qwen("a", id), qwen("b", id)},
		} {
			t.Run(fmt.Sprintf("%s %.20q", format, id), func(t *testing.T) {
				s := testStore(t)
				file := fileOf(t, "s.jsonl", ls...)
				res := mustImport(t, s, file, Options{Format: format})
				if got := strings.Count(outline(t, s, res.Tape), "sub"); got != 2 || format != "qwen" && len(res.Subagents) != 2 {
					t.Errorf("%+.300v: %d entries beside the session, want 2, each in a fork, or on the tape of a subagent's own file", res, got)
				}
				if again := mustImport(t, s, file, Options{Format: format}); again.Imported != 0 {
					t.Errorf("a second import brought in %+.300v", again)
				}
			})
		}
	}
}

func quoted(s string) string { return string(record.Quote(s)) }

// TestImportIntoFork: a file can be imported into an open fork. A subagent gets another name if a fork of that fork
// has its name.
func TestImportIntoFork(t *testing.T) {
	s := testStore(t)
	main, err := s.Tape(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	f, err := main.Fork(t.Context(), "try")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Fork(t.Context(), "agent-x"); err != nil {
		t.Fatal(err)
	}
	file := fileOf(t, "s.jsonl", agentSession...)
	res := mustImport(t, s, file, Options{Tape: "main/try"})
	if got, want := strings.Join(res.Subagents, " "), "main/try/agent-x.2 main/try/agent-y"; got != want {
		t.Errorf("the subagents are %s, want %s", got, want)
	}
	if got, want := outline(t, s, "main/try"), "try/agent-x.2:p3 try/agent-y:agent"; !strings.Contains(got, want) {
		t.Errorf("the fork has\n%s, without %s", got, want)
	}
	if res := mustImport(t, s, file, Options{Tape: "main/try"}); res.Imported != 0 {
		t.Errorf("a second import brought in %+v", res)
	}
}

// TestImportAgentsHaveNoContext: subagents on the tape do not change the context.
func TestImportAgentsHaveNoContext(t *testing.T) {
	files := []string{sampleSession, fileOf(t, "s.jsonl", agentSession...), fileOf(t, "open.jsonl", agentSession[:6]...)}
	files = append(files, fileOf(t, "random.jsonl", generate(1, 40)...))
	var real []string
	if !testing.Short() {
		real, _ = filepath.Glob(filepath.Join(fixtures, ClaudeCode, "long*"))
	}
	s := testStore(t)
	for i, file := range append(files, real...) {
		tape := fmt.Sprint(i)
		with := mustImport(t, s, file, Options{Format: ClaudeCode, Tape: tape})
		without := mustImport(t, s, file, Options{Format: ClaudeCode, Tape: tape + "-alone", NoSubagents: true})
		if with.Imported == without.Imported {
			t.Errorf("file %d has no subagents", i)
		}
		for _, format := range view.Formats() {
			for _, from := range []string{"", repo.FirstAnchor} {
				o := view.Options{Format: format, From: from}
				if got, want := contextOf(t, s, tape, o), contextOf(t, s, tape+"-alone", o); got != want || got == "[]" {
					t.Errorf("file %d, %s from %q: the context is\n%.2000s\nnot\n%.2000s", i, format, from, got, want)
				}
			}
		}
	}
}

func contextOf(t *testing.T, s *repo.Store, name string, o view.Options) string {
	t.Helper()
	tape, err := s.Tape(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := view.Build(t.Context(), tape, o)
	if err != nil {
		t.Fatal(err)
	}
	return string(c.JSON())
}

// TestImportLongAgent: a subagent that is too long for memory is merged in parts, the largest fork first.
func TestImportLongAgent(t *testing.T) {
	s := testStore(t)
	ls := slices.Clone(agentSession[:3])
	for i := range 9 {
		agent := "x"
		if i%4 == 3 {
			agent = "y"
		}
		ls = append(ls, saidLn(fmt.Sprint("p", i), agent, map[string]string{"x": "c1", "y": "c2"}[agent]))
	}
	file := fileOf(t, "s.jsonl", append(ls, agentSession[6], agentSession[7])...)
	res := importWith(t, s, file, func(in *intake) { in.limit = 600 })
	if got, want := mergedForks(t, s, "s-1"), "agent-x@3+4 agent-y@3+3 agent-x@8+4"; got != want {
		t.Errorf("the forks are %s, want %s", got, want)
	}
	if len(res.Subagents) != 2 {
		t.Errorf("%+v, want 2 subagents", res)
	}
	if res := mustImport(t, s, file, Options{}); res.Imported != 0 {
		t.Errorf("a second import brought in %+v", res)
	}
}

// intakeOf returns the intake of a file onto the tape s-1, and the open file.
func intakeOf(t *testing.T, s *repo.Store, path string) (*intake, record.Source) {
	t.Helper()
	src, closer, err := OpenFile(path)
	storetest.Must(t, err)
	t.Cleanup(func() { _ = closer.Close() })
	return newIntake(s, writer.NewBulk((*workspace.Store)(s)), All().Find(ClaudeCode), record.Info{Format: ClaudeCode}, Options{}, &Result{Tape: "s-1"}), src
}

// importWith imports a file after change has adjusted the intake.
func importWith(t *testing.T, s *repo.Store, path string, change func(*intake)) *Result {
	t.Helper()
	in, src := intakeOf(t, s, path)
	change(in)
	if _, err := in.read(t.Context(), src); err != nil {
		t.Fatal(err)
	}
	if _, err := in.bulk.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return in.res
}

// TestImportFails: an import that fails leaves the tape and its forks as they were.
func TestImportFails(t *testing.T) {
	s := testStore(t)
	mustImport(t, s, fileOf(t, "s.jsonl", agentSession[:1]...), Options{})
	before, forks := outline(t, s, "s-1"), mergedForks(t, s, "s-1")
	ctx, cancel := context.WithCancel(t.Context())
	in, src := intakeOf(t, s, fileOf(t, "s.jsonl", agentSession...))
	if in.openTape(ctx); in.err != nil {
		t.Fatal(in.err)
	}
	_, err := imp.Read(ctx, ClaudeCode, src, func(sub, key string) bool { return in.seen(ctx, sub, key) }, func(it record.Item) error {
		if it.Ends != nil { // one subagent is merged, the other still open
			it.Ends = it.Ends[:1]
			defer cancel()
		}
		return in.add(ctx, it)
	})
	if err := in.finish(ctx, err); !errors.Is(err, context.Canceled) || len(in.res.Subagents) != 2 {
		t.Fatalf("%+v, error %v; want 2 subagents and Canceled", in.res, err)
	}
	if got := outline(t, s, "s-1"); got != before {
		t.Errorf("afterwards the tape has\n%s, not\n%s", got, before)
	}
	if got := mergedForks(t, s, "s-1"); got != forks {
		t.Errorf("afterwards the tape has the forks %q, want %q", got, forks)
	}
	if res := mustImport(t, s, src.Name, Options{}); res.Imported != 12 {
		t.Errorf("the next import brought in %+v, want 12 entries", res)
	}
}
