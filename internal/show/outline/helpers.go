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

// Helper is a subagent whose entries were merged into the session.
type Helper struct {
	Fork           string // the name of its fork in entries
	Task           string // one line
	First, Entries int64
	Calls          int
}

// IsHelper reports whether a fork is a subagent's.
func IsHelper(fork string) bool {
	return strings.HasPrefix(fork, "agent-") || strings.Contains(fork, "/agent-")
}

// HelperOf returns the subagent of a fork; nil if the outline has none.
func (o *Outline) HelperOf(fork string) *Helper {
	for i := range slices.Backward(o.Helpers) {
		if o.Helpers[i].Fork == fork {
			return &o.Helpers[i]
		}
	}
	return nil
}

// helper counts an entry of a subagent. The first message to the subagent is its task, unless a call gives another.
func (b *builder) helper(e repo.Entry) {
	fork := conversation.Fork(e)
	if !IsHelper(fork) {
		return
	}
	h := b.out.HelperOf(fork)
	if h == nil {
		if len(b.out.Helpers) == maxPerName {
			return
		}
		b.out.Helpers = append(b.out.Helpers, Helper{Fork: fork, First: e.ID})
		h = &b.out.Helpers[len(b.out.Helpers)-1]
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
	for i := range b.out.Helpers {
		h := &b.out.Helpers[i]
		_, id, _ := strings.Cut(h.Fork, "agent-")
		h.Task = cmp.Or(b.tasks[b.callOf[id]], h.Task)
	}
}
