package importer

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"tape/internal/jsonl"
)

// Codex writes a session as lines {timestamp, type, payload}; the first
// versions wrote the payloads alone. A response_item is what went to and came
// from the model. An event_msg is what the screen showed: it tells most of it
// a second time, so it counts only where no response_item tells the same.

// codexItem is a Codex line, taken apart.
type codexItem struct {
	typ     string // of the envelope
	kind    string // of the payload
	payload []byte
	date    string
}

func parseCodex(raw []byte) codexItem {
	var it codexItem
	var typ []byte
	for name, v := range jsonl.Fields(raw) {
		switch name {
		case "timestamp":
			it.date = normalDate(v)
		case "type":
			typ = v
		case "payload":
			it.payload = v
		}
	}
	it.typ = text(typ)
	switch {
	case jsonl.IsObject(it.payload):
		it.kind = jsonl.GetString(it.payload, "type")
	case it.typ != "":
		it.typ, it.kind, it.payload = "response_item", it.typ, raw
	case jsonl.Get(raw, "id") != nil && jsonl.Get(raw, "timestamp") != nil:
		it.typ, it.payload = "session_meta", raw
	default:
		it.typ, it.payload = jsonl.GetString(raw, "record_type"), raw
	}
	return it
}

// repeats is what event_msg repeats of response_item: who says what.
func (it codexItem) repeats(yield func(who, said string)) {
	switch {
	case it.typ == "response_item" && it.kind == "message":
		if s, all := textOf(jsonl.Get(it.payload, "content")); all {
			yield(jsonl.GetString(it.payload, "role"), s)
		}
	case it.typ == "response_item" && it.kind == "reasoning":
		for _, list := range []string{"summary", "content"} {
			for el := range jsonl.Elements(jsonl.Get(it.payload, list)) {
				yield("reasoning", jsonl.GetString(el, "text"))
			}
		}
	case it.typ == "event_msg":
		switch it.kind {
		case "user_message":
			yield("user", jsonl.GetString(it.payload, "message"))
		case "agent_message":
			yield("assistant", jsonl.GetString(it.payload, "message"))
		case "agent_reasoning", "agent_reasoning_raw_content":
			yield("reasoning", jsonl.GetString(it.payload, "text"))
		}
	}
}

func saidSum(who, said string) []byte {
	h := sha256.New()
	h.Write([]byte(who))
	h.Write([]byte{0})
	h.Write([]byte(strings.TrimSpace(said)))
	return h.Sum(nil)
}

// codexSurvey counts what response items say, before anything is written.
type codexSurvey struct{ items counter }

func (s *codexSurvey) damaged(span, string) error { return nil }

func (s *codexSurvey) record(_ span, raw []byte) error {
	if it := parseCodex(raw); it.typ == "response_item" {
		it.repeats(func(who, said string) { s.items.next(saidSum(who, said)) })
	}
	return nil
}

type codex struct {
	talk
	survey  codexSurvey
	items   counter // what response items have said so far
	events  counter // what event messages have said so far
	context []byte  // the turn context that holds, without its turn
	model   []byte

	contextKey string
}

func readCodex(r *reading) error {
	c := &codex{talk: talk{reading: r}}
	if err := eachLine(r.ctx, r.src, wholeCodex, &c.survey); err != nil {
		return err
	}
	if err := eachLine(r.ctx, r.src, wholeCodex, c); err != nil {
		return err
	}
	return c.flush()
}

func wholeCodex(raw []byte) bool {
	return jsonl.Get(raw, "payload") != nil && jsonl.Get(raw, "timestamp") != nil
}

func (c *codex) record(_ span, raw []byte) error {
	it := parseCodex(raw)
	key := c.counts.key(raw)
	fresh, err := c.take(it, key)
	c.count(fresh)
	return err
}

