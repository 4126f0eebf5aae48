// Package codex reads the sessions of Codex.
//
// It writes them as lines {timestamp, type, payload}; the first versions wrote the
// payloads alone. A response_item is what went to and came from the model. An event_msg
// is what the screen showed: it tells most of it a second time, so it counts only where
// no response_item tells the same.
package codex

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"strings"

	"tape/internal/importer/record"
	"tape/internal/jsonl"
)

type item struct {
	typ     string // of the envelope
	kind    string // of the payload
	payload []byte
	date    string
}

func parse(raw []byte) item {
	var it item
	var typ []byte
	for name, v := range jsonl.Fields(raw) {
		switch name {
		case "timestamp":
			it.date = record.Date(v)
		case "type":
			typ = v
		case "payload":
			it.payload = v
		}
	}
	it.typ = record.Text(typ)
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

func (it item) str(name string) string { return jsonl.GetString(it.payload, name) }

// repeats is what event_msg repeats of response_item: who says what.
func (it item) repeats(yield func(who, said string)) {
	switch {
	case it.typ == "response_item" && it.kind == "message":
		if plain, all := record.Plain(jsonl.Get(it.payload, "content")); all {
			yield(it.str("role"), record.Text(plain))
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
			yield("user", it.str("message"))
		case "agent_message":
			yield("assistant", it.str("message"))
		case "agent_reasoning", "agent_reasoning_raw_content":
			yield("reasoning", it.str("text"))
		}
	}
}

func saidSum(who, said string) []byte {
	sum := sha256.Sum256([]byte(who + "\x00" + strings.TrimSpace(said)))
	return sum[:]
}

// saidKey is the key of what was said, the next time that counts has it.
func saidKey(counts *record.Counter, who, said string) string {
	sum := saidSum(who, said)
	return "said:" + record.HashKey(sum, counts.Next(sum))
}

type reader struct {
	record.Talk
	told    record.Counter // what response items of the whole file say
	items   record.Counter // what response items have said so far
	events  record.Counter // what event messages have said so far
	context []byte         // the turn context that holds, without its turn
	model   []byte
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Talk: record.Talk{Reading: r}}
	err := record.Look(ctx, r.Source, whole, nil, func(_ record.Span, raw []byte) bool {
		if it := parse(raw); it.typ == "response_item" {
			it.repeats(func(who, said string) { c.told.Next(saidSum(who, said)) })
		}
		return true
	})
	if err != nil {
		return err
	}
	err = record.Each(ctx, r.Source, whole, nil, c)
	c.Flush()
	return err
}

func whole(raw []byte) bool {
	return jsonl.Get(raw, "payload") != nil && jsonl.Get(raw, "timestamp") != nil
}

func (c *reader) Record(_ record.Span, raw []byte) {
	c.take(parse(raw), c.Counts.Key(raw))
	c.Stats.Records++
}

func (c *reader) take(it item, key string) {
	switch it.typ {
	case "response_item":
		c.item(it, key)
	case "event_msg":
		c.event(it, key)
	case "turn_context":
		if m := jsonl.Get(it.payload, "model"); m != nil {
			c.model = bytes.Clone(m)
		}
		now := record.Without(it.payload, "turn_id")
		if bytes.Equal(now, c.context) {
			return
		}
		c.context = now
		c.Put(record.Event(key, it.date, "turn_context", it.payload))
	case "compacted":
		state := record.NewObject(len(it.payload)+16).As(it.payload, map[string]string{"message": "summary"})
		c.Put(record.Anchor(key, it.date, "compaction", state.Done()))
	default:
		name := cmp.Or(it.typ, "record")
		if it.kind != "" {
			name += "." + it.kind
		}
		c.Put(record.Event(key, it.date, name, record.Without(it.payload, "type")))
	}
}

func (c *reader) item(it item, key string) {
	p := it.payload
	id := cmp.Or(it.str("call_id"), it.str("id"))
	switch it.kind {
	case "message":
		c.message(it, key)
	case "reasoning":
		c.reasoning(it, key)
	case "function_call":
		args := jsonl.Get(p, "arguments")
		if len(args) == 0 || args[0] != '"' {
			args = record.Quote(string(record.Or(args, "{}")))
		}
		c.Call(record.Call{Raw: record.RawCall(id, it.str("name"), args), ID: id, Input: record.Inside(args), Key: key, Date: it.date})
	case "custom_tool_call":
		input := record.With(nil, "input", record.Or(jsonl.Get(p, "input"), "null"))
		c.Call(record.NewCall(id, it.str("name"), input, key, it.date))
	case "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call":
		c.Call(record.NewCall(cmp.Or(id, key), strings.TrimSuffix(it.kind, "_call"), builtinInput(p), key, it.date))
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		content := record.Or(jsonl.Get(p, "output"), "null")
		failed := jsonl.IsObject(content) && string(jsonl.Get(content, "success")) == "false"
		c.Result(record.Result{ID: id, Key: key, Date: it.date, Content: content, Failed: failed}, nil)
	default:
		c.Put(record.Event(key, it.date, "response_item."+it.kind, record.Without(p, "type")))
	}
}

