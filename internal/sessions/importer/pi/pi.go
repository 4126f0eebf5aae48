// Package pi reads the sessions of pi.
//
// A session is a file of lines: a header, then records that form a tree. Each has an id and the id of its
// parent; when the user goes back, another branch begins. Messages are records; so are compactions,
// the session's name, and changes of the model. Version 3 of the format, as pi 0.73 to 0.87 writes it.
package pi

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	*record.Forked
	record.Branches
	record.Once
	model    []byte            // of the last answer or change, JSON
	messages map[string]string // ids of messages, by [sent]
}

// Read makes the entries of a session. Abandoned branches are forks.
func Read(ctx context.Context, r *record.Reading) error {
	p := &reader{Forked: record.NewForked(r), messages: map[string]string{}}
	err := record.Scan(ctx, r.Source, isRecord, nil, func(_ record.Span, raw []byte) bool {
		if jsonl.GetString(raw, "type") != "session" {
			p.Add(jsonl.GetString(raw, "id"), jsonl.GetString(raw, "parentId"))
		}
		return true
	})
	if err == nil {
		err = record.Each(ctx, r.Source, isRecord, nil, p)
	}
	p.End()
	return err
}

func isRecord(raw []byte) bool { return record.MembersOf(raw).Has("type", "id", "timestamp") }

// Record makes the entries of a line.
func (p *reader) Record(_ record.Span, raw []byte) {
	p.Stats.Records++
	id, typ := jsonl.GetString(raw, "id"), jsonl.GetString(raw, "type")
	key := p.Key(id, raw)
	if key == "" {
		return
	}
	e := element{raw: raw, key: key, date: record.Date(jsonl.Get(raw, "timestamp"))}
	if typ == "session" {
		if jsonl.GetString(raw, "parentSession") != "" { // the records that it took from there keep their ids and dates
			p.Own = e.date
		}
		p.In("").Put(record.Event(key, e.date, "session", record.Without(raw, "type", "timestamp")))
		return
	}
	e.Conversation = p.In(p.Of(id))
	switch typ {
	case "message":
		m := jsonl.Get(raw, "message")
		if at := sent(m); at != "" {
			p.messages[at] = id
		}
		if model := jsonl.Get(m, "model"); model != nil {
			p.model = bytes.Clone(model)
		}
		e.message(m)
	case "compaction":
		e.Put(record.Anchor(key, e.date, "compaction", p.compacted(e)))
		e.spent(jsonl.Get(raw, "usage"), p.model)
	case "branch_summary":
		e.Put(record.Event(key, e.date, typ, e.rest("usage")))
		e.spent(jsonl.Get(raw, "usage"), p.model)
	case "title": // of omp: a line with a place of its own before the header (junhoyeo/tokscale#807)
		if title := jsonl.GetString(raw, "title"); title != "" {
			e.Put(record.Event(key, e.date, "tape.title", record.NewObject(64).Str("title", title).Done()))
		}
	case "session_info":
		data := record.NewObject(64).Raw("title", jsonl.Get(raw, "name"))
		e.Put(record.Event(key, e.date, "tape.title", data.Done()))
	default:
		if typ == "model_change" {
			p.model = bytes.Clone(jsonl.Get(raw, "modelId"))
		}
		e.Put(record.Event(key, e.date, cmp.Or(typ, "record"), e.rest()))
	}
}

// compacted returns what an anchor says of a compaction. kept is what the model sees after the summary: it and all that
// follows. Newer versions repeat these messages instead of naming the first (packages/coding-agent/docs/session-format.md).
func (p *reader) compacted(e element) []byte {
	first := jsonl.Get(e.raw, "firstKeptEntryId")
	but := []string{"usage"}
	for m := range jsonl.Elements(jsonl.Get(e.raw, "retainedTail")) {
		if id := p.messages[sent(m)]; id != "" && first == nil {
			first, but = record.Quote(id), append(but, "retainedTail")
		}
		break
	}
	state := e.rest(but...)
	if first != nil {
		state = record.With(state, "kept", record.NewObject(64).Raw("first", first).Done())
	}
	return state
}

// sent says who sent a message when, "" if it does not say.
func sent(m []byte) string {
	at := string(jsonl.Get(m, "timestamp"))
	if at == "" {
		return ""
	}
	return jsonl.GetString(m, "role") + " " + at
}

// Describe reads the header.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "timestamp"))
		if jsonl.GetString(raw, "type") != "session" {
			return at.Opens()
		}
		info.Session, info.Complete = jsonl.GetString(raw, "id"), true
		state := record.NewObject(256).Raw("cwd", jsonl.Get(raw, "cwd"))
		if parent := sessionOf(jsonl.GetString(raw, "parentSession")); parent != "" {
			state.Str("forked_from", parent)
		}
		info.State = state.OrNil()
		return false
	})
}

// sessionOf returns the id of the session in a file of pi, from the file's name: DATE_ID.jsonl.
func sessionOf(file string) string {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(file, `\`, "/")), ".jsonl")
	_, id, _ := strings.Cut(name, "_")
	return id
}
