package importer

import (
	"bytes"
	"unicode/utf8"

	"tape/internal/jsonl"
)

// turn is the group of calls that a tape waits for results of.
type turn struct {
	calls []pending
	held  int      // bytes of results held
	after []part   // messages that came between the calls and their results
	ends  []string // subagents whose results they are
}

// pending is a call and, once it came, its result.
type pending struct {
	id      string
	input   []byte
	content []byte // of the result; nil while it is waited for
	key     string
	date    string
	hidden  bool
	failed  bool
	done    bool // the tape has the result
	detail  *part
}

// maxHeld is how much of results is held until the last of a group is there,
// and how large an entry of several results may get.
const maxHeld = 8 << 20

// add notes a call.
func (t *turn) add(block []byte) {
	t.calls = append(t.calls, pending{
		id:    text(jsonl.Get(block, "id")),
		input: bytes.Clone(jsonl.Get(block, "input")),
	})
}

func (t *turn) find(id string) *pending {
	for i := range t.calls {
		if p := &t.calls[i]; p.id == id && p.content == nil && !p.done {
			return p
		}
	}
	return nil
}

// complete reports whether no result is waited for.
func (t *turn) complete() bool {
	for i := range t.calls {
		if t.calls[i].content == nil && !t.calls[i].done {
			return false
		}
	}
	return true
}

