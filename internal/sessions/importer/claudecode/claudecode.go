// Package claudecode reads the sessions of Claude Code, and what it prints for programs ([Stream]).
//
// A session is a file of lines that form a tree: each has a uuid and the uuid of its parent. An answer
// of the model is several lines with the same message.id; a tool's result is a user line; compactions,
// progress and snapshots are lines of their own.
//
// A file is read twice. The first pass, the scan, keeps a small record of each line. Then the records
// are put in order. The second pass, the reader, reads each line by its place and makes entries.
package claudecode

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// reader is the second pass over a session, which makes the entries.
type reader struct {
	*scan
	win        record.Window
	groups     []record.Group  // of calls, by tape
	introduced map[uint16]bool // tapes of subagents
}

// Read makes the entries of a session, or of a subagent's own file.
func Read(ctx context.Context, r *record.Reading) error {
	start, err := begin(ctx, r)
	if err != nil {
		return err
	}
	sc := newScan(r, start)
	if err := record.Each(ctx, r.Source, isRecord, nil, sc); err != nil {
		return err
	}
	if r.From != nil && !sc.fits() {
		return record.ErrNotRestartable
	}
	order := sc.order()
	c := &reader{scan: sc, win: record.Window{Source: r.Source}, groups: make([]record.Group, len(sc.tapes)), introduced: map[uint16]bool{}}
	counts := sc.counts
	sc.counts = record.Counter{} // from here on, of damaged lines
	end := len(order)
	if r.Open {
		end = c.finalRecords(order)
	}
	c.emitAll(ctx, order[:end])
	if !r.Open {
		for t := range c.groups {
			c.flush(uint16(t))
		}
	}
	if r.Last != nil {
		c.saveState(start, &counts)
	}
	return ctx.Err()
}

// emitAll makes the entries of records, in the order of the tape.
func (c *reader) emitAll(ctx context.Context, order []int32) {
	furthest := int32(-1) // the last record in the file so far
	for n, i := range order {
		if ctx.Err() != nil || c.r.Enough() {
			return
		}
		if l := c.last[i]; l != nil {
			l.passed = true
		}
		r := &c.recs[i]
		if r.is(flagPrompt) && r.tape == c.home && !r.is(flagDuplicate) {
			c.flush(c.home)
			if i == c.prompt && n == int(i) && furthest < i {
				c.mark(i)
			}
		}
		furthest = max(furthest, i)
		if !r.is(flagDuplicate | flagMember) {
			c.emit(i)
		}
	}
}

// source is a record that the second pass has read.
type source struct {
	line   // the relayed one if there is one
	i      int32
	fork   string
	key    string
	date   string
	hidden bool
}

// parsed reads the line of a record. It is valid until the next call.
func (c *reader) parsed(i int32) (l line) {
	raw, err := c.win.At(c.recs[i].at())
	c.r.Fail(err)
	l.parse(raw)
	return l
}

// fetch reads a record. The result is valid until the next fetch.
func (c *reader) fetch(i int32) source {
	r, l := &c.recs[i], c.parsed(i)
	s := source{line: l, i: i, fork: c.tapes[r.tape], hidden: r.is(flagAbandoned) && r.tape == 0}
	if r.is(flagRelayed) {
		s.parse(l.inner)
		s.uuid, s.timestamp = record.Or(s.uuid, l.uuid), record.Or(s.timestamp, l.timestamp)
	}
	switch {
	case s.uuid != nil && r.is(flagAnother):
		s.key = record.ContentKey(slices.Concat(s.uuid, s.said()), 1)
	case s.uuid != nil:
		s.key = record.Text(s.uuid)
	case r.is(flagNoID):
		s.key = record.ContentKey(s.raw, int(r.parent))
	}
	if s.date = record.Date(s.timestamp); s.date == "" {
		s.date = record.Date(jsonl.Get(s.raw, "snapshot", "timestamp"))
	}
	return s
}