func (c *codex) take(it codexItem, key string) (bool, error) {
	switch it.typ {
	case "response_item":
		return c.item(it, key)
	case "event_msg":
		return c.event(it, key)
	case "turn_context":
		if m := jsonl.Get(it.payload, "model"); m != nil {
			c.model = bytes.Clone(m)
		}
		now := without(it.payload, "turn_id")
		if bytes.Equal(now, c.context) {
			return !c.has(c.contextKey), nil
		}
		c.context, c.contextKey = now, key
		return c.put(part{kind: kindEvent, payload: eventPayload("turn_context", it.payload), keys: []string{key}, date: it.date})
	case "compacted":
		state := newObject(len(it.payload) + 16)
		for name, v := range jsonl.Fields(it.payload) {
			if name == "message" {
				name = "summary"
			}
			state.raw(name, v)
		}
		return c.put(part{kind: kindAnchor, payload: anchorPayload("compaction", state.done()), keys: []string{key}, date: it.date})
	}
	name := it.typ
	if name == "" {
		name = "record"
	}
	if it.kind != "" {
		name += "." + it.kind
	}
	return c.put(part{kind: kindEvent, payload: eventPayload(name, without(it.payload, "type")), keys: []string{key}, date: it.date})
}

func (c *codex) item(it codexItem, key string) (bool, error) {
	p := it.payload
	str := func(name string) string { return jsonl.GetString(p, name) }
	id := str("call_id")
	if id == "" {
		id = str("id")
	}
	switch it.kind {
	case "message":
		return c.message(it, key)
	case "reasoning":
		return c.reasoning(it, key)
	case "function_call":
		args := jsonl.Get(p, "arguments")
		if len(args) == 0 || args[0] != '"' {
			args = quote(string(orEmpty(args)))
		}
		return c.call(call{raw: appendQuotedCall(nil, id, str("name"), args), id: id, input: validOr([]byte(text(args))), key: key, date: it.date})
	case "custom_tool_call":
		input := newObject(64)
		input.raw("input", orNull(jsonl.Get(p, "input")))
		args := input.done()
		return c.call(call{raw: appendCall(nil, id, str("name"), args), id: id, input: args, key: key, date: it.date})
	case "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call":
		args := newObject(256)
		for name, v := range jsonl.Fields(p) {
			switch name {
			case "type", "id", "call_id":
			case "action":
				for name, v := range jsonl.Fields(v) {
					args.raw(name, v)
				}
			default:
				args.raw(name, v)
			}
		}
		input := args.done()
		if id == "" {
			id = key
		}
		return c.call(call{raw: appendCall(nil, id, strings.TrimSuffix(it.kind, "_call"), input), id: id, input: input, key: key, date: it.date})
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		content := orNull(jsonl.Get(p, "output"))
		failed := false
		if jsonl.IsObject(content) {
			failed = string(jsonl.Get(content, "success")) == "false"
		}
		return c.result(id, key, it.date, content, nil, failed)
	}
	return c.put(part{kind: kindEvent, payload: eventPayload("response_item."+it.kind, without(p, "type")), keys: []string{key}, date: it.date})
}

func orNull(raw []byte) []byte {
	if raw == nil {
		return []byte("null")
	}
	return raw
}

// validOr returns raw if it is JSON, and nil otherwise.
func validOr(raw []byte) []byte {
	if jsonl.Valid(raw) != nil {
		return nil
	}
	return raw
}

// message writes what somebody said. Its key is what was said, so that the
// same from an event_msg has the same key.
func (c *codex) message(it codexItem, key string) (bool, error) {
	role := jsonl.GetString(it.payload, "role")
	content := jsonl.Get(it.payload, "content")
	said, all := textOf(content)
	if all {
		sum := saidSum(role, said)
		key = "said:" + hashKey(sum, c.items.next(sum))
	}
	p := part{kind: kindMessage, keys: []string{key}, date: it.date}
	p.payload = messagePayload(role, plainOr(content))
	if (role == "system" || role == "developer") && all {
		p.kind = kindSystem
		p.payload = withContent(plainOr(content))
	}
	extra := newObject(64)
	for name, v := range jsonl.Fields(it.payload) {
		switch name {
		case "type", "role", "content", "timestamp":
		default:
			if !blank(v) {
				extra.raw(name, v)
			}
		}
	}
	if role == "developer" {
		extra.str("role", role)
	}
	if !extra.empty() {
		p.extra = extra.done()
	}
	return c.put(p)
}

