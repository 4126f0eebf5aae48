package view

import (
	"strings"

	"tape/internal/jsonl"
)

// The messages follow the schema of chat completions:
// https://platform.openai.com/docs/api-reference/chat/create

// isSpeaker reports whether the name of a participant is one that is accepted.
func isSpeaker(name string) bool {
	return name != "" && len(name) <= maxName && len(strings.Fields(name)) == 1 && !strings.ContainsAny(name, " \t\r\n<|\\/>")
}

func renderOpenAI(it *item) {
	p := piece{role: it.role, json: append([]byte(`{"role":"`), it.role...)}
	p.json = append(p.json, `","content":`...)
	p.content(it)
	if isSpeaker(it.name) {
		p.member("name", it.name)
	}
	if it.refusal != "" {
		p.member("refusal", it.refusal)
	}
	for i, c := range it.calls {
		if i == 0 {
			p.json = append(p.json, `,"tool_calls":[`...)
		} else {
			p.json = append(p.json, ',')
		}
		p.call(c)
	}
	if len(it.calls) > 0 {
		p.json = append(p.json, ']')
	}
	p.json = append(p.json, '}')
	it.pieces = append(it.pieces, p)
	for _, c := range it.calls {
		it.pieces = append(it.pieces, toolMessage(c))
	}
}

// member adds a string member.
func (p *piece) member(name, value string) {
	p.json = append(append(append(p.json, `,"`...), name...), `":`...)
	p.json = jsonl.AppendString(p.json, value)
}

// content writes a string where the tape has one, else an array of parts.
func (p *piece) content(it *item) {
	if it.null && len(it.parts) == 0 {
		p.json = append(p.json, "null"...)
		return
	}
	if it.plain || len(it.parts) == 0 {
		p.json = jsonl.AppendString(p.json, joinText(it.parts))
		return
	}
	for i, part := range it.parts {
		sep := byte(',')
		if i == 0 {
			sep = '['
		}
		p.json = append(p.json, sep)
		if it.role == roleUser {
			p.userPart(part)
		} else {
			p.textPart(part, it.role == roleAssistant)
		}
	}
	p.json = append(p.json, ']')
}

func (p *piece) textPart(part part, refusals bool) {
	kind := "text"
	if part.kind == partRefusal && refusals {
		kind = "refusal"
	}
	p.json = append(append(append(p.json, `{"type":"`...), kind...), '"')
	p.member(kind, part.asText())
	p.json = append(p.json, '}')
}

func (p *piece) userPart(part part) {
	before := len(p.json)
	switch {
	case part.kind == partImage && part.isShown() && part.data != "":
		p.json = append(p.json, `{"type":"image_url","image_url":{"url":`...)
		p.json = jsonl.AppendString(p.json, "data:"+part.media+";base64,"+part.data)
		p.detail(part)
	case part.kind == partImage && part.isShown():
		p.json = append(p.json, `{"type":"image_url","image_url":{"url":`...)
		p.json = jsonl.AppendString(p.json, part.url)
		p.detail(part)
	case part.kind == partAudio && (part.media == "wav" || part.media == "mp3"):
		p.json = append(p.json, `{"type":"input_audio","input_audio":{"format":"`+part.media+`"`...)
		p.member("data", part.data)
		p.json = append(p.json, "}}"...)
	case part.kind == partFile && part.fileID != "":
		p.json = append(p.json, `{"type":"file","file":{"file_id":`...)
		p.json = append(jsonl.AppendString(p.json, part.fileID), "}}"...)
	case part.kind == partFile && part.data != "":
		p.file(part)
	default:
		p.textPart(part, false)
		return
	}
	p.media++
	if part.data != "" {
		p.data += len(p.json) - before
	}
}

func (p *piece) detail(part part) {
	switch part.detail {
	case "auto", "low", "high":
		p.member("detail", part.detail)
	}
	p.json = append(p.json, "}}"...)
}

func (p *piece) file(part part) {
	name, data := part.name, part.data
	if name == "" {
		name = "file"
	}
	if part.media != "" {
		data = "data:" + part.media + ";base64," + data
	}
	p.json = append(p.json, `{"type":"file","file":{"filename":`...)
	p.json = jsonl.AppendString(p.json, name)
	p.member("file_data", data)
	p.json = append(p.json, "}}"...)
}

func (p *piece) call(c *call) {
	p.json = append(p.json, `{"id":`...)
	p.json = jsonl.AppendString(p.json, c.shown)
	kind, args := "function", "arguments"
	if c.custom {
		kind, args = "custom", "input"
	}
	p.json = append(p.json, `,"type":"`+kind+`","`+kind+`":{"name":`...)
	p.json = jsonl.AppendString(p.json, toolName(c.name))
	p.member(args, c.args)
	p.json = append(p.json, "}}"...)
}

func toolMessage(c *call) piece {
	p := piece{role: roleTool}
	p.json = append(p.json, `{"role":"tool","content":`...)
	switch r := c.result; {
	case r == nil:
		p.json = jsonl.AppendString(p.json, textInterrupted)
	case r.message:
		p.content(&item{role: roleTool, parts: r.parts})
	default:
		p.json = jsonl.AppendString(p.json, r.text)
	}
	p.member("tool_call_id", c.shown)
	p.json = append(p.json, '}')
	return p
}
