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
)

func taskCall(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, `{"id":"`+id+`","type":"function","function":{"name":"Task","arguments":"{\"subagent_type\":\"Explore\",\"prompt\":\"for `+id+`\"}"}}`)
	}
	return `tool_call {"calls":[` + strings.Join(calls, ",") + `]}`
}

func detail(call, agent, status string) string {
	return `event {"name":"tool.detail","data":{"call_id":"` + call + `","status":"` + status + `","agentId":"` + agent + `"}}`
}

func hello(agent, call string) string {
	return `agent-` + agent + `event {"name":"agent","data":{"agent_id":"` + agent + `","call_id":"` + call + `"}}`
}

func saidBy(agent, text string) string {
	return `agent-` + agent + `message {"role":"user","content":"` + text + `"}`
}

// TestClaudeAgents: several subagents in parallel begin at their calls, and end with the
// last record about their results.
func TestClaudeAgents(t *testing.T) {
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", formattest.ClaudeTask("c1", "for c1")),
		formattest.ClaudeAnswer("a2-2", "a1", "m1", formattest.ClaudeTask("c2", "for c2")),
		formattest.ClaudeSaid("p1", "x", "c1"),
		formattest.ClaudeSaid("p2", "y", "c2"),
		formattest.ClaudeSaid("p3", "x", "c1"),
		formattest.ClaudeDone("r2", "a2-2", "c2", "y", "completed"),
		formattest.ClaudeDone("r1", "a1", "c1", "x", "completed"),
		formattest.ClaudeUser("u2", "r1", `"bye"`),
	), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`,
		taskCall("c1", "c2")+" begins agent-x begins agent-y", run("m1", 4),
		hello("x", "c1"), saidBy("x", "p1"), hello("y", "c2"), saidBy("y", "p2"), saidBy("x", "p3"),
		`tool_result {"results":["ok c1","ok c2"]}`, detail("c1", "x", "completed"),
		detail("c2", "y", "completed")+" ends agent-x ends agent-y",
		`message {"role":"user","content":"bye"}`,
	)
}

// TestClaudeAgentAgain: a subagent that is called again begins and ends again; one in
// the background does not end with a result that only says that it has begun.
func TestClaudeAgentAgain(t *testing.T) {
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", formattest.ClaudeTask("c1", "for c1")),
		formattest.ClaudeSaid("p1", "x", "c1"),
		formattest.ClaudeUser("r1", "a1", formattest.ClaudeResult("c1", `"one"`)),
		formattest.ClaudeAnswer("a2", "r1", "m2", formattest.ClaudeTask("c2", "for c2")),
		formattest.ClaudeUser("r2", "a2", formattest.ClaudeResult("c2", `"begun"`)),
		formattest.ClaudeSaid("p2", "x", "c2"),
		formattest.ClaudeAnswer("a3", "r2", "m3", formattest.ClaudeTask("c3", "for c3")),
		formattest.ClaudeSide("z", formattest.ClaudeUser("s1", "", `"no progress"`)),
		formattest.ClaudeDone("r3", "a3", "c3", "z", "async_launched"),
		formattest.ClaudeSide("z", formattest.ClaudeUser("s2", "s1", `"still none"`)),
	), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`,
		taskCall("c1")+" begins agent-x", run("m1", 2), hello("x", "c1"), saidBy("x", "p1"),
		`tool_result {"results":["one"]} ends agent-x`,
		taskCall("c2")+" begins agent-x", run("m2", 2), `tool_result {"results":["begun"]}`, saidBy("x", "p2"),
		taskCall("c3")+" begins agent-z", run("m3", 2), saidBy("z", "no progress"),
		`tool_result {"results":["ok c3"]}`, detail("c3", "z", "async_launched"), saidBy("z", "still none"),
	)
}

