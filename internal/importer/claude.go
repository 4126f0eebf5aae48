package importer

import (
	"bytes"

	"tape/internal/jsonl"
)

// claude is the second pass over a Claude Code session: it makes entries.
type claude struct {
	*claudeScan
	win   window
	turns []turn // by tape
	line  claudeLine
	hello map[uint16]bool // subagents that have been introduced
}

func readClaude(r *reading) error {
	opening, err := claudeOpening(r)
	if err != nil {
		return err
	}
	scan := newClaudeScan(r, opening.agent)
	for i, v := range opening.env {
		if v != nil {
			scan.env[0][i], scan.env[scan.home][i] = scan.hash(v), scan.hash(v)
		}
	}
	if err := eachLine(r.ctx, r.src, wholeClaude, scan); err != nil {
		return err
	}
	order := scan.order()
	c := &claude{claudeScan: scan, win: window{src: r.src}, turns: make([]turn, len(scan.tapes)), hello: map[uint16]bool{}}
	scan.counts = counter{}
	for n, i := range order {
		if n%256 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		c.launches.passed(i)
		if c.recs[i].is(flagDuplicate | flagMember) {
			continue
		}
		if err := c.emit(i); err != nil {
			return err
		}
	}
	for t := range c.turns {
		if err := c.flush(uint16(t)); err != nil {
			return err
		}
	}
	for i := range c.recs {
		if r := &c.recs[i]; r.kind != claudeDamaged && !r.is(flagFresh) {
			c.r.stats.Skipped++
		}
	}
	return nil
}

// source is a record fetched for the second pass.
type source struct {
	i      int32
	fork   string
	key    string
	date   string
	hidden bool
	line   *claudeLine
	raw    []byte
	msg    []byte // the message, of a relayed record the one inside
}

// fetch reads a record by its place. The result is valid until the next fetch.
func (c *claude) fetch(i int32) (source, error) {
	r := &c.recs[i]
	raw, err := c.win.at(r.at())
	if err != nil {
		return source{}, err
	}
	c.line.parse(raw)
	l := &c.line
	s := source{i: i, fork: c.tapes[r.tape], line: l, raw: raw, msg: l.message}
	s.hidden = r.is(flagAbandoned) && r.tape == 0
	if r.is(flagRelayed) {
		outer := *l
		l.parse(outer.inner)
		s.raw = outer.inner
		s.msg = l.message
		if l.uuid == nil {
			l.uuid = outer.uuid
		}
		if l.timestamp == nil {
			l.timestamp = outer.timestamp
		}
	}
	switch {
	case l.uuid != nil:
		s.key = text(l.uuid)
	case r.is(flagNoID):
		s.key = contentKey(raw, int(r.parent))
	}
	s.date = normalDate(l.timestamp)
	if s.date == "" {
		s.date = normalDate(jsonl.Get(raw, "snapshot", "timestamp"))
	}
	return s, nil
}

// fetchMember is fetch for a record that is not the head of its group. What is told
// beside its message comes first.
func (c *claude) fetchMember(i int32) (source, error) {
	s, err := c.fetch(i)
	if err != nil {
		return s, err
	}
	if c.recs[i].is(flagMoved) {
		if err := c.environmentEvent(&s); err != nil {
			return s, err
		}
	}
	if !c.recs[i].is(flagRelayed) {
		return s, nil
	}
	if err := c.introduce(&s); err != nil {
		return s, err
	}
	// introduce reads the record around the message again.
	return c.fetch(i)
}

// fresh reports whether the tape lacks a part of a record, and notes that the
// record gave something new.
func (c *claude) fresh(s *source, key string) bool {
	if c.r.out.seen(s.fork, key) {
		return false
	}
	c.recs[s.i].flags |= flagFresh
	return true
}

// put emits an entry made from one record, unless the tape has it.
func (c *claude) put(s *source, key, kind string, payload, extra []byte) error {
	if !c.fresh(s, key) {
		return nil
	}
	return c.r.out.put(part{
		fork: s.fork, kind: kind, payload: payload, keys: []string{key},
		date: s.date, hidden: s.hidden, extra: extra,
	})
}

func (c *claude) emit(i int32) error {
	r := &c.recs[i]
	if r.kind == claudeDamaged {
		at := r.at()
		return c.r.putDamaged(c.tapes[r.tape], at, c.reasons[i], &c.counts)
	}
	s, err := c.fetchMember(i)
	if err != nil {
		return err
	}
	switch r.kind {
	case claudeAssistant:
		return c.assistant(i)
	case claudeUser:
		return c.user(&s)
	case claudeBoundary, claudeDigest:
		return c.compaction(i)
	case claudeClear:
		return c.cleared(&s)
	case claudeSummary:
		return c.summary(&s)
	}
	return c.other(&s)
}

