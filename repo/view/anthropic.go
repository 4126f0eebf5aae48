package view

import (
	"strings"
	"unicode"

	"tape/internal/jsonl"
)

// The blocks follow the schema of the messages API:
// https://docs.anthropic.com/en/api/messages

func renderAnthropic(it *item) {
	parts := it.parts
	if it.refusal != "" {
		parts = append(parts[:len(parts):len(parts)], part{kind: partRefusal, text: it.refusal})
	}
	for i, p := range parts {
		// Reasoning may not come last.
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

// block writes a part; one without JSON has nothing to say.
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
			// The last of the assistant's texts may not end in white space.
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
	p := piece{}
	if jsonl.GetString(raw, "type") == "thinking" {
		p.json = append(p.json, `{"type":"thinking"`...)
		p.member("thinking", jsonl.GetString(raw, "thinking"))
		p.member("signature", jsonl.GetString(raw, "signature"))
	} else {
		p.json = append(p.json, `{"type":"redacted_thinking"`...)
		p.member("data", jsonl.GetString(raw, "data"))
	}
	return append(p.json, '}')
}

// source writes an image or a document.
func (p *piece) source(part part) {
	kind := "image"
	if part.kind == partFile {
		kind = "document"
	}
	p.json = append(p.json, `{"type":"`+kind+`","source":{"type":"`...)
	p.media++
	if part.data != "" {
		p.json = append(p.json, `base64","media_type":"`+part.media+`"`...)
		p.member("data", part.data)
		p.data += len(part.data)
	} else {
		p.json = append(p.json, `url"`...)
		p.member("url", part.url)
	}
	p.json = append(p.json, '}')
	if part.kind == partFile && part.name != "" {
		p.member("title", part.name)
	}
	p.json = append(p.json, '}')
}

func toolUse(c *call) piece {
	p := piece{role: roleAssistant}
	p.json = append(p.json, `{"type":"tool_use"`...)
	p.member("id", c.shown)
	p.member("name", toolName(c.name))
	p.json = append(p.json, `,"input":`...)
	args := []byte(c.args)
	switch {
	case c.custom:
		p.json = append(append(p.json, `{"input":`...), jsonl.AppendString(nil, c.args)...)
		p.json = append(p.json, '}')
	case jsonl.IsObject(args) && jsonl.Valid(args) == nil:
		p.json = append(p.json, cleanJSON(args)...)
	default:
		p.json = append(append(p.json, `{"arguments":`...), jsonl.AppendString(nil, c.args)...)
		p.json = append(p.json, '}')
	}
	p.json = append(p.json, '}')
	return p
}

func toolResult(c *call) piece {
	p := piece{role: roleUser}
	p.json = append(p.json, `{"type":"tool_result"`...)
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
		p.json = append(p.json, `,"is_error":true`...)
	}
	p.json = append(p.json, '}')
	return p
}

func (p *piece) resultBlocks(parts []part) {
	n := 0
	for _, part := range parts {
		b := block(part, roleUser)
		if b.json == nil {
			continue
		}
		if n == 0 {
			p.json = append(p.json, `,"content":[`...)
		} else {
			p.json = append(p.json, ',')
		}
		n++
		p.json = append(p.json, b.json...)
		p.media += b.media
		p.data += b.data
	}
	if n > 0 {
		p.json = append(p.json, ']')
	}
}
