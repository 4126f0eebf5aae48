// Package codex reads the sessions of Codex, and what it prints for programs ([Exec]).
//
// A session is a file of lines {timestamp, type, payload}; the first versions wrote payloads alone. A
// response_item went to the model or came from it. An event_msg is what the screen showed. Most of
// these repeat a response_item, so an event_msg counts only if no response_item says the same.
package codex

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"io"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type item struct {
	typ      string // of the envelope
	kind     string // of the payload
	payload  []byte
	date     string
	repeated bool // a response item says the same as this event
	hidden   bool // it was taken back

	scope  string // see lineage
	copied bool   // from another session
}

func parse(raw []byte) item {
	var it item
	var typ []byte
	for name, v := range jsonl.Fields(raw) {
		switch name {
		case "timestamp":
			it.date = record.Date(v)
		case "type":
			typ = v
		case "payload":
			it.payload = v
		}
	}
	it.typ = record.Text(typ)
	switch {
	case jsonl.IsObject(it.payload):
		it.kind = jsonl.GetString(it.payload, "type")
		if it.kind == "" && it.typ == "response_item" && jsonl.Get(it.payload, "role") != nil {
			it.kind = "message"
		}
	case it.typ != "":
		it.typ, it.kind, it.payload = "response_item", it.typ, raw
	case jsonl.Get(raw, "id") != nil && jsonl.Get(raw, "timestamp") != nil:
		it.typ, it.payload = "session_meta", raw
	default:
		it.typ, it.payload = jsonl.GetString(raw, "record_type"), raw
	}
	return it
}

func (it item) str(name string) string { return jsonl.GetString(it.payload, name) }

// repeats yields what both an event_msg and a response_item may say.
func (it item) repeats(yield func(who, said string)) {
	switch {
	case it.typ == "response_item" && it.kind == "message":
		content := jsonl.Get(it.payload, "content")
		if plain, all := record.Plain(content); all {
			yield(it.str("role"), record.Text(plain))
		} else if said := besidePictures(content); said != "" {
			yield(it.str("role"), said)
		}
	case it.typ == "response_item" && it.kind == "reasoning":
		for _, list := range []string{"summary", "content"} {
			for el := range jsonl.Elements(jsonl.Get(it.payload, list)) {
				yield("reasoning", jsonl.GetString(el, "text"))
			}
		}
	case it.typ == "event_msg" && it.kind == "item_completed":
		completedSays(jsonl.Get(it.payload, "item"), yield)
	case it.typ == "event_msg":
		switch it.kind {
		case "user_message":
			yield("user", it.str("message"))
		case "agent_message":
			yield("assistant", it.str("message"))
		case "agent_reasoning", "agent_reasoning_raw_content":
			yield("reasoning", it.str("text"))
		}
	}
}

// besidePictures returns the text of a message that also has pictures. The program puts each picture between texts such
// as <image name=[Image #1]>, which the event with the same message does not have.
func besidePictures(content []byte) string {
	var texts []string
	for part := range jsonl.Elements(content) {
		text := jsonl.GetString(part, "text")
		if trimmed := strings.TrimSpace(text); trimmed != "" && !strings.HasPrefix(trimmed, "<image") && trimmed != "</image>" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// completedSays yields what a completed item says: newer versions repeat items in events.
func completedSays(item []byte, yield func(who, said string)) {
	who := map[string]string{"UserMessage": "user", "AgentMessage": "assistant"}[jsonl.GetString(item, "type")]
	switch {
	case jsonl.GetString(item, "type") == "Reasoning":
		for _, list := range []string{"summary_text", "raw_content"} {
			for el := range jsonl.Elements(jsonl.Get(item, list)) {
				yield("reasoning", record.Text(el))
			}
		}
	case who != "":
		var texts []string
		for el := range jsonl.Elements(jsonl.Get(item, "content")) {
			text := jsonl.Get(el, "text")
			if text == nil {
				return // it is not all text; the response item has it
			}
			texts = append(texts, record.Text(text))
		}
		yield(who, strings.Join(texts, "\n\n"))
	}
}

func saidHash(who, said string) []byte {
	hash := sha256.New()
	said = strings.TrimSpace(said)
	hash.Write([]byte(who + "\x00"))
	_, _ = io.Copy(hash, io.LimitReader(strings.NewReader(said), int64(len(said)))) // without a copy of all of it
	return hash.Sum(nil)
}

func saidSum(who, said string) record.Sum { return record.Sum(saidHash(who, said)) }

// saidKey counts what somebody said, and returns its key.
func (c *reader) saidKey(who, said string) string {
	return "said:" + c.part + c.said.HashKey(saidHash(who, said))
}

type reader struct {
	record.Conversation
	turn
	lineage
	part    string         // begins the keys in a file with which a session goes on, for people say things twice
	said    record.Counter // what was said so far
	context []byte         // the present turn context, without the ids of its turn
	model   []byte
	own     int64             // ordinal of a subagent's first own record, after its parent's history; 0: all are its own
	first   int64             // the offset of the session's first record; -1 until it was read
	details map[string][]byte // the program's details of calls that have no result yet

	rolledBack record.TakenBack
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}, first: -1, details: map[string][]byte{}}
	if r.From != nil {
		c.restoreState(record.State(r.From.State))
	}
	var err error
	if c.rolledBack, err = findRolledBack(ctx, r); err != nil {
		return err
	}
	err = record.Each(ctx, r.Source, isRecord, nil, c)
	if !r.Open || r.Idle {
		c.releaseAll()
	}
	if !r.Open {
		c.putDetails()
		c.putName()
	}
	c.End()
	if r.Last != nil {
		c.saveState()
	}
	return err
}