// environmentEvent tells what of the envelope changed with a record.
func (c *claude) environmentEvent(s *source) error {
	key := s.key + "/env"
	if !c.fresh(s, key) {
		return nil
	}
	l := s.line
	if c.recs[s.i].is(flagRelayed) {
		raw, err := c.win.at(c.recs[s.i].at())
		if err != nil {
			return err
		}
		l = new(claudeLine)
		l.parse(raw)
	}
	data := newObject(128)
	for j, name := range envelope {
		if c.moved[s.i]&(1<<j) != 0 && l.env[j] != nil {
			data.raw(name, l.env[j])
		}
	}
	return c.put(s, key, kindEvent, eventPayload(eventEnvironment, data.done()), nil)
}

// introduce says once for a subagent which call started it, and keeps what
// progress tells beyond the subagent's message.
func (c *claude) introduce(s *source) error {
	r := &c.recs[s.i]
	raw, err := c.win.at(r.at())
	if err != nil {
		return err
	}
	var outer claudeLine
	outer.parse(raw)
	if !c.hello[r.tape] {
		c.hello[r.tape] = true
		data := newObject(256)
		data.raw("agent_id", outer.agent)
		if call := jsonl.Get(raw, "parentToolUseID"); call != nil {
			data.raw("call_id", call)
		}
		if p := jsonl.Get(outer.data, "prompt"); p != nil && !bytes.Contains(outer.inner, p) {
			data.raw("prompt", p)
		}
		err := c.put(s, "agent:"+text(outer.agent), kindEvent, eventPayload("agent", data.done()), nil)
		if err != nil {
			return err
		}
	}
	rest := newObject(64)
	for name, v := range jsonl.Fields(outer.data) {
		switch name {
		case "type", "agentId", "message", "prompt":
		default:
			if !blank(v) {
				rest.raw(name, v)
			}
		}
	}
	if rest.empty() || outer.uuid == nil {
		return nil
	}
	return c.put(s, text(outer.uuid)+"/progress", kindEvent, eventPayload("progress.agent_progress", rest.done()), nil)
}

// other makes an event of a record that is not part of the conversation.
func (c *claude) other(s *source) error {
	l := s.line
	name := l.typ
	if name == "" {
		name = "record"
	}
	sub := l.subtype
	for _, in := range [][]byte{l.data, l.attach} {
		if sub == "" {
			sub = jsonl.GetString(in, "type")
		}
	}
	if sub != "" {
		name += "." + sub
	}
	data := newObject(len(s.raw))
	flat := jsonl.IsObject(l.data)
	for field, v := range jsonl.Fields(s.raw) {
		switch {
		case claudeEnvelope(field):
		case field == "subtype" && l.subtype != "":
		case field == "data" && flat:
			for inner, v := range jsonl.Fields(v) {
				if inner != "type" {
					data.raw(inner, v)
				}
			}
		case flat && jsonl.Get(l.data, field) != nil:
			data.raw("record."+field, v)
		default:
			data.raw(field, v)
		}
	}
	return c.put(s, s.key, kindEvent, eventPayload(name, data.done()), nil)
}

// claudeEnvelope reports whether a field is about the line and not in it.
func claudeEnvelope(field string) bool {
	switch field {
	case "type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "agentId", "timestamp":
		return true
	}
	return envelopeIndex(field) >= 0
}

// Fields of user and assistant lines that entries have in other ways.
var (
	userFields      = []string{"message", "toolUseResult", "sourceToolAssistantUUID", "isCompactSummary", "isVisibleInTranscriptOnly"}
	assistantFields = []string{"message", "requestId"}
)

// leftovers is what a line has beyond what is told of it elsewhere.
func (s *source) leftovers(told []string) []byte {
	if !s.line.more {
		return nil
	}
	return leftovers(s.raw, told)
}

// leftovers is an owned object of the fields of a record that are not told
// otherwise, or nil.
func leftovers(raw []byte, told []string) []byte {
	var o *object
fields:
	for name, v := range jsonl.Fields(raw) {
		if claudeEnvelope(name) || blank(v) {
			continue
		}
		for _, t := range told {
			if name == t {
				continue fields
			}
		}
		if o == nil {
			o = newObject(64)
		}
		o.raw(name, v)
	}
	if o == nil {
		return nil
	}
	return o.done()
}
