// Package opencode reads the sessions of opencode, as `opencode export` writes them, from its database, and from the files
// of older versions.
//
// A session is one document {info, messages: [{info, parts: […]}]}. Each step of the model is a message
// with texts, reasoning, and calls with their results as its parts. A compaction is a user message that
// asks for it, and a message with the summary. The session's title and the changes of a turn may change
// later.
package opencode

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	record.Conversation
	info    []byte // of the session
	last    []byte // message, emitted when the next one comes
	asked   bool   // a person has said something
	titled  bool
	date    string         // of the last message
	diffs   *record.Entry  // the changes of the turn, emitted at the turn's end
	more    []record.Entry // other members of the document
	compact []byte         // the part that asks for a summary, until that comes
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}}
	var err error
	if session := stored(r.Source); session != nil {
		err = c.files(ctx, session)
	} else {
		err = record.Each(ctx, r.Source, isRecord, c.field, c)
	}
	if c.last != nil && (!r.Open || complete(c.last)) {
		c.message(c.last)
	}
	if !r.Open {
		c.endTurn()
		c.endCompaction()
		c.title()
		for _, p := range c.more {
			c.Put(p)
		}
	}
	c.End()
	return err
}

// isRecord distinguishes messages from objects inside of them.
func isRecord(raw []byte) bool {
	return jsonl.Get(raw, "info") != nil && jsonl.Get(raw, "parts") != nil
}

// lasting are the fields of a session that do not change.
var lasting = []string{"id", "slug", "projectID", "workspaceID", "directory", "path", "parentID", "version"}

// field gets a member of the document besides the messages.
func (c *reader) field(name string, raw []byte) {
	if name == "fork" {
		return
	}
	if name != "info" {
		c.more = append(c.more, record.Event(c.Counts.Key(raw), "", "session."+name, record.With(nil, name, raw)))
		return
	}
	raw = ordered(raw)
	c.info = raw
	// A fork has copies of the messages, with other ids and the same dates (opencode's Session.fork).
	c.Own = record.Date(jsonl.Get(raw, "time", "created"))
	data := record.NewObject(256)
	for _, name := range lasting {
		if v := jsonl.Get(raw, name); v != nil && !record.Blank(v) {
			data.Raw(name, v)
		}
	}
	c.Put(record.Event(c.key(jsonl.GetString(raw, "id")), record.Date(jsonl.Get(raw, "time", "created")), "session", data.Done()))
}

// Record gets a message.
func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	if c.last != nil {
		c.message(c.last)
	}
	c.last = ordered(raw)
}

// key makes a key of an id. An id that is empty or comes again gets a number.
func (c *reader) key(id string) string {
	if n := c.Counts.Next(record.SumOf("id\x00" + id)); n > 1 || id == "" {
		return id + "#" + strconv.Itoa(n)
	}
	return id
}

// complete reports whether a message will not change.
func complete(raw []byte) bool {
	info := jsonl.Get(raw, "info")
	return jsonl.GetString(info, "role") == "user" || jsonl.Get(info, "time", "completed") != nil
}

// message makes the entries of a message.
func (c *reader) message(raw []byte) {
	info := jsonl.Get(raw, "info")
	m := &message{
		reader: c, info: info, id: c.key(jsonl.GetString(info, "id")), date: record.Date(jsonl.Get(info, "time", "created")),
		summary: string(jsonl.Get(info, "summary")) == "true",
	}
	parts := slices.Collect(jsonl.Elements(jsonl.Get(raw, "parts")))
	defer func() { c.date = m.date }()
	c.takeBack(jsonl.GetString(info, "id"))
	if !m.summary {
		c.endCompaction()
	}
	if jsonl.GetString(info, "role") == "user" {
		c.endTurn()
		m.person(parts)
		return
	}
	m.answer(parts)
}

// takeBack hides the messages from the one on to which the person went back with /undo. opencode removes them with the
// next prompt; until then session.revert says so.
func (c *reader) takeBack(id string) {
	revert := jsonl.Get(c.info, "revert")
	if to := jsonl.GetString(revert, "messageID"); to == "" || id != to || jsonl.Get(revert, "partID") != nil || c.Hidden {
		return
	}
	c.Flush()
	c.Hidden = true
}

// endTurn emits the changes of a turn, and after the first turn the session's title.
func (c *reader) endTurn() {
	if c.diffs != nil {
		c.Put(*c.diffs)
		c.diffs = nil
	}
	if c.asked {
		c.title()
	}
	c.asked = true
}

// title emits the session's title, once the program has found one.
func (c *reader) title() {
	title := jsonl.GetString(c.info, "title")
	if c.titled || title == "" || strings.HasPrefix(title, "New session - ") || strings.HasPrefix(title, "Child session - ") {
		return
	}
	c.titled = true
	c.Put(record.Event(c.key(jsonl.GetString(c.info, "id")+"/title"), c.date, "tape.title", record.NewObject(64).Str("title", title).Done()))
}

// endCompaction emits an event for a compaction that got no summary.
func (c *reader) endCompaction() {
	if part := c.compact; part != nil {
		c.compact = nil
		c.Put(record.Event(c.key(jsonl.GetString(part, "id")), c.date, "compaction", rest(part)))
	}
}

// rest returns a copy of a part without its ids and type.
func rest(part []byte, but ...string) []byte {
	return record.NewObject(len(part)).Rest(part, append(but, "id", "type", "sessionID", "messageID")...).Done()
}

// Describe reads the beginning of a session.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	session, err := stored(src), error(nil)
	if session == nil {
		err = record.Scan(ctx, src, isRecord, func(name string, raw []byte) {
			if name == "info" {
				session = raw
			}
		}, func(record.Span, []byte) bool { return false })
	}
	if session == nil {
		return err
	}
	info.Complete = true
	info.Session = jsonl.GetString(session, "id")
	info.Began(jsonl.Get(session, "time", "created"))
	// The model is not among these members: each answer has it.
	state := record.NewObject(256)
	state.Raw("cwd", directory(src, session)).Raw("version", jsonl.Get(session, "version"))
	info.State = state.OrNil()
	if parent := jsonl.GetString(session, "parentID"); parent != "" {
		info.Agent, info.Session = "agent-"+info.Session, parent
	}
	return err
}

// dateOf returns the date at which a part ended; if there is none, the date at which it began, or other.
func dateOf(raw []byte, other string) string {
	return cmp.Or(record.Date(jsonl.Get(raw, "time", "end")), record.Date(jsonl.Get(raw, "time", "start")), other)
}

// ordered returns a copy of a value without whitespace, and with members sorted by name: opencode's
// server and its exports have them in different orders.
func ordered(raw []byte) []byte {
	switch {
	case jsonl.IsObject(raw):
		members := record.MembersOf(raw)
		o := record.NewObject(len(raw))
		for _, name := range slices.Sorted(maps.Keys(members)) {
			o.Raw(name, ordered(members[name]))
		}
		return o.Done()
	case len(raw) > 0 && raw[0] == '[':
		var all [][]byte
		for el := range jsonl.Elements(raw) {
			all = append(all, ordered(el))
		}
		return record.Array(all)
	}
	return bytes.Clone(raw)
}