func isRecord(raw []byte) bool {
	return jsonl.Get(raw, "payload") != nil && jsonl.Get(raw, "timestamp") != nil
}

// saveState stores what restoreState needs.
func (c *reader) saveState() {
	var s record.State
	s.Counter(&c.Counts)
	s.Counter(&c.said)
	s.Counter(&c.items)
	s.Bytes(c.marked.context)
	s.Bytes(c.marked.model)
	s.Bytes([]byte(c.marked.scope))
	s.Counter(&c.facts)
	recorded := ""
	if c.marked.recorded {
		recorded = usageRecord
	}
	s.Bytes([]byte(recorded))
	s.Bytes([]byte(c.part))
	c.Last.State = s
}

func (c *reader) restoreState(s record.State) {
	c.Counts, c.said, c.items = s.TakeCounter(), s.TakeCounter(), s.TakeCounter()
	c.context, c.model = s.TakeBytes(), s.TakeBytes()
	c.scope, c.facts = string(s.TakeBytes()), s.TakeCounter()
	c.recorded = len(s.TakeBytes()) > 0
	c.part = string(s.TakeBytes())
	c.first = 0
}

// emit makes the entry of a record.
func (c *reader) emit(it item, key string) {
	if it.hidden != c.Hidden {
		c.Flush()
		c.Hidden = it.hidden
	}
	switch it.typ {
	case "response_item":
		c.item(it, key)
	case "event_msg":
		c.event(it, key)
	case usageRecord:
		c.usage(it, key)
	case "turn_context":
		if m := jsonl.Get(it.payload, "model"); m != nil {
			c.model = bytes.Clone(m)
		}
		now := record.Without(it.payload, "turn_id", "root_turn_id")
		if bytes.Equal(now, c.context) {
			return
		}
		c.context = now
		c.Put(record.Event(key, it.date, "turn_context", it.payload))
	case continuation:
		c.Put(record.Event(key, it.date, record.EventPart, it.payload))
	case "compacted":
		state := record.NewObject(len(it.payload)+16).As(it.payload, map[string]string{"message": "summary"})
		c.Put(record.Anchor(key, it.date, "compaction", state.Done()))
	default:
		name := cmp.Or(it.typ, "record")
		if it.kind != "" {
			name += "." + it.kind
		}
		c.Put(record.Event(key, it.date, name, record.Without(it.payload, "type")))
	}
}

// Describe reads a session up to its first turn.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	err := record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		if !at.Opens() {
			info.Complete = true
			return false
		}
		it := parse(raw)
		info.Started = cmp.Or(info.Started, it.date)
		switch {
		case it.typ == "turn_context":
			if m := jsonl.Get(it.payload, "model"); m != nil && info.State != nil {
				info.State = record.With(info.State, "model", m)
			}
			info.Complete = true
			return false
		case it.typ == "session_meta" && info.Session == "": // a second one is from the session that this one was forked from
			describe(it, info)
		}
		return true
	})
	if string(info.State) == "{}" {
		info.State = nil
	}
	return err
}

// describe reads a session's first record. In a subagent's file, that names the session and the thread
// that started the subagent.
func describe(it item, info *record.Info) {
	info.Session = it.str("id")
	info.State = pick(it.payload, "cwd", "cli_version", "originator", "source", "model_provider", "git")
	parent := cmp.Or(it.str("parent_thread_id"), jsonl.GetString(it.payload, "source", "subagent", "thread_spawn", "parent_thread_id"))
	switch forked := jsonl.Get(it.payload, "forked_from_id"); {
	case parent != "":
		info.Agent, info.Session = "agent-"+info.Session, cmp.Or(it.str("session_id"), parent)
	case forked != nil:
		info.State = record.With(info.State, "forked_from", forked)
	}
}
