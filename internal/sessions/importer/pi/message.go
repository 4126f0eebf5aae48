package pi

import (
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// element is a record from which entries are made.
type element struct {
	*record.Conversation
	raw  []byte
	key  string
	date string
}

// rest returns the fields of the record besides those that every record has, and some others.
func (e element) rest(but ...string) []byte {
	return record.NewObject(len(e.raw)).Rest(e.raw, append(but, "type", "id", "parentId", "timestamp")...).Done()
}

// spent emits what a summary took, or the model that a tool used: pi counts it for the session, too
// (grafana/agento11y#495).
func (e element) spent(usage, model []byte) {
	if usage == nil || record.Blank(usage) {
		return
	}
	data := record.NewObject(256).Raw("model", model).Raw("usage", tokens(usage)).Raw("cost", jsonl.Get(usage, "cost", "total"))
	e.Put(record.Event(e.key+"/run", e.date, record.EventRun, data.Done()))
}

func (e element) message(m []byte) {
	content, _ := record.Plain(record.Or(jsonl.Get(m, "content"), "null"))
	extra := record.NewObject(64)
	switch role := jsonl.GetString(m, "role"); role {
	case "user":
		p := record.Message(e.key, e.date, "user", content)
		p.Extra = extra.Rest(m, "role", "content", "timestamp").OrNil()
		e.Put(p)
	case "assistant":
		e.answer(m)
	case "toolResult":
		extra.Rest(m, "role", "content", "timestamp", "toolCallId", "toolName", "isError", "usage")
		e.Result(record.Result{
			ID: jsonl.GetString(m, "toolCallId"), Key: e.key, Date: e.date, Content: content,
			Failed: string(jsonl.Get(m, "isError")) == "true",
		}, extra.OrNil())
		e.spent(jsonl.Get(m, "usage"), nil)
	case "bashExecution": // what a person ran with "!"
		e.Put(record.Event(e.key, e.date, "shell", extra.Rest(m, "role", "timestamp").Done()))
	default:
		e.Put(record.Event(e.key, e.date, "message."+role, extra.Rest(m, "role", "timestamp").Done()))
	}
}

// answer emits what the model said, and what it cost.
func (e element) answer(m []byte) {
	put := e.InRun(e.key)
	i := 0
	for block := range jsonl.Elements(jsonl.Get(m, "content")) {
		key := record.BlockKey(e.key, i)
		i++
		switch typ := jsonl.GetString(block, "type"); typ {
		case "text":
			p := record.Message(key, e.date, "assistant", record.Or(jsonl.Get(block, "text"), `""`))
			p.Extra = record.NewObject(64).Rest(block, "type", "text").OrNil()
			put(p)
		case "toolCall":
			input := record.Compact(record.Or(jsonl.Get(block, "arguments"), "{}"))
			e.Call(record.NewCall(jsonl.GetString(block, "id"), jsonl.GetString(block, "name"), input, key, e.date))
		case "thinking":
			put(record.Event(key, e.date, record.EventThinking, record.NewObject(len(block)).Rest(block, "type").Done()))
		default:
			put(record.Event(key, e.date, "part."+typ, record.NewObject(len(block)).Rest(block, "type").Done()))
		}
	}
	if reason := jsonl.Get(m, "errorMessage"); reason != nil {
		data := record.NewObject(256).Raw("message", reason).Raw("reason", jsonl.Get(m, "stopReason"))
		put(record.Event(e.key+"/error", e.date, "model.error", data.Done()))
	}
	put(record.Event(e.key+"/run", e.date, record.EventRun, cost(m)))
}

// tokens returns a usage. Its input has no tokens from the cache.
func tokens(usage []byte) []byte {
	return record.NewObject(160).As(usage, map[string]string{
		"input": "input_tokens", "output": "output_tokens", "cacheRead": "cache_read_input_tokens",
		"cacheWrite": "cache_creation_input_tokens", "reasoning": "reasoning_output_tokens", "totalTokens": "total_tokens", "cost": "",
	}).OrNil()
}

// cost returns the model and the usage of an answer.
func cost(m []byte) []byte {
	usage := jsonl.Get(m, "usage")
	data := record.NewObject(256).Raw("model", jsonl.Get(m, "model")).Raw("usage", tokens(usage))
	data.Raw("cost", jsonl.Get(usage, "cost", "total"))
	return data.Rest(m, "role", "content", "model", "usage", "timestamp", "errorMessage").Done()
}
