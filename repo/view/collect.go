package view

import (
	"slices"
	"strings"

	"tape/internal/text/jsonl"
	"tape/repo"
)

type collector struct {
	options Options
	items   []*item
	latest  []*call          // the last calls that were made together
	byID    map[string]*call // the latest call of each recorded id
	system  map[string]bool  // texts of system messages
	ids     idMaker
}

func collect(entries []repo.Entry, o Options) []*item {
	c := &collector{options: o, byID: map[string]*call{}, system: map[string]bool{},
		ids: idMaker{format: o.Format, used: map[string]bool{}, count: map[string]int{}}}
	for _, e := range entries {
		if e.Hidden() {
			continue
		}
		switch e.Kind {
		case repo.KindAnchor:
			c.anchor(e)
		case repo.KindMessage:
			c.message(e)
		case repo.KindToolCall:
			it := &item{entries: []int64{e.ID}, role: roleAssistant, plain: true}
			if c.calls(it, slices.Collect(jsonl.Elements(jsonl.Get(e.Payload, "calls")))); len(it.calls) > 0 {
				c.items = append(c.items, it)
			}
		case repo.KindToolResult:
			c.results(e)
		}
	}
	return c.items
}

func (c *collector) anchor(e repo.Entry) {
	if c.options.NoAnchor {
		return
	}
	role := roleAssistant
	if c.options.Format == Anthropic {
		role = roleUser
	}
	it := textItem(e, role, anchorText(e))
	it.anchor, it.begins = true, true
	c.items = append(c.items, it)
}

// message handles a message entry, in any of the forms that programs use.
func (c *collector) message(e repo.Entry) {
	content := jsonl.Get(e.Payload, "content")
	for _, other := range []string{"parts", "text"} {
		if content == nil {
			content = jsonl.Get(e.Payload, other)
		}
	}
	it := &item{entries: []int64{e.ID}, role: roleOf(jsonl.GetString(e.Payload, "role")), name: jsonl.GetString(e.Payload, "name")}
	it.parts, it.plain = parseContent(content)
	it.null = content == nil || string(content) == "null"
	if it.role != roleAssistant || c.options.Format != Anthropic {
		it.parts = slices.DeleteFunc(it.parts, func(p part) bool { return p.kind == partThinking })
	}
	switch it.role {
	case roleTool:
		c.toolMessage(e, it, content)
	case roleAssistant:
		c.assistant(e, it)
	case roleSystem, roleDeveloper:
		key := ""
		for _, p := range it.parts {
			key += p.asText() + "\n"
		}
		if strings.TrimSpace(key) != "" && !c.system[key] {
			c.system[key] = true
			c.items = append(c.items, it)
		}
	default:
		if role := jsonl.GetString(e.Payload, "role"); it.role != strings.ToLower(role) && role != "human" && role != "" {
			it.spokenBy(role)
		}
		c.user(e, it)
	}
}

// roleOf maps the names that programs use to roles. Anybody unknown counts as the user, and is named in the
// text.
func roleOf(role string) string {
	switch role = strings.ToLower(role); role {
	case roleAssistant, "model", "ai":
		return roleAssistant
	case roleSystem, roleDeveloper, roleTool:
		return role
	case "function":
		return roleTool
	}
	return roleUser
}

func (c *collector) user(e repo.Entry, it *item) {
	it.begins = true
	rest := it.parts[:0]
	for _, p := range it.parts {
		if p.kind != partResult {
			rest = append(rest, p)
			continue
		}
		it.begins = false
		r := &result{key: string(cleanJSON(p.raw)), failed: string(jsonl.Get(p.raw, "is_error")) == "true"}
		r.setContent(parseContent(jsonl.Get(p.raw, "content")))
		c.answer(e, c.byID[jsonl.GetString(p.raw, "tool_use_id")], r)
	}
	if it.parts = rest; len(rest) > 0 {
		c.items = append(c.items, it)
	}
}

func (c *collector) assistant(e repo.Entry, it *item) {
	it.refusal = jsonl.GetString(e.Payload, "refusal")
	if transcript := jsonl.GetString(e.Payload, "audio", "transcript"); transcript != "" && len(it.parts) == 0 {
		it.parts = []part{{kind: partText, text: transcript}}
	}
	if len(it.parts) > 0 && string(jsonl.Get(e.Meta, "partial")) == "true" {
		it.parts = append(it.parts, part{kind: partText, text: textCutOff})
	}
	var raws [][]byte
	it.parts = slices.DeleteFunc(it.parts, func(p part) bool {
		if p.kind == partCall {
			raws = append(raws, p.raw)
		}
		return p.kind == partCall
	})
	raws = slices.AppendSeq(raws, jsonl.Elements(jsonl.Get(e.Payload, "tool_calls")))
	if legacy := jsonl.Get(e.Payload, "function_call"); jsonl.IsObject(legacy) && len(raws) == 0 {
		raws = append(raws, legacy)
	}
	c.calls(it, raws)
	if len(it.calls) > 0 || it.refusal != "" || saysMore(it.parts) {
		c.items = append(c.items, it)
	}
}

