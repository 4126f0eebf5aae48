// Package gemini reads the sessions of Gemini CLI.
//
// It writes them as one document {sessionId, …, messages: […]}, in newer versions as
// lines: the document's fields first, then messages, a line again for a message that
// has changed, {"$set": …} for a field, and {"$rewindTo": id} where the user went back.
package gemini

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"tape/internal/importer/record"
	"tape/internal/jsonl"
)

// place is where a message, or another record, stands.
type place struct {
	at      record.Span
	hidden  bool // the user went back behind it
	message bool
	reason  string // of a damaged line
}

type reader struct {
	record.Talk
	places []place
	byID   map[[sha256.Size]byte]int
	win    record.Window
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	g := &reader{Talk: record.Talk{Reading: r}, byID: map[[sha256.Size]byte]int{}, win: record.Window{Source: r.Source}}
	header := record.NewObject(256)
	field := func(name string, raw []byte) { header.Raw(name, raw) }
	if err := record.Each(ctx, r.Source, whole, field, survey{g}); err != nil {
		return err
	}
	if !header.Empty() {
		// Dates of change would make the same session look new every time.
		data := record.NewObject(256).All(header.Done(), "lastUpdated").OrNil()
		if key := g.Counts.Key(data); !g.Has(key) {
			r.Put(record.Event(key, record.Date(jsonl.Get(data, "startTime")), "session", data))
		}
	}
	for _, p := range g.places {
		if ctx.Err() != nil || g.Enough() {
			break
		}
		g.write(p)
	}
	g.Flush()
	return ctx.Err()
}

func whole(raw []byte) bool {
	return jsonl.Get(raw, "timestamp") != nil && jsonl.Get(raw, "type") != nil
}

// survey notes where the records are, and of a message that is there several times the
// last version in the place of the first.
type survey struct{ *reader }

func (g survey) Damaged(at record.Span, reason string) {
	g.places = append(g.places, place{at: at, reason: reason})
}

func (g survey) Record(at record.Span, raw []byte) {
	p := place{at: at}
	if to := jsonl.Get(raw, "$rewindTo"); to != nil {
		g.rewind(to)
	} else if id := jsonl.Get(raw, "id"); id != nil && jsonl.Get(raw, "type") != nil {
		p.message = true
		sum := sha256.Sum256(id)
		if i, ok := g.byID[sum]; ok {
			g.places[i].at, g.places[i].hidden = at, false
			g.Stats.Records++
			return
		}
		g.byID[sum] = len(g.places)
	}
	g.places = append(g.places, p)
}

// rewind hides the message that the user went back to, and all behind it.
func (g survey) rewind(id []byte) {
	from := g.byID[sha256.Sum256(id)]
	for i := range g.places[from:] {
		if p := &g.places[from+i]; p.message {
			p.hidden = true
		}
	}
}

func (g *reader) write(p place) {
	if p.reason != "" {
		g.Damaged(p.at, p.reason)
		return
	}
	raw, err := g.win.At(p.at)
	if err != nil {
		g.Fail(err)
		return
	}
	if p.hidden != g.Hidden {
		g.Flush()
		g.Hidden = p.hidden
	}
	if jsonl.Get(raw, "type") != nil {
		g.message(raw)
	} else {
		g.note(raw)
	}
	g.Stats.Records++
}

// note writes a record that is no message.
func (g *reader) note(raw []byte) {
	name, data := "record", raw
	switch set := jsonl.Get(raw, "$set"); {
	case jsonl.Get(raw, "$rewindTo") != nil:
		name = "session.rewind"
	case set != nil:
		name = "session.update"
		if jsonl.IsObject(set) {
			data = set
		}
	case jsonl.Get(raw, "sessionId") != nil:
		name = "session"
	}
	date := record.Date(jsonl.Get(data, "lastUpdated"))
	g.Put(record.Event(g.Counts.Key(raw), date, name, record.Compact(data)))
}

// message is a message of a session whose parts are written one by one.
type message struct {
	*reader
	raw  []byte
	typ  string
	id   string // what the keys of the parts begin with
	date string
}

func (g *reader) message(raw []byte) {
	m := &message{
		reader: g, raw: raw, typ: jsonl.GetString(raw, "type"),
		id: jsonl.GetString(raw, "id"), date: record.Date(jsonl.Get(raw, "timestamp")),
	}
	if m.id == "" {
		m.id = g.Counts.Key(raw)
	}
	for i, thought := range slices.Collect(jsonl.Elements(jsonl.Get(raw, "thoughts"))) {
		key := m.id + "/thought/" + strconv.Itoa(i)
		g.Put(record.Event(key, m.date, record.EventThinking, thinking(thought)))
	}
	calls := jsonl.Get(raw, "toolCalls")
	hasCalls := len(calls) > 2 && calls[0] == '['
	p := m.said()
	if !hasCalls || p.Kind != record.KindMessage || p.Extra != nil || !record.Blank(record.Or(jsonl.Get(raw, "content"), "null")) {
		g.Put(p)
	}
	m.each(calls, m.call)
	g.Settle()
	tokens, model := jsonl.Get(raw, "tokens"), jsonl.Get(raw, "model")
	if m.typ == "gemini" && (jsonl.IsObject(tokens) || model != nil) {
		g.Put(record.Event(m.id+"/run", m.date, record.EventRun, cost(tokens, model)))
	}
	m.each(calls, m.result)
}