// user emits a user line: a prompt, or the results of tools.
func (c *claude) user(s *source) error {
	tape := c.recs[s.i].tape
	if c.recs[s.i].is(flagPrompt) {
		if err := c.flush(tape); err != nil {
			return err
		}
	}
	content := first(s.msg, "content")
	if !hasResult(content) {
		extra := s.leftovers(userFields)
		if d := s.line.toolUseResult; d != nil && !blank(d) {
			extra = with(orEmpty(extra), "toolUseResult", d)
		}
		return c.userMessage(s, []string{s.key}, userPayload(s.msg), extra)
	}
	var keys []string // of what is no result
	var blocks [][]byte
	n := 0
	detail := s.line.toolUseResult
	for block := range jsonl.Elements(content) {
		key := partKey(s.key, n)
		n++
		if text(first(block, "type")) != "tool_result" {
			keys = append(keys, key)
			blocks = append(blocks, block)
			continue
		}
		if err := c.result(s, key, block, detail); err != nil {
			return err
		}
		detail = nil // it belongs to the first result of a line
	}
	t := &c.turns[tape]
	if t.complete() {
		if err := c.flush(tape); err != nil {
			return err
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return c.userMessage(s, keys, messagePayload("user", joinArray(blocks)), nil)
}

func hasResult(content []byte) bool {
	if startsWithResult(content) {
		return true
	}
	for block := range jsonl.Elements(content) {
		if text(first(block, "type")) == "tool_result" {
			return true
		}
	}
	return false
}

// userPayload is a user's message as it was given.
func userPayload(msg []byte) []byte {
	o := newObject(len(msg))
	o.str("role", "user")
	for name, v := range jsonl.Fields(msg) {
		if name != "role" {
			o.raw(name, v)
		}
	}
	return o.done()
}

func (c *claude) userMessage(s *source, keys []string, payload, extra []byte) error {
	var fresh []string
	for _, key := range keys {
		if c.fresh(s, key) {
			fresh = append(fresh, key)
		}
	}
	if fresh == nil {
		return nil
	}
	p := part{fork: s.fork, kind: kindMessage, payload: payload, keys: fresh, date: s.date, hidden: s.hidden}
	p.extra = extra
	t := &c.turns[c.recs[s.i].tape]
	if !t.complete() {
		t.after = append(t.after, p)
		return nil
	}
	return c.r.out.put(p)
}

// result takes a result to its call, or emits it where its call is not known.
func (c *claude) result(s *source, key string, block, detail []byte) error {
	t := &c.turns[c.recs[s.i].tape]
	var id string
	content := []byte(`""`)
	failed := false
	for name, v := range jsonl.Fields(block) {
		switch name {
		case "tool_use_id":
			id = text(v)
		case "content":
			content = v
		case "is_error":
			failed = v[0] == 't'
		}
	}
	if t.held > 0 && t.held+len(content) > maxHeld {
		if err := c.flush(c.recs[s.i].tape); err != nil {
			return err
		}
	}
	call := t.find(id)
	stray := call == nil
	if stray {
		call = &pending{id: id}
	}
	if detail != nil {
		call.detail = c.detail(s, call, content, detail)
	}
	if c.fresh(s, key) {
		call.content = bytes.Clone(content)
		call.key, call.date, call.hidden = key, s.date, s.hidden
		call.failed = failed
		t.held += len(content)
	} else {
		call.done = true
	}
	if !stray {
		return nil
	}
	alone := turn{calls: []pending{*call}}
	alone.ends = c.ended(alone.calls)
	return c.r.out.putResults(s.fork, &alone)
}

// flush ends the wait for results on a tape.
func (c *claude) flush(tape uint16) error {
	t := c.turns[tape]
	if t.calls == nil {
		return nil
	}
	c.turns[tape] = turn{}
	t.ends = c.ended(t.calls)
	if err := c.r.out.putResults(c.tapes[tape], &t); err != nil {
		return err
	}
	for _, p := range t.after {
		if err := c.r.out.put(p); err != nil {
			return err
		}
	}
	return nil
}

// putResults emits what results of a group there are, in the order of the
// calls. A call whose result is missing gets a null if others follow.
func (s *sink) putResults(fork string, t *turn) error {
	last := -1
	for i := range t.calls {
		if t.calls[i].content != nil {
			last = i
		}
	}
	p := part{fork: fork, kind: kindToolResult}
	b := make([]byte, 0, t.held+5*len(t.calls)+16)
	b = append(b, `{"results":[`...)
	for i := range t.calls[:last+1] {
		call := &t.calls[i]
		if call.done {
			continue
		}
		if len(p.callIDs) > 0 {
			b = append(b, ',')
		}
		p.callIDs = append(p.callIDs, call.id)
		if call.content == nil {
			b = append(b, "null"...)
			continue
		}
		b = append(b, call.content...)
		p.keys = append(p.keys, call.key)
		p.date = max(p.date, call.date)
		p.hidden = call.hidden
		if call.failed {
			p.failed = append(p.failed, call.id)
		}
	}
	var parts []part
	if last >= 0 {
		p.payload = append(b, ']', '}')
		parts = append(parts, p)
	}
	for i := range t.calls {
		if d := t.calls[i].detail; d != nil {
			parts = append(parts, *d)
		}
	}
	for i, p := range parts {
		if i == len(parts)-1 {
			p.ends = t.ends
		}
		if err := s.put(p); err != nil {
			return err
		}
	}
	return nil
}

// detail is the event with what the program knows of a result beyond what it
// told the model, or nil.
func (c *claude) detail(s *source, call *pending, content, detail []byte) *part {
	key := s.key + "/detail"
	rest := untold(detail, content, call.input)
	extra := s.leftovers(userFields)
	if rest == nil && extra == nil || !c.fresh(s, key) {
		return nil
	}
	data := newObject(len(rest) + len(extra) + 64)
	data.str("call_id", call.id)
	if jsonl.IsObject(rest) {
		for name, v := range jsonl.Fields(rest) {
			if name == "call_id" || name == "record" {
				name = "result." + name
			}
			data.raw(name, v)
		}
	} else if rest != nil {
		data.raw("result", rest)
	}
	if extra != nil {
		data.raw("record", extra)
	}
	return &part{
		fork: s.fork, kind: kindEvent, keys: []string{key}, date: s.date, hidden: s.hidden,
		payload: eventPayload(eventToolDetail, data.done()),
	}
}

// titleRunes is how long a name made from a summary may be.
const titleRunes = 60

// titleOf cuts a summary to a name, at the end of a word where there is one.
func titleOf(s string) string {
	s = string(bytes.Join(bytes.Fields([]byte(s)), []byte{' '}))
	if s == "" {
		return "summary"
	}
	if utf8.RuneCountInString(s) <= titleRunes {
		return s
	}
	runes := []rune(s)
	cut := titleRunes
	for cut > titleRunes/2 && runes[cut] != ' ' {
		cut--
	}
	if runes[cut] != ' ' {
		cut = titleRunes
	}
	return string(bytes.TrimRight([]byte(string(runes[:cut])), " "))
}
