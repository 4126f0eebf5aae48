package claudecode_test

import (
	"strings"
	"testing"

	"tape/internal/sessions/importer/claudecode"
	"tape/internal/sessions/importer/formattest"
	"tape/internal/sessions/importer/record"
)

func queueLine(operation, text string) string {
	if text != "" {
		text = `,"content":"` + text + `"`
	}
	return `{"type":"queue-operation","operation":"` + operation + `","sessionId":"s-1","timestamp":"2026-03-01T11:00:00Z"` + text + `}`
}

func queuedLine(uuid, parent, prompt, more string) string {
	return formattest.ClaudeLine(uuid, parent, `"type":"attachment","attachment":{"type":"queued_command","prompt":`+prompt+more+`}`)
}

// messages returns who said what, in order; "-" before what is not in the context.
func messages(items []record.Item) (out []string) {
	for _, it := range items {
		if it.Entry.Kind != record.KindMessage {
			continue
		}
		hidden := ""
		if strings.Contains(string(it.Entry.Meta), `"context":false`) {
			hidden = "-"
		}
		out = append(out, hidden+string(it.Entry.Payload))
	}
	return out
}

func spoken(who, text string) string { return `{"role":"` + who + `","content":` + text + `}` }

func wantMessages(t *testing.T, lines []string, want ...string) {
	t.Helper()
	seen := formattest.Seen{}
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(lines...), seen)
	if got := messages(items); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("messages:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if again, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(lines...), seen); len(again) > 0 {
		t.Errorf("the second import adds %d entries", len(again))
	}
}

