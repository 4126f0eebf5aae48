package hosted

import (
	"cmp"
	"context"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// ChatGPT is the format of ChatGPT's export.
//
// The export has a file conversations.json, or several with numbers: an array of conversations. A
// conversation has a title and a mapping, in which each message has a parent; current_node is the end of the branch that was
// shown last. A message of the model to a recipient other than "all" is a call of a tool; the tool's messages are its
// results. Of files and pictures, only names and ids are in the export.
var ChatGPT = record.Format{
	Name: "chatgpt", Title: "ChatGPT", Read: readChatGPT, Describe: describeChatGPT, Many: true,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("mapping", "current_node") || m.Has("mapping", "conversation_id") || m.Has("mapping", "title") && (m.Has("create_time") || m.Has("id")))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"mapping"`, `"parent"`, `"author"`, `"parts"`))
	},
}

type chatGPT struct{ reader }

// readChatGPT makes the entries of a conversation. Abandoned branches are forks.
func readChatGPT(ctx context.Context, r *record.Reading) error {
	c := &chatGPT{newReader(r)}
	err := record.EachSession(ctx, r.Source, isChatGPT, c)
	c.End()
	return err
}

func isChatGPT(raw []byte) bool { return jsonl.IsObject(jsonl.Get(raw, "mapping")) }

func idOf(raw []byte) string {
	return cmp.Or(jsonl.GetString(raw, "conversation_id"), jsonl.GetString(raw, "id"))
}

// Record makes the entries of a conversation.
func (c *chatGPT) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	date := record.Date(jsonl.Get(raw, "create_time"))
	key := c.Key(idOf(raw), raw)
	if key == "" {
		return
	}
	about := record.NewObject(512).Rest(raw, "id", "mapping", "title", "create_time", "update_time", "current_node", "moderation_results")
	c.begin(key, date, about, jsonl.GetString(raw, "title"))
	var nodes []record.Node
	for id, node := range jsonl.Fields(jsonl.Get(raw, "mapping")) {
		nodes = append(nodes, record.Node{ID: id, Parent: jsonl.GetString(node, "parent"), Raw: node})
	}
	for _, n := range record.Tree(nodes, jsonl.GetString(raw, "current_node")) {
		c.node(n)
	}
}

// node makes the entries of a node. The root of a conversation has no message.
func (c *chatGPT) node(n record.Node) {
	m := jsonl.Get(n.Raw, "message")
	if !jsonl.IsObject(m) {
		return
	}
	key := c.Key(cmp.Or(jsonl.GetString(m, "id"), n.ID), m)
	if key == "" {
		return
	}
	e := chatGPTMessage{
		message{&c.reader, c.In(n.Fork), n.Fork, key, record.Date(jsonl.Get(m, "create_time")), m},
		jsonl.Get(m, "content"),
	}
	switch role := jsonl.GetString(m, "author", "role"); role {
	case "user":
		e.person()
	case "assistant":
		e.answer()
	case "tool":
		e.result()
	case "system":
		e.system()
	default:
		e.Put(record.Event(key, e.date, "message."+cmp.Or(role, "unknown"), record.Compact(m)))
	}
}

// describeChatGPT reads id, date and model of the conversation.
func describeChatGPT(ctx context.Context, src record.Source, info *record.Info) error {
	return record.ScanSession(ctx, src, isChatGPT, func(raw []byte) bool {
		info.Session, info.Complete = idOf(raw), true
		info.Began(jsonl.Get(raw, "create_time"))
		if model := jsonl.GetString(raw, "default_model_slug"); model != "" {
			info.State = record.NewObject(64).Str("model", model).Done()
		}
		return false
	})
}
