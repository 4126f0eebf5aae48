package view

import (
	"strings"
	"unicode"

	"tape/internal/text/jsonl"
)

// The schema of the messages API: https://docs.anthropic.com/en/api/messages

func renderAnthropic(it *item) {
	parts := it.parts
	if it.refusal != "" {
		parts = append(parts[:len(parts):len(parts)], part{kind: partRefusal, text: it.refusal})
	}
	for i, p := range parts {
		// Reasoning must not come last.
		if p.kind == partThinking && (it.role != roleAssistant || !saysMore(parts[i+1:]) && len(it.calls) == 0) {
			continue
		}
		if b := block(p, it.role); b.json != nil {
			it.pieces = append(it.pieces, b)
		}
	}
	for _, c := range it.calls {
		it.pieces = append(it.pieces, toolUse(c))
	}
	for _, c := range it.calls {
		it.pieces = append(it.pieces, toolResult(c))
	}
}

// block renders a part. A part that would be an empty text gives a piece without JSON.
func block(p part, role string) piece {
	b := piece{role: role}
	switch {
	case p.kind == partThinking && role == roleAssistant:
		b.json = thinking(p.raw)
	case role == roleUser && p.kind == partImage && p.isShown(),
		role == roleUser && p.kind == partFile && (isWeb(p.url) || p.data != "" && p.media == "application/pdf"):
		b.source(p)
	default:
		text := p.asText()
		if role == roleAssistant {
			// The last text of the assistant must not end with white space.
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		if strings.TrimSpace(text) != "" {
			b.json = textBlock(text)
		}
	}
	return b
}

func textBlock(text string) []byte {
	return append(jsonl.AppendString([]byte(`{"type":"text","text":`), text), '}')
}

func thinking(raw []byte) []byte {
	kind, members := "redacted_thinking", []string{"data"}
	if jsonl.GetString(raw, "type") == "thinking" {
		kind, members = "thinking", []string{"thinking", "signature"}
	}
	p := piece{json: []byte("{")}
	p.member("type", kind)
	for _, name := range members {
		p.member(name, jsonl.GetString(raw, name))
	}
	return append(p.json, '}')
}

// source adds an image or document.
func (p *piece) source(part part) {
	kind := "image"
	if part.kind == partFile {
		kind = "document"
	}
	p.add(`{"type":"` + kind + `","source":{"type":"`)
	p.media++
	if part.data != "" {
		p.add(`base64","media_type":"` + part.media + `"`)
		p.member("data", part.data)
		p.data += len(part.data)
	} else {
		p.add(`url"`)
		p.member("url", part.url)
	}
	p.add("}")
	if part.kind == partFile && part.name != "" {
		p.member("title", part.name)
	}
	p.add("}")
}

func toolUse(c *call) piece {
	p := piece{role: roleAssistant}
	p.add(`{"type":"tool_use"`)
	p.member("id", c.shown)
	p.member("name", ToolName(c.name))
	p.add(`,"input":`)
	args := []byte(c.args)
	if !c.custom && jsonl.IsObject(args) && jsonl.Valid(args) == nil {
		p.json = append(p.json, cleanJSON(args)...)
	} else {
		name := "arguments"
		if c.custom {
			name = "input"
		}
		p.add("{")
		p.member(name, c.args)
		p.add("}")
	}
	p.add("}")
	return p
}

func toolResult(c *call) piece {
	p := piece{role: roleUser}
	p.add(`{"type":"tool_result"`)
	p.member("tool_use_id", c.shown)
	r := c.result
	if r == nil {
		r = &result{text: textInterrupted, failed: true}
	}
	switch {
	case r.parts != nil:
		p.resultBlocks(r.parts)
	case strings.TrimSpace(r.text) != "":
		p.member("content", r.text)
	}
	if r.failed {
		p.add(`,"is_error":true`)
	}
	p.add("}")
	return p
}

func (p *piece) resultBlocks(parts []part) {
	var blocks []piece
	for _, part := range parts {
		if b := block(part, roleUser); b.json != nil {
			blocks = append(blocks, b)
			p.media, p.data = p.media+b.media, p.data+b.data
		}
	}
	if len(blocks) > 0 {
		p.add(`,"content":`)
		p.list(len(blocks), func(i int) { p.json = append(p.json, blocks[i].json...) })
	}
}