// TestQueuedPrompt: what a person types while the model works is a message (kenn-io/agentsview#406,
// simonw/claude-code-transcripts#98), but not what they took back, nor what a program queued.
func TestQueuedPrompt(t *testing.T) {
	wantMessages(t, []string{
		formattest.ClaudeUser("u1", "", `"begin"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", callBlock("c1")),
		queueLine("enqueue", "use tests"),
		queueLine("enqueue", "never mind"),
		queueLine("popAll", "never mind"),
		queueLine("enqueue", "<task-notification>done</task-notification>"),
		queueLine("enqueue", `{\"task_id\":\"b1\",\"description\":\"Run tests\",\"task_type\":\"local_bash\"}`), // versions 2.1.4x
		queueLine("remove", `{\"task_id\":\"b1\",\"description\":\"Run tests\",\"task_type\":\"local_bash\"}`),
		formattest.ClaudeUser("r1", "a1", formattest.ClaudeResult("c1", `"ok"`)),
		queueLine("remove", ""),
		queuedLine("q1", "r1", `"use tests"`, `,"commandMode":"prompt"`),
		queuedLine("q2", "q1", `"<task-notification>done</task-notification>"`, `,"commandMode":"task-notification"`),
		queuedLine("q3", "q2", `"from a channel"`, `,"commandMode":"prompt","origin":{"kind":"channel"}`),
		queuedLine("q4", "q3", `[{"type":"text","text":"look"},{"type":"image","source":{"data":"AA"}}]`, ``),
		formattest.ClaudeAnswer("a2", "q4", "m2", `{"type":"text","text":"done"}`),
		queueLine("enqueue", "lost"),
	}, spoken("user", `"begin"`), spoken("user", `"use tests"`), spoken("user", `[{"type":"text","text":"look"},{"type":"image","source":{"data":"AA"}}]`), spoken("assistant", `"done"`))

	wantMessages(t, []string{ // older files have no attachment
		formattest.ClaudeUser("u1", "", `"begin"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", callBlock("c1")),
		queueLine("enqueue", "use tests"),
		queueLine("enqueue", "and lint"),
		queueLine("enqueue", "<bash-notification><shell-id>b1</shell-id></bash-notification>"),
		queueLine("remove", "<bash-notification><shell-id>b1</shell-id></bash-notification>"),
		formattest.ClaudeUser("r1", "a1", formattest.ClaudeResult("c1", `"ok"`)),
		queueLine("remove", ""),
		queueLine("remove", "and lint"),
		formattest.ClaudeAnswer("a2", "r1", "m2", `{"type":"text","text":"done"}`),
		queueLine("enqueue", "next"),
		queueLine("remove", ""), // and a line of its own
		formattest.ClaudeUser("u2", "a2", `"next"`),
	}, spoken("user", `"begin"`), spoken("user", `"use tests"`), spoken("user", `"and lint"`), spoken("assistant", `"done"`), spoken("user", `"next"`))
}

// TestSentCommand: a command that was expanded for the model is a prompt, so one that was taken back is not in the
// context; a command that the program ran is none (anthropics/claude-code#95829).
func TestSentCommand(t *testing.T) {
	deploy := `"<command-message>deploy</command-message>\n<command-name>/deploy</command-name>\n<command-args>staging</command-args>"`
	model := `"<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args>opus</command-args>"`
	wantMessages(t, []string{
		formattest.ClaudeUser("u1", "", `"hi"`),
		formattest.ClaudeUser("u2", "u1", deploy),
		formattest.ClaudeUser("u3", "u1", model),
		formattest.ClaudeAnswer("a3", "u3", "m3", `{"type":"text","text":"hello"}`),
	}, spoken("user", `"hi"`), "-"+spoken("user", deploy), spoken("user", model), spoken("assistant", `"hello"`))
}

// TestTranscriptOnly: what is visible in the transcript's view alone, such as a summary that comes without its boundary, or
// after the boundary was imported, is no prompt.
func TestTranscriptOnly(t *testing.T) {
	boundary := formattest.ClaudeLine("b1", "a1", `"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto"}`)
	lines := []string{
		formattest.ClaudeUser("u1", "", `"fix the tests"`),
		formattest.ClaudeLine("u2", "u1", `"type":"user","isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"This session is being continued"}`),
		formattest.ClaudeAnswer("a1", "u2", "m1", `{"type":"text","text":"done"}`),
		boundary,
	}
	seen := formattest.Seen{}
	items, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(lines...), seen)
	lines = append(lines, formattest.ClaudeLine("d1", "b1", `"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"so far"}`))
	late, _ := imp.Items(t, claudecode.Format.Name, "x.jsonl", formattest.Lines(lines...), seen)
	if got := strings.Join(formattest.Typed(append(items, late...)), ", "); got != "fix the tests" || len(late) != 1 {
		t.Errorf("typed %q, want only what a person asked: %s", got, formattest.Show(late))
	}
}

// TestNoParents: lines without parentUuid, or with null in all of them, are in their order (daaain/claude-code-log,
// vshulcz/deja-vu).
func TestNoParents(t *testing.T) {
	for _, parent := range []string{"", `"parentUuid":null,`} {
		bare := func(line string) string { return strings.Replace(line, `"parentUuid":null,`, parent, 1) }
		wantMessages(t, []string{
			bare(formattest.ClaudeUser("u1", "", `"one"`)),
			bare(formattest.ClaudeAnswer("a1", "", "m1", `{"type":"text","text":"1"}`)),
			bare(formattest.ClaudeUser("u2", "", `"two"`)),
			bare(formattest.ClaudeUser("u3", "", `"three"`)),
		}, spoken("user", `"one"`), spoken("assistant", `"1"`), spoken("user", `"two"`), spoken("user", `"three"`))
	}
}

// TestNoUuids: lines without a uuid are in their order, and none was taken back.
func TestNoUuids(t *testing.T) {
	line := func(typ, content string) string {
		return `{"type":"` + typ + `","sessionId":"s-1","timestamp":"2026-03-01T10:00:00Z","message":{"role":"` + typ + `","content":` + content + `}}`
	}
	wantMessages(t, []string{line("user", `"one"`), line("assistant", `"1"`), line("user", `"one"`), line("assistant", `"2"`), line("user", `"three"`)},
		spoken("user", `"one"`), spoken("assistant", `"1"`), spoken("user", `"one"`), spoken("assistant", `"2"`), spoken("user", `"three"`))
}

// TestUuidAgain: a line whose uuid came before, with another text, is another entry (anthropics/claude-code#24304).
func TestUuidAgain(t *testing.T) {
	wantMessages(t, []string{
		formattest.ClaudeUser("u1", "", `"one"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", `{"type":"text","text":"1"}`),
		formattest.ClaudeAnswer("a1", "u1", "m1", `{"type":"text","text":"1"}`),
		formattest.ClaudeUser("u2", "a1", `"two"`),
		formattest.ClaudeAnswer("a1", "u2", "m2", `{"type":"text","text":"2"}`),
		formattest.ClaudeAnswer("a1", "u2", "m2", `{"type":"text","text":"2"}`),
	}, spoken("user", `"one"`), spoken("assistant", `"1"`), spoken("user", `"two"`), spoken("assistant", `"2"`))
}

// TestQueuedTwice: a prompt that is in the queue as a text, and in the attachment as a list or with what was pasted, is one
// message.
func TestQueuedTwice(t *testing.T) {
	const picture = `[{"type":"text","text":"look at [Image #1]"},{"type":"image","source":{"data":"AA"}}]`
	wantMessages(t, []string{
		formattest.ClaudeUser("u1", "", `"begin"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", callBlock("c1")),
		queueLine("enqueue", "look at [Image #1]"),
		queueLine("enqueue", "read [Pasted text #1]"),
		formattest.ClaudeUser("r1", "a1", formattest.ClaudeResult("c1", `"ok"`)),
		queueLine("remove", ""),
		queueLine("remove", "read [Pasted text #1]"),
		queuedLine("q1", "r1", picture, `,"commandMode":"prompt","origin":{"kind":"human"}`),
		queuedLine("q2", "q1", `"read <pasted_content>x</pasted_content>"`, `,"commandMode":"prompt"`),
		formattest.ClaudeAnswer("a2", "q2", "m2", `{"type":"text","text":"done"}`),
	}, spoken("user", `"begin"`), spoken("user", picture), spoken("user", `"read <pasted_content>x</pasted_content>"`), spoken("assistant", `"done"`))
}

// TestRewound: where the person went back to at the end is in a line of its own (version 2.1.261).
func TestRewound(t *testing.T) {
	lines := []string{
		formattest.ClaudeUser("u1", "", `"one"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", `{"type":"text","text":"1"}`),
		formattest.ClaudeUser("u2", "a1", `"two"`),
		formattest.ClaudeAnswer("a2", "u2", "m2", `{"type":"text","text":"2"}`),
	}
	back := func(leaf string) string {
		return `{"type":"last-prompt","leafUuid":` + leaf + `,"explicit":true,"rewound":true,"sessionId":"s-1"}`
	}
	one, two := []string{spoken("user", `"one"`), spoken("assistant", `"1"`)}, []string{spoken("user", `"two"`), spoken("assistant", `"2"`)}
	wantMessages(t, append(lines[:4:4], back(`"a1"`)), one[0], one[1], "-"+two[0], "-"+two[1])
	wantMessages(t, append(lines[:4:4], back(`null`)), "-"+one[0], "-"+one[1], "-"+two[0], "-"+two[1])
	wantMessages(t, append(lines[:4:4], back(`"a1"`), formattest.ClaudeUser("u3", "a1", `"three"`)), one[0], one[1], "-"+two[0], "-"+two[1], spoken("user", `"three"`))
}

// TestKeptIsAncestor: what a compaction kept may be written after it, as a child of the summary, while the compaction names
// it as its parent (daaain/claude-code-log). What was said before was not taken back.
func TestKeptIsAncestor(t *testing.T) {
	wantMessages(t, []string{
		formattest.ClaudeUser("u1", "", `"one"`),
		formattest.ClaudeAnswer("a1", "u1", "m1", `{"type":"text","text":"1"}`),
		formattest.ClaudeUser("u2", "a1", `"wrong"`),
		formattest.ClaudeUser("u3", "a1", `"two"`),
		formattest.ClaudeSide("x", formattest.ClaudeUser("s1", "", `"of a subagent"`)),
		queueLine("dequeue", ""),
		strings.Replace(formattest.ClaudeLine("b1", "", `"type":"system","subtype":"compact_boundary","logicalParentUuid":"a3","compactMetadata":{"preservedMessages":{"anchorUuid":"d1","uuids":["u3","a3"]}}`), "\n", "", 1),
		formattest.ClaudeLine("d1", "b1", `"type":"user","isCompactSummary":true,"message":{"role":"user","content":"so far"}`),
		formattest.ClaudeAnswer("a3", "d1", "m3", `{"type":"text","text":"2"}`),
		formattest.ClaudeUser("u4", "a3", `"three"`),
	}, spoken("user", `"one"`), spoken("assistant", `"1"`), "-"+spoken("user", `"wrong"`), spoken("user", `"two"`), "-"+spoken("user", `"of a subagent"`), spoken("assistant", `"2"`), spoken("user", `"three"`))
}

// TestLongDirectory: the name of the folder of a long directory is cut, and ends with a hash.
func TestLongDirectory(t *testing.T) {
	long := "/home/dev/" + strings.Repeat("deep-directory/", 20) + "end"
	name := record.Dashed(long)
	for folder, want := range map[string]bool{name[:200] + "-1x2y3z": true, name[:150]: false, "-home-other": false} {
		if got := claudecode.Format.Files.Holds(folder, long); got != want {
			t.Errorf("%s holds sessions of a long directory: %v, want %v", folder, got, want)
		}
	}
}
