package kiro

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Since version 1.0 of the editor, and version 3 of kiro-cli, a session is a folder sess_ID below sessions/FOLDER in ~/.kiro:
// messages.jsonl has lines {id, timestamp, payload: {type}}, and session.json beside it the facts. Sources:
// junhoyeo/tokscale#813 and #836, and other people's readers of these files.
const (
	events     = "messages.jsonl"
	eventFacts = "session.json"
	eventsOf   = "sess_"
)

// isEvent reports whether a record is a line of such a session.
func isEvent(m record.Members) bool {
	return m.Has("payload") && !m.Has("type") && !m.Has("kind") && (m.Has("timestamp") || m.Has("id")) &&
		slices.Contains([]string{"user", "assistant", "tool_call", "tool_result", "turn_start", "turn_end", "usage_summary", "session_start", "session_metadata", "session_event"}, jsonl.GetString(m["payload"], "type"))
}

// isBesideEvents reports whether a file is not the session itself, but in the folder of such a session, or below it.
func isBesideEvents(path, name string) bool {
	at := strings.LastIndex(path, "/"+eventsOf)
	if name == events || at < 0 {
		return false
	}
	folder, _, below := strings.Cut(path[at+1:], "/")
	if !below {
		return false
	}
	_, err := os.Stat(filepath.FromSlash(path[:at+1] + folder + "/" + events)) // other folders may have such a name
	return err == nil
}

// event makes the entries of a line.
func (c *reader) event(raw []byte) {
	p := jsonl.Get(raw, "payload")
	key := c.Key(jsonl.GetString(raw, "id"), raw)
	if key == "" {
		return
	}
	c.date = cmp.Or(record.Date(record.Or(jsonl.Get(raw, "timestamp"), "null")), c.date)
	typ, content := jsonl.GetString(p, "type"), record.Or(jsonl.Get(p, "content"), `""`)
	rest := func(but ...string) []byte {
		o := record.NewObject(256)
		for name, v := range jsonl.Fields(p) {
			if !slices.Contains(but, name) && name != "type" && name != "executionId" && !record.Blank(v) {
				o.Raw(name, v)
			}
		}
		return o.OrNil()
	}
	of := record.Blocks{Key: key, Date: c.date, Run: jsonl.GetString(p, "executionId"), Extra: rest("content", "operationType")}
	call := jsonl.GetString(p, "toolCallId")
	switch as := jsonl.GetString(p, "operationType"); {
	case typ == "user":
		c.PutPerson(content, of)
	case typ == "assistant" && as == "Reasoning":
		text, _ := record.Plain(content)
		c.Put(record.Event(key, c.date, record.EventThinking, record.With(nil, "thinking", text)))
	case typ == "assistant" && as == "Summary":
		text, _ := record.Plain(content)
		c.Put(record.Anchor(key, c.date, "compaction", record.NewObject(len(text)).Raw("summary", text).All(of.Extra).Done()))
	case typ == "assistant":
		c.PutAnswer(content, of)
	case typ == "tool_call" && (call == "" || c.Key("call:"+call, nil) != ""):
		args := record.Or(jsonl.Get(p, "args"), string(record.Or(jsonl.Get(p, "arguments"), string(record.Or(jsonl.Get(p, "input"), "{}")))))
		if !jsonl.IsObject(args) {
			args = record.With(nil, "arguments", args)
		}
		c.calls = append(c.calls, cmp.Or(call, "call-"+key))
		c.Call(record.NewCall(cmp.Or(call, "call-"+key), cmp.Or(jsonl.GetString(p, "toolName"), jsonl.GetString(p, "name")), record.Compact(args), key, c.date))
	case typ == "tool_result":
		if call == "" && len(c.calls) > 0 { // some versions do not say which call it answers
			call = c.calls[0]
		}
		c.calls = slices.DeleteFunc(c.calls, func(id string) bool { return id == call })
		text, _ := record.Plain(content)
		c.Result(record.Result{ID: call, Key: key, Date: c.date, Content: text, Failed: string(jsonl.Get(p, "success")) == "false"}, rest("content", "toolCallId", "success"))
	case typ == "usage_summary":
		data := record.NewObject(256)
		if model := model(c.facts); model != "" {
			data.Str("model", model)
		}
		c.InRun(cmp.Or(of.Run, key))(record.Event(key, c.date, record.EventRun, data.All(rest("model")).Done()))
	default: // a call that the person has allowed comes a second time, for example
		if data := rest("args"); data != nil {
			c.Put(record.Event(key, c.date, cmp.Or(typ, "record"), data))
		}
	}
}
