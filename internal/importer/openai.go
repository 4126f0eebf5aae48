package importer

import (
	"bytes"
	"errors"
	"strconv"

	"tape/internal/jsonl"
)

// OpenAI's chat messages come as an array, as an object with an array named
// messages, as lines of one message each, or as lines of such objects: the
// form that models are trained with, where each line is a conversation.

type openAI struct {
	talk
	conversations int
}

func readOpenAI(r *reading) error {
	o := &openAI{talk: talk{reading: r}}
	doc, err := isDocument(r.src)
	if err != nil {
		return err
	}
	if !doc {
		if err := eachLine(r.ctx, r.src, wholeOpenAI, o); err != nil {
			return err
		}
		return o.flush()
	}
	rest := newObject(64)
	err = eachElement(r.ctx, r.src, o, func(name string, raw []byte) error {
		rest.raw(name, raw)
		return nil
	})
	if err != nil {
		return err
	}
	if err := o.flush(); err != nil || rest.empty() {
		return err
	}
	data := rest.done()
	_, err = o.put(part{kind: kindEvent, payload: eventPayload("conversation", data), keys: []string{o.counts.key(data)}})
	return err
}

func wholeOpenAI(raw []byte) bool {
	return jsonl.Get(raw, "role") != nil || jsonl.Get(raw, "messages") != nil
}

func (o *openAI) record(_ span, raw []byte) error {
	messages := jsonl.Get(raw, "messages")
	if len(messages) == 0 || messages[0] != '[' {
		return o.message(raw)
	}
	o.conversations++
	key := o.counts.key(raw)
	if err := o.flush(); err != nil {
		return err
	}
	fresh, err := o.put(part{
		kind: kindAnchor, keys: []string{key},
		payload: anchorPayload("conversation-"+strconv.Itoa(o.conversations), without(raw, "messages")),
	})
	if err != nil {
		return err
	}
	o.count(fresh)
	for m := range jsonl.Elements(messages) {
		if !jsonl.IsObject(m) {
			c := newObject(len(m) + 16)
			c.raw("value", m)
			m = c.done()
		}
		if err := o.message(m); err != nil {
			return err
		}
	}
	return o.flush()
}

// message writes the entries of one chat message.
func (o *openAI) message(raw []byte) error {
	key := o.counts.key(raw)
	date := ""
	for _, name := range []string{"date", "timestamp", "created_at", "created"} {
		if date == "" {
			date = normalDate(jsonl.Get(raw, name))
		}
	}
	content := jsonl.Get(raw, "content")
	p := part{kind: kindMessage, keys: []string{key}, date: date}
	var fresh bool
	var err error
	switch role := jsonl.GetString(raw, "role"); role {
	case "system", "developer":
		if _, all := textOf(content); all {
			p.kind, p.payload = kindSystem, withContent(plainOr(content))
			p.extra = rest(raw, "content")
			if role == "system" {
				p.extra = rest(raw, "content", "role")
			}
		} else {
			p.payload = compact(raw)
		}
		fresh, err = o.put(p)
	case "tool", "function":
		id := jsonl.GetString(raw, "tool_call_id")
		if id == "" {
			id = jsonl.GetString(raw, "name")
		}
		extra := rest(raw, "role", "content", "tool_call_id")
		fresh, err = o.result(id, key, date, orNull(content), extra, false)
	case "":
		name := jsonl.GetString(raw, "type")
		if name == "" {
			name = "record"
		}
		p.kind, p.payload = kindEvent, eventPayload(name, compact(raw))
		fresh, err = o.put(p)
	default:
		fresh, err = o.said(p, raw, content)
	}
	o.count(fresh)
	return err
}

// withContent is the payload of a system entry.
func withContent(content []byte) []byte {
	c := newObject(len(content) + 16)
	c.raw("content", content)
	return c.done()
}

// rest is an owned object of all members but some, or nil when there are none.
func rest(raw []byte, but ...string) []byte {
	var o *object
fields:
	for name, v := range jsonl.Fields(raw) {
		for _, b := range but {
			if name == b {
				continue fields
			}
		}
		if o == nil {
			o = newObject(64)
		}
		o.raw(name, v)
	}
	if o == nil {
		return nil
	}
	return o.done()
}

// said writes what user or assistant said, and the assistant's calls.
func (o *openAI) said(p part, raw, content []byte) (bool, error) {
	calls := jsonl.Get(raw, "tool_calls")
	legacy := jsonl.Get(raw, "function_call")
	hasCalls := len(calls) > 2 && calls[0] == '[' && !blank(calls) || jsonl.IsObject(legacy)
	key := p.keys[0]
	fresh := false
	if !hasCalls || !blank(orNull(content)) || carries(raw) {
		m := rest(raw, "tool_calls", "function_call")
		if !hasCalls {
			m = compact(raw)
		}
		p.payload = m
		var err error
		if fresh, err = o.put(p); err != nil || !hasCalls {
			return fresh, err
		}
	}
	n := 0
	add := func(raw, id, input []byte) error {
		n++
		more, err := o.call(call{
			raw: bytes.Clone(raw), id: text(id), input: validOr([]byte(text(input))),
			key: key + "/call/" + strconv.Itoa(n), date: p.date,
		})
		fresh = fresh || more
		return err
	}
	for c := range jsonl.Elements(calls) {
		if err := add(c, jsonl.Get(c, "id"), jsonl.Get(c, "function", "arguments")); err != nil {
			return fresh, err
		}
	}
	if jsonl.IsObject(legacy) {
		// Before calls had ids, a result named its function.
		name := jsonl.Get(legacy, "name")
		c := newObject(len(legacy) + 48)
		c.raw("id", orNull(name))
		c.str("type", "function")
		c.raw("function", legacy)
		if err := add(c.done(), name, jsonl.Get(legacy, "arguments")); err != nil {
			return fresh, err
		}
	}
	return fresh, o.settle()
}

// carries reports whether a message with calls says anything else.
func carries(raw []byte) bool {
	for name, v := range jsonl.Fields(raw) {
		switch name {
		case "role", "content", "tool_calls", "function_call", "id", "date", "timestamp", "created", "created_at":
		default:
			if !blank(v) {
				return true
			}
		}
	}
	return false
}

type openAIOpening struct{ info *Info }

func (o *openAIOpening) damaged(span, string) error { return nil }

func (o *openAIOpening) record(_ span, raw []byte) error {
	for _, name := range []string{"date", "timestamp", "created_at", "created"} {
		if o.info.Started == "" {
			o.info.Started = normalDate(jsonl.Get(raw, name))
		}
	}
	return errEnough
}

func describeOpenAI(r *reading, info *Info) error {
	doc, err := isDocument(r.src)
	if err != nil {
		return err
	}
	o := &openAIOpening{info: info}
	if doc {
		err = eachElement(r.ctx, r.src, o, func(string, []byte) error { return nil })
	} else {
		err = eachLine(r.ctx, r.src, wholeOpenAI, o)
	}
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}
