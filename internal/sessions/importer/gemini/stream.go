package gemini

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// Stream is the format of what `gemini -p --output-format stream-json` prints: "init" has the session's id and the model,
// "message" the prompt or, with "delta", a part of an answer, "tool_use" and "tool_result" a call and what the screen shows of
// its result, "result" the sums of the run (packages/core/src/output/types.ts in google-gemini/gemini-cli).
var Stream = record.Format{
	Name: "gemini-stream", Title: "Gemini CLI's stream-json", Read: readStream, Describe: describeStream,
	Record: func(m record.Members) record.Confidence {
		switch m.Text("type") {
		case "init":
			return record.Certain.If(m.Has("session_id", "model", "timestamp"))
		case "message":
			for name := range m { // many programs write messages of this type
				if !slices.Contains([]string{"type", "timestamp", "role", "content", "delta"}, name) {
					return record.NoMatch
				}
			}
			content, role := m["content"], m.Text("role")
			return record.Certain.If(m.Has("timestamp") && (role == "user" || role == "assistant") && len(content) > 0 && content[0] == '"')
		case "tool_use":
			return record.Certain.If(m.Has("tool_name", "tool_id"))
		case "tool_result":
			return record.Certain.If(m.Has("tool_id", "status"))
		case "result":
			return record.High.If(m.Has("status", "stats"))
		}
		return record.NoMatch
	},
}

type streamReader struct {
	record.Conversation
	parts []string // of the answer that goes on
	key   string   // of its first part
	date  string   // of its first part
	model string
}

// readStream makes the entries of a session.
func readStream(ctx context.Context, r *record.Reading) error {
	c := &streamReader{Conversation: record.Conversation{Reading: r}}
	err := record.Each(ctx, r.Source, isEvent, nil, c)
	if !r.Open { // otherwise the answer may go on
		c.answer()
	}
	c.End()
	return err
}

func isEvent(raw []byte) bool { return record.MembersOf(raw).Has("type") }

// Record makes the entries of a line.
func (c *streamReader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	key, date, typ := c.Counts.Key(raw), record.Date(jsonl.Get(raw, "timestamp")), jsonl.GetString(raw, "type")
	if typ == "message" && string(jsonl.Get(raw, "delta")) == "true" && jsonl.GetString(raw, "role") == "assistant" {
		if c.parts == nil {
			c.key, c.date = key, date
		}
		c.parts = append(c.parts, jsonl.GetString(raw, "content"))
		return
	}
	c.answer()
	rest := record.NewObject(256).Rest(raw, "type", "timestamp").Done()
	switch typ {
	case "message":
		p := record.Message(key, date, cmp.Or(jsonl.GetString(raw, "role"), "assistant"), record.Or(jsonl.Get(raw, "content"), `""`))
		p.Extra = record.NewObject(64).Rest(raw, "type", "timestamp", "role", "content").OrNil()
		c.Put(p)
	case "tool_use":
		input := record.Compact(record.Or(jsonl.Get(raw, "parameters"), "{}"))
		c.Call(record.NewCall(jsonl.GetString(raw, "tool_id"), jsonl.GetString(raw, "tool_name"), input, key, date))
	case "tool_result":
		content := record.Or(record.Or(jsonl.Get(raw, "output"), string(jsonl.Get(raw, "error", "message"))), "null")
		extra := record.NewObject(64).Rest(raw, "type", "timestamp", "tool_id", "output", "status").Done()
		c.Result(record.Result{ID: jsonl.GetString(raw, "tool_id"), Key: key, Date: date, Content: content, Failed: jsonl.GetString(raw, "status") == "error"}, extra)
	case "result":
		c.sums(key, date, raw)
	case "init":
		c.model = jsonl.GetString(raw, "model")
		c.Put(record.Event(key, date, "init", rest))
	default:
		c.Put(record.Event(key, date, cmp.Or(typ, "record"), rest))
	}
}

// answer emits the answer that ends. If the tape has its beginning, because an import was made while it grew, it emits the
// rest.
func (c *streamReader) answer() {
	parts, upTo := c.parts, func(n int) string { return c.key + "+" + strconv.Itoa(n) }
	if c.parts = nil; parts == nil {
		return
	}
	keys := []string{c.key, upTo(len(parts))}
	if c.Has(c.key) {
		known := len(parts)
		for known > 0 && !c.Has(upTo(known)) {
			known--
		}
		if known == len(parts) {
			c.Skipped(c.date)
			return
		}
		parts, keys = parts[known:], keys[1:]
	}
	p := record.Message("", c.date, "assistant", record.Quote(strings.Join(parts, "")))
	p.Keys = keys
	c.Put(p)
}

// sums emits what a run took, by model. What is in none of the two counts is what the model thought.
func (c *streamReader) sums(key, date string, raw []byte) {
	stats := jsonl.Get(raw, "stats")
	put := func(key, model string, used []byte) {
		tokens := record.NewObject(160).Raw("input_tokens", jsonl.Get(used, "input_tokens")).Raw("output_tokens", jsonl.Get(used, "output_tokens")).
			Raw("cached_input_tokens", jsonl.Get(used, "cached")).Raw("total_tokens", jsonl.Get(used, "total_tokens"))
		thought := record.Difference(record.Difference(jsonl.Get(used, "total_tokens"), jsonl.Get(used, "input_tokens")), jsonl.Get(used, "output_tokens"))
		if thought != nil && string(thought) != "0" {
			tokens.Raw("reasoning_output_tokens", thought)
		}
		data := record.NewObject(256)
		if model != "" {
			data.Str("model", model)
		}
		c.Put(record.Event(key, date, record.EventRun, data.Raw("usage", tokens.Done()).Done()))
	}
	models := false
	for model, used := range jsonl.Fields(jsonl.Get(stats, "models")) {
		models = true
		put(key+"/"+model, model, used)
	}
	if !models && jsonl.Get(stats, "input_tokens") != nil {
		put(key+"/run", c.model, stats)
	}
	data := record.NewObject(128).Rest(raw, "type", "timestamp", "stats").Rest(stats, "models", "total_tokens", "input_tokens", "output_tokens", "cached", "input")
	c.Put(record.Event(key, date, "result", data.Done()))
}

// describeStream reads the id of the session.
func describeStream(ctx context.Context, src record.Source, info *record.Info) error {
	return record.Scan(ctx, src, isEvent, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "timestamp"))
		if info.Session = jsonl.GetString(raw, "session_id"); info.Session != "" {
			info.State, info.Complete = record.NewObject(128).Str("sessionId", info.Session).Raw("model", jsonl.Get(raw, "model")).Done(), true
			return false
		}
		return at.Opens()
	})
}
