//go:build unix && extra

package agentstest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/agentstest/model"
	"tape/internal/testkit"
)

// proved checks that the recorded tapes equal imported ones, and have everything that the model was told
// and said.
func (b *box) proved() {
	b.t.Helper()
	b.same()
	b.compare(false)
	if before := b.dump(""); b.agent.imported {
		b.tape("", "import")
		if after := b.dump(""); after != before {
			b.fatalf("an import changes the recorded tapes: %s", difference(after, before))
		}
	}
}

// soon is how long a recording may go on after the agent's end on a busy machine.
const soon = 30 * time.Second

// same waits until the recorded tapes equal those of an import of the transcripts.
func (b *box) same() {
	b.t.Helper()
	want := b.dump(b.imported())
	got := ""
	for end := time.Now().Add(soon); time.Now().Before(end); testkit.Pause(300 * time.Millisecond) {
		if b.agent.late {
			b.tape("", "record", "sync")
		}
		if got = b.dump(""); got == want {
			b.tape("", "verify")
			return
		}
	}
	b.fatalf("the recorded tapes differ from the imported ones: %s", difference(got, want))
}

// difference describes where two texts begin to differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range max(len(g), len(w)) {
		if at(g, i) == at(w, i) {
			continue
		}
		n := 0 // characters that they share
		for n < min(len(at(g, i)), len(at(w, i))) && g[i][n] == w[i][n] {
			n++
		}
		return fmt.Sprintf("line %d of %d and %d: %.70s\ngot  %s\nwant %s",
			i+1, len(g), len(w), at(g, i), around(at(g, i), n), around(at(w, i), n))
	}
	return "nothing"
}

// around returns the part of a line near an offset.
func around(line string, at int) string {
	return fmt.Sprintf("…%q…", line[max(0, at-80):min(len(line), at+200)])
}

// at returns a line, or a mark for the end of the text.
func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(the end)"
}

// madeUp begins a result that Qwen Code tells the model, and writes nowhere, if a compaction has dropped the real one.
const madeUp = "Tool execution result was not recorded"

// conversation returns what was told and said, in order: prompts, answers, calls, results. With cut, this
// includes answers of which a killed agent may have got only a part.
func (b *box) conversation(cut bool) []model.Item {
	var out []model.Item
	known := map[string]bool{}
	for _, e := range b.model.Exchanges() {
		suggestion := b.agent.late && len(e.Reply) == 1 && e.Reply[0].Text == model.Unscripted // a request for what the person might say next
		if e.Side || e.Prompt == "" || suggestion {
			continue
		}
		for _, item := range e.History {
			id := item.ID // Gemini has the tool's name before it, and keeps that to itself
			if _, after, ok := strings.Cut(id, "__"); ok {
				id = after
			}
			if item.Kind == model.Result && !known[id] && !strings.HasPrefix(item.Text, madeUp) {
				known[id] = true
				out = append(out, item)
			}
		}
		if e.First {
			out = append(out, model.Item{Kind: model.User, Text: e.Prompt})
		}
		if e.Done || cut {
			out = append(out, e.Reply...)
		}
	}
	return out
}

// compare looks for each item of the conversation on the tapes: it has to be there once, and after what came
// before it on the same tape. What a killed agent has not written may be missing, and there may be a
// prompt that never reached the model.
func (b *box) compare(killed bool) {
	b.t.Helper()
	conversation, entries := b.conversation(killed), b.entries("")
	last := map[string]int{}
	for _, item := range conversation {
		var found []entry
		for _, e := range entries {
			if e.has(item) {
				found = append(found, e)
			}
		}
		want := count(conversation, item)
		if killed && (len(found) < want || item.Kind == model.User) {
			continue
		}
		if len(found) != want {
			b.fatalf("on the tapes %d times instead of %d: %+v", len(found), want, item)
		}
		if e := found[0]; want == 1 {
			if e.ID < last[e.Tape] {
				b.fatalf("entry %d of %s comes before %d: %+v", e.ID, e.Tape, last[e.Tape], item)
			}
			last[e.Tape] = e.ID
		}
	}
}

func count(all []model.Item, one model.Item) int {
	n := 0
	for _, item := range all {
		if item.Kind == one.Kind && item.ID == one.ID && item.Text == one.Text {
			n++
		}
	}
	return n
}

// has reports whether an entry has an item. In the entry, the id of a call may have a name before it.
func (e entry) has(item model.Item) bool {
	ours := func(id string) bool { return id == item.ID || strings.HasSuffix(id, "__"+item.ID) }
	switch item.Kind {
	case model.User:
		return e.Kind == "message" && e.Payload.Role == "user" && strings.Contains(text(e.Payload.Content), item.Text)
	case model.Answer:
		return e.Kind == "message" && e.Payload.Role == "assistant" && text(e.Payload.Content) == item.Text
	case model.Asked:
		for _, c := range e.Payload.Calls {
			if ours(c.ID) {
				return e.Kind == "tool_call" && strings.HasSuffix(item.Name, c.Function.Name)
			}
		}
	case model.Result:
		if i := slices.IndexFunc(e.Meta.CallIDs, ours); i >= 0 && i < len(e.Payload.Results) && e.Kind == "tool_result" {
			return strings.Contains(told(item.Text), text(e.Payload.Results[i]))
		}
	}
	return false
}

// told returns the text of a result, without the JSON in which some APIs and agents wrap it.
func told(raw string) string {
	var wrapped struct{ Output *string }
	if json.Unmarshal([]byte(raw), &wrapped) == nil && wrapped.Output != nil {
		return *wrapped.Output
	}
	var list []struct{ Result, Error string } // of Cline
	if json.Unmarshal([]byte(raw), &list) == nil && len(list) > 0 {
		return list[0].Result + list[0].Error
	}
	var one struct { // of a subagent of Cline, or an MCP server
		Text    string
		Content json.RawMessage
	}
	if json.Unmarshal([]byte(raw), &one) == nil && (one.Text != "" || one.Content != nil) {
		return one.Text + text(one.Content)
	}
	return raw
}

// text returns the text of a content, which is one text or a list of parts.
func text(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var parts []struct{ Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return string(raw)
	}
	var out strings.Builder
	for _, p := range parts {
		out.WriteString(p.Text)
	}
	return out.String()
}
