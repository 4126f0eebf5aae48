package acp

import (
	"bytes"
	"maps"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// call is a call of a tool, as the updates so far have it.
type call struct {
	id, date string
	fields   map[string][]byte // of the updates, the newest of each name
	done     bool              // its result was written
}

// tool takes what is new of a call. It is written when it has ended, or something else is said.
func (c *reader) tool(date string, u []byte) {
	c.end()
	id := jsonl.GetString(u, "toolCallId")
	t := c.calls[id]
	if t == nil {
		t = &call{id: id, date: date, fields: map[string][]byte{}}
		c.calls[id], c.begun = t, append(c.begun, t)
	}
	if t.done {
		return // a session that was loaded tells it again
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
		content, extra := t.result()
		c.Result(record.Result{ID: id, Key: "result:" + id, Date: date, Content: content, Failed: status == "failed"}, extra)
	}
}

// write writes the calls that were begun.
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

// name is what the agent calls the tool, where it says so, or else what kind it is of.
func (t *call) name() string {
	for _, agent := range jsonl.Fields(t.fields["_meta"]) {
		if name := jsonl.GetString(agent, "toolName"); name != "" {
			return name
		}
	}
	if kind := record.Text(t.fields["kind"]); kind != "" {
		return kind
	}
	return "tool"
}

// result is what the model was told, as far as the client knows, and what else there is.
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
