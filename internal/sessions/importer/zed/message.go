package zed

import (
	"context"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	record.Conversation
	record.Once
	date string // of the thread's last change: no message has one
}

// Read makes the entries of a thread.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}}
	err := record.EachSession(ctx, r.Source, isThread, c)
	c.End()
	return err
}

// changing are the members of a thread that other entries have, or that change all the time.
var changing = []string{"zed", "messages", "title", "summary", "updated_at", "cumulative_token_usage", "request_token_usage", "model", "detailed_summary", "detailed_summary_state",
	"version", "draft_prompt", "ui_scroll_position", "sandboxed_terminal_temp_dir"}

// Record makes the entries of a thread. Zed saves a message when it is complete. Its key is made of what it says, for only
// some messages have an id, and a newer version gives them others.
func (c *reader) Record(_ record.Span, raw []byte) {
	raw = record.Compact(raw)
	row, model := record.Or(jsonl.Get(raw, "zed"), "{}"), jsonl.GetString(raw, "model", "model")
	c.date = record.Date(record.Or(jsonl.Get(raw, "updated_at"), record.Or(jsonl.Get(row, "updated_at"), "null")))
	if data := record.NewObject(512).Rest(raw, changing...).OrNil(); data != nil {
		c.Put(record.Event(c.Key("thread", data), c.date, "thread", data))
	}
	cumulative := jsonl.Get(raw, "cumulative_token_usage")
	summed := used(cumulative)
	for message := range jsonl.Elements(jsonl.Get(raw, "messages")) {
		c.Stats.Records++
		c.message(message)
		id := jsonl.GetString(message, "User", "id")
		if usage := jsonl.Get(raw, "request_token_usage", id); id != "" && used(usage) {
			c.usage("request.usage", id, model, usage, !summed)
		}
	}
	if c.Open {
		return
	}
	if summed {
		c.usage(record.EventRun, jsonl.GetString(row, "id"), model, cumulative, true)
	}
	if title := record.Text(record.Or(jsonl.Get(raw, "title"), record.Or(jsonl.Get(raw, "summary"), record.Or(jsonl.Get(row, "summary"), `""`)))); title != "" && !strings.HasPrefix(title, "New Thread") {
		c.Put(record.Event("title:"+title, c.date, "tape.title", record.NewObject(64).Str("title", title).Done()))
	}
	if summary := record.Or(jsonl.Get(raw, "detailed_summary"), record.Or(jsonl.Get(raw, "detailed_summary_state", "Generated", "text"), "null")); !record.Blank(summary) {
		c.Put(record.Event("summary:"+record.ContentKey(summary, 1), c.date, "thread.summary", record.With(nil, "summary", summary)))
	}
}

// used reports whether tokens were counted.
func used(usage []byte) bool {
	for _, n := range jsonl.Fields(usage) {
		if string(n) != "0" {
			return true
		}
	}
	return false
}

// usage emits tokens: those of the last request that a person's message led to, or of the whole thread. Only one of them
// counts. They have an id, so of several, as the thread goes on, what is more counts.
func (c *reader) usage(name, id, model string, usage []byte, counts bool) {
	if counts {
		name = record.EventRun
	}
	data := record.NewObject(256)
	if model != "" {
		data.Str("model", model)
	}
	all := data.Str("message_id", id).Raw("usage", usage).Done()
	c.Put(record.Event("usage:"+record.ContentKey(all, 1), c.date, name, all))
}

// message makes the entries of a message.
func (c *reader) message(raw []byte) {
	kind, body := "", raw
	for name, v := range jsonl.Fields(raw) {
		if kind = name; name == "User" || name == "Agent" || name == "Compaction" {
			body = v
		}
		break
	}
	switch role := jsonl.GetString(raw, "role"); {
	case role != "":
		c.old(role, raw)
	case kind == "User":
		c.person(parts(jsonl.Get(body, "content")))
	case kind == "Agent":
		c.answer(parts(jsonl.Get(body, "content")), jsonl.Get(body, "tool_results"))
	case kind == "Compaction" && jsonl.Get(body, "Summary") != nil:
		c.Put(record.Anchor(c.Counts.Key(raw), c.date, "compaction", record.NewObject(256).Raw("summary", jsonl.Get(body, "Summary")).Done()))
	default: // "Resume": the person had the agent go on
		c.Put(record.Event(c.Counts.Key(raw), c.date, "message", record.With(nil, "message", raw)))
	}
}

