package kimi

import (
	"bytes"
	"cmp"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// step makes the entries of what a model did, and of results.
func (c *reader) step(key, date string, event []byte) {
	t, typ := c.In(""), jsonl.GetString(event, "type")
	switch typ {
	case "step.begin":
		c.passUsage()
		c.runs[""] = cmp.Or(jsonl.GetString(event, "uuid"), key)
	case "content.part":
		c.part("", key, date, jsonl.Get(event, "part"))
	case "tool.call":
		t.Call(record.NewCall(jsonl.GetString(event, "toolCallId"), jsonl.GetString(event, "name"), record.Compact(record.Or(jsonl.Get(event, "args"), "{}")), key, date))
	case "tool.result":
		result := jsonl.Get(event, "result")
		res := record.Result{ID: jsonl.GetString(event, "toolCallId"), Key: key, Date: date, Content: c.content(jsonl.Get(result, "output")), Failed: string(jsonl.Get(result, "isError")) == "true"}
		t.Result(res, record.NewObject(256).Rest(result, "output", "isError").OrNil())
	case "step.end":
		data := record.NewObject(256).Rest(event, "type", "uuid", "turnId", "step", "usage", "messageId")
		usage := jsonl.Get(event, "usage")
		if !c.same(usage) || c.ended {
			c.passUsage()
		}
		if jsonl.IsObject(usage) {
			id := cmp.Or(jsonl.GetString(event, "messageId"), jsonl.GetString(event, "uuid"), key)
			c.hold(key, date, usage, data.Str("message_id", id))
			c.ended = true
		}
	default:
		t.Put(record.Event(key, date, cmp.Or(typ, "event"), record.NewObject(256).Rest(event, "type").Done()))
	}
}

// record makes the entry of a record of tokens. Of a step, it has what the end of the step has, and comes right before or
// after that.
func (c *reader) record(key, date string, raw []byte) {
	usage, model := jsonl.Get(raw, "usage"), jsonl.GetString(raw, "model")
	c.model = cmp.Or(model, c.model)
	if c.ended && c.same(usage) {
		c.passUsage()
		return
	}
	c.passUsage()
	if jsonl.IsObject(usage) {
		c.hold(key, date, usage, record.NewObject(256).Str("message_id", key).Rest(raw, "type", "time", "agentId", "usage", "model"))
		c.ended = false
	}
}

// same reports whether tokens are those that are held.
func (c *reader) same(usage []byte) bool {
	return c.spent != nil && bytes.Equal(record.Compact(usage), c.usage)
}

// hold keeps the event with the tokens of a step until its end and its record were read. What was held of the same step has
// its first key.
func (c *reader) hold(key, date string, usage []byte, data *record.Object) {
	if c.spent != nil {
		key = c.spent.Keys[0]
	}
	p := record.Event(key, date, record.EventRun, data.Raw("usage", tokens(usage)).Done())
	p.RunID = c.runs[""]
	c.spent, c.usage = &p, record.Compact(usage)
}

// passUsage emits the tokens that are held.
func (c *reader) passUsage() {
	if c.spent == nil {
		return
	}
	p := *c.spent
	c.spent = nil
	if model := cmp.Or(c.names[c.model], c.model); model != "" {
		p.Payload = record.Event("", "", record.EventRun, record.With(jsonl.Get(p.Payload, "data"), "model", record.Quote(model))).Payload
	}
	c.In("").Put(p)
}