// TestClaudeSideChains: lines of side chains find their call by the result or, if they
// name no agent, by the prompt.
func TestClaudeSideChains(t *testing.T) {
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", formattest.ClaudeTask("c1", "for c1")),
		formattest.ClaudeAnswer("a2-2", "a1", "m1", formattest.ClaudeTask("c2", "for c2")),
		formattest.ClaudeAnswer("a3-33", "a2-2", "m1", formattest.ClaudeTask("c3", "for c3")),
		formattest.ClaudeSide("x", formattest.ClaudeUser("s1", "", `"for c1"`)),
		formattest.ClaudeSide("", formattest.ClaudeUser("01234567-a", "", `[{"type":"text","text":"for c2"}]`)),
		formattest.ClaudeSide("", formattest.ClaudeUser("01234567-b", "", `"for c3"`)),
		formattest.ClaudeSide("", formattest.ClaudeAnswer("s5", "01234567-b", "m5", `{"type":"text","text":"three"}`)),
		formattest.ClaudeSide("", formattest.ClaudeUser("89", "", `"for nobody"`)),
		formattest.ClaudeDone("r1", "a1", "c1", "x", "completed"),
		formattest.ClaudeUser("r2", "a2-2", formattest.ClaudeResult("c2", `"two"`)),
		formattest.ClaudeUser("r3", "a3-33", formattest.ClaudeResult("c3", `"three"`)),
	), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`,
		taskCall("c1", "c2", "c3")+" begins agent-x begins agent-01234567 begins agent-01234567.2", run("m1", 5),
		saidBy("x", "for c1"), `agent-01234567message {"role":"user","content":[{"type":"text","text":"for c2"}]}`,
		saidBy("01234567.2", "for c3"), `agent-01234567.2message {"role":"assistant","content":"three"}`, "agent-01234567.2"+run("m5", 2),
		saidBy("89", "for nobody"),
		`tool_result {"results":["ok c1","two","three"]}`,
		detail("c1", "x", "completed")+" ends agent-x ends agent-01234567 ends agent-01234567.2",
	)
}

// TestClaudeNestedAgent: a subagent of a subagent begins and ends at its call there.
func TestClaudeNestedAgent(t *testing.T) {
	inner := func(typ, uuid, message string) string {
		return `{"type":"` + typ + `","message":{"role":"` + typ + `",` + message + `},"uuid":"` + uuid + `","timestamp":"2026-03-01T10:00:01Z"}`
	}
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", formattest.ClaudeTask("c1", "for c1")),
		formattest.ClaudeRelay("p1", "a1", "x", "c1", inner("assistant", "i1", `"id":"m2","content":[`+formattest.ClaudeTask("c2", "for c2")+`]`)),
		formattest.ClaudeSaid("p2", "y", "c2"),
		formattest.ClaudeRelay("p3", "p1", "x", "c1", inner("user", "i2", `"content":`+formattest.ClaudeResult("c2", `"two"`))),
		formattest.ClaudeUser("r1", "a1", formattest.ClaudeResult("c1", `"one"`)),
	), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`, taskCall("c1")+" begins agent-x", run("m1", 2),
		hello("x", "c1"), "agent-x"+taskCall("c2")+" begins agent-y", `agent-xevent {"name":"run","data":{"message_id":"m2"}}`,
		hello("y", "c2"), saidBy("y", "p2"),
		`agent-xtool_result {"results":["two"]} ends agent-y`,
		`tool_result {"results":["one"]} ends agent-x`,
	)
}

// TestClaudeAgentPhases: a subagent's compaction makes no anchor in the session, whose
// phase goes on.
func TestClaudeAgentPhases(t *testing.T) {
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeSide("x", formattest.ClaudeUser("s1", "", `"go"`)),
		formattest.ClaudeSide("x", formattest.ClaudeLine("b1", "s1", `"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":155}`)),
		formattest.ClaudeSide("x", formattest.ClaudeLine("d1", "b1", `"type":"user","isCompactSummary":true,"message":{"role":"user","content":"so far"}`)),
		formattest.ClaudeUser("u2", "u1", `"bye"`),
	), formattest.Seen{})
	formattest.Want(t, items,
		`message {"role":"user","content":"hi"}`, saidBy("x", "go"),
		`agent-xevent {"name":"phase","data":{"name":"compaction","state":{"summary":"so far","trigger":"auto","pre_tokens":155}}}`,
		`message {"role":"user","content":"bye"}`,
	)
}

