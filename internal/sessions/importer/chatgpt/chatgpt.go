// Package chatgpt reads conversations from the export of ChatGPT.
//
// The export has a file conversations.json, or several with numbers: an array of conversations. A
// conversation has a title and a mapping, in which each message has a parent. When a question is edited, or an answer
// is made again, a branch begins; current_node is the end of the branch that was shown last. A message of the model
// to a recipient other than "all" is a call of a tool; the tool's messages are its results. Of files and pictures,
// only names and ids are in the export. OpenAI does not document the format; it is known from people's exports.
package chatgpt

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

func isRecord(raw []byte) bool { return jsonl.IsObject(jsonl.Get(raw, "mapping")) }

func idOf(raw []byte) string {
	return cmp.Or(jsonl.GetString(raw, "conversation_id"), jsonl.GetString(raw, "id"))
}

// Record makes the entries of a conversation.
func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	clear(c.calls)
	date := record.Date(jsonl.Get(raw, "create_time"))
	key := c.Key(idOf(raw), raw)
	if key == "" {
		return
	}
	about := record.NewObject(512).Rest(raw, "id", "mapping", "title", "create_time", "update_time", "current_node", "moderation_results")
	c.In("").Put(record.Event(key, date, "session", about.Done()))
	if title := jsonl.GetString(raw, "title"); title != "" {
		data := record.NewObject(64).Str("title", title).Done()
		c.In("").Put(record.Event(key+"/title/"+c.counts.Key(data), date, "tape.title", data))
	}
	var nodes []record.Node
	for id, node := range jsonl.Fields(jsonl.Get(raw, "mapping")) {
		nodes = append(nodes, record.Node{ID: id, Parent: jsonl.GetString(node, "parent"), Raw: node})
	}
	for _, n := range record.Tree(nodes, jsonl.GetString(raw, "current_node")) {
		c.node(n)
	}
}

// node makes the entries of a node. The root of a conversation has no message.
func (c *reader) node(n record.Node) {
	m := jsonl.Get(n.Raw, "message")
	if !jsonl.IsObject(m) {
		return
	}
	key := c.Key(cmp.Or(jsonl.GetString(m, "id"), n.ID), m)
	if key == "" {
		return
	}
	e := element{
		reader: c, Conversation: c.In(n.Fork), fork: n.Fork, key: key, raw: m, content: jsonl.Get(m, "content"),
		date: record.Date(jsonl.Get(m, "create_time")),
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

// Describe reads id, date and model of the conversation.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.ScanSession(ctx, src, isRecord, func(raw []byte) bool {
		info.Session, info.Complete = idOf(raw), true
		info.Began(jsonl.Get(raw, "create_time"))
		if model := jsonl.GetString(raw, "default_model_slug"); model != "" {
			info.State = record.NewObject(64).Str("model", model).Done()
		}
		return false
	})
}
