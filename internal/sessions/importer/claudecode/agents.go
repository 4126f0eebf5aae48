package claudecode

import (
	"bytes"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// A tool call starts a subagent, and the call's result is the subagent's. The subagent's messages are in
// lines of progress that relay them, in lines of a side chain, or in a file of their own.

// agents are the subagents of a session. Each becomes a fork, which is called a tape in this package.
type agents struct {
	tapes  []string          // names; the first is "", the session itself
	tapeNo map[string]uint16 // indices in tapes, by what identifies the subagent
	taken  map[string]bool   // the names in tapes
	spoke  map[uint16]bool   // tapes that have records
	rooted map[uint16]bool   // tapes that are known only by their first line
}

// agentName makes a name of a subagent's id. A slash in it would make it the name of another tape.
func agentName(id string) string { return "agent-" + strings.ReplaceAll(id, "/", "_") }

// tape returns the number of a subagent's tape. A new one gets the name, unless that is taken.
func (c *scan) tape(identity, name string) uint16 {
	if n, ok := c.tapeNo[identity]; ok {
		return n
	}
	if len(c.tapes) > 0xFFFF-1 {
		// No session has so many; the rest share the last one.
		return uint16(len(c.tapes) - 1)
	}
	n := uint16(len(c.tapes))
	name = record.FreeName(name, func(name string) bool { return c.taken[name] })
	c.tapes, c.taken[name], c.tapeNo[identity] = append(c.tapes, name), true, n
	// The environment of the session applies to the new tape as well.
	c.env = append(c.env, c.env[0])
	return n
}

func (c *scan) agentTape(id string) uint16 { return c.tape("agent-"+id, agentName(id)) }

// sideTape returns the tape of a line of a side chain, by the subagent's id or the chain's first line.
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

// launches says which calls started which subagents.
type launches struct {
	byCall  map[string][]*launch
	last    map[int32]*launch   // by the last record that progress relays
	prompts map[uint64][]string // calls that started a subagent that is not known yet, by prompt
}

// launch is the start of a subagent by a call.
type launch struct {
	tape    uint16
	last    int32 // the subagent's last relayed record; -1 for none
	passed  bool  // all its records were emitted
	ongoing bool  // it runs in the background: the call's result came at once
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

// relays notes that record i is from the subagent that a call started.
func (ls *launches) relays(call string, tape uint16, i int32) {
	if call == "" {
		return
	}
	l := ls.launch(call, tape)
	delete(ls.last, l.last)
	l.last, l.passed, ls.last[i] = i, false, l
}

// noteLaunch notes which call started a subagent, if a record is that call or its result.
func (c *scan) noteLaunch(r *rec, l *line) {
	switch {
	case r.is(flagDuplicate):
	case r.kind == kindUser && jsonl.IsObject(l.toolUseResult) && bytes.Contains(l.toolUseResult, []byte(`"agentId"`)):
		agent := record.Text(first(l.toolUseResult, "agentId"))
		for block := range jsonl.Elements(first(l.message, "content")) {
			if call := record.Text(first(block, "tool_use_id")); agent != "" && call != "" {
				status := record.Text(first(l.toolUseResult, "status"))
				c.launch(call, c.agentTape(agent)).ongoing = status == "async_launched"
				return // toolUseResult is about the first result
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

// promptedBy finds the call that started a side chain without an agent id, by its prompt.
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

// ended returns the subagents that end with the results of calls. One that says something later runs
// in the background, and has not ended.
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