// reasoning writes what the model thought, without the parts that an
// event_msg has told the tape before.
func (c *codex) reasoning(it codexItem, key string) (bool, error) {
	keys := []string{key}
	var thoughts []string
	it.repeats(func(who, said string) {
		sum := saidSum(who, said)
		k := "said:" + hashKey(sum, c.items.next(sum))
		if !c.has(k) {
			keys = append(keys, k)
			thoughts = append(thoughts, said)
		}
	})
	data := newObject(len(it.payload))
	if len(thoughts) > 0 {
		data.str("thinking", strings.Join(thoughts, "\n\n"))
	}
	for name, v := range jsonl.Fields(it.payload) {
		switch name {
		case "type", "timestamp", "summary", "content":
		default:
			if !blank(v) {
				data.raw(name, v)
			}
		}
	}
	return c.put(part{kind: kindEvent, payload: eventPayload(eventThinking, data.done()), keys: keys, date: it.date})
}

func (c *codex) event(it codexItem, key string) (bool, error) {
	if it.kind == "token_count" {
		return c.tokens(it, key)
	}
	told, fresh := false, false
	twin := key
	var err error
	it.repeats(func(who, said string) {
		sum := saidSum(who, said)
		n := c.events.next(sum)
		twin = "said:" + hashKey(sum, n)
		if told = n <= c.survey.items.count(sum); told {
			return
		}
		p := part{kind: kindMessage, keys: []string{twin}, date: it.date}
		p.payload = messagePayload(who, quote(said))
		if who == "reasoning" {
			o := newObject(len(said) + 24)
			o.str("thinking", said)
			p.kind, p.payload = kindEvent, eventPayload(eventThinking, o.done())
		}
		told = true
		fresh, err = c.put(p)
	})
	if err != nil {
		return false, err
	}
	rest := newObject(len(it.payload))
	for name, v := range jsonl.Fields(it.payload) {
		switch {
		case name == "type":
		case told && (name == "message" || name == "text" || blank(v)):
		case told && name == "kind" && string(v) == `"plain"`:
		case name == "last_agent_message" && c.survey.items.count(saidSum("assistant", text(v))) > 0:
		default:
			rest.raw(name, v)
		}
	}
	if told && rest.empty() {
		return fresh || !c.has(twin), nil
	}
	more, err := c.put(part{kind: kindEvent, payload: eventPayload(it.kind, rest.done()), keys: []string{key}, date: it.date})
	return fresh || more, err
}

// tokens writes what a call of the model cost.
func (c *codex) tokens(it codexItem, key string) (bool, error) {
	name := "token_count"
	data := newObject(512)
	info := jsonl.Get(it.payload, "info")
	used := jsonl.Get(info, "last_token_usage")
	if used == nil {
		used = jsonl.Get(info, "total_token_usage")
	}
	if used == nil && jsonl.Get(it.payload, "total_tokens") != nil {
		used = it.payload // as the first versions had it
	}
	if used != nil {
		name = eventRun
		if c.model != nil {
			data.raw("model", c.model)
		}
		data.raw("usage", pick(used, "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens"))
	}
	for field, v := range jsonl.Fields(info) {
		if field != "last_token_usage" && !blank(v) {
			data.raw(field, v)
		}
	}
	for field, v := range jsonl.Fields(it.payload) {
		if field == "rate_limits" && !blank(v) {
			data.raw(field, v)
		}
	}
	return c.put(part{kind: kindEvent, payload: eventPayload(name, data.done()), keys: []string{key}, date: it.date})
}

// pick is an owned object of some members of another.
func pick(obj []byte, names ...string) []byte {
	o := newObject(128)
	for _, name := range names {
		if v := jsonl.Get(obj, name); v != nil {
			o.raw(name, v)
		}
	}
	return o.done()
}
