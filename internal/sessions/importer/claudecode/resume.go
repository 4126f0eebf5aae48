package claudecode

import (
	"context"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// resume finds the place where a later reading can begin: the last prompt of a person, where nothing is
// pending. The parent of every later line is the prompt or a line after the prompt.
type resume struct {
	first  int32                 // the first record of the conversation, or -1
	prompt int32                 // the last prompt, or -1
	values [len(envelope)][]byte // of the envelope, so far
	before [len(envelope)][]byte // before the prompt
	lost   map[int32]bool        // records whose parent is missing so far
}

// begin returns what is known before the first line is read.
func begin(ctx context.Context, r *record.Reading) (*opening, error) {
	if r.From == nil {
		return open(ctx, r.Source)
	}
	o, s := &opening{}, record.State(r.From.State)
	o.agent = string(s.TakeBytes())
	for i := range o.env {
		if v := s.TakeBytes(); len(v) > 0 {
			o.env[i] = v
		}
	}
	o.counts = s.TakeCounter()
	return o, nil
}

// saveState stores what begin needs.
func (c *reader) saveState(start *opening, counts *record.Counter) {
	var s record.State
	s.Bytes([]byte(start.agent))
	for _, v := range c.before {
		s.Bytes(v)
	}
	s.Counter(counts)
	c.r.Last.State = s
}

// candidate notes a record that a later reading may begin with.
func (c *scan) candidate(r *rec, i int32) {
	if r.is(flagNoID) {
		return
	}
	first := c.first < 0
	if first {
		c.first = i
	}
	if r.is(flagPrompt) && r.tape == c.home && !r.is(flagDuplicate) && (first || !r.is(flagRoot)) {
		c.prompt, c.before = i, c.values
		c.counts.Mark()
	}
}

// mark notes that a later reading can begin with a prompt.
func (c *reader) mark(i int32) {
	if len(c.reasons) == 0 && !c.hasSubagents() {
		c.r.Mark(c.recs[i].at())
	}
}

// hasSubagents reports whether the file has records of subagents, or is a subagent's own file within a
// session.
func (c *scan) hasSubagents() bool {
	for tape := range c.spoke {
		if tape != c.home {
			return true
		}
	}
	return c.home != 0
}

// fits reports whether the lines that were read need nothing before them: they begin with the prompt,
// and each other line has its parent among them, and each title its leaf.
func (c *scan) fits() bool {
	if len(c.recs) == 0 || !c.recs[0].is(flagPrompt) || len(c.reasons) > 0 || c.hasSubagents() || c.unknownLeaf || c.unknown {
		return false
	}
	for i := range c.recs[1:] {
		r := &c.recs[1+i]
		if r.kind == kindRewound {
			return false
		}
		if r.is(flagNoID) {
			continue
		}
		if _, ok := c.byID[r.parent]; !ok || r.is(flagRoot) {
			return false
		}
	}
	return true
}

// finalRecords returns how many of the ordered records can be emitted while the session goes on:
// those before the first one that may still change.
func (c *reader) finalRecords(order []int32) int {
	end := len(order)
	for n, i := range order {
		if r := &c.recs[i]; r.tape != c.home {
			// Where a subagent begins and ends is known only when the turn is complete.
			end = c.lastTurn(order[:n])
			break
		}
	}
	incomplete := -1 // a compaction without its summary, or a line before its parent
	answer := -1     // the last answer, until something ends it
	removed := -1    // a prompt that left the queue: an attachment may still show it
	heads := map[uint64]int{}
	for n, i := range order[:end] {
		r := &c.recs[i]
		switch {
		case r.is(flagDuplicate):
			continue
		case r.is(flagQueued) && r.kind != kindUser && removed < 0:
			removed = n
		case r.kind == kindBoundary:
			incomplete, answer = n, -1
		case r.kind == kindDigest, r.kind == kindClear, r.is(flagPrompt):
			incomplete, answer = -1, -1
		case r.kind == kindAssistant:
			incomplete, removed = -1, -1
			if r.is(flagMember) {
				answer = heads[uint64(i)+1]
			} else {
				answer = n
			}
			heads[r.msg] = answer
		}
		if c.lost[i] && i != c.first && incomplete < 0 {
			incomplete = n
		}
	}
	if answer >= 0 && !c.r.Idle && !c.complete(order[answer]) {
		end = min(end, answer)
	}
	if incomplete >= 0 {
		end = min(end, incomplete)
	}
	if removed >= 0 {
		end = min(end, removed)
	}
	return end
}

// lastTurn returns where the last turn begins.
func (c *reader) lastTurn(order []int32) int {
	for n, o := range slices.Backward(order) {
		if r := &c.recs[o]; r.is(flagPrompt) && r.tape == c.home {
			return n
		}
	}
	return 0
}

// complete reports whether an answer, given by its first record, is complete: it ends with a text, and
// not with a call.
func (c *reader) complete(i int32) bool {
	for next := c.next(i); next >= 0; next = c.next(i) {
		i = next
	}
	l := c.parsed(i)
	typ := ""
	for block := range jsonl.Elements(first(l.message, "content")) {
		typ = record.Text(first(block, "type"))
	}
	reason := jsonl.GetString(l.message, "stop_reason")
	return typ == "text" && reason != "" && reason != "tool_use"
}
