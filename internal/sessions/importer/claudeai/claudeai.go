// Package claudeai reads conversations from the export of claude.ai.
//
// The export has a file conversations.json: an array of conversations {uuid, name, chat_messages}. A message
// has a sender and a list of content: texts, thinking, calls and results. Newer exports name each message's
// parent: when a question is edited, or an answer is made again, a branch begins. The export has the text of
// attachments, but only the names of files and pictures, and no names of models. Anthropic does not document the
// format; it is known from people's exports.
package claudeai

import (
	"cmp"
	"context"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	*record.Forked
	record.Once
	counts record.Counter
	calls  map[string]string // the last call, by fork
}

// Read makes the entries of a conversation. Abandoned branches are forks.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Forked: record.NewForked(r), calls: map[string]string{}}
	err := record.EachSession(ctx, r.Source, isRecord, c)
	c.End()
	return err
}

func isRecord(raw []byte) bool { return jsonl.Get(raw, "chat_messages") != nil }

// Record makes the entries of a conversation.
func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	clear(c.calls)
	date := record.Date(jsonl.Get(raw, "created_at"))
	key := c.Key(jsonl.GetString(raw, "uuid"), raw)
	if key == "" {
		return
	}
	about := record.NewObject(256).Rest(raw, "chat_messages", "name", "created_at", "updated_at", "account", "summary", "current_leaf_message_uuid")
	c.In("").Put(record.Event(key, date, "session", about.Done()))
	if title := jsonl.GetString(raw, "name"); title != "" {
		data := record.NewObject(64).Str("title", title).Done()
		c.In("").Put(record.Event(key+"/title/"+c.counts.Key(data), date, "tape.title", data))
	}
	if summary := jsonl.GetString(raw, "summary"); summary != "" { // it grows with the conversation
		data := record.NewObject(len(summary)).Str("text", summary).Done()
		c.In("").Put(record.Event(key+"/summary/"+c.counts.Key(data), date, "session.summary", data))
	}
	var nodes []record.Node
	before := ""
	for m := range jsonl.Elements(jsonl.Get(raw, "chat_messages")) {
		n := record.Node{ID: jsonl.GetString(m, "uuid"), Parent: jsonl.GetString(m, "parent_message_uuid"), Raw: m}
		if n.Parent == "" { // older exports do not say
			n.Parent = before
		}
		nodes, before = append(nodes, n), n.ID
	}
	for _, n := range record.Tree(nodes, jsonl.GetString(raw, "current_leaf_message_uuid")) {
		c.message(n)
	}
}

func (c *reader) message(n record.Node) {
	key := c.Key(n.ID, n.Raw)
	if key == "" {
		return
	}
	e := element{reader: c, Conversation: c.In(n.Fork), fork: n.Fork, key: key, raw: n.Raw, date: record.Date(jsonl.Get(n.Raw, "created_at"))}
	switch sender := jsonl.GetString(n.Raw, "sender"); sender {
	case "human":
		e.person()
	case "assistant":
		e.answer()
	default:
		data := n.Raw
		if !jsonl.IsObject(data) {
			data = record.With(nil, "value", data)
		}
		e.Put(record.Event(key, e.date, "message."+cmp.Or(sender, "unknown"), record.Compact(data)))
	}
}

// Describe reads id and date of the conversation.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.ScanSession(ctx, src, isRecord, func(raw []byte) bool {
		info.Session, info.Complete = jsonl.GetString(raw, "uuid"), true
		info.Began(jsonl.Get(raw, "created_at"))
		return false
	})
}
