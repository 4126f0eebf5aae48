package gemini

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// message is a message whose parts become entries one by one.
type message struct {
	*reader
	raw  []byte
	typ  string
	id   string // begins the keys of the parts
	date string
}

// message emits what is new in a message: what neither its earlier versions nor the history had.
func (g *reader) message(raw []byte) {
	m := &message{
		reader: g, raw: raw, typ: jsonl.GetString(raw, "type"),
		id: jsonl.GetString(raw, "id"), date: record.Date(jsonl.Get(raw, "timestamp")),
	}
	if m.id == "" {
		m.id = g.Counts.Key(raw)
	}
	g.last = cmp.Or(m.date, g.last)
	if g.repeating == nil && m.typ == "user" && !g.seen.Empty() && isContext(firstText(jsonl.Get(raw, "content"))) {
		g.repeating = map[record.Sum]int{} // until a $set ends the history
	}
	for i, thought := range slices.Collect(jsonl.Elements(jsonl.Get(raw, "thoughts"))) {
		g.say(record.Event(m.id+"/thought/"+strconv.Itoa(i), m.date, record.EventThinking, thinking(thought)))
	}
	calls := jsonl.Get(raw, "toolCalls")
	m.content(calls)
	m.each(calls, m.call)
	g.PutCalls()
	tokens, model := jsonl.Get(raw, "tokens"), jsonl.Get(raw, "model")
	if m.typ == "gemini" && (jsonl.IsObject(tokens) || model != nil) {
		m.run(cost(tokens, model))
	}
	m.each(calls, m.result)
}

func firstText(content []byte) []byte {
	for part := range jsonl.Elements(content) {
		return jsonl.Get(part, "text")
	}
	return content
}

func isContext(text []byte) bool { return bytes.HasPrefix(text, []byte(`"`+contextTag)) }

// content emits what a message says, and the calls and results that are only in its content.
func (m *message) content(calls []byte) {
	content := jsonl.Get(m.raw, "content")
	rest, other := m.newParts(m.typ, content)
	p := m.said(content, rest)
	silent := p.Kind == record.KindMessage && p.Extra == nil && (rest == nil || record.Blank(rest))
	if bare := m.typ == "gemini" && len(calls) <= 2 && jsonl.Get(m.raw, "tokens") == nil && jsonl.Get(m.raw, "model") == nil; !silent || bare && len(other) == 0 && rest != nil {
		m.say(p)
	}
	for _, part := range other {
		if c := jsonl.Get(part, "functionCall"); c != nil {
			id := jsonl.GetString(c, "id")
			m.call(m.id+"/call/"+id, id, c)
			continue
		}
		answer := jsonl.Get(part, "functionResponse")
		id := jsonl.GetString(answer, "id")
		m.begin()
		m.Result(record.Result{
			ID: id, Key: m.id + "/call/" + id + "/result", Date: m.date, Content: response(record.Array([][]byte{part})),
		}, nil)
	}
	m.PutCalls()
}

// said returns the entry of the message itself, with rest as its content. The key has a hash of all
// content: a later version with another content is another entry.
func (m *message) said(content, rest []byte) record.Entry {
	sum := sha256.Sum256(content)
	key := m.id + "/" + hex.EncodeToString(sum[:4])
	used := []string{"id", "timestamp", "type", "content", "thoughts", "toolCalls", "tokens"}
	if m.typ == "gemini" {
		used = append(used, "model")
	}
	extra := record.NewObject(64).Rest(m.raw, used...).OrNil()
	var p record.Entry
	switch plain, _ := record.Plain(record.Or(rest, `""`)); {
	case m.typ == "user" && m.repeating != nil && bytes.HasPrefix(plain, []byte(`"<state_snapshot>`)):
		p = record.Anchor(key, m.date, "compaction", record.With(nil, "summary", plain))
	case m.typ == "user":
		p = record.Message(key, m.date, "user", plain)
	case m.typ == "gemini":
		p = record.Message(key, m.date, "assistant", plain)
	default:
		data := record.NewObject(len(m.raw)).Raw("content", content).All(extra)
		return record.Event(key, m.date, "gemini."+m.typ, data.Done())
	}
	p.Extra = extra
	return p
}

