package kiro

import (
	"cmp"
	"context"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	record.Conversation
	record.Once
	facts []byte            // of the session
	turns map[string][]byte // of turns, by their last message
	date  string            // of the last record with a date
	calls []string          // of events, without a result yet
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}, turns: map[string][]byte{}}
	if c.facts = beside(r.Source); c.facts != nil {
		for turn := range jsonl.Elements(jsonl.Get(c.facts, "session_state", "conversation_metadata", "user_turn_metadatas")) {
			if ids := jsonl.Strings(jsonl.Get(turn, "message_ids")); len(ids) > 0 {
				c.turns[ids[len(ids)-1]] = turn
			}
		}
	}
	err := record.EachSession(ctx, r.Source, isRecord, c)
	if title := jsonl.GetString(c.facts, "title"); title != "" && !r.Open {
		c.Put(record.Event("title:"+title, "", "tape.title", record.NewObject(64).Str("title", title).Done()))
	}
	c.End()
	return err
}

// Record makes the entries of a line, or of a session that is one object.
func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	raw = record.Compact(raw)
	switch m := record.MembersOf(raw); {
	case m.Has("kind", "data"):
		c.line(m.Text("kind"), raw)
	case isEvent(m) || m.Has("payload"):
		c.event(raw)
	case m.Has("chat"):
		c.chat(raw)
	case m.Has("history", "sessionId"):
		c.facts = raw
		c.date = c.Modified()
		for entry := range jsonl.Elements(m["history"]) {
			c.ofEditor(entry)
		}
	default:
		c.conversation(raw)
	}
}

// line makes the entries of a line of the command line's program.
func (c *reader) line(kind string, raw []byte) {
	data := jsonl.Get(raw, "data")
	id := jsonl.GetString(data, "message_id")
	key := c.Key(id, raw)
	if key == "" {
		return
	}
	c.date = cmp.Or(record.Date(record.Or(jsonl.Get(data, "meta", "timestamp"), "null")), c.date)
	of := record.Blocks{Key: key, Date: c.date, Detail: detail}
	content := blocks(jsonl.Get(data, "content"), jsonl.Get(data, "results"))
	switch kind {
	case "Prompt", "ToolResults":
		c.PutPerson(content, of)
	case "AssistantMessage":
		c.PutAnswer(content, of)
	default: // such as a compaction
		if summary := jsonl.Get(data, "summary"); len(summary) > 0 && summary[0] == '"' {
			c.Put(record.Anchor(key, c.date, "compaction", record.NewObject(len(data)).Raw("summary", summary).Rest(data, "summary", "message_id").Done()))
		} else {
			c.Put(record.Event(key, c.date, kind, record.NewObject(len(data)).Rest(data, "message_id").Done()))
		}
	}
	if turn := c.turns[id]; turn != nil && id != "" {
		c.date = cmp.Or(record.Date(record.Or(jsonl.Get(turn, "end_timestamp"), "null")), c.date)
		c.run("turn:"+id, model(c.facts), turn)
	}
}

// detail returns what a result has that the model did not see.
func detail(block []byte) []byte {
	return record.NewObject(256).Rest(block, "type", "tool_use_id", "content", "is_error").OrNil()
}

// blocks returns the parts of a message in Anthropic's form.
func blocks(content, details []byte) []byte {
	var out [][]byte
	for part := range jsonl.Elements(content) {
		data, o := record.Or(jsonl.Get(part, "data"), "null"), record.NewObject(len(part)+64)
		switch kind := jsonl.GetString(part, "kind"); kind {
		case "text":
			o.Str("type", "text").Raw("text", data)
		case "json":
			o.Str("type", "text").Str("text", string(data))
		case "thinking":
			o.Str("type", "thinking").Raw("thinking", record.Or(jsonl.Get(data, "text"), record.Or(jsonl.Get(data, "thinking"), `""`)))
		case "toolUse":
			o.Str("type", "tool_use").Raw("id", jsonl.Get(data, "toolUseId")).Raw("name", jsonl.Get(data, "name")).Raw("input", record.Or(jsonl.Get(data, "input"), "{}"))
		case "toolResult":
			id := jsonl.GetString(data, "toolUseId")
			o.Str("type", "tool_result").Str("tool_use_id", id).Raw("content", blocks(jsonl.Get(data, "content"), nil)).Raw("detail", jsonl.Get(details, id))
			if status := jsonl.GetString(data, "status"); status != "" && status != "success" {
				o.Raw("is_error", []byte("true"))
			}
		case "image":
			o.Str("type", "image").Raw("source", record.Or(jsonl.Get(data, "source"), record.With(nil, "data", data)))
		default:
			o.Str("type", kind).Raw("data", data)
		}
		out = append(out, o.Done())
	}
	return record.Array(out)
}

