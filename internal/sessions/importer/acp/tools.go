package acp

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// call is a call of a tool, from the updates so far.
type call struct {
	id, date string
	fields   map[string][]byte // of the updates; the last value counts
	done     bool              // its result was emitted
}

// tool adds an update of a call. The call is emitted when it ends, or something else is said.
func (c *reader) tool(date string, u []byte) {
	c.end()
	id := jsonl.GetString(u, "toolCallId")
	t := c.calls[id]
	if t == nil {
		t = &call{id: id, date: date, fields: map[string][]byte{}}
		c.calls[id], c.begun = t, append(c.begun, t)
	}
	if t.done {
		return // the session was loaded again
	}
	for name, v := range jsonl.Fields(u) {
		if string(v) != "null" {
			t.fields[name] = bytes.Clone(v)
		}
	}
	switch status := record.Text(t.fields["status"]); status {
	case "completed", "failed":
		c.write()
		t.done = true
		if c.ended != nil {
			c.ended(t.fields)
		}
		content, extra := t.result()
		c.Result(record.Result{ID: id, Key: "result:" + id, Date: date, Content: content, Failed: status == "failed"}, extra)
	}
}

// write emits the calls that have begun.
func (c *reader) write() {
	for _, t := range c.begun {
		input := t.fields["rawInput"]
		if !jsonl.IsObject(input) {
			input = record.NewObject(64).Raw("title", t.fields["title"]).Raw("input", input).Done()
		}
		c.Call(record.NewCall(t.id, t.name(), input, "call:"+t.id, t.date))
	}
	c.begun = nil
	c.PutCalls()
}

// name returns the name that the agent gives to the tool, or else the tool's kind.
func (t *call) name() string {
	for _, agent := range jsonl.Fields(t.fields["_meta"]) {
		if name := cmp.Or(jsonl.GetString(agent, "toolName"), jsonl.GetString(agent, "name")); name != "" {
			return name
		}
	}
	if kind := record.Text(t.fields["kind"]); kind != "" {
		return kind
	}
	return "tool"
}

// result returns what the model saw, as far as the client knows, and the other fields.
func (t *call) result() (content, extra []byte) {
	var blocks [][]byte
	for el := range jsonl.Elements(t.fields["content"]) {
		if inner := jsonl.Get(el, "content"); inner != nil {
			el = inner
		}
		blocks = append(blocks, el)
	}
	content, _ = record.Plain(record.Array(blocks))
	but := []string{"sessionUpdate", "toolCallId", "rawInput", "status", "content"}
	if raw := t.fields["rawOutput"]; raw != nil && len(blocks) == 0 {
		content, but = raw, append(but, "rawOutput")
	}
	rest := record.NewObject(256)
	for _, name := range slices.Sorted(maps.Keys(t.fields)) {
		if !slices.Contains(but, name) {
			rest.Raw(name, t.fields[name])
		}
	}
	return content, rest.OrNil()
}
