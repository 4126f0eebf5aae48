package codex

import (
	"cmp"
	"context"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Exec is the format of what `codex exec --json` prints.
//
// "thread.started" has the session's id, "item.completed" a message, a command with its output, or another item, and
// "turn.completed" the sums of the tokens of the thread (codex-rs/exec/src/exec_events.rs and
// event_processor_with_jsonl_output.rs in openai/codex). There is no prompt, no model and no date in it.
var Exec = record.Format{
	Name: "codex-exec", Title: "codex exec --json", Read: readExec, Describe: describeExec,
	Record: func(m record.Members) record.Confidence {
		switch typ := m.Text("type"); typ {
		case "thread.started":
			return record.Certain.If(m.Has("thread_id"))
		case "item.started", "item.updated", "item.completed":
			return record.Certain.If(m.Has("item"))
		case "turn.completed", "turn.started", "turn.failed":
			return record.High.If(!m.Has("id"))
		}
		return record.NoMatch
	},
}

type execReader struct {
	record.Conversation
	sums []byte // the usage of the last turn
}

// readExec makes the entries of a session.
func readExec(ctx context.Context, r *record.Reading) error {
	c := &execReader{Conversation: record.Conversation{Reading: r}}
	err := record.Each(ctx, r.Source, isExecRecord, nil, c)
	c.End()
	return err
}

func isExecRecord(raw []byte) bool { return record.MembersOf(raw).Has("type") }

// Record makes the entries of a line.
func (c *execReader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	typ := jsonl.GetString(raw, "type")
	switch typ {
	case "thread.started": // its id is in the opening anchor
	case "turn.started":
		c.Flush()
	case "item.started", "item.updated": // item.completed has the whole
	case "item.completed":
		c.item(jsonl.Get(raw, "item"))
	case "turn.completed":
		c.completed(jsonl.Get(raw, "usage"))
	default:
		c.Put(record.Event(c.Counts.Key(raw), "", cmp.Or(typ, "record"), record.NewObject(256).Rest(raw, "type").Done()))
	}
}

// completed emits the usage of a turn: what the sums have more than those of the turn before.
func (c *execReader) completed(sums []byte) {
	usage := record.NewObject(128)
	for name, n := range jsonl.Fields(sums) {
		usage.Raw(name, record.Difference(n, jsonl.Get(c.sums, name)))
	}
	c.sums = slices.Clone(sums)
	data := record.With(nil, "usage", usage.Done())
	c.Put(record.Event(c.Counts.Key(append([]byte("turn"), sums...)), "", record.EventRun, data))
}

// item emits a message, a call with its result, or another item.
func (c *execReader) item(item []byte) {
	key := c.Counts.Key(item)
	rest := record.NewObject(512).Rest(item, "id", "type").Done()
	switch typ := cmp.Or(jsonl.GetString(item, "type"), jsonl.GetString(item, "item_type")); typ {
	case "agent_message", "assistant_message":
		c.Put(record.Message(key, "", "assistant", record.Or(jsonl.Get(item, "text"), `""`)))
	case "reasoning":
		c.Put(record.Event(key, "", record.EventThinking, record.With(nil, "thinking", record.Or(jsonl.Get(item, "text"), `""`))))
	case "command_execution":
		c.call(key, item, "shell", record.With(nil, "command", record.Or(jsonl.Get(item, "command"), `""`)), jsonl.Get(item, "aggregated_output"))
	case "file_change":
		c.call(key, item, "file_change", record.With(nil, "files", record.Or(jsonl.Get(item, "changes"), "[]")), nil)
	case "mcp_tool_call":
		name := jsonl.GetString(item, "server") + "." + jsonl.GetString(item, "tool")
		c.call(key, item, name, record.Or(jsonl.Get(item, "arguments"), "{}"), record.Or(jsonl.Get(item, "error", "message"), jsonl.Get(item, "result")))
	case "web_search":
		c.call(key, item, "web_search", record.With(nil, "query", record.Or(jsonl.Get(item, "query"), `""`)), nil)
	default:
		c.Put(record.Event(key, "", cmp.Or(typ, "item"), rest))
	}
}

// call emits a call, and its result if it has ended.
func (c *execReader) call(key string, item []byte, name string, args, result []byte) {
	id := "call-" + key
	c.Call(record.NewCall(id, name, record.Compact(args), key, ""))
	status := record.Or(jsonl.Get(item, "status"), `"completed"`)
	code := string(jsonl.Get(item, "exit_code"))
	if string(status) == `"in_progress"` {
		return
	}
	content, _ := record.Plain(record.Or(jsonl.Get(result, "content"), record.Or(result, status)))
	c.Result(record.Result{ID: id, Key: key + "/result", Content: content,
		Failed: string(status) == `"failed"` || string(status) == `"declined"` || code != "" && code != "0" && code != "null"}, nil)
}

// describeExec reads the id of the session.
func describeExec(ctx context.Context, src record.Source, info *record.Info) error {
	info.Started = src.Modified()
	return record.Scan(ctx, src, isExecRecord, nil, func(at record.Span, raw []byte) bool {
		if info.Session = jsonl.GetString(raw, "thread_id"); info.Session != "" {
			info.State, info.Complete = record.NewObject(64).Str("id", info.Session).Str("dates", "of the file").Done(), true
			return false
		}
		return at.Opens()
	})
}
