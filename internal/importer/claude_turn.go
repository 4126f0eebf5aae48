package importer

import (
	"bytes"
	"slices"

	"tape/internal/jsonl"
)

// syntheticModel is named, in JSON, by answers that no model gave.
const syntheticModel = `"<synthetic>"`

// answer gathers the lines of one message of the model.
type answer struct {
	head         source // of its first line; only its own fields count
	text         [][]byte
	blocks       [][]byte // all parts of the message, text included
	textKeys     []string
	textDate     string
	calls        []byte // elements of the array
	callKeys     []string
	callDate     string
	callExtra    *object
	begins       []string // subagents that the calls start
	runKeys      []string
	msg, request []byte // of the last line
	extra        *object
	date         string
	turn         turn
	plain        bool // all parts are nothing but text
}

// assistant emits the message whose first line is i.
func (c *claude) assistant(i int32) error {
	tape := c.recs[i].tape
	if err := c.flush(tape); err != nil {
		return err
	}
	a := answer{plain: true}
	for first := true; i >= 0; i = c.next(i) {
		fetch := c.fetchMember
		if first {
			fetch = c.fetch
		}
		s, err := fetch(i)
		if err != nil {
			return err
		}
		if first {
			a.head = s
		}
		first = false
		if err := c.gather(&a, &s); err != nil {
			return err
		}
	}
	if err := c.putAnswer(&a); err != nil {
		return err
	}
	c.turns[tape] = a.turn
	return nil
}

// gather adds a line to the answer. Thinking is emitted as it comes.
func (c *claude) gather(a *answer, s *source) error {
	a.date = s.date
	content := a.split(s.msg)
	if len(content) > 0 && content[0] == '"' {
		if c.fresh(s, s.key) {
			a.addText(s, s.key, content, nil)
		}
	}
	n := 0
	for block := range jsonl.Elements(content) {
		key := partKey(s.key, n)
		n++
		typ := text(first(block, "type"))
		if typ == "tool_use" {
			// A call that the tape has still has its place among the calls.
			a.turn.add(block)
		}
		if !c.fresh(s, key) {
			continue
		}
		switch typ {
		case "thinking", "redacted_thinking":
			p := part{fork: s.fork, kind: kindEvent, keys: []string{key}, date: s.date, hidden: s.hidden, runID: text(first(a.msg, "id"))}
			p.payload = eventPayload(eventThinking, without(block, "type"))
			if err := c.r.out.put(p); err != nil {
				return err
			}
		case "tool_use":
			a.addCall(s, key, block)
			a.begins = append(a.begins, c.started(text(jsonl.Get(block, "id")))...)
		case "text":
			a.addText(s, key, nil, block)
		default:
			a.plain = false
			a.addText(s, key, nil, block)
		}
	}
	run := s.key + "/run"
	if c.fresh(s, run) {
		a.runKeys = append(a.runKeys, run)
		for name, v := range jsonl.Fields(s.leftovers(assistantFields)) {
			if a.extra == nil {
				a.extra = newObject(64)
			}
			a.extra.raw(name, v)
		}
	}
	if s.line.requestID != nil {
		a.request = bytes.Clone(s.line.requestID)
	}
	return nil
}

// split notes the facts about a message and returns its content.
func (a *answer) split(msg []byte) (content []byte) {
	facts := newObject(1024)
	for name, v := range jsonl.Fields(msg) {
		if name == "content" {
			content = v
		} else {
			facts.raw(name, v)
		}
	}
	a.msg = facts.done()
	return content
}

// without is an owned copy of an object without one of its members.
func without(obj []byte, member string) []byte {
	o := newObject(min(len(obj), 1024))
	for name, v := range jsonl.Fields(obj) {
		if name != member {
			o.raw(name, v)
		}
	}
	return o.done()
}

// addText adds a part of the message. value is the raw string of a text that
// may stand alone; block the part as it is.
func (a *answer) addText(s *source, key string, value, block []byte) {
	a.textKeys = append(a.textKeys, key)
	if a.textDate == "" {
		a.textDate = s.date
	}
	members := 0
	for name, v := range jsonl.Fields(block) {
		members++
		if name == "text" {
			value = v
		}
	}
	if len(value) == 0 || value[0] != '"' || members > 2 {
		a.plain = false
	}
	if block == nil {
		o := newObject(len(value) + 24)
		o.str("type", "text")
		o.raw("text", value)
		block = o.done()
	}
	a.blocks = append(a.blocks, bytes.Clone(block))
	a.text = append(a.text, bytes.Clone(value))
}

