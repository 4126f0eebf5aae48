// Package claudecode reads the sessions of Claude Code.
//
// It writes them as lines that form a tree: each has a uuid and names its parent. One
// answer of the model is several lines with the same message.id; a tool's result is a
// user line; compactions, progress and snapshots are lines of their own.
//
// Reading goes twice over the file: the first pass, a scan, keeps a small record of each
// line; then the records are put in order; the second pass, a reader, fetches each line
// by its place and makes entries of it.
package claudecode

import (
	"bytes"
	"context"

	"tape/internal/importer/record"
	"tape/internal/jsonl"
)

// reader is the second pass over a session: it makes entries.
type reader struct {
	*scan
	win    record.Window
	groups []record.Group // of calls, by tape
	hello  map[uint16]bool
}

// Read makes the entries of a session, or of the file that a subagent has for itself.
func Read(ctx context.Context, r *record.Reading) error {
	start, err := open(ctx, r.Source)
	if err != nil {
		return err
	}
	sc := newScan(r, start)
	if err := record.Each(ctx, r.Source, whole, nil, sc); err != nil {
		return err
	}
	order := sc.order()
	c := &reader{scan: sc, win: record.Window{Source: r.Source}, groups: make([]record.Group, len(sc.tapes)), hello: map[uint16]bool{}}
	sc.counts = nil
	for n, i := range order {
		if n%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		c.passed(i)
		if c.recs[i].is(flagDuplicate | flagMember) {
			continue
		}
		if err := c.emit(i); err != nil {
			return err
		}
	}
	for t := range c.groups {
		if err := c.flush(uint16(t)); err != nil {
			return err
		}
	}
	for i := range c.recs {
		if r := &c.recs[i]; r.kind != kindDamaged && !r.is(flagFresh) {
			c.r.Stats.Skipped++
		}
	}
	return nil
}

// source is a record fetched for the second pass.
type source struct {
	line   // of a relayed record the one inside
	i      int32
	fork   string
	key    string
	date   string
	hidden bool
}

// parsed reads the line of a record by its place. It is valid until the next one.
func (c *reader) parsed(i int32) (l line, err error) {
	raw, err := c.win.At(c.recs[i].at())
	if err == nil {
		l.parse(raw)
	}
	return l, err
}

// fetch reads a record. The result is valid until the next fetch.
func (c *reader) fetch(i int32) (source, error) {
	r := &c.recs[i]
	l, err := c.parsed(i)
	if err != nil {
		return source{}, err
	}
	s := source{line: l, i: i, fork: c.tapes[r.tape], hidden: r.is(flagAbandoned) && r.tape == 0}
	if r.is(flagRelayed) {
		s.parse(l.inner)
		if s.uuid == nil {
			s.uuid = l.uuid
		}
		if s.timestamp == nil {
			s.timestamp = l.timestamp
		}
	}
	switch {
	case s.uuid != nil:
		s.key = record.Text(s.uuid)
	case r.is(flagNoID):
		s.key = record.ContentKey(s.raw, int(r.parent))
	}
	if s.date = record.Date(s.timestamp); s.date == "" {
		s.date = record.Date(jsonl.Get(s.raw, "snapshot", "timestamp"))
	}
	return s, nil
}

// fetchMember is fetch for a record that is not the head of its group. What is told
// beside its message comes first.
func (c *reader) fetchMember(i int32) (source, error) {
	s, err := c.fetch(i)
	if err == nil && c.recs[i].is(flagMoved) {
		err = c.environmentEvent(&s)
	}
	if err == nil && c.recs[i].is(flagRelayed) {
		err = c.introduce(&s)
	}
	return s, err
}

// fresh reports whether the tape lacks a part of a record, and notes that the
// record gave something new.
func (c *reader) fresh(s *source, key string) bool {
	if c.r.Seen(s.fork, key) {
		return false
	}
	c.recs[s.i].flags |= flagFresh
	return true
}

// put emits an entry made from one record, unless the tape has it.
func (c *reader) put(s *source, p record.Part) error {
	if !c.fresh(s, p.Keys[0]) {
		return nil
	}
	p.Fork, p.Hidden = s.fork, s.hidden
	return c.r.Put(p)
}

func (c *reader) emit(i int32) error {
	r := &c.recs[i]
	if r.kind == kindDamaged {
		return c.r.PutDamaged(c.tapes[r.tape], r.at(), c.reasons[i], &c.counts)
	}
	s, err := c.fetchMember(i)
	if err != nil {
		return err
	}
	switch r.kind {
	case kindAssistant:
		return c.assistant(&s)
	case kindUser:
		return c.user(&s)
	case kindBoundary, kindDigest:
		return c.compaction(&s)
	case kindClear:
		return c.cleared(&s)
	case kindSummary:
		return c.summary(&s)
	}
	return c.other(&s)
}

// environmentEvent tells what of the envelope changed with a record.
func (c *reader) environmentEvent(s *source) error {
	l, err := c.parsed(s.i)
	if err != nil {
		return err
	}
	data := record.NewObject(128)
	for j, name := range envelope {
		if c.moved[s.i]&(1<<j) != 0 && l.env[j] != nil {
			data.Raw(name, l.env[j])
		}
	}
	return c.put(s, record.Event(s.key+"/env", s.date, "environment", data.Done()))
}

// introduce says once for a subagent which call started it, and keeps what
// progress tells beyond the subagent's message.
func (c *reader) introduce(s *source) error {
	outer, err := c.parsed(s.i)
	if err != nil {
		return err
	}
	if tape := c.recs[s.i].tape; !c.hello[tape] {
		c.hello[tape] = true
		data := record.NewObject(256).Raw("agent_id", outer.agent)
		if outer.call != nil {
			data.Raw("call_id", outer.call)
		}
		if p := jsonl.Get(outer.data, "prompt"); p != nil && !bytes.Contains(outer.inner, p) {
			data.Raw("prompt", p)
		}
		if err := c.put(s, record.Event("agent:"+record.Text(outer.agent), s.date, "agent", data.Done())); err != nil {
			return err
		}
	}
	rest := record.NewObject(64).Rest(outer.data, "type", "agentId", "message", "prompt")
	if rest.Empty() || outer.uuid == nil {
		return nil
	}
	return c.put(s, record.Event(record.Text(outer.uuid)+"/progress", s.date, "progress.agent_progress", rest.Done()))
}

// other makes an event of a record that is not part of the conversation.
func (c *reader) other(s *source) error {
	name, sub := s.typ, s.subtype
	if name == "" {
		name = "record"
	}
	for _, in := range [][]byte{s.data, s.get("attachment")} {
		if sub == "" {
			sub = jsonl.GetString(in, "type")
		}
	}
	if sub != "" {
		name += "." + sub
	}
	data := record.NewObject(len(s.raw))
	flat := jsonl.IsObject(s.data)
	for field, v := range jsonl.Fields(s.raw) {
		switch {
		case told(field):
		case field == "subtype" && s.subtype != "":
		case field == "data" && flat:
			data.All(v, "type")
		case flat && jsonl.Get(s.data, field) != nil:
			data.Raw("record."+field, v)
		default:
			data.Raw(field, v)
		}
	}
	return c.put(s, record.Event(s.key, s.date, name, data.Done()))
}