func thinking(thought []byte) []byte {
	if !jsonl.IsObject(thought) {
		return record.With(nil, "thinking", thought)
	}
	return record.NewObject(len(thought)).As(thought, map[string]string{"description": "thinking"}).Done()
}

// said is the message itself. Its key has a hash of the content: a message that is
// written again with another content is another entry.
func (m *message) said() record.Part {
	content := jsonl.Get(m.raw, "content")
	sum := sha256.Sum256(content)
	key := m.id + "/" + hex.EncodeToString(sum[:4])
	told := []string{"id", "timestamp", "type", "content", "thoughts", "toolCalls", "tokens"}
	if m.typ == "gemini" {
		told = append(told, "model")
	}
	extra := record.NewObject(64).Rest(m.raw, told...).OrNil()
	var p record.Part
	switch plain, _ := record.Plain(record.Or(content, `""`)); m.typ {
	case "user":
		p = record.Message(key, m.date, "user", plain)
	case "gemini":
		p = record.Message(key, m.date, "assistant", plain)
	default:
		data := record.NewObject(len(m.raw)).Raw("content", content).All(extra)
		return record.Event(key, m.date, "gemini."+m.typ, data.Done())
	}
	p.Extra = extra
	return p
}

func cost(tokens, model []byte) []byte {
	usage := record.NewObject(128).As(tokens, map[string]string{
		"input": "input_tokens", "cached": "cached_input_tokens", "output": "output_tokens",
		"total": "total_tokens", "thoughts": "reasoning_output_tokens", "tool": "tool_tokens",
	})
	return record.NewObject(192).Raw("model", model).Raw("usage", usage.OrNil()).Done()
}

// each goes through calls with their keys.
func (m *message) each(calls []byte, use func(key, id string, c []byte)) {
	for i, c := range slices.Collect(jsonl.Elements(calls)) {
		id := jsonl.GetString(c, "id")
		use(m.id+"/call/"+cmp.Or(id, strconv.Itoa(i)), id, c)
	}
}

func (m *message) call(key, id string, c []byte) {
	input := record.Compact(record.Or(jsonl.Get(c, "args"), "{}"))
	m.Call(record.NewCall(id, jsonl.GetString(c, "name"), input, key, m.date))
}

func (m *message) result(key, id string, c []byte) {
	status, result := jsonl.GetString(c, "status"), jsonl.Get(c, "result")
	told := []string{"id", "name", "args", "result", "timestamp", "renderOutputAsMarkdown"}
	if status == "success" {
		told = append(told, "status")
	}
	extra := record.NewObject(64).All(c, told...).OrNil()
	date := cmp.Or(record.Date(jsonl.Get(c, "timestamp")), m.date)
	r := record.Result{ID: id, Key: key + "/result", Date: date, Failed: status == "error" || status == "cancelled"}
	if result == nil || string(result) == "null" {
		if status != "success" && !r.Failed && (status != "" || extra == nil) {
			return // still running, or never recorded
		}
		result = []byte("null")
	}
	r.Content = response(result)
	m.Result(r, extra)
}

// response is a result without the parts that it is wrapped in.
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

// Describe looks at the fields that a session begins with.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	field := func(name string, v []byte) {
		switch name {
		case "sessionId":
			info.Session = cmp.Or(info.Session, record.Text(v))
		case "startTime":
			info.Began(v)
		case "projectHash", "model":
			if jsonl.Get(info.State, name) == nil {
				info.State = record.With(info.State, name, v)
			}
		}
	}
	return record.Look(ctx, src, whole, field, func(at record.Span, raw []byte) bool {
		if at.Line > record.OpeningLines {
			return false
		}
		for name, v := range jsonl.Fields(raw) {
			field(name, v)
		}
		info.Began(jsonl.Get(raw, "timestamp"))
		if cwd := workspaceOf(raw); cwd != nil && jsonl.Get(info.State, "cwd") == nil {
			info.State = record.With(info.State, "cwd", cwd)
		}
		return true
	})
}

// workspaceOf finds the first directory that Gemini CLI tells the model to work in, which
// no field has; nil if this record does not tell.
func workspaceOf(raw []byte) []byte {
	_, dir, told := bytes.Cut(raw, []byte(`- **Workspace Directories:**\n  - `))
	dir, _, ends := bytes.Cut(dir, []byte(`\n`))
	if quoted := slices.Concat([]byte{'"'}, dir, []byte{'"'}); told && ends && jsonl.Valid(quoted) == nil {
		return quoted
	}
	return nil
}
