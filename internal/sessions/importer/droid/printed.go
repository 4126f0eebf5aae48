package droid

import (
	"cmp"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// What `droid exec --output-format stream-json` prints (docs.factory.ai/cli/droid-exec): "system" begins it, "message" has a
// text, "tool_call" and "tool_result" have the same id, and "completion" repeats the last answer.

// isPrinted reports whether a record is a line of it.
func isPrinted(m record.Members) bool {
	switch m.Text("type") {
	case "message":
		return m.Has("role", "text") && !m.Has("message") && (m.Has("session_id") || m.Has("sessionId"))
	case "tool_call":
		return m.Has("toolName", "parameters")
	case "tool_result":
		return m.Has("value") && (m.Has("toolId") || m.Has("toolCallId"))
	case "completion":
		return m.Has("finalText")
	}
	return false
}

// printedSession returns the id of the session, if a line has one.
func printedSession(raw []byte) string {
	return cmp.Or(jsonl.GetString(raw, "session_id"), jsonl.GetString(raw, "sessionId"))
}

// printed makes the entries of a line.
func (c *reader) printed(m record.Members, raw []byte) {
	typ := m.Text("type")
	id := cmp.Or(m.Text("toolCallId"), m.Text("id"))
	key := ""
	if m.Text("id") != "" {
		key = typ + ":" + m.Text("id")
	}
	if key = c.Key(key, raw); key == "" {
		return
	}
	date := record.Date(record.Or(m["timestamp"], "null"))
	rest := func(but ...string) []byte {
		return record.NewObject(256).Rest(raw, append(but, "type", "id", "session_id", "sessionId", "timestamp")...).OrNil()
	}
	switch {
	case typ == "message" && m.Text("role") == "user":
		c.Put(record.Message(key, date, "user", record.Compact(m["text"])))
	case typ == "message":
		c.said = m.Text("text")
		c.InRun(key)(record.Message(key, date, "assistant", record.Compact(m["text"])))
	case typ == "tool_call":
		args := record.Compact(m["parameters"])
		if !jsonl.IsObject(args) {
			args = record.With(nil, "parameters", args)
		}
		c.Call(record.NewCall(cmp.Or(id, key), m.Text("toolName"), args, key, date))
	case typ == "tool_result":
		c.Result(record.Result{ID: id, Key: key, Date: date, Content: record.Compact(m["value"]), Failed: string(m["isError"]) == "true"}, rest("toolCallId", "value", "isError", "toolId", "messageId"))
	case typ == "completion":
		if text := m.Text("finalText"); text != c.said && strings.TrimSpace(text) != "" {
			c.InRun(key)(record.Message(key+"/text", date, "assistant", record.Quote(text)))
		}
		if usage := m["usage"]; jsonl.IsObject(usage) {
			c.Put(record.Event(key+"/run", date, record.EventRun, record.NewObject(160).Raw("usage", record.Compact(usage)).Done()))
		}
		if data := rest("finalText", "usage"); data != nil {
			c.Put(record.Event(key, date, typ, data))
		}
	default:
		if data := rest("subtype"); data != nil {
			c.Put(record.Event(key, date, strings.Trim(typ+"."+m.Text("subtype"), "."), data))
		}
	}
}
