package opencode

import (
	"cmp"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// message is a message whose parts become entries one by one.
type message struct {
	*reader
	info    []byte
	id      string
	date    string
	summary bool     // it is the summary of a compaction
	tools   [][]byte // parallel calls with their results
}

// person emits a user's message, written by a person or by the program.
func (m *message) person(parts [][]byte) {
	var keys []string
	var blocks [][]byte
	extra := record.NewObject(64)
	typed := false
	for _, part := range parts {
		switch id := jsonl.GetString(part, "id"); jsonl.GetString(part, "type") {
		case "text":
			keys = append(keys, m.key(id))
			typed = typed || string(jsonl.Get(part, "synthetic")) != "true"
			blocks = append(blocks, record.NewObject(len(part)).Str("type", "text").Raw("text", jsonl.Get(part, "text")).Done())
			extra.Raw(id, record.NewObject(64).Rest(rest(part, "text")).OrNil())
		case "file":
			keys, typed = append(keys, m.key(id)), true
			blocks = append(blocks, attachment(part))
		case "compaction":
			m.compact = append([]byte{}, part...)
		default:
			m.event(part)
		}
	}
	if keys != nil {
		content, _ := record.Plain(record.Array(blocks))
		p := record.Message(keys[0], m.date, "user", content)
		p.Keys, p.Extra = keys, extra.OrNil()
		if !typed { // the program goes on by itself, or says what a shell did
			p.Extra = record.NotTyped(p.Extra)
		}
		m.Put(p)
	}
	if diffs := jsonl.Get(m.info, "summary", "diffs"); diffs != nil && !record.Blank(diffs) {
		p := record.Event(m.key(m.id+"/summary"), m.date, "turn.changes", record.With(nil, "diffs", diffs))
		m.diffs = &p
	}
}

// attachment returns a file that a person attached. A picture gets the form that other formats use.
func attachment(part []byte) []byte {
	if strings.HasPrefix(jsonl.GetString(part, "url"), "data:image/") {
		return record.NewObject(len(part)).Str("type", "image_url").As(rest(part), map[string]string{"url": "image_url", "source": "from"}).Done()
	}
	return record.NewObject(len(part)).Str("type", "file").All(rest(part)).Done()
}

// answer emits a step of the model.
func (m *message) answer(parts [][]byte) {
	for _, part := range parts {
		typ := jsonl.GetString(part, "type")
		if typ != "tool" {
			m.putTools()
		}
		switch typ {
		case "tool":
			m.tools = append(m.tools, part)
		case "step-start", "step-finish": // the message's own tokens and end say the same
		case "reasoning":
			data := record.NewObject(len(part)).Raw("thinking", jsonl.Get(part, "text")).All(rest(part, "text", "time"))
			m.put(record.Event(m.key(jsonl.GetString(part, "id")), dateOf(part, m.date), record.EventThinking, data.Done()))
		case "text":
			m.text(part)
		default:
			m.event(part)
		}
	}
	m.putTools()
	if e := jsonl.Get(m.info, "error"); e != nil {
		m.put(record.Event(m.key(m.id+"/error"), m.date, "model.error", record.NewObject(len(e)).All(e).Done()))
	}
	run := record.Event(m.key(m.id+"/run"), record.Date(jsonl.Get(m.info, "time", "completed")), record.EventRun, m.cost())
	run.Fact = "run " + string(jsonl.Get(m.info, "time")) + string(jsonl.Get(m.info, "tokens"))
	m.put(run)
}

// text emits what the model says; in a compaction, the summary.
func (m *message) text(part []byte) {
	id, text := m.key(jsonl.GetString(part, "id")), jsonl.Get(part, "text")
	if m.summary && m.compact != nil {
		state := record.NewObject(len(text)+64).Raw("summary", text).All(rest(m.compact))
		p := record.Anchor(id, dateOf(part, m.date), "compaction", state.Done())
		p.Keys = append(p.Keys, m.key(jsonl.GetString(m.compact, "id")))
		m.compact = nil
		m.put(p)
		return
	}
	p := record.Message(id, dateOf(part, m.date), "assistant", text)
	p.Extra = record.NewObject(64).Rest(rest(part, "text", "time")).OrNil()
	m.put(p)
}

// put emits an entry of the message's run.
func (m *message) put(p record.Entry) {
	p.RunID = m.id
	m.Put(p)
}

// event emits an event for a part that does not belong to the conversation.
func (m *message) event(part []byte) {
	m.put(record.Event(m.key(jsonl.GetString(part, "id")), dateOf(part, m.date), "part."+jsonl.GetString(part, "type"), rest(part)))
}

// invalid is the tool that opencode runs instead of one that is missing, or of which the arguments are wrong. Its result
// says so (kenn-io/agentsview#1255).
const invalid = "invalid"

// putTools emits calls and their results.
func (m *message) putTools() {
	tools := m.tools
	m.tools = nil
	keys := make([]string, len(tools))
	for i, part := range tools {
		keys[i] = m.key(jsonl.GetString(part, "id"))
		state := jsonl.Get(part, "state")
		input := record.Compact(record.Or(jsonl.Get(state, "input"), "{}"))
		date := cmp.Or(record.Date(jsonl.Get(state, "time", "start")), m.date)
		m.Call(record.NewCall(jsonl.GetString(part, "callID"), jsonl.GetString(part, "tool"), input, keys[i], date))
	}
	for i, part := range tools {
		state := jsonl.Get(part, "state")
		status := jsonl.GetString(state, "status")
		r := record.Result{
			ID: jsonl.GetString(part, "callID"), Key: m.key(keys[i] + "/result"),
			Date: dateOf(state, m.date), Failed: status == "error" || jsonl.GetString(part, "tool") == invalid,
		}
		switch status {
		case "completed":
			r.Content = record.Or(jsonl.Get(state, "output"), "null")
		case "error":
			r.Content = record.Or(jsonl.Get(state, "error"), "null")
		default:
			continue // there is no result
		}
		extra := record.NewObject(len(state)).All(state, "status", "input", "output", "error").All(rest(part, "tool", "callID", "state"))
		m.Result(r, extra.Done())
	}
}

// cost returns the usage of a step.
func (m *message) cost() []byte {
	tokens, cache := jsonl.Get(m.info, "tokens"), jsonl.Get(m.info, "tokens", "cache")
	usage := record.NewObject(160).As(tokens, map[string]string{
		"input": "input_tokens", "output": "output_tokens", "reasoning": "reasoning_output_tokens", "total": "total_tokens", "cache": "",
	})
	usage.As(cache, map[string]string{"read": "cached_input_tokens", "write": "cache_write_input_tokens"})
	data := record.NewObject(256).Raw("model", jsonl.Get(m.info, "modelID")).Raw("usage", usage.OrNil())
	return data.Rest(m.info, "modelID", "tokens", "id", "sessionID", "parentID", "role", "time", "error", "summary").Done()
}

// Damaged gets a part of the document that cannot be read, such as the rest if the document is incomplete.
func (c *reader) Damaged(at record.Span, reason string) {
	if c.Open {
		c.Unfinished(at) // it is being written
		return
	}
	if c.last != nil {
		c.message(c.last)
		c.last = nil
	}
	c.Conversation.Damaged(at, reason)
}
