package record

import (
	"cmp"
	"strings"

	"tape/internal/text/jsonl"
)

// Blocks is a message whose content is a list of blocks in Anthropic's form, as many agents keep messages: texts,
// thinking, calls, results.
type Blocks struct {
	Key, Date string
	Run       string // the request to the model; "" is Key
	// Text changes a text, a JSON string; nil leaves the block out. Text may be nil.
	Text func(text []byte) []byte
	// Detail returns what a result has that the model did not see, an object, or nil. It may be nil.
	Detail func(result []byte) []byte
	Extra  []byte // fields of the message without a place elsewhere, for the first entry with a text
}

// key returns the key of block i. Block 0 has the key of the message.
func (b Blocks) key(i int) string { return BlockKey(b.Key, i) }

// each calls see with the blocks. A content that is only a text is one block.
func (b Blocks) each(content []byte, see func(i int, typ string, block []byte)) {
	if len(content) > 0 && content[0] == '"' {
		content = Array([][]byte{NewObject(len(content)).Str("type", "text").Raw("text", content).Done()})
	}
	i := 0
	for block := range jsonl.Elements(content) {
		typ := jsonl.GetString(block, "type")
		if block[0] == '"' {
			typ, block = "text", NewObject(len(block)).Str("type", "text").Raw("text", block).Done()
		}
		if text := jsonl.Get(block, "text"); typ == "text" && b.Text != nil {
			changed := b.Text(text)
			if changed == nil {
				i++
				continue
			}
			block = NewObject(len(block)).Str("type", "text").Raw("text", changed).All(block, "type", "text").Done()
		}
		see(i, typ, block)
		i++
	}
}

// PutPerson emits the results of calls in a user's message, and what else it has as one message.
func (t *Conversation) PutPerson(content []byte, b Blocks) {
	var said [][]byte
	first := ""
	b.each(content, func(i int, typ string, block []byte) {
		if typ != "tool_result" {
			first = cmp.Or(first, b.key(i))
			said = append(said, block)
			return
		}
		result, _ := Plain(Or(jsonl.Get(block, "content"), "null"))
		var detail []byte
		if b.Detail != nil {
			detail = b.Detail(block)
		}
		t.Result(Result{ID: jsonl.GetString(block, "tool_use_id"), Key: b.key(i), Date: b.Date, Content: result,
			Failed: string(jsonl.Get(block, "is_error")) == "true"}, detail)
	})
	if said == nil {
		return
	}
	text, _ := Plain(Array(said))
	p := Message(first, b.Date, "user", text)
	p.Extra = b.Extra
	t.Put(p)
}

// PutAnswer emits what the model said and called. A call without an id is named after its place.
func (t *Conversation) PutAnswer(content []byte, b Blocks) {
	put := t.InRun(cmp.Or(b.Run, b.Key))
	extra := b.Extra
	b.each(content, func(i int, typ string, block []byte) {
		key := b.key(i)
		switch typ {
		case "text":
			p := Message(key, b.Date, "assistant", Or(jsonl.Get(block, "text"), `""`))
			p.Extra, extra = extra, nil
			put(p)
		case "thinking", "reasoning":
			text := Or(jsonl.Get(block, "thinking"), Or(jsonl.Get(block, "text"), `""`))
			if !Blank(text) {
				put(Event(key, b.Date, EventThinking, With(nil, "thinking", text)))
			}
		case "tool_use", "server_tool_use", "mcp_tool_use":
			input := Compact(Or(jsonl.Get(block, "input"), "{}"))
			t.Call(NewCall(cmp.Or(jsonl.GetString(block, "id"), "call-"+key), jsonl.GetString(block, "name"), input, key, b.Date))
		default:
			if r, detail, ok := ServerResult(typ, block); ok {
				r.Key, r.Date = key, b.Date
				t.Result(r, detail)
				return
			}
			put(Event(key, b.Date, "part."+typ, NewObject(len(block)).Rest(block, "type").Done()))
		}
	})
}

// Within takes what a person said out of the element that a program puts around it. more is what the program adds. Of a
// text without such an element, all is said.
func Within(text, element string) (said, more string) {
	begin, end := "<"+element+">", "</"+element+">"
	from, to := strings.Index(text, begin), strings.LastIndex(text, end)
	if from < 0 || to < from {
		return text, ""
	}
	return strings.TrimSpace(text[from+len(begin) : to]), strings.TrimSpace(text[:from] + text[to+len(end):])
}
