package hosted

import (
	"cmp"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type chatGPTMessage struct {
	message
	content []byte
}

func (e chatGPTMessage) kind() string { return jsonl.GetString(e.content, "content_type") }

// extra returns the rest of the metadata and, unless the message was finished, of the message; nil if there is none.
func (e chatGPTMessage) extra() []byte {
	meta := jsonl.Get(e.raw, "metadata")
	o := record.NewObject(256).Rest(meta, "model_slug", "default_model_slug", "message_type", "timestamp_", "request_id", "turn_exchange_id", "parent_id")
	if status := jsonl.GetString(e.raw, "status"); status != "finished_successfully" {
		o.Rest(e.raw, "id", "author", "create_time", "update_time", "content", "end_turn", "weight", "metadata", "recipient", "channel")
	}
	return o.OrNil()
}

// said returns the content, as a text or as parts.
func (e chatGPTMessage) said() []byte {
	parts := jsonl.Get(e.content, "parts")
	if parts == nil {
		for _, name := range []string{"text", "result", "content"} {
			if v := jsonl.Get(e.content, name); len(v) > 0 && v[0] == '"' {
				return v
			}
		}
		return record.Or(record.NewObject(256).Rest(e.content, "content_type").OrNil(), `""`)
	}
	var list [][]byte
	plain := true
	for part := range jsonl.Elements(parts) {
		switch {
		case part[0] == '"':
			part = record.NewObject(len(part)).Str("type", "text").Raw("text", part).Done()
		case jsonl.GetString(part, "content_type") == "audio_transcription":
			part = record.NewObject(len(part)).Str("type", "text").Rest(part, "content_type", "type").Done()
			plain = false
		case jsonl.IsObject(part):
			part = record.NewObject(len(part)).Raw("type", jsonl.Get(part, "content_type")).Rest(part, "content_type", "type").Done()
			plain = false
		default:
			plain = false
		}
		list = append(list, part)
	}
	if text, all := record.Plain(record.Array(list)); all && plain {
		return text
	}
	return record.Array(list)
}

func (e chatGPTMessage) event(name string) {
	e.Put(record.Event(e.key, e.date, name, record.NewObject(len(e.content)).Rest(e.content, "content_type").Done()))
}

func (e chatGPTMessage) person() {
	if kind := e.kind(); kind == "user_editable_context" { // the user's instructions for all conversations
		e.event(kind)
		return
	}
	p := record.Message(e.key, e.date, "user", e.said())
	p.Extra = e.extra()
	e.Put(p)
}

// system emits a system message. An empty one is left out, or is an event with the user's instructions.
func (e chatGPTMessage) system() {
	text := e.said()
	if !record.Blank(text) {
		e.Put(record.Entry{Kind: record.KindSystem, Keys: []string{e.key}, Date: e.date, Payload: record.With(nil, "content", text), Extra: e.extra()})
		return
	}
	if about := jsonl.Get(e.raw, "metadata", "user_context_message_data"); about != nil {
		e.Put(record.Event(e.key, e.date, "user_editable_context", record.Compact(about)))
	}
}

func (e chatGPTMessage) answer() {
	recipient := cmp.Or(jsonl.GetString(e.raw, "recipient"), "all")
	switch kind := e.kind(); {
	case recipient != "all":
		e.calls[e.fork] = e.key
		e.Call(record.NewCall(e.key, recipient, e.input(), e.key, e.date))
	case kind == "thoughts":
		e.thoughts()
	case kind == "reasoning_recap", kind == "model_editable_context":
		e.event(kind)
		return
	default:
		if said := e.said(); !record.Blank(said) {
			p := record.Message(e.key, e.date, "assistant", said)
			p.RunID, p.Extra = e.key, e.extra()
			e.Put(p)
		}
	}
	if model := jsonl.Get(e.raw, "metadata", "model_slug"); model != nil && !record.Blank(model) {
		p := record.Event(e.key+"/run", e.date, record.EventRun, record.NewObject(64).Raw("model", model).Done())
		p.RunID = e.key
		e.Put(p)
	}
}

func (e chatGPTMessage) thoughts() {
	var texts []string
	for thought := range jsonl.Elements(jsonl.Get(e.content, "thoughts")) {
		for _, name := range []string{"summary", "content"} {
			if text := jsonl.GetString(thought, name); text != "" {
				texts = append(texts, text)
			}
		}
	}
	data := record.NewObject(512).Str("thinking", strings.Join(texts, "\n\n")).Rest(e.content, "content_type", "thoughts")
	e.Put(record.Event(e.key, e.date, record.EventThinking, data.Done()))
}

// input returns the arguments of a call: the message's text if that is a JSON object, otherwise an object with the text.
func (e chatGPTMessage) input() []byte {
	said := e.said()
	if inside := record.Inside(said); jsonl.IsObject(inside) {
		return record.Compact(inside)
	}
	name := "text"
	if e.kind() == "code" {
		name = "code"
	}
	return record.NewObject(len(said)).Raw(name, said).Done()
}

// result emits a tool's message as the result of the call before it.
func (e chatGPTMessage) result() {
	state := jsonl.GetString(e.raw, "metadata", "aggregate_result", "status")
	rest := record.NewObject(256)
	if e.kind() != "text" && e.kind() != "multimodal_text" {
		rest.Rest(e.content, "content_type", "text", "result", "parts")
	}
	e.Result(record.Result{
		ID: cmp.Or(e.calls[e.fork], jsonl.GetString(e.raw, "author", "name"), "tool"), Key: e.key, Date: e.date, Content: e.said(),
		Failed: e.kind() == "system_error" || strings.HasPrefix(state, "failed"),
	}, rest.All(e.extra()).OrNil())
}
