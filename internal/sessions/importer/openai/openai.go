// Package openai reads OpenAI's chat messages: as an array, as an object with an array named messages,
// as lines with a message each, or as lines with such objects. The last is the format of training data,
// where each line is a conversation.
package openai

import (
	"bytes"
	"cmp"
	"context"
	"strconv"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	record.Conversation
	conversations int
}

// Read makes the entries of one conversation, or of several.
func Read(ctx context.Context, r *record.Reading) error {
	o := &reader{Conversation: record.Conversation{Reading: r}}
	rest := record.NewObject(64)
	field := func(name string, raw []byte) { rest.Raw(name, raw) }
	if err := record.Each(ctx, r.Source, isRecord, field, o); err != nil {
		return err
	}
	o.End()
	if !r.Open && !rest.Empty() {
		data := rest.Done()
		o.Put(record.Event(o.Counts.Key(data), "", "conversation", data))
	}
	return nil
}

func isRecord(raw []byte) bool {
	return jsonl.Get(raw, "role") != nil || jsonl.Get(raw, "messages") != nil
}

func (o *reader) Record(_ record.Span, raw []byte) {
	messages := jsonl.Get(raw, "messages")
	if len(messages) == 0 || messages[0] != '[' {
		o.message(raw)
		return
	}
	o.conversations++
	key := o.Counts.Key(raw)
	o.Flush()
	o.Put(record.Anchor(key, "", "conversation-"+strconv.Itoa(o.conversations), record.Without(raw, "messages")))
	o.Stats.Records++
	for m := range jsonl.Elements(messages) {
		if !jsonl.IsObject(m) {
			m = record.With(nil, "value", m)
		}
		o.message(m)
	}
	o.Flush()
}

var dateFields = []string{"date", "timestamp", "created_at", "created"}

func dateOf(raw []byte) (date string) {
	for _, name := range dateFields {
		date = cmp.Or(date, record.Date(jsonl.Get(raw, name)))
	}
	return date
}

func (o *reader) message(raw []byte) {
	key := o.Counts.Key(raw)
	date := dateOf(raw)
	content := jsonl.Get(raw, "content")
	p := record.Entry{Kind: record.KindMessage, Keys: []string{key}, Date: date}
	switch role := jsonl.GetString(raw, "role"); role {
	case "system", "developer":
		if plain, all := record.Plain(content); all {
			p.Kind, p.Payload = record.KindSystem, record.With(nil, "content", plain)
			p.Extra = others(raw, "content")
			if role == "system" {
				p.Extra = others(raw, "content", "role")
			}
		} else {
			p.Payload = record.Compact(raw)
		}
		o.Put(p)
	case "tool", "function":
		id := cmp.Or(jsonl.GetString(raw, "tool_call_id"), jsonl.GetString(raw, "name"))
		result := record.Result{ID: id, Key: key, Date: date, Content: record.Or(content, "null")}
		o.Result(result, others(raw, "role", "content", "tool_call_id"))
	case "":
		name := cmp.Or(jsonl.GetString(raw, "type"), "record")
		o.Put(record.Event(key, date, name, record.Compact(raw)))
	default:
		o.said(p, raw, content)
	}
	o.Stats.Records++
}

// isAnthropics reports whether a content has calls or results in Anthropic's form: programs with its SDK keep messages so.
func isAnthropics(content []byte) bool {
	for block := range jsonl.Elements(content) {
		switch typ := jsonl.GetString(block, "type"); {
		case typ == "tool_use", record.IsServerCall(typ):
			if jsonl.Get(block, "input") != nil {
				return true
			}
		case typ == "tool_result" && jsonl.Get(block, "tool_use_id") != nil:
			return true
		}
	}
	return false
}

// others returns the other members, or nil if there are none.
func others(raw []byte, but ...string) []byte { return record.NewObject(64).All(raw, but...).OrNil() }

func (o *reader) said(p record.Entry, raw, content []byte) {
	if isAnthropics(content) {
		blocks := record.Blocks{Key: p.Keys[0], Date: p.Date, Extra: others(raw, append([]string{"role", "content"}, dateFields...)...)}
		if jsonl.GetString(raw, "role") == "assistant" {
			o.PutAnswer(content, blocks)
		} else {
			o.PutPerson(content, blocks)
		}
		return
	}
	calls := jsonl.Get(raw, "tool_calls")
	if inside := record.Inside(calls); len(inside) > 0 && inside[0] == '[' { // rows of a database have them as a text
		calls = inside
	}
	legacy := jsonl.Get(raw, "function_call")
	hasCalls := len(calls) > 2 && calls[0] == '[' || jsonl.IsObject(legacy)
	key := p.Keys[0]
	if !hasCalls || !record.Blank(record.Or(content, "null")) || carries(raw) {
		p.Payload = record.Compact(raw)
		if hasCalls {
			p.Payload = others(raw, "tool_calls", "function_call")
		}
		o.Put(p)
	}
	if !hasCalls {
		return
	}
	n := 0
	add := func(raw, id, input []byte) {
		n++
		o.Call(record.Call{
			Raw: bytes.Clone(raw), ID: record.Text(id), Name: record.Text(jsonl.Get(raw, "function", "name")), Input: record.Inside(input),
			Key: key + "/call/" + strconv.Itoa(n), Date: p.Date,
		})
	}
	for c := range jsonl.Elements(calls) {
		add(c, jsonl.Get(c, "id"), jsonl.Get(c, "function", "arguments"))
	}
	if jsonl.IsObject(legacy) {
		// In the old format, results name the function instead of an id.
		name := jsonl.Get(legacy, "name")
		c := record.NewObject(len(legacy)+48).Raw("id", record.Or(name, "null")).Str("type", "function").Raw("function", legacy)
		add(c.Done(), name, jsonl.Get(legacy, "arguments"))
	}
	o.PutCalls()
}

// carries reports whether a message with calls has anything else.
func carries(raw []byte) bool {
	used := append([]string{"role", "content", "tool_calls", "function_call", "id"}, dateFields...)
	return !record.NewObject(64).Rest(raw, used...).Empty()
}

// Describe reads the first message.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.Scan(ctx, src, isRecord, func(string, []byte) {}, func(_ record.Span, raw []byte) bool {
		info.Started, info.Complete = dateOf(raw), true
		return false
	})
}
