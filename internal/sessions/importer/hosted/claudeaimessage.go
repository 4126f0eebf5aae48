package hosted

import (
	"cmp"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type claudeAIMessage struct{ message }

// extra returns the other fields of the message.
func (e claudeAIMessage) extra() []byte {
	return record.NewObject(256).Rest(e.raw, "uuid", "text", "content", "sender", "created_at", "updated_at", "attachments", "files", "files_v2", "parent_message_uuid", "index").OrNil()
}

// person emits what the user said. The texts of attachments are further parts.
func (e claudeAIMessage) person() {
	var parts [][]byte
	for block := range jsonl.Elements(jsonl.Get(e.raw, "content")) {
		if jsonl.IsObject(block) {
			parts = append(parts, record.NewObject(len(block)).Rest(block, "start_timestamp", "stop_timestamp").Done())
		}
	}
	if text := jsonl.Get(e.raw, "text"); len(parts) == 0 && len(text) > 2 {
		parts = append(parts, record.NewObject(len(text)).Str("type", "text").Raw("text", text).Done())
	}
	plain := true
	for file := range jsonl.Elements(jsonl.Get(e.raw, "attachments")) {
		part := record.NewObject(len(file)).Str("type", "text").Raw("text", record.Or(jsonl.Get(file, "extracted_content"), `""`))
		parts, plain = append(parts, part.Rest(file, "type", "text", "extracted_content").Done()), false
	}
	for _, list := range []string{"files", "files_v2"} {
		for file := range jsonl.Elements(jsonl.Get(e.raw, list)) {
			part := record.NewObject(len(file)).Str("type", "file")
			parts, plain = append(parts, part.Rest(file, "type").Done()), false
		}
	}
	content := record.Array(parts)
	if text, all := record.Plain(content); all && plain {
		content = text
	}
	p := record.Message(e.key, e.date, "user", content)
	p.Extra = e.extra()
	e.Put(p)
}

// answer emits the parts of what the model said.
func (e claudeAIMessage) answer() {
	i := 0
	for block := range jsonl.Elements(jsonl.Get(e.raw, "content")) {
		if !jsonl.IsObject(block) {
			block = record.With(nil, "value", block)
		}
		e.block(block, record.BlockKey(e.key, i))
		i++
	}
	if text := jsonl.Get(e.raw, "text"); i == 0 && len(text) > 2 {
		p := record.Message(e.key, e.date, "assistant", text)
		p.RunID, p.Extra = e.key, e.extra()
		e.Put(p)
	}
}

func (e claudeAIMessage) block(block []byte, key string) {
	date := cmp.Or(record.Date(jsonl.Get(block, "start_timestamp")), e.date)
	rest := func(but ...string) *record.Object {
		return record.NewObject(len(block)).Rest(block, append(but, "type", "start_timestamp", "stop_timestamp")...)
	}
	put := e.InRun(e.key)
	switch typ := jsonl.GetString(block, "type"); typ {
	case "text":
		p := record.Message(key, date, "assistant", record.Or(jsonl.Get(block, "text"), `""`))
		p.Extra = rest("text").OrNil()
		put(p)
	case "thinking":
		put(record.Event(key, date, record.EventThinking, rest().Done()))
	case "tool_use":
		id := cmp.Or(jsonl.GetString(block, "id"), key)
		e.calls[e.fork] = id
		e.Call(record.NewCall(id, jsonl.GetString(block, "name"), record.Compact(record.Or(jsonl.Get(block, "input"), "{}")), key, date))
	case "tool_result":
		content, _ := record.Plain(record.Or(jsonl.Get(block, "content"), "null"))
		e.Result(record.Result{
			ID: cmp.Or(jsonl.GetString(block, "tool_use_id"), e.calls[e.fork], "tool"), Key: key, Date: date, Content: record.Compact(content),
			Failed: string(jsonl.Get(block, "is_error")) == "true",
		}, rest("content", "tool_use_id", "is_error", "name").OrNil())
	default:
		// Newer types, such as a voice_note, also say something (osteele/claude-chat-viewer#5).
		if text := jsonl.Get(block, "text"); len(text) > 2 && text[0] == '"' {
			p := record.Message(key, date, "assistant", text)
			p.Extra = record.With(rest("text").OrNil(), "type", record.Quote(typ))
			put(p)
			return
		}
		put(record.Event(key, date, "part."+cmp.Or(typ, "unknown"), rest().Done()))
	}
}