// old makes the entries of a message of an older version.
func (c *reader) old(role string, raw []byte) {
	var list [][]byte
	for segment := range jsonl.Elements(jsonl.Get(raw, "segments")) {
		list = append(list, record.Without(segment, "signature"))
	}
	if text := jsonl.Get(raw, "text"); text != nil {
		list = append(list, block("text", "text", text))
	}
	context := record.Or(jsonl.Get(raw, "context"), `""`)
	if len(list) == 0 && !record.Blank(context) {
		list, context = append(list, block("text", "text", context)), []byte(`""`)
	}
	for call := range jsonl.Elements(jsonl.Get(raw, "tool_uses")) {
		list = append(list, record.NewObject(256).Str("type", "tool_use").Raw("id", jsonl.Get(call, "id")).Raw("name", jsonl.Get(call, "name")).Raw("input", record.Or(jsonl.Get(call, "input"), "null")).Done())
	}
	switch role {
	case "assistant":
		c.answer(list, jsonl.Get(raw, "tool_results"))
	case "user":
		if len(list) > 0 && jsonl.Get(list[0], "text") != nil && !record.Blank(jsonl.Get(list[0], "text")) {
			c.person(list)
		}
		c.results(nil, jsonl.Get(raw, "tool_results"))
	default:
		c.Put(record.Event(c.Counts.Key(raw), c.date, "message."+role, record.NewObject(256).Rest(raw, "role").Done()))
	}
	if !record.Blank(context) {
		c.Put(record.Event(c.Counts.Key(context), c.date, "context", record.With(nil, "text", context)))
	}
}

func block(typ, name string, v []byte) []byte {
	return record.NewObject(len(v)+32).Str("type", typ).Raw(name, v).Done()
}

// parts returns the parts of a message in Anthropic's form.
func parts(content []byte) (out [][]byte) {
	for part := range jsonl.Elements(content) {
		for name, v := range jsonl.Fields(part) {
			switch name {
			case "Text":
				part = block("text", "text", v)
			case "Image":
				part = picture(v)
			case "Mention":
				part = record.NewObject(len(v)).Str("type", "mention").All(v, "type").Done()
			case "Thinking":
				part = block("thinking", "thinking", record.Or(jsonl.Get(v, "text"), `""`))
			case "RedactedThinking":
				part = block("redacted_thinking", "data", v)
			case "ToolUse":
				input := record.Or(jsonl.Get(v, "input"), "null")
				if inner := jsonl.Get(input, "value"); inner != nil && jsonl.GetString(input, "type") == "json" {
					input = inner
				}
				if raw := jsonl.Get(v, "raw_input"); record.Blank(input) && raw != nil && !record.Blank(raw) {
					input = record.With(nil, "raw_input", raw) // the model was interrupted
				}
				part = record.NewObject(len(v)).Str("type", "tool_use").Raw("id", jsonl.Get(v, "id")).Raw("name", jsonl.Get(v, "name")).Raw("input", input).Done()
			default:
				part = record.NewObject(len(part)).Str("type", name).Raw("value", v).Done()
			}
			break
		}
		out = append(out, part)
	}
	return out
}

// picture returns a picture, which Zed keeps as PNG.
func picture(v []byte) []byte {
	data := record.Or(jsonl.Get(v, "source"), `""`)
	return block("image", "source", record.NewObject(len(data)).Str("type", "base64").Str("media_type", "image/png").Raw("data", data).Done())
}

// person emits what a person said. What Zed added of the files that they mentioned is an event.
func (c *reader) person(list [][]byte) {
	key := c.Counts.Key(record.Array(append([][]byte{[]byte(`"user"`)}, list...)))
	var added [][]byte
	for i, b := range list {
		if text := jsonl.Get(b, "content"); jsonl.GetString(b, "type") == "mention" && text != nil {
			added = append(added, record.NewObject(len(b)).Rest(b, "type").Done())
			list[i] = record.Without(b, "content")
		}
	}
	c.PutPerson(record.Array(list), record.Blocks{Key: key, Date: c.date})
	if added != nil {
		c.Put(record.Event(key+"/context", c.date, "context", record.With(nil, "mentions", record.Array(added))))
	}
}

// answer emits what the model said and called, and the results.
func (c *reader) answer(list [][]byte, results []byte) {
	key := c.Counts.Key(record.Array(append([][]byte{[]byte(`"assistant"`)}, list...)))
	c.PutAnswer(record.Array(list), record.Blocks{Key: key, Date: c.date})
	c.results(list, results)
}

// results emits results, an object or a list, in the order of the calls.
func (c *reader) results(calls [][]byte, results []byte) {
	var all [][]byte
	for _, r := range jsonl.Fields(results) {
		all = append(all, r)
	}
	all = slices.AppendSeq(all, jsonl.Elements(results))
	place := func(r []byte) int {
		return slices.IndexFunc(calls, func(call []byte) bool { return jsonl.GetString(call, "id") == jsonl.GetString(r, "tool_use_id") })
	}
	slices.SortStableFunc(all, func(a, b []byte) int { return place(a) - place(b) })
	for _, r := range all {
		id := jsonl.GetString(r, "tool_use_id")
		c.Result(record.Result{ID: id, Key: c.Counts.Key([]byte("result " + id)), Date: c.date, Content: shown(record.Or(jsonl.Get(r, "content"), "null")),
			Failed: string(jsonl.Get(r, "is_error")) == "true"}, record.NewObject(256).Rest(r, "tool_use_id", "tool_name", "is_error", "content").OrNil())
	}
}

// shown returns what the model saw of a result: a text, a part, or a list of parts.
func shown(content []byte) []byte {
	switch content[0] {
	case '{':
		content = record.Array([][]byte{content})
	case '[':
	default:
		return content
	}
	plain, _ := record.Plain(record.Array(parts(content)))
	return plain
}