func (a *answer) addCall(s *source, key string, block []byte) {
	a.callKeys = append(a.callKeys, key)
	if a.callDate == "" {
		a.callDate = s.date
	}
	id := jsonl.Get(block, "id")
	if len(a.calls) > 0 {
		a.calls = append(a.calls, ',')
	}
	a.calls = slices.Grow(a.calls, len(block)+len(block)/8)
	a.calls = appendCall(a.calls, text(id), text(jsonl.Get(block, "name")), jsonl.Get(block, "input"))
	rest := newObject(64)
	for name, v := range jsonl.Fields(block) {
		switch {
		case name == "type", name == "id", name == "name", name == "input", blank(v):
		case name == "caller" && string(v) == `{"type":"direct"}`:
		default:
			rest.raw(name, v)
		}
	}
	if !rest.empty() {
		if a.callExtra == nil {
			a.callExtra = newObject(128)
		}
		a.callExtra.raw(text(id), rest.done())
	}
}

// appendCall appends a call in the shape of the format. input is JSON.
func appendCall(dst []byte, id, name string, input []byte) []byte {
	if len(input) == 0 {
		input = []byte("{}")
	}
	return appendQuotedCall(dst, id, name, quote(string(input)))
}

// appendQuotedCall is appendCall for an input that is quoted already.
func appendQuotedCall(dst []byte, id, name string, input []byte) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonl.AppendString(dst, id)
	dst = append(dst, `,"type":"function","function":{"name":`...)
	dst = jsonl.AppendString(dst, name)
	dst = append(dst, `,"arguments":`...)
	dst = append(dst, input...)
	return append(dst, '}', '}')
}

func callsPayload(calls []byte) []byte {
	b := make([]byte, 0, len(calls)+16)
	b = append(b, `{"calls":[`...)
	b = append(b, calls...)
	return append(b, ']', '}')
}

// content is the content of the message: a string when it is only text.
func (a *answer) content() []byte {
	if a.plain && len(a.text) == 1 {
		return a.text[0]
	}
	if !a.plain {
		return joinArray(a.blocks)
	}
	var b []byte
	for i, t := range a.text {
		if i == 0 {
			b = append(b, '"')
		} else {
			b = append(b, `\n\n`...)
		}
		b = append(b, t[1:len(t)-1]...)
	}
	return append(b, '"')
}

func joinArray(elements [][]byte) []byte {
	size := 2
	for _, e := range elements {
		size += len(e) + 1
	}
	b := append(make([]byte, 0, size), '[')
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, e...)
	}
	return append(b, ']')
}

func (c *claude) putAnswer(a *answer) error {
	base := part{fork: a.head.fork, hidden: a.head.hidden, runID: text(jsonl.Get(a.msg, "id"))}
	if len(a.textKeys) > 0 {
		p := base
		p.kind, p.keys, p.date = kindMessage, a.textKeys, a.textDate
		p.payload = messagePayload("assistant", a.content())
		if err := c.r.out.put(p); err != nil {
			return err
		}
	}
	if len(a.callKeys) > 0 {
		p := base
		p.kind, p.keys, p.date, p.begins = kindToolCall, a.callKeys, a.callDate, a.begins
		p.payload = callsPayload(a.calls)
		if a.callExtra != nil {
			p.extra = a.callExtra.done()
		}
		if err := c.r.out.put(p); err != nil {
			return err
		}
	}
	if len(a.runKeys) == 0 {
		return nil
	}
	p := base
	p.kind, p.keys, p.date = kindEvent, a.runKeys, a.date
	p.payload = a.runPayload()
	return c.r.out.put(p)
}

// runPayload tells what the message cost. Its facts are the last line's: while
// a message is being written, its usage still grows.
func (a *answer) runPayload() []byte {
	data := newObject(len(a.msg) + 128)
	name := eventRun
	model := jsonl.Get(a.msg, "model")
	if string(model) == syntheticModel {
		// No model ran, and its usage of nothing must not count as the last.
		name = "run.synthetic"
	}
	for _, m := range [...]struct{ name, from string }{{"model", "model"}, {"usage", "usage"}, {"message_id", "id"}} {
		if v := jsonl.Get(a.msg, m.from); v != nil {
			data.raw(m.name, v)
		}
	}
	if a.request != nil {
		data.raw("request_id", a.request)
	}
	for field, v := range jsonl.Fields(a.msg) {
		switch {
		case field == "model", field == "usage", field == "id", field == "role", field == "type":
		case field == "stop_reason":
			data.raw(field, v)
		case !blank(v):
			data.raw(field, v)
		}
	}
	if a.extra != nil {
		data.raw("record", a.extra.done())
	}
	return eventPayload(name, data.done())
}
