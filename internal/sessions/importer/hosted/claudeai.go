package hosted

import (
	"cmp"
	"context"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// ClaudeAI is the format of the export of claude.ai.
//
// The export has a file conversations.json: an array of conversations {uuid, name, chat_messages}. A message
// has a sender and a list of content: texts, thinking, calls and results. Newer exports name each message's
// parent. The export has the text of attachments, but only the names of files and pictures, and no names of models.
var ClaudeAI = record.Format{
	Name: "claude-ai", Title: "claude.ai", Read: readClaudeAI, Describe: describeClaudeAI, Many: true,
	Record: func(m record.Members) record.Confidence { return record.Certain.If(m.Has("uuid", "chat_messages")) },
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"uuid"`, `"chat_messages"`))
	},
}

type claudeAI struct{ reader }

// readClaudeAI makes the entries of a conversation. Abandoned branches are forks.
func readClaudeAI(ctx context.Context, r *record.Reading) error {
	c := &claudeAI{newReader(r)}
	err := record.EachSession(ctx, r.Source, isClaudeAI, c)
	c.End()
	return err
}

func isClaudeAI(raw []byte) bool { return jsonl.Get(raw, "chat_messages") != nil }

// Record makes the entries of a conversation.
func (c *claudeAI) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	date := record.Date(jsonl.Get(raw, "created_at"))
	key := c.Key(jsonl.GetString(raw, "uuid"), raw)
	if key == "" {
		return
	}
	about := record.NewObject(256).Rest(raw, "chat_messages", "name", "created_at", "updated_at", "account", "summary", "current_leaf_message_uuid")
	c.begin(key, date, about, jsonl.GetString(raw, "name"))
	if summary := jsonl.GetString(raw, "summary"); summary != "" { // it grows with the conversation
		c.later(key+"/summary/", date, "session.summary", record.NewObject(len(summary)).Str("text", summary).Done())
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

func (c *claudeAI) message(n record.Node) {
	key := c.Key(n.ID, n.Raw)
	if key == "" {
		return
	}
	e := claudeAIMessage{message{&c.reader, c.In(n.Fork), n.Fork, key, record.Date(jsonl.Get(n.Raw, "created_at")), n.Raw}}
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

// describeClaudeAI reads id and date of the conversation.
func describeClaudeAI(ctx context.Context, src record.Source, info *record.Info) error {
	return record.ScanSession(ctx, src, isClaudeAI, func(raw []byte) bool {
		info.Session, info.Complete = jsonl.GetString(raw, "uuid"), true
		info.Began(jsonl.Get(raw, "created_at"))
		return false
	})
}