// run emits the model, and the tokens and credits that are noted.
func (c *reader) run(key, model string, raw []byte) {
	data, usage := record.NewObject(256), record.NewObject(64)
	if model = cmp.Or(jsonl.GetString(raw, "model_id"), jsonl.GetString(raw, "model"), model); model != "" {
		data.Str("model", model)
	}
	for _, of := range [][2]string{{"input_token_count", "input_tokens"}, {"output_token_count", "output_tokens"},
		{"cache_read_input_token_count", "cache_read_input_tokens"}, {"cache_write_input_token_count", "cache_creation_input_tokens"}} {
		if n := jsonl.Get(raw, of[0]); n != nil && string(n) != "0" && string(n) != "null" {
			usage.Raw(of[1], n)
		}
	}
	data.Raw("usage", usage.OrNil()).Rest(raw, "model_id", "model", "input_token_count", "output_token_count", "cache_read_input_token_count", "cache_write_input_token_count", "loop_id", "message_ids", "message_id", "result", "builtin_tool_uses", "time_between_chunks", "tool_use_ids_and_names", "message_meta_tags")
	if !data.Empty() {
		c.InRun(key)(record.Event(key, c.date, record.EventRun, data.Done()))
	}
}

// conversation makes the entries of a row of the database.
func (c *reader) conversation(raw []byte) {
	if summary := jsonl.Get(raw, "latest_summary"); summary != nil && !record.Blank(summary) {
		text := summary
		for first := range jsonl.Elements(summary) {
			text = first
			break
		}
		c.Put(record.Anchor("summary:"+record.ContentKey(text, 1), record.Date(record.Or(jsonl.Get(raw, "kiro", "created"), "null")), "compaction", record.With(nil, "summary", text)))
	}
	for turn := range jsonl.Elements(jsonl.Get(raw, "history")) {
		user, assistant := sides(turn)
		key, content := c.Counts.Key(user), jsonl.Get(user, "content")
		c.date = cmp.Or(record.Date(record.Or(jsonl.Get(user, "timestamp"), record.Or(jsonl.Get(turn, "request_metadata", "request_start_timestamp_ms"), "null"))), c.date)
		for kind, body := range jsonl.Fields(content) {
			for r := range jsonl.Elements(jsonl.Get(body, "tool_use_results")) {
				id := jsonl.GetString(r, "tool_use_id")
				c.Result(record.Result{ID: id, Key: key + "/" + id, Date: c.date, Content: shown(jsonl.Get(r, "content")), Failed: jsonl.GetString(r, "status") == "Error"}, nil)
			}
			if prompt := jsonl.Get(body, "prompt"); len(prompt) > 0 && prompt[0] == '"' {
				c.Put(record.Message(key, c.date, "user", prompt))
			} else if kind != "ToolUseResults" && kind != "CancelledToolUses" {
				c.Put(record.Event(key, c.date, "message", record.With(nil, kind, body)))
			}
		}
		if more := record.NewObject(256).Rest(user, "content", "timestamp", "env_context").OrNil(); more != nil {
			c.Put(record.Event(key+"/context", c.date, "context", more))
		}
		c.date = cmp.Or(record.Date(record.Or(jsonl.Get(turn, "request_metadata", "stream_end_timestamp_ms"), "null")), c.date)
		c.answer(assistant, jsonl.Get(turn, "request_metadata"), model(raw))
	}
}

// sides returns what the person and the model said in a turn, an object or, in older versions, a pair.
func sides(turn []byte) (user, assistant []byte) {
	if jsonl.IsObject(turn) {
		return record.Or(jsonl.Get(turn, "user"), "{}"), record.Or(jsonl.Get(turn, "assistant"), "{}")
	}
	user, assistant = []byte("{}"), []byte("{}")
	i := 0
	for side := range jsonl.Elements(turn) {
		switch i {
		case 0:
			user = side
		case 1:
			assistant = side
		}
		i++
	}
	return user, assistant
}

