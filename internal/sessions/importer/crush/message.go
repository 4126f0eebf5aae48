package crush

import (
	"cmp"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// message is a row, from which Record makes entries.
type message struct {
	*reader
	raw   []byte
	id    string
	agent string
	date  string
	open  bool // it may get more parts
}

// parts calls each with every part of the row and its key. If the list cannot be read, all of it is one part.
func (m message) parts(each func(key, kind string, data []byte)) {
	list := record.Or(jsonl.Get(m.raw, "parts"), "[]")
	if list[0] != '[' {
		each(m.id, "unreadable", record.With(nil, "parts", list))
		return
	}
	i := 0
	for part := range jsonl.Elements(list) {
		data := jsonl.Get(part, "data")
		if data == nil || data[0] != '{' {
			data = record.With(nil, "data", record.Or(data, "null"))
		}
		each(record.BlockKey(m.id, i), jsonl.GetString(part, "type"), data)
		i++
	}
}

func (m message) put(p record.Entry) {
	if jsonl.GetString(m.raw, "role") == "assistant" {
		p.RunID = m.id
	}
	m.In(m.agent).Put(p)
}

func (m message) event(key, kind string, data []byte) {
	m.put(record.Event(key, m.date, "part."+kind, record.NewObject(len(data)).Rest(data).Done()))
}

// person emits what a person wrote, or ran in the shell.
func (m message) person() {
	var blocks [][]byte
	first := ""
	m.parts(func(key, kind string, data []byte) {
		switch kind {
		case "text":
			blocks = append(blocks, record.NewObject(len(data)).Str("type", "text").Raw("text", record.Or(jsonl.Get(data, "text"), `""`)).Done())
		case "image_url":
			url := record.NewObject(len(data)).Raw("url", jsonl.Get(data, "url")).Done()
			blocks = append(blocks, record.NewObject(len(data)).Str("type", "image_url").Raw("image_url", url).Done())
		case "binary":
			blocks = append(blocks, attachment(data))
		case "shell_command":
			m.put(record.Event(key, m.date, "shell", record.NewObject(len(data)).All(data).Done()))
			return
		case "finish":
			return
		default:
			m.event(key, kind, data)
			return
		}
		if first == "" {
			first = key
		}
	})
	if first != "" {
		content, _ := record.Plain(record.Array(blocks))
		m.put(record.Message(first, m.date, "user", content))
	}
}

// attachment returns a file that a person attached. A picture gets the form that other formats use.
func attachment(data []byte) []byte {
	media := jsonl.GetString(data, "MIMEType") + jsonl.GetString(data, "mime_type")
	content := record.Text(record.Or(jsonl.Get(data, "Data"), "null")) + record.Text(record.Or(jsonl.Get(data, "data"), "null"))
	if !strings.HasPrefix(media, "image/") || content == "" {
		return record.NewObject(len(data)).Str("type", "file").Rest(data).Done()
	}
	source := record.NewObject(len(content)).Str("type", "base64").Str("media_type", media).Str("data", content).Done()
	return record.NewObject(len(content)).Str("type", "image").Raw("source", source).Done()
}

// answer emits what the model said. The event "run" of the answer is held until the results of its calls were emitted,
// so that an import gives the same order as a recording.
func (m message) answer() {
	summary := string(jsonl.Get(m.raw, "is_summary_message")) == "1"
	data := record.NewObject(160).Raw("model", jsonl.Get(m.raw, "model")).Raw("provider", jsonl.Get(m.raw, "provider"))
	name := record.EventRun
	m.parts(func(key, kind string, part []byte) {
		switch text := jsonl.Get(part, "text"); {
		case kind == "reasoning":
			thinking := record.NewObject(len(part)).Raw("thinking", record.Or(jsonl.Get(part, "thinking"), `""`))
			m.put(record.Event(key, m.date, record.EventThinking, thinking.Rest(part, "thinking", "started_at", "finished_at").Done()))
		case kind == "text" && summary:
			m.put(record.Anchor(key, m.date, "compaction", record.NewObject(len(part)).Raw("summary", record.Or(text, `""`)).Done()))
		case kind == "text":
			m.put(record.Message(key, m.date, "assistant", record.Or(text, `""`)))
		case kind == "tool_call":
			m.call(key, part)
		case kind == "finish":
			reason := jsonl.GetString(part, "reason")
			if reason == "error" {
				name = "model.error"
			}
			if reason != "tool_use" && reason != "end_turn" {
				data.Str("reason", reason)
			}
			data.Rest(part, "reason", "time")
		default:
			m.event(key, kind, part)
		}
	})
	if !m.open {
		m.runs[m.agent] = record.Entry{Kind: record.KindEvent, Keys: []string{m.id + "/run"}, RunID: m.id, Date: record.Date(jsonl.Get(m.raw, "finished_at")),
			Payload: record.NewObject(256).Str("name", name).Raw("data", data.Done()).Done()}
	}
}

func (m message) call(key string, part []byte) {
	id := jsonl.GetString(part, "id")
	input := jsonl.GetString(part, "input")
	m.ends[m.agent+"$$"+id] = subagent(m.id + "$$" + id)
	m.In(m.agent).Call(record.NewCall(id, jsonl.GetString(part, "name"), record.Compact([]byte(cmp.Or(input, "{}"))), key, m.date))
}

// results emits the results in a row, usually one. The result of a subagent's call ends its fork.
func (m message) results() {
	m.parts(func(key, kind string, data []byte) {
		if kind != "tool_result" {
			if kind != "finish" {
				m.event(key, kind, data)
			}
			return
		}
		id, content := jsonl.GetString(data, "tool_call_id"), record.Or(jsonl.Get(data, "content"), "null")
		if agent := m.ends[m.agent+"$$"+id]; m.Began(agent) {
			delete(m.ends, m.agent+"$$"+id)
			m.endMessage(agent)
			p := record.Event(key+"/agent", m.date, "subagent.completed", record.NewObject(64).Str("call_id", id).Done())
			p.Ends = []string{agent}
			m.In(m.agent).Put(p)
		}
		extra := record.NewObject(len(data)).Rest(data, "tool_call_id", "name", "content", "is_error", "metadata")
		if more := record.Inside(jsonl.Get(data, "metadata")); jsonl.IsObject(more) {
			extra.Rest(more, "hook", "output") // the output is the content
		}
		m.In(m.agent).Result(record.Result{
			ID: id, Key: key, Date: m.date, Content: content,
			Failed: string(jsonl.Get(data, "is_error")) == "true" || failed(jsonl.GetString(data, "name"), record.Text(content)),
		}, extra.OrNil())
	})
}
