package claudecode

import (
	"context"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// resume is about the place from which a later reading can go on: the last prompt of a person,
// where nothing is pending. What follows it hangs on it, or on what follows it.
type resume struct {
	first  int32                 // the first record of the conversation, or -1
	prompt int32                 // the last prompt, or -1
	values [len(envelope)][]byte // what holds now
	before [len(envelope)][]byte // what held before the prompt
	lost   map[int32]bool        // records whose parent is not there, or not yet
}

// begin is what is known before the first line that is read.
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

// keep puts into the restart what begin needs.
func (c *reader) keep(start *opening, counts *record.Counter) {
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
	if len(c.reasons) == 0 && !c.within() {
		c.r.Mark(c.recs[i].at())
	}
}

// within reports whether the file has records of subagents within a session.
func (c *scan) within() bool {
	for tape := range c.spoke {
		if tape != c.home {
			return true
		}
	}
	return c.home != 0
}

// fits reports whether what was read hangs together without what stands before it: it begins
// with the prompt, and no other line hangs on what is not there, or repeats a beginning.
func (c *scan) fits() bool {
	if len(c.recs) == 0 || !c.recs[0].is(flagPrompt) || len(c.reasons) > 0 || c.within() {
		return false
	}
	for i := range c.recs[1:] {
		r := &c.recs[1+i]
		if r.is(flagNoID) {
			continue
		}
		if _, ok := c.byID[r.parent]; !ok || r.is(flagRoot) {
			return false
		}
	}
	return true
}

// settled is how many of the ordered records can be told while the session goes on: those before
// the first that may still change.
func (c *reader) settled(order []int32) int {
	end := len(order)
	for n, i := range order {
		if r := &c.recs[i]; r.tape != c.home {
			// What begins a subagent, and what ends it, is known when all is there.
			end = c.turnOf(order[:n])
			break
		}
	}
	unanswered := -1 // a compaction without its summary, or a line before its parent
	answer := -1     // the last of the model's, while nothing ends it
	heads := map[uint64]int{}
	for n, i := range order[:end] {
		r := &c.recs[i]
		switch {
		case r.is(flagDuplicate):
			continue
		case r.kind == kindBoundary:
			unanswered, answer = n, -1
		case r.kind == kindDigest || r.kind == kindClear || r.kind == kindSummary:
			unanswered, answer = -1, -1
		case r.kind == kindAssistant:
			unanswered = -1
			if r.is(flagMember) {
				answer = heads[uint64(i)+1]
			} else {
				answer = n
			}
			heads[r.msg] = answer
		case r.is(flagPrompt):
			unanswered, answer = -1, -1
		}
		if c.lost[i] && i != c.first && unanswered < 0 {
			unanswered = n
		}
	}
	if answer >= 0 && !c.r.Idle && !c.whole(order[answer]) {
		end = min(end, answer)
	}
	if unanswered >= 0 {
		end = min(end, unanswered)
	}
	return end
}

// turnOf is where the last turn begins.
func (c *reader) turnOf(order []int32) int {
	for n := len(order) - 1; n >= 0; n-- {
		if r := &c.recs[order[n]]; r.is(flagPrompt) && r.tape == c.home {
			return n
		}
	}
	return 0
}

// whole reports whether an answer, given by its first record, is all there: it ends in a text,
// and not because of a call.
func (c *reader) whole(i int32) bool {
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
