package claudecode

import (
	"bytes"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// A subagent is started by a call of a tool. What it says comes as progress that relays
// its messages, as lines of a side chain, or in a file of its own; and what came of it
// is the result of the call.

// agents are the subagents of a session, each with a tape beside the session's own.
type agents struct {
	tapes  []string          // their names; the first is the session's own ""
	tapeNo map[string]uint16 // by what identifies the subagent
	taken  map[string]bool   // names
	spoke  map[uint16]bool   // those that there are records of
	rooted map[uint16]bool   // those that are known by the line they start with only
}

// agentName names a subagent by its id. A slash would name another tape.
func agentName(id string) string { return "agent-" + strings.ReplaceAll(id, "/", "_") }

// tape numbers a subagent's tape, called name unless another one has that name.
func (c *scan) tape(identity, name string) uint16 {
	if n, ok := c.tapeNo[identity]; ok {
		return n
	}
	if len(c.tapes) > 0xFFFF-1 {
		// No session has so many; what is beyond them shares the last.
		return uint16(len(c.tapes) - 1)
	}
	n := uint16(len(c.tapes))
	name = record.FreeName(name, func(name string) bool { return c.taken[name] })
	c.tapes, c.taken[name], c.tapeNo[identity] = append(c.tapes, name), true, n
	// Another tape starts from the environment of the session.
	c.env = append(c.env, c.env[0])
	return n
}

func (c *scan) agentTape(id string) uint16 { return c.tape("agent-"+id, agentName(id)) }

// sideTape finds the tape of a subagent's line, by its id or its side chain's first line.
func (c *scan) sideTape(r *rec, l *line) uint16 {
	if id := record.Text(l.agent); id != "" {
		return c.agentTape(id)
	}
	if p, ok := c.byID[r.parent]; ok && r.parent != 0 && int(p) < len(c.recs) && c.recs[p].is(flagSide) {
		return c.recs[p].tape
	}
	root := record.Text(l.uuid)
	tape := c.tape("line "+root, agentName(strings.ToValidUTF8(root[:min(len(root), 8)], "_")))
	c.rooted[tape] = true
	c.promptedBy(l, tape)
	return tape
}

type launches struct {
	byCall  map[string][]*launch
	last    map[int32]*launch   // by the last record that is relayed for it
	prompts map[uint64][]string // calls that started one which is not known yet, by prompt
}

type launch struct {
	tape    uint16
	last    int32 // record; -1 for none
	passed  bool  // no more records of it are to come
	ongoing bool  // the call's result came at once, before there was anything to show
}

func (ls *launches) launch(call string, tape uint16) *launch {
	for _, l := range ls.byCall[call] {
		if l.tape == tape {
			return l
		}
	}
	l := &launch{tape: tape, last: -1, passed: true}
	ls.byCall[call] = append(ls.byCall[call], l)
	return l
}

// relays notes that record i comes from the subagent that a call started.
func (ls *launches) relays(call string, tape uint16, i int32) {
	if call == "" {
		return
	}
	l := ls.launch(call, tape)
	delete(ls.last, l.last)
	l.last, l.passed, ls.last[i] = i, false, l
}

// noteLaunch looks for which call started a subagent, in the call itself or its result.
func (c *scan) noteLaunch(r *rec, l *line) {
	switch {
	case r.is(flagDuplicate):
	case r.kind == kindUser && jsonl.IsObject(l.toolUseResult) && bytes.Contains(l.toolUseResult, []byte(`"agentId"`)):
		agent := record.Text(first(l.toolUseResult, "agentId"))
		for block := range jsonl.Elements(first(l.message, "content")) {
			if call := record.Text(first(block, "tool_use_id")); agent != "" && call != "" {
				status := record.Text(first(l.toolUseResult, "status"))
				c.launch(call, c.agentTape(agent)).ongoing = status == "async_launched"
				return // the detail is that of the first result
			}
		}
	case r.kind == kindAssistant && bytes.Contains(l.message, []byte(`"subagent_type"`)):
		for block := range jsonl.Elements(first(l.message, "content")) {
			prompt, call := jsonl.Get(block, "input", "prompt"), record.Text(first(block, "id"))
			if prompt != nil && call != "" {
				h := c.hash(prompt)
				c.prompts[h] = append(c.prompts[h], call)
			}
		}
	}
}

// promptedBy finds the call of a side chain without an agent's name, by what it asks for.
func (c *scan) promptedBy(l *line, tape uint16) {
	prompt := plainContent(first(l.message, "content"))
	if prompt == nil {
		return
	}
	h := c.hash(prompt)
	if calls := c.prompts[h]; len(calls) > 0 {
		c.launch(calls[0], tape)
		c.prompts[h] = calls[1:]
	}
}

// ended names the subagents whose result is among those of some calls. One that says
// something later is not through: it runs in the background.
func (c *scan) ended(calls []string) []string {
	return c.agentsOf(calls, func(l *launch) bool { return l.passed && !l.ongoing })
}

func (c *scan) agentsOf(calls []string, which func(*launch) bool) (names []string) {
	for _, call := range calls {
		for _, l := range c.byCall[call] {
			if which(l) {
				names = append(names, c.tapes[l.tape])
			}
		}
	}
	return names
}