// fetchMember is fetch, but first emits what the line says besides its message.
func (c *reader) fetchMember(i int32) source {
	s := c.fetch(i)
	if c.recs[i].is(flagMoved) {
		c.environmentEvent(&s)
	}
	if c.recs[i].is(flagRelayed) {
		c.introduce(&s)
	}
	return s
}

// fresh reports whether the tape lacks an entry with that key.
func (c *reader) fresh(s *source, key string) bool {
	stored := c.r.Seen(s.fork, key)
	if stored {
		c.r.Skipped(s.date)
		if s.hidden {
			c.r.WasTakenBack(key)
		}
	}
	return !stored
}

// put emits an entry of one record, unless the tape has it.
func (c *reader) put(s *source, p record.Entry) {
	if !c.fresh(s, p.Keys[0]) {
		return
	}
	p.Fork, p.Hidden, p.Copied = s.fork, s.hidden, s.forked
	c.r.Put(p)
}

func (c *reader) emit(i int32) {
	r := &c.recs[i]
	if r.kind == kindDamaged {
		c.r.PutDamaged(c.tapes[r.tape], r.at(), c.reasons[i], &c.counts)
		return
	}
	s := c.fetchMember(i)
	if r.is(flagQueued) {
		c.queued(&s)
		return
	}
	switch r.kind {
	case kindAssistant:
		c.assistant(&s)
	case kindUser:
		c.user(&s)
	case kindBoundary, kindDigest:
		c.compaction(&s)
	case kindClear:
		c.cleared(&s)
	case kindTitle:
		c.title(&s)
	default:
		c.other(&s)
	}
}

// environmentEvent emits the fields of the envelope that changed with a record.
func (c *reader) environmentEvent(s *source) {
	l := c.parsed(s.i)
	data := record.NewObject(128)
	for j, name := range envelope {
		if c.moved[s.i]&(1<<j) != 0 && l.env[j] != nil {
			data.Raw(name, l.env[j])
		}
	}
	c.put(s, record.Event(s.key+"/env", s.date, "environment", data.Done()))
}

// introduce emits which call started a subagent, once for each subagent, and then the other fields of the
// progress.
func (c *reader) introduce(s *source) {
	outer := c.parsed(s.i)
	if tape := c.recs[s.i].tape; !c.introduced[tape] {
		c.introduced[tape] = true
		data := record.NewObject(256).Raw("agent_id", outer.agent)
		data.Raw("call_id", outer.call)
		if p := jsonl.Get(outer.data, "prompt"); p != nil && !bytes.Contains(outer.inner, p) {
			data.Raw("prompt", p)
		}
		c.put(s, record.Event("agent:"+record.Text(outer.agent), s.date, "agent", data.Done()))
	}
	rest := record.NewObject(64).Rest(outer.data, "type", "agentId", "message", "prompt")
	if !rest.Empty() && outer.uuid != nil {
		c.put(s, record.Event(record.Text(outer.uuid)+"/progress", s.date, "progress.agent_progress", rest.Done()))
	}
}

// other emits an event for a record that is not part of the conversation.
func (c *reader) other(s *source) {
	name := cmp.Or(s.typ, "record")
	sub := cmp.Or(s.subtype, jsonl.GetString(s.data, "type"), jsonl.GetString(s.get("attachment"), "type"))
	if sub != "" {
		name += "." + sub
	}
	data := record.NewObject(len(s.raw))
	flat := jsonl.IsObject(s.data)
	for field, v := range jsonl.Fields(s.raw) {
		switch {
		case isLineField(field):
		case field == "subtype" && s.subtype != "":
		case field == "data" && flat:
			data.All(v, "type")
		case flat && jsonl.Get(s.data, field) != nil:
			data.Raw("record."+field, v)
		default:
			data.Raw(field, v)
		}
	}
	c.put(s, record.Event(s.key, s.date, name, data.Done()))
}
