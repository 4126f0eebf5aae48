package copilot

import (
	"slices"

	"tape/internal/text/jsonl"
)

// subagents keeps track of a session's subagents. Copilot writes subagent.completed before the result of the call that started the
// subagent, or right after it, as the two happen to come. A result that comes first waits, so that the subagent's entries
// always stand before it. A subagent in the background has a result while it still works; that one does not wait.
type subagents struct {
	of      map[string]string // subagents, by the call that started them
	ready   map[string]bool   // those whose last answer calls nothing
	waiting []early
}

type early struct {
	agent  string
	result element
}

// follow notes what a record says about a subagent.
func (s *subagents) follow(typ, agent string, data []byte) {
	if s.of == nil {
		s.of, s.ready = map[string]string{}, map[string]bool{}
	}
	switch {
	case agent == "":
	case typ == "subagent.started":
		s.of[jsonl.GetString(data, "toolCallId")] = agent
	case typ == "assistant.message":
		calls := false
		for range jsonl.Elements(jsonl.Get(data, "toolRequests")) {
			calls = true
		}
		s.ready[agent] = !calls
	case typ == "subagent.completed":
		delete(s.ready, agent)
	}
}

// before returns the subagent that ends before a result, "" if there is none.
func (s *subagents) before(data []byte) string {
	if agent := s.of[jsonl.GetString(data, "toolCallId")]; s.ready[agent] {
		return agent
	}
	return ""
}

// release emits the results that wait for a subagent, or all that wait if agent is "".
func (c *reader) release(agent string) {
	c.waiting = slices.DeleteFunc(c.waiting, func(w early) bool {
		if agent != "" && w.agent != agent {
			return false
		}
		w.result.emit("tool.execution_complete")
		return true
	})
}
