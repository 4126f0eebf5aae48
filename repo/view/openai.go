package view

import (
	"cmp"
	"strings"

	"tape/internal/text/jsonl"
)

// The messages follow the schema of chat completions:
// https://platform.openai.com/docs/api-reference/chat/create

// isSpeaker reports whether the provider accepts a participant's name.
func isSpeaker(name string) bool {
	return name != "" && len(name) <= maxName && len(strings.Fields(name)) == 1 && !strings.ContainsAny(name, " \t\r\n<|\\/>")
}

func renderOpenAI(it *item) {
	p := piece{role: it.role}
	p.add(`{"role":"` + it.role + `","content":`)
	p.content(it)
	if isSpeaker(it.name) {
		p.member("name", it.name)
	}
	if it.refusal != "" {
		p.member("refusal", it.refusal)
	}
	if len(it.calls) > 0 {
		p.add(`,"tool_calls":`)
		p.list(len(it.calls), func(i int) { p.call(it.calls[i]) })
	}
	p.add("}")
	it.pieces = append(it.pieces, p)
	for _, c := range it.calls {
		it.pieces = append(it.pieces, toolMessage(c))
	}
}

func (p *piece) add(raw string) { p.json = append(p.json, raw...) }

func (p *piece) member(name, value string) {
	if p.json[len(p.json)-1] != '{' {
		p.add(",")
	}
	p.add(`"` + name + `":`)
	p.json = jsonl.AppendString(p.json, value)
}

// list adds an array of n values; each adds the i-th.
func (p *piece) list(n int, each func(i int)) {
	p.add("[")
	for i := range n {
		if i > 0 {
			p.add(",")
		}
		each(i)
	}
	p.add("]")
}

// content adds a string if the tape has one, otherwise an array of parts.
func (p *piece) content(it *item) {
	switch {
	case it.null && len(it.parts) == 0:
		p.add("null")
	case it.plain || len(it.parts) == 0:
		p.json = jsonl.AppendString(p.json, joinText(it.parts))
	default:
		p.list(len(it.parts), func(i int) {
			if it.role == roleUser {
				p.userPart(it.parts[i])
			} else {
				p.textPart(it.parts[i], it.role == roleAssistant)
			}
		})
	}
}

func (p *piece) textPart(part part, refusals bool) {
	kind := "text"
	if part.kind == partRefusal && refusals {
		kind = "refusal"
	}
	p.add(`{"type":"` + kind + `"`)
	p.member(kind, part.asText())
	p.add("}")
}

func (p *piece) userPart(part part) {
	before := len(p.json)
	switch {
	case part.kind == partImage && part.isShown():
		p.image(part)
	case part.kind == partAudio && (part.media == "wav" || part.media == "mp3"):
		p.add(`{"type":"input_audio","input_audio":{"format":"` + part.media + `"`)
		p.member("data", part.data)
		p.add("}}")
	case part.kind == partFile && part.fileID != "":
		p.add(`{"type":"file","file":{`)
		p.member("file_id", part.fileID)
		p.add("}}")
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

func (p *piece) image(part part) {
	url := part.url
	if part.data != "" {
		url = "data:" + part.media + ";base64," + part.data
	}
	p.add(`{"type":"image_url","image_url":{`)
	p.member("url", url)
	switch part.detail {
	case "auto", "low", "high":
		p.member("detail", part.detail)
	}
	p.add("}}")
}

func (p *piece) file(part part) {
	data := part.data
	if part.media != "" {
		data = "data:" + part.media + ";base64," + data
	}
	p.add(`{"type":"file","file":{`)
	p.member("filename", cmp.Or(part.name, "file"))
	p.member("file_data", data)
	p.add("}}")
}

func (p *piece) call(c *call) {
	kind, args := "function", "arguments"
	if c.custom {
		kind, args = "custom", "input"
	}
	p.add("{")
	p.member("id", c.shown)
	p.add(`,"type":"` + kind + `","` + kind + `":{`)
	p.member("name", ToolName(c.name))
	p.member(args, c.args)
	p.add("}}")
}

func toolMessage(c *call) piece {
	p := piece{role: roleTool}
	p.add(`{"role":"tool","content":`)
	switch r := c.result; {
	case r == nil:
		p.json = jsonl.AppendString(p.json, textInterrupted)
	case r.message:
		p.content(&item{role: roleTool, parts: r.parts})
	default:
		p.json = jsonl.AppendString(p.json, r.text)
	}
	p.member("tool_call_id", c.shown)
	p.add("}")
	return p
}
