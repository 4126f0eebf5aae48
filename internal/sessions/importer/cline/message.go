package cline

import (
	"bytes"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// element is a message, from which Record makes entries.
type element struct {
	*reader
	raw  []byte
	key  string
	date string
}

// extra returns the fields of the message that its entries do not hold otherwise.
func (e element) extra(but ...string) *record.Object {
	return record.NewObject(64).Rest(e.raw, append(but, "id", "role", "content", "ts")...)
}

// shown emits a message that Cline showed to the user and did not send to the model.
func (e element) shown(role string) {
	text, _ := record.Plain(jsonl.Get(e.raw, "content"))
	name := "display"
	if role == "error" {
		name = "model.error"
	}
	data := record.NewObject(256).Raw("message", text).All(e.extra("metadata").Done())
	e.Put(record.Event(e.key, e.date, name, data.Done()))
}

// blocks returns the parts of the message. A message that is only a text has one part.
func (e element) blocks() [][]byte {
	content := jsonl.Get(e.raw, "content")
	if len(content) > 0 && content[0] == '"' {
		return [][]byte{record.NewObject(len(content)).Str("type", "text").Raw("text", content).Done()}
	}
	return slices.Collect(jsonl.Elements(content))
}

// person emits the results of calls, and what a person said.
func (e element) person() {
	blocks := e.blocks()
	var said [][]byte
	key, extra := e.key, e.extra()
	for i, block := range blocks {
		at := record.BlockKey(e.key, i)
		if jsonl.GetString(block, "type") == "tool_result" {
			e.result(at, block)
			continue
		}
		block = picture(block)
		if text, mode := unwrap(jsonl.Get(block, "text")); mode != "" {
			block = record.NewObject(len(block)).Str("type", "text").Raw("text", text).Done()
			extra.Str("mode", mode)
		}
		if said = append(said, block); len(said) == 1 {
			key = at
		}
	}
	if said == nil && len(blocks) > 0 {
		return
	}
	text, _ := record.Plain(record.Array(said))
	first := !e.asked
	e.asked = true
	if prompt, _ := unwrap(jsonl.Get(e.session, "prompt")); first && bytes.Equal(text, prompt) && e.Has(promptKey) {
		key = promptKey
	}
	p := record.Message(key, e.date, "user", text)
	p.Extra = extra.OrNil()
	e.Put(p)
	if first {
		e.title(text, e.date)
	}
}

const (
	promptBegin = `"<user_input mode=\"`
	promptEnd   = `</user_input>`
)

// unwrap takes a prompt, which is a JSON string, out of the element <user_input mode="…"> that Cline puts around it.
// If there is no such element, mode is "".
func unwrap(text []byte) (prompt []byte, mode string) {
	rest, ok := bytes.CutPrefix(text, []byte(promptBegin))
	in, rest, ok2 := bytes.Cut(rest, []byte(`\">`))
	end := bytes.LastIndex(rest, []byte(promptEnd))
	if !ok || !ok2 || end < 0 {
		return text, ""
	}
	return slices.Concat([]byte(`"`), rest[:end], rest[end+len(promptEnd):]), string(in)
}

// answer emits what the model said, and what it cost.
func (e element) answer() {
	put := e.InRun(e.key)
	for i, block := range e.blocks() {
		key := record.BlockKey(e.key, i)
		rest := record.NewObject(64).Rest(block, "type", "text", "thinking", "id", "name", "input")
		switch typ := jsonl.GetString(block, "type"); typ {
		case "text":
			p := record.Message(key, e.date, "assistant", record.Or(jsonl.Get(block, "text"), `""`))
			p.Extra = rest.OrNil()
			put(p)
		case "thinking":
			data := record.NewObject(len(block)).Raw("thinking", jsonl.Get(block, "thinking"))
			put(record.Event(key, e.date, record.EventThinking, data.All(rest.Done()).Done()))
		case "tool_use":
			input := record.Compact(record.Or(jsonl.Get(block, "input"), "{}"))
			e.Call(record.NewCall(jsonl.GetString(block, "id"), jsonl.GetString(block, "name"), input, key, e.date))
		default:
			put(record.Event(key, e.date, "part."+typ, record.NewObject(len(block)).Rest(block, "type").Done()))
		}
	}
	put(record.Event(e.key+"/run", e.date, record.EventRun, e.cost()))
}

// cost returns the model and the usage of an answer. For a copied answer, the usage is called usage_before: it is counted
// in the session from which it was copied.
func (e element) cost() []byte {
	metrics := jsonl.Get(e.raw, "metrics")
	usage := record.NewObject(160)
	usage.Raw("input_tokens", jsonl.Get(metrics, "inputTokens")).Raw("output_tokens", jsonl.Get(metrics, "outputTokens")).
		Raw("cached_input_tokens", jsonl.Get(metrics, "cacheReadTokens")).Raw("cache_write_input_tokens", jsonl.Get(metrics, "cacheWriteTokens"))
	name := "usage"
	if e.copied(e.date) {
		name = "usage_before"
	}
	data := record.NewObject(256).Raw("model", jsonl.Get(e.raw, "modelInfo", "id")).Raw(name, usage.OrNil())
	data.Rest(metrics, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens").Rest(jsonl.Get(e.raw, "modelInfo"), "id")
	return data.All(e.extra("modelInfo", "metrics").Done()).Done()
}

// picture gives the field with the type of a picture the name that other formats use.
func picture(block []byte) []byte {
	if jsonl.GetString(block, "type") != "image" {
		return block
	}
	return record.NewObject(len(block)).As(block, map[string]string{"mediaType": "mimeType"}).Done()
}

// result emits the result of a call.
func (e element) result(key string, block []byte) {
	content, failed, rest := outcome(record.Or(jsonl.Get(block, "content"), "null"))
	rest.Rest(block, "type", "tool_use_id", "name", "content", "is_error")
	e.Result(record.Result{
		ID: jsonl.GetString(block, "tool_use_id"), Key: key, Date: e.date, Content: content,
		Failed: failed || string(jsonl.Get(block, "is_error")) == "true",
	}, rest.OrNil())
}

// outcome reads a result: a list with an object for each command or file, or one such object as a text, or the result
// of a subagent or an MCP server. It returns the output, whether anything failed, and the other fields.
func outcome(content []byte) (text []byte, failed bool, rest *record.Object) {
	rest = record.NewObject(256)
	if inside := record.Inside(content); jsonl.IsObject(inside) {
		content = inside
	}
	switch {
	case isOutcome(content):
		rest.Rest(content, "result", "success")
		text, failed = output(content)
		return text, failed, rest
	case jsonl.GetString(content, "error") != "": // it was not run, for example because it was not allowed
		return jsonl.Get(content, "error"), true, rest.Rest(content, "error")
	case jsonl.IsObject(content) && jsonl.Get(content, "finishReason") != nil:
		return record.Or(jsonl.Get(content, "text"), `""`), false, rest.Rest(content, "text")
	case jsonl.IsObject(content) && jsonl.Get(content, "content") != nil:
		text, _ = record.Plain(jsonl.Get(content, "content"))
		return text, string(jsonl.Get(content, "isError")) == "true", rest.Rest(content, "content", "isError")
	}
	all := slices.Collect(jsonl.Elements(content))
	if len(all) == 0 || slices.ContainsFunc(all, func(el []byte) bool { return !isOutcome(el) }) {
		for i := range all {
			all[i] = picture(all[i])
		}
		if len(all) > 0 {
			content = record.Array(all)
		}
		text, _ = record.Plain(content)
		return text, false, rest
	}
	if len(all) == 1 {
		rest.Rest(all[0], "result", "success")
		text, failed = output(all[0])
		return text, failed, rest
	}
	var parts, others [][]byte
	for _, el := range all {
		part, wrong := output(el)
		failed = failed || wrong
		parts = append(parts, record.NewObject(len(part)).Str("type", "text").Raw("text", part).Done())
		others = append(others, record.NewObject(256).Rest(el, "result", "success").Done())
	}
	return record.Array(parts), failed, rest.Raw("results", record.Array(others))
}

func isOutcome(v []byte) bool {
	return jsonl.IsObject(v) && record.MembersOf(v).Has("query", "success")
}

// output returns the output of a command, or a file's text. If there is none, it returns the reason of the failure.
func output(v []byte) (text []byte, failed bool) {
	text, failed = record.Or(jsonl.Get(v, "result"), `""`), string(jsonl.Get(v, "success")) == "false"
	if reason := jsonl.Get(v, "error"); failed && record.Blank(text) && reason != nil {
		text = reason
	}
	return text, failed
}
