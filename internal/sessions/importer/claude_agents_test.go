package importer

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"tape/internal/sessions/importer/record"
)

func taskBlock(id, prompt string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"Task","input":{"subagent_type":"Explore","prompt":"` + prompt + `"}}`
}

func taskCall(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, `{"id":"`+id+`","type":"function","function":{"name":"Task","arguments":"{\"subagent_type\":\"Explore\",\"prompt\":\"for `+id+`\"}"}}`)
	}
	return `tool_call {"calls":[` + strings.Join(calls, ",") + `]}`
}

// relayLn is progress that relays a message of a subagent, which a call started.
func relayLn(uuid, parent, agent, call, inner string) string {
	return ln(uuid, parent, `"type":"progress","data":{"message":`+inner+`,"normalizedMessages":[],"type":"agent_progress","agentId":"`+agent+`"},"parentToolUseID":"`+call+`"`)
}

// saidLn relays a word of a subagent.
func saidLn(uuid, agent, call string) string {
	return relayLn(uuid, "u1", agent, call, `{"type":"user","message":{"role":"user","content":"`+uuid+`"},"uuid":"in-`+uuid+`","timestamp":"2026-03-01T10:00:01Z"}`)
}

// sideLn makes a line one of a side chain.
func sideLn(agent, l string) string {
	if agent != "" {
		agent = `,"agentId":"` + agent + `"`
	}
	return strings.Replace(l, `"isSidechain":false`, `"isSidechain":true`+agent, 1)
}

// doneLn is the result of a call that started a subagent.
func doneLn(uuid, parent, call, agent, status string) string {
	return ln(uuid, parent, `"type":"user","message":{"role":"user","content":`+resultBlock(call, `"ok `+call+`"`)+`},"toolUseResult":{"status":"`+status+`","agentId":"`+agent+`"}`)
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

// TestClaudeAgents: several subagents side by side begin at their calls, and end with
// the last thing that is told of their results.
func TestClaudeAgents(t *testing.T) {
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		answerLn("a1", "u1", "m1", taskBlock("c1", "for c1")),
		answerLn("a2-2", "a1", "m1", taskBlock("c2", "for c2")),
		saidLn("p1", "x", "c1"),
		saidLn("p2", "y", "c2"),
		saidLn("p3", "x", "c1"),
		doneLn("r2", "a2-2", "c2", "y", "completed"),
		doneLn("r1", "a1", "c1", "x", "completed"),
		userLn("u2", "r1", `"bye"`),
	), tapeSeen{})
	want(t, items,
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
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		answerLn("a1", "u1", "m1", taskBlock("c1", "for c1")),
		saidLn("p1", "x", "c1"),
		userLn("r1", "a1", resultBlock("c1", `"one"`)),
		answerLn("a2", "r1", "m2", taskBlock("c2", "for c2")),
		userLn("r2", "a2", resultBlock("c2", `"begun"`)),
		saidLn("p2", "x", "c2"),
		answerLn("a3", "r2", "m3", taskBlock("c3", "for c3")),
		sideLn("z", userLn("s1", "", `"no progress"`)),
		doneLn("r3", "a3", "c3", "z", "async_launched"),
		sideLn("z", userLn("s2", "s1", `"still none"`)),
	), tapeSeen{})
	want(t, items,
		`message {"role":"user","content":"hi"}`,
		taskCall("c1")+" begins agent-x", run("m1", 2), hello("x", "c1"), saidBy("x", "p1"),
		`tool_result {"results":["one"]} ends agent-x`,
		taskCall("c2")+" begins agent-x", run("m2", 2), `tool_result {"results":["begun"]}`, saidBy("x", "p2"),
		taskCall("c3")+" begins agent-z", run("m3", 2), saidBy("z", "no progress"),
		`tool_result {"results":["ok c3"]}`, detail("c3", "z", "async_launched"), saidBy("z", "still none"),
	)
}

// TestClaudeSideChains: lines of side chains find their call by the result, and where
// they name no agent, by the prompt.
func TestClaudeSideChains(t *testing.T) {
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		answerLn("a1", "u1", "m1", taskBlock("c1", "for c1")),
		answerLn("a2-2", "a1", "m1", taskBlock("c2", "for c2")),
		answerLn("a3-33", "a2-2", "m1", taskBlock("c3", "for c3")),
		sideLn("x", userLn("s1", "", `"for c1"`)),
		sideLn("", userLn("01234567-a", "", `[{"type":"text","text":"for c2"}]`)),
		sideLn("", userLn("01234567-b", "", `"for c3"`)),
		sideLn("", answerLn("s5", "01234567-b", "m5", `{"type":"text","text":"three"}`)),
		sideLn("", userLn("89", "", `"for nobody"`)),
		doneLn("r1", "a1", "c1", "x", "completed"),
		userLn("r2", "a2-2", resultBlock("c2", `"two"`)),
		userLn("r3", "a3-33", resultBlock("c3", `"three"`)),
	), tapeSeen{})
	want(t, items,
		`message {"role":"user","content":"hi"}`,
		taskCall("c1", "c2", "c3")+" begins agent-x begins agent-01234567 begins agent-01234567.2", run("m1", 5),
		saidBy("x", "for c1"), `agent-01234567message {"role":"user","content":[{"type":"text","text":"for c2"}]}`,
		saidBy("01234567.2", "for c3"), `agent-01234567.2message {"role":"assistant","content":"three"}`, "agent-01234567.2"+run("m5", 2),
		saidBy("89", "for nobody"),
		`tool_result {"results":["ok c1","two","three"]}`,
		detail("c1", "x", "completed")+" ends agent-x ends agent-01234567 ends agent-01234567.2",
	)
}

// TestClaudeNestedAgent: a subagent of a subagent begins and ends where that calls it.
func TestClaudeNestedAgent(t *testing.T) {
	inner := func(typ, uuid, message string) string {
		return `{"type":"` + typ + `","message":{"role":"` + typ + `",` + message + `},"uuid":"` + uuid + `","timestamp":"2026-03-01T10:00:01Z"}`
	}
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		answerLn("a1", "u1", "m1", taskBlock("c1", "for c1")),
		relayLn("p1", "a1", "x", "c1", inner("assistant", "i1", `"id":"m2","content":[`+taskBlock("c2", "for c2")+`]`)),
		saidLn("p2", "y", "c2"),
		relayLn("p3", "p1", "x", "c1", inner("user", "i2", `"content":`+resultBlock("c2", `"two"`))),
		userLn("r1", "a1", resultBlock("c1", `"one"`)),
	), tapeSeen{})
	want(t, items,
		`message {"role":"user","content":"hi"}`, taskCall("c1")+" begins agent-x", run("m1", 2),
		hello("x", "c1"), "agent-x"+taskCall("c2")+" begins agent-y", `agent-xevent {"name":"run","data":{"message_id":"m2"}}`,
		hello("y", "c2"), saidBy("y", "p2"),
		`agent-xtool_result {"results":["two"]} ends agent-y`,
		`tool_result {"results":["one"]} ends agent-x`,
	)
}

// TestClaudeAgentPhases: what a subagent's compaction leaves is no anchor of the session,
// whose phase goes on.
func TestClaudeAgentPhases(t *testing.T) {
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		sideLn("x", userLn("s1", "", `"go"`)),
		sideLn("x", ln("b1", "s1", `"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":155}`)),
		sideLn("x", ln("d1", "b1", `"type":"user","isCompactSummary":true,"message":{"role":"user","content":"so far"}`)),
		userLn("u2", "u1", `"bye"`),
	), tapeSeen{})
	want(t, items,
		`message {"role":"user","content":"hi"}`, saidBy("x", "go"),
		`agent-xevent {"name":"phase","data":{"name":"compaction","state":{"summary":"so far","trigger":"auto","pre_tokens":155}}}`,
		`message {"role":"user","content":"bye"}`,
	)
}

// TestClaudeProgressOfMembers: what is told beside a message is kept for every line of it.
func TestClaudeProgressOfMembers(t *testing.T) {
	part := func(uuid, text string) string {
		l := relayLn(uuid, "u1", "x", "c1", `{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"`+text+`"}]},"uuid":"in-`+uuid+`","timestamp":"2026-03-01T10:00:01Z"}`)
		return strings.Replace(l, `"normalizedMessages":[]`, `"step":"`+uuid+`"`, 1)
	}
	items, _ := read(t, ClaudeCode, "x.jsonl", lines(userLn("u1", "", `"hi"`), part("p1", "a"), part("p2", "b")), tapeSeen{})
	got := show(items)
	for _, step := range []string{"p1", "p2"} {
		if !strings.Contains(got, fmt.Sprintf(`agent-xevent {"name":"progress.agent_progress","data":{"step":"%s"}}`, step)) {
			t.Errorf("%s is missing in\n%s", step, got)
		}
	}
}

// TestClaudeAgentFile: the file that a subagent has for itself is a session of its own, or
// tells the rest of what its session's file tells.
func TestClaudeAgentFile(t *testing.T) {
	own := lines(
		sideLn("x1", userLn("i1", "", `"go"`)),
		sideLn("x1", answerLn("i2", "i1", "m9", `{"type":"text","text":"gone"}`)),
		sideLn("x1", userLn("i3", "i2", `"more"`)),
		"torn",
		`{"type":"file-history-snapshot","messageId":"m","snapshot":{}}`,
	)
	const name = "/p/agent-x1.jsonl"
	entries := []string{`message {"role":"user","content":"go"}`, `message {"role":"assistant","content":"gone"}`, run("m9", 2),
		`message {"role":"user","content":"more"}`, `event {"name":"import.damaged","data":{"error":"unexpected byte at offset 0","raw":"torn"}}`,
		`event {"name":"file-history-snapshot","data":{"messageId":"m","snapshot":{}}}`}
	items, _ := read(t, ClaudeCode, name, own, tapeSeen{})
	entries[4] = strings.Split(show(items), "\n")[4]
	want(t, items, entries...)
	info, err := Describe(context.Background(), ClaudeCode, source1(name, own))
	if err != nil || info.Session != "s-1" || info.Agent != "agent-x1" {
		t.Errorf("%+v, %v", info, err)
	}
	if info, _ := Describe(context.Background(), ClaudeCode, source1("/p/agent-x2.jsonl", own)); info.Agent != "" {
		t.Errorf("another's file is that of %s", info.Agent)
	}
	seen := tapeSeen{}
	read(t, ClaudeCode, "x.jsonl", lines(
		userLn("u1", "", `"hi"`),
		relayLn("p1", "u1", "x1", "c1", `{"type":"user","message":{"role":"user","content":"go"},"uuid":"i1","timestamp":"2026-03-01T10:00:01Z"}`),
		sideLn("x1", userLn("i1", "", `"go"`)),
	), seen)
	src := source1(name, own)
	src.Within = true
	items = nil
	_, err = Read(context.Background(), ClaudeCode, src, seen.has, func(it record.Item) error {
		items = append(items, it)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for i := range entries {
		entries[i] = "agent-x1" + entries[i]
	}
	want(t, items, entries[1:]...)
}