// answer emits what the model said and called in a turn.
func (c *reader) answer(raw, request []byte, model string) {
	for _, body := range jsonl.Fields(raw) {
		key := cmp.Or(c.Key(jsonl.GetString(body, "message_id"), body), c.Counts.Key(body))
		var list [][]byte
		if text := jsonl.Get(body, "content"); text != nil && !record.Blank(text) {
			list = append(list, record.NewObject(len(text)).Str("type", "text").Raw("text", text).Done())
		}
		for call := range jsonl.Elements(jsonl.Get(body, "tool_uses")) {
			list = append(list, record.NewObject(len(call)).Str("type", "tool_use").Raw("id", jsonl.Get(call, "id")).Raw("name", jsonl.Get(call, "name")).Raw("input", record.Or(jsonl.Get(call, "args"), "{}")).Done())
		}
		c.PutAnswer(record.Array(list), record.Blocks{Key: key, Date: c.date, Extra: record.NewObject(64).Rest(body, "message_id", "content", "tool_uses").OrNil()})
		if request != nil && !record.Blank(request) {
			c.run(key+"/run", model, request)
		}
	}
}

// shown returns what the model saw of a result: {"Text": …} and {"Json": …}.
func shown(content []byte) []byte {
	var texts []string
	for part := range jsonl.Elements(content) {
		for _, v := range jsonl.Fields(part) {
			texts = append(texts, cmp.Or(record.Text(v), string(v)))
		}
	}
	return record.Quote(strings.Join(texts, "\n"))
}

// ofEditor makes the entries of a message in the editor. It may have no text of the model, only what was completed.
func (c *reader) ofEditor(raw []byte) {
	message := jsonl.Get(raw, "message")
	content := record.Or(jsonl.Get(message, "content"), `""`)
	key := c.Key(jsonl.GetString(message, "id"), raw)
	if key == "" {
		return
	}
	if jsonl.GetString(message, "role") == "user" {
		c.PutPerson(content, record.Blocks{Key: key, Date: c.date})
	} else if text, plain := record.Plain(content); !plain || !record.Blank(text) {
		c.PutAnswer(content, record.Blocks{Key: key, Date: c.date})
	}
	for log := range jsonl.Elements(jsonl.Get(raw, "promptLogs")) {
		text := jsonl.Get(log, "completion")
		if said, _ := record.Plain(content); text != nil && !record.Blank(text) && record.Text(said) != record.Text(text) {
			c.Put(record.Message("completion:"+c.Counts.Key(log), c.date, "assistant", text))
		}
	}
	if more := record.NewObject(256).Rest(raw, "message", "promptLogs").Rest(message, "role", "content", "id").OrNil(); more != nil {
		c.Put(record.Event(key+"/context", c.date, "context", more))
	}
}

// chat makes the entries of a file of an execution. The instructions for the model are in it as if a person had said them.
func (c *reader) chat(raw []byte) {
	c.date = record.Date(record.Or(jsonl.Get(raw, "metadata", "startTime"), "null"))
	for message := range jsonl.Elements(jsonl.Get(raw, "chat")) {
		key, text := c.Counts.Key(message), record.Or(jsonl.Get(message, "content"), `""`)
		switch role := jsonl.GetString(message, "role"); {
		case role == "human" && !isInstruction(record.Text(text)):
			said := strings.TrimSuffix(strings.TrimPrefix(record.Text(text), "<kiro-ide-message>"), "</kiro-ide-message>")
			c.Put(record.Message(key, c.date, "user", record.Quote(strings.TrimSpace(said))))
		case role == "bot":
			c.PutAnswer(text, record.Blocks{Key: key, Date: c.date})
		default:
			c.Put(record.Event(key, c.date, cmp.Or(role, "message"), record.NewObject(len(message)).Rest(message, "role").Done()))
		}
	}
	if more := record.NewObject(256).Rest(raw, "chat").OrNil(); more != nil {
		c.Put(record.Event("execution:"+c.Counts.Key(more), record.Date(record.Or(jsonl.Get(raw, "metadata", "endTime"), "null")), "execution", more))
	}
}

func isInstruction(text string) bool {
	for _, begin := range []string{"# System Prompt", "# Identity", "<identity>", "## Included Rules", "You are operating in a workspace"} {
		if strings.HasPrefix(strings.TrimSpace(text), begin) {
			return true
		}
	}
	return false
}