func thinking(thought []byte) []byte {
	if !jsonl.IsObject(thought) {
		return record.With(nil, "thinking", thought)
	}
	return record.NewObject(len(thought)).As(thought, map[string]string{"description": "thinking"}).Done()
}

// run emits the usage of a message, again if a later version has another one.
func (m *message) run(cost []byte) {
	key, sum := m.id+"/run", sha256.Sum256(cost)
	if !m.first(key + string(sum[:])) {
		return
	}
	if m.had(key) {
		key += "/" + hex.EncodeToString(sum[:4])
	}
	m.say(record.Event(key, m.date, record.EventRun, cost))
}

func cost(tokens, model []byte) []byte {
	usage := record.NewObject(128).As(tokens, map[string]string{
		"input": "input_tokens", "cached": "cached_input_tokens", "output": "output_tokens",
		"total": "total_tokens", "thoughts": "reasoning_output_tokens", "tool": "tool_tokens",
	})
	return record.NewObject(192).Raw("model", model).Raw("usage", usage.OrNil()).Done()
}

// each calls use with each call and its key.
func (m *message) each(calls []byte, use func(key, id string, c []byte)) {
	for i, c := range slices.Collect(jsonl.Elements(calls)) {
		id := jsonl.GetString(c, "id")
		use(m.id+"/call/"+cmp.Or(id, strconv.Itoa(i)), id, c)
	}
}

func (m *message) call(key, id string, c []byte) {
	if !m.first(key) {
		return
	}
	m.begin()
	m.noteID("call", id)
	input := record.Compact(record.Or(jsonl.Get(c, "args"), "{}"))
	m.Call(record.NewCall(id, jsonl.GetString(c, "name"), input, key, m.date))
}

func (m *message) result(key, id string, c []byte) {
	status, result := jsonl.GetString(c, "status"), jsonl.Get(c, "result")
	used := []string{"id", "name", "args", "result", "timestamp", "renderOutputAsMarkdown"}
	if status == "success" {
		used = append(used, "status")
	}
	extra := record.NewObject(64).All(c, used...).OrNil()
	date := cmp.Or(record.Date(jsonl.Get(c, "timestamp")), m.date)
	r := record.Result{ID: id, Key: key + "/result", Date: date, Failed: status == "error" || status == "cancelled"}
	if result == nil || string(result) == "null" {
		if status != "success" && !r.Failed && (status != "" || extra == nil) {
			return // it still runs, or was never recorded
		}
		result = []byte("null")
	}
	if m.first(r.Key) {
		m.noteID("result", id)
		r.Content = response(result)
		r.Whole = m.kept(r.Content)
		m.Result(r, extra)
	}
}

// kept returns the whole text of a result that was too large for the model: the program keeps it in the project's folder,
// in tool-outputs/session-ID (saveTruncatedToolOutput in google-gemini/gemini-cli).
func (g *reader) kept(content []byte) []byte {
	const too, before = "Output too large.", "For full output see:"
	text := record.Text(content)
	start, _, _ := strings.Cut(text[:min(len(text), 8<<10)], "\n... ")
	_, named, found := strings.Cut(start, before)
	named, _, _ = strings.Cut(named, "\n")
	chats := filepath.Dir(g.Name)
	if !found || !strings.Contains(start[:min(len(start), 100)], too) || g.session == "" || filepath.Base(chats) != "chats" {
		return nil
	}
	return g.Kept(filepath.Dir(chats), "tool-outputs/session-"+g.session, named)
}

// response returns a result without its wrapping.
func response(parts []byte) []byte {
	elements := slices.Collect(jsonl.Elements(parts))
	if len(elements) != 1 {
		return parts
	}
	wrapped := jsonl.Get(elements[0], "functionResponse", "response")
	if wrapped == nil {
		return parts
	}
	fields := 0
	for range jsonl.Fields(wrapped) {
		fields++
	}
	if out := jsonl.Get(wrapped, "output"); out != nil && fields == 1 {
		return out
	}
	return wrapped
}