// builtinInput is the input of a call whose tool has no arguments of a model's spelling.
func builtinInput(payload []byte) []byte {
	args := record.NewObject(256)
	for name, v := range jsonl.Fields(payload) {
		switch name {
		case "type", "id", "call_id":
		case "action":
			args.All(v)
		default:
			args.Raw(name, v)
		}
	}
	return args.Done()
}

// message writes what somebody said, which is its key: an event_msg of it has the same.
func (c *reader) message(it item, key string) {
	role := it.str("role")
	plain, all := record.Plain(jsonl.Get(it.payload, "content"))
	if all {
		key = saidKey(&c.items, role, record.Text(plain))
	}
	p := record.Message(key, it.date, role, plain)
	if (role == "system" || role == "developer") && all {
		p.Kind, p.Payload = record.KindSystem, record.With(nil, "content", plain)
	}
	extra := record.NewObject(64).Rest(it.payload, "type", "role", "content", "timestamp")
	if role == "developer" {
		extra.Str("role", role)
	}
	p.Extra = extra.OrNil()
	c.Put(p)
}

// reasoning writes what the model thought, less what an event_msg has told before.
func (c *reader) reasoning(it item, key string) {
	keys := []string{key}
	var thoughts []string
	it.repeats(func(who, said string) {
		if k := saidKey(&c.items, who, said); !c.Has(k) {
			keys = append(keys, k)
			thoughts = append(thoughts, said)
		}
	})
	data := record.NewObject(len(it.payload))
	if len(thoughts) > 0 {
		data.Str("thinking", strings.Join(thoughts, "\n\n"))
	}
	data.Rest(it.payload, "type", "timestamp", "summary", "content")
	p := record.Event(key, it.date, record.EventThinking, data.Done())
	p.Keys = keys
	c.Put(p)
}

func (c *reader) event(it item, key string) {
	if it.kind == "token_count" {
		c.tokens(it, key)
		return
	}
	told := false
	it.repeats(func(who, said string) {
		sum := saidSum(who, said)
		n := c.events.Next(sum)
		twin := "said:" + record.HashKey(sum, n)
		if told = n <= c.told.Count(sum); told {
			return
		}
		p := record.Message(twin, it.date, who, record.Quote(said))
		if who == "reasoning" {
			p = record.Event(twin, it.date, record.EventThinking, record.NewObject(len(said)+24).Str("thinking", said).Done())
		}
		told = true
		c.Put(p)
	})
	rest := record.NewObject(len(it.payload))
	for name, v := range jsonl.Fields(it.payload) {
		switch {
		case name == "type":
		case told && (name == "message" || name == "text" || record.Blank(v)):
		case told && name == "kind" && string(v) == `"plain"`:
		case name == "last_agent_message" && c.told.Count(saidSum("assistant", record.Text(v))) > 0:
		default:
			rest.Raw(name, v)
		}
	}
	if !told || !rest.Empty() {
		c.Put(record.Event(key, it.date, it.kind, rest.Done()))
	}
}

// tokens writes what a call of the model cost.
func (c *reader) tokens(it item, key string) {
	name := "token_count"
	data := record.NewObject(512)
	info := jsonl.Get(it.payload, "info")
	used := jsonl.Get(info, "last_token_usage")
	if used == nil {
		used = jsonl.Get(info, "total_token_usage")
	}
	if used == nil && jsonl.Get(it.payload, "total_tokens") != nil {
		used = it.payload // as the first versions had it
	}
	if used != nil {
		name = record.EventRun
		data.Raw("model", c.model)
		data.Raw("usage", pick(used, "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens", "total_tokens"))
	}
	data.Rest(info, "last_token_usage")
	data.Rest(pick(it.payload, "rate_limits"))
	c.Put(record.Event(key, it.date, name, data.Done()))
}

// pick is an owned object of some members of another.
func pick(obj []byte, names ...string) []byte {
	o := record.NewObject(128)
	for _, name := range names {
		o.Raw(name, jsonl.Get(obj, name))
	}
	return o.Done()
}

// Describe looks at what a session begins with, up to its first turn.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	err := record.Look(ctx, src, whole, nil, func(at record.Span, raw []byte) bool {
		if !at.Opens() {
			return false
		}
		it := parse(raw)
		info.Started = cmp.Or(info.Started, it.date)
		switch {
		case it.typ == "turn_context":
			if m := jsonl.Get(it.payload, "model"); m != nil && info.State != nil {
				info.State = record.With(info.State, "model", m)
			}
			return false
		case it.typ == "session_meta" && info.Session == "": // a second one is that of the session it was forked from
			info.Session = it.str("id")
			info.State = pick(it.payload, "cwd", "cli_version", "originator", "source", "model_provider", "git")
		}
		return true
	})
	if string(info.State) == "{}" {
		info.State = nil
	}
	return err
}