// TestClaudeProgressOfMembers: what is recorded beside a message is kept for each of its
// lines.
func TestClaudeProgressOfMembers(t *testing.T) {
	part := func(uuid, text string) string {
		l := formattest.ClaudeRelay(uuid, "u1", "x", "c1", `{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"`+text+`"}]},"uuid":"in-`+uuid+`","timestamp":"2026-03-01T10:00:01Z"}`)
		return strings.Replace(l, `"normalizedMessages":[]`, `"step":"`+uuid+`"`, 1)
	}
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(formattest.ClaudeUser("u1", "", `"hi"`), part("p1", "a"), part("p2", "b")), formattest.Seen{})
	got := formattest.Show(items)
	for _, step := range []string{"p1", "p2"} {
		if !strings.Contains(got, fmt.Sprintf(`agent-xevent {"name":"progress.agent_progress","data":{"step":"%s"}}`, step)) {
			t.Errorf("%s is missing in\n%s", step, got)
		}
	}
}

// TestClaudeAgentFile: a subagent's own file is a session of its own, or adds to what its
// session's file has.
func TestClaudeAgentFile(t *testing.T) {
	own := formattest.Lines(
		formattest.ClaudeSide("x1", formattest.ClaudeUser("i1", "", `"go"`)),
		formattest.ClaudeSide("x1", formattest.ClaudeAnswer("i2", "i1", "m9", `{"type":"text","text":"gone"}`)),
		formattest.ClaudeSide("x1", formattest.ClaudeUser("i3", "i2", `"more"`)),
		"torn",
		`{"type":"file-history-snapshot","messageId":"m","snapshot":{}}`,
	)
	const name = "/p/agent-x1.jsonl"
	entries := []string{`message {"role":"user","content":"go"}`, `message {"role":"assistant","content":"gone"}`, run("m9", 2),
		`message {"role":"user","content":"more"}`, `event {"name":"import.damaged","data":{"error":"unexpected byte at offset 0","raw":"torn"}}`,
		`event {"name":"file-history-snapshot","data":{"messageId":"m","snapshot":{}}}`}
	items, _ := imp.Items(t, claudecode.Format.Name, name, own, formattest.Seen{})
	entries[4] = strings.Split(formattest.Show(items), "\n")[4]
	formattest.Want(t, items, entries...)
	info, err := importer.Describe(context.Background(), &claudecode.Format, formattest.Source(name, own))
	if err != nil || info.Session != "s-1" || info.Agent != "agent-x1" {
		t.Errorf("%+v, %v; want session s-1 and agent agent-x1", info, err)
	}
	if info, _ := importer.Describe(context.Background(), &claudecode.Format, formattest.Source("/p/agent-x2.jsonl", own)); info.Agent != "" {
		t.Errorf("a file that is named after another subagent: agent %q, want none", info.Agent)
	}
	seen := formattest.Seen{}
	imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeRelay("p1", "u1", "x1", "c1", `{"type":"user","message":{"role":"user","content":"go"},"uuid":"i1","timestamp":"2026-03-01T10:00:01Z"}`),
		formattest.ClaudeSide("x1", formattest.ClaudeUser("i1", "", `"go"`)),
	), seen)
	src := formattest.Source(name, own)
	src.Within = true
	items = nil
	_, err = importer.Read(context.Background(), &claudecode.Format, src, seen.Has, func(it record.Item) error {
		items = append(items, it)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for i := range entries {
		entries[i] = "agent-x1" + entries[i]
	}
	formattest.Want(t, items, entries[1:]...)
}
