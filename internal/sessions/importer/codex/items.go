package codex

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

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
		c.call(it, record.Call{Raw: record.RawCall(id, it.str("name"), args), ID: id, Name: it.str("name"), Input: record.Inside(args), Key: key, Date: it.date})
	case "custom_tool_call":
		input := record.With(nil, "input", record.Or(jsonl.Get(p, "input"), "null"))
		c.call(it, record.NewCall(id, it.str("name"), input, key, it.date))
	case "local_shell_call", "web_search_call", "tool_search_call", "image_generation_call":
		c.call(it, record.NewCall(cmp.Or(id, key), strings.TrimSuffix(it.kind, "_call"), builtinInput(p), key, it.date))
	case "function_call_output", "custom_tool_call_output", "tool_search_output":
		content := record.Or(jsonl.Get(p, "output"), "null")
		failed := jsonl.IsObject(content) && string(jsonl.Get(content, "success")) == "false"
		detail := c.details[id]
		delete(c.details, id)
		c.Result(record.Result{ID: id, Key: key, Date: it.date, Content: content, Failed: failed}, detail)
	case "agent_message":
		// Another agent has sent it to this one.
		plain, _ := record.Plain(jsonl.Get(p, "content"))
		m := record.Message(key, it.date, "user", plain)
		m.Extra = record.NewObject(64).Rest(p, "type", "content").OrNil()
		c.Put(m)
	default:
		c.Put(record.Event(key, it.date, "response_item."+it.kind, record.Without(p, "type")))
	}
}

func (c *reader) call(it item, call record.Call) {
	call.Fact, call.Copied = c.fact(it, call.Raw), it.copied
	c.Call(call)
}

// counted emits an entry that counts, once for all copies of it.
func (c *reader) counted(it item, p record.Entry) {
	p.Fact, p.Copied = c.fact(it, p.Payload), it.copied
	c.Put(p)
}

// builtinInput returns the input of a call to a built-in tool, which has no arguments as text.
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

// message emits a message. Its key is made from its content, so that an event_msg with that content has
// the same key.
func (c *reader) message(it item, key string) {
	role := it.str("role")
	plain, all := record.Plain(jsonl.Get(it.payload, "content"))
	if all {
		key = c.saidKey(role, record.Text(plain))
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
	c.counted(it, p)
}

// reasoning emits what the model thought, without what an event_msg said before.
func (c *reader) reasoning(it item, key string) {
	keys := []string{key}
	var thoughts []string
	it.repeats(func(who, said string) {
		if k := c.saidKey(who, said); !c.Has(k) {
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
	switch it.kind {
	case "token_count":
		c.tokens(it, key)
		return
	case "thread_settings_applied": // since then turns have another model
		if m := jsonl.Get(it.payload, "thread_settings", "model"); m != nil {
			c.model = bytes.Clone(m)
		}
	}
	repeated := it.repeated
	it.repeats(func(who, said string) {
		if repeated {
			return
		}
		twin := c.saidKey(who, said)
		p := record.Message(twin, it.date, who, record.Quote(said))
		if who == "reasoning" {
			p = record.Event(twin, it.date, record.EventThinking, record.NewObject(len(said)+24).Str("thinking", said).Done())
		}
		c.counted(it, p)
	})
	repeated = repeated || it.repeating()
	if it.kind == "item_completed" {
		c.completed(it, key, repeated)
		return
	}
	rest := record.NewObject(len(it.payload))
	for name, v := range jsonl.Fields(it.payload) {
		switch {
		case name == "type":
		case repeated && (name == "message" || name == "text" || record.Blank(v)):
		case repeated && name == "kind" && string(v) == `"plain"`:
		case name == "last_agent_message" && c.said.Count(saidSum("assistant", record.Text(v))) > 0:
		default:
			rest.Raw(name, v)
		}
	}
	if !repeated || !rest.Empty() {
		c.Put(record.Event(key, it.date, it.kind, rest.Done()))
	}
	if it.ends() {
		c.putDetails()
	}
}

// completed handles the details of something that was done, mostly of a call that has no result yet. In
// code mode, the model calls one tool with a program; only these details say what the program ran.
func (c *reader) completed(it item, key string, repeated bool) {
	item := jsonl.Get(it.payload, "item")
	id, typ := jsonl.GetString(item, "id"), jsonl.GetString(item, "type")
	data := record.NewObject(len(item)).Str("item", typ)
	times := pick(it.payload, "started_at_ms", "completed_at_ms")
	switch waiting := c.Waiting(); {
	case repeated, typ == "ContextCompaction":
		return
	case c.Waits(id) && c.details[id] == nil:
		c.details[id] = data.All(item, "id", "type").All(times).Done()
	case len(waiting) == 1:
		c.counted(it, record.Event(key, it.date, "tool.run", data.Str("call_id", waiting[0]).All(item, "type", "call_id", "item").All(times).Done()))
	default:
		c.counted(it, record.Event(key, it.date, "tool.run", data.All(item, "type", "item").All(times).Done()))
	}
}

// putDetails emits the details of calls that never got a result.
func (c *reader) putDetails() {
	for _, id := range slices.Sorted(maps.Keys(c.details)) {
		data := record.NewObject(256).Str("call_id", id).All(c.details[id], "call_id").Done()
		c.Put(record.Event(id+"/detail", "", "tool.run", data))
		delete(c.details, id)
	}
}

// tokens emits the usage of a request to the model.
func (c *reader) tokens(it item, key string) {
	name := "token_count"
	data := record.NewObject(512)
	info := jsonl.Get(it.payload, "info")
	used := record.Or(jsonl.Get(info, "last_token_usage"), jsonl.Get(info, "total_token_usage"))
	if used == nil && jsonl.Get(it.payload, "total_tokens") != nil {
		used = it.payload // in the first versions
	}
	if it.repeated {
		data.All(info)
	} else {
		if used != nil {
			name = record.EventRun
			data.Raw("model", c.model)
			data.Raw("usage", counts(used))
		}
		data.Rest(info, "last_token_usage")
	}
	data.Rest(pick(it.payload, "rate_limits"))
	c.counted(it, record.Event(key, it.date, name, data.Done()))
}

// pick returns a copy of an object with some of its members.
func pick(obj []byte, names ...string) []byte {
	o := record.NewObject(128)
	for _, name := range names {
		o.Raw(name, jsonl.Get(obj, name))
	}
	return o.Done()
}