// calls adds calls to an item, except those that were recorded before: one of the latest calls without a
// result has the same id, name and arguments.
func (c *collector) calls(it *item, raws [][]byte) {
	var together []*call
	for _, raw := range raws {
		if !jsonl.IsObject(raw) {
			continue
		}
		call := parseCall(raw)
		if last := c.byID[call.id]; call.id != "" && last != nil && last.result == nil && slices.Contains(c.latest, last) &&
			last.name == call.name && last.args == call.args {
			together = append(together, last)
			continue
		}
		call.item = it
		it.calls = append(it.calls, call)
		together = append(together, call)
	}
	if len(it.calls) == 0 {
		return
	}
	c.ids.next()
	for i, call := range it.calls {
		call.shown = c.ids.make(call.id, it.entries[0], i)
		if call.id != "" {
			c.byID[call.id] = call
		}
	}
	c.latest = together
}

// open returns those of the latest calls that have no result.
func (c *collector) open() []*call {
	return slices.DeleteFunc(slices.Clone(c.latest), func(call *call) bool { return call.result != nil })
}

func (c *collector) results(e repo.Entry) {
	raws := jsonl.Get(e.Payload, "results")
	if len(raws) > 0 && raws[0] != '[' && string(raws) != "null" {
		raws = slices.Concat([]byte("["), raws, []byte("]"))
	}
	ids, given := callIDs(e)
	open := c.open()
	failed := jsonl.Strings(jsonl.Get(e.Meta, "is_error"))
	for i, raw := range slices.Collect(jsonl.Elements(raws)) {
		r := &result{key: string(cleanJSON(raw)), text: resultText(raw), parts: nativeParts(raw)}
		var to *call
		switch {
		case given && i < len(ids) && ids[i] != "":
			to, r.failed = c.byID[ids[i]], slices.Contains(failed, ids[i])
		case given && i < len(c.latest) && c.latest[i].id == "":
			to = c.latest[i] // neither has an id: the position decides
		case !given && i < len(open):
			to = open[i]
		}
		c.answer(e, to, r)
	}
}

func (c *collector) toolMessage(e repo.Entry, it *item, content []byte) {
	r := &result{key: string(cleanJSON(content))}
	r.setContent(it.parts, it.plain)
	id := jsonl.GetString(e.Payload, "tool_call_id")
	to := c.byID[id]
	for _, open := range c.open() {
		// Without an id, it is the first call without a result. If the message has a name, so must the call.
		if id == "" && to == nil && (it.name == "" || it.name == open.name) {
			to = open
		}
	}
	c.answer(e, to, r)
}

// answer assigns a result to its call, or makes an item of its own if no call waits for it.
func (c *collector) answer(e repo.Entry, to *call, r *result) {
	if to != nil {
		to.item.entries = append(to.item.entries, e.ID)
		if to.result == nil {
			to.result = r
			return
		}
		if to.result.key == r.key {
			return
		}
	}
	if r.text == "" && len(r.parts) == 0 {
		return
	}
	title := textOrphan
	if to != nil {
		title = textAgain
	}
	it := textItem(e, roleUser, title+"\n"+r.text)
	if r.message {
		it.plain = false
		it.parts = append([]part{{kind: partText, text: title}}, r.parts...)
	}
	c.items = append(c.items, it)
}

// nativeParts returns the parts of a result that is an array of texts and images, as Anthropic's are; nil for
// any other result.
func nativeParts(raw []byte) []part {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var out []part
	for el := range jsonl.Elements(raw) {
		kind := jsonl.GetString(el, "type")
		p, ok := parsePart(el)
		if kind != "text" && kind != "image" || ok && p.kind == partText && kind == "image" {
			return nil
		}
		if ok {
			out = append(out, p)
		}
	}
	return out
}

// setContent sets what parseContent returned.
func (r *result) setContent(parts []part, plain bool) {
	if plain {
		r.text = joinText(parts)
	} else {
		r.parts, r.message = parts, true
	}
}

// saysMore reports whether any of the parts has text besides reasoning.
func saysMore(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		return p.kind != partThinking && strings.TrimSpace(p.asText()) != ""
	})
}

func joinText(parts []part) string {
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.asText())
	}
	return strings.Join(texts, "\n")
}
