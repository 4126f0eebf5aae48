package outline

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"tape/internal/show/callview"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Subagent is a subagent whose entries were merged into the session.
type Subagent struct {
	Fork           string // the name of its fork in entries
	Task           string // one line
	First, Entries int64
	Calls          int
}

// IsSubagent reports whether a fork is a subagent's.
func IsSubagent(fork string) bool {
	return strings.HasPrefix(fork, "agent-") || strings.Contains(fork, "/agent-")
}

// SubagentOf returns the subagent of a fork; nil if the outline has none.
func (o *Outline) SubagentOf(fork string) *Subagent {
	for i := range slices.Backward(o.Subagents) {
		if o.Subagents[i].Fork == fork {
			return &o.Subagents[i]
		}
	}
	return nil
}

// helper counts an entry of a subagent. The first message to the subagent is its task, unless a call gives another.
func (b *builder) helper(e repo.Entry) {
	fork := conversation.Fork(e)
	if !IsSubagent(fork) {
		return
	}
	h := b.out.SubagentOf(fork)
	if h == nil {
		if len(b.out.Subagents) == maxPerName {
			return
		}
		b.out.Subagents = append(b.out.Subagents, Subagent{Fork: fork, First: e.ID})
		h = &b.out.Subagents[len(b.out.Subagents)-1]
	}
	if h.Entries++; h.Task == "" && e.Kind == repo.KindMessage && e.Role() == "user" {
		h.Task = display.Title(conversation.Of(e).Text(), maxBrief/2)
	}
}

// noteTasks notes the task of each call that starts a subagent, and how long the call took.
func (b *builder) noteTasks(it *conversation.Item) {
	for _, c := range it.Calls {
		v := callview.Of(c, "")
		if v.Shape != callview.Agent {
			continue
		}
		b.waits[c.Name] += c.Took()
		if c.ID != "" && len(b.tasks) < maxPerName {
			b.tasks[c.ID] = display.Title(v.Subject, maxBrief/2)
		}
	}
}

// noteStart notes which call started a subagent: the agent says so in an event after the call.
func (b *builder) noteStart(e repo.Entry) {
	if e.Kind != repo.KindEvent || !bytes.Contains(e.Payload, []byte(`"agentId"`)) || len(b.callOf) == maxPerName {
		return
	}
	data := jsonl.Get(e.Payload, "data")
	if id := jsonl.GetString(data, "agentId"); id != "" {
		b.callOf[id] = jsonl.GetString(data, "call_id")
	}
}

// setTasks sets the tasks of subagents to those in the calls that started them.
func (b *builder) setTasks() {
	for i := range b.out.Subagents {
		h := &b.out.Subagents[i]
		_, id, _ := strings.Cut(h.Fork, "agent-")
		h.Task = cmp.Or(b.tasks[b.callOf[id]], h.Task)
	}
}
