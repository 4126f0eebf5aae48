// Package qwen reads the sessions of Qwen Code.
//
// A session is a file of lines that form a tree: each has a uuid and the uuid of its parent. Messages are
// in Gemini's form, an answer of the model is one line, and so is each result of a tool. Compressions,
// titles, what the person typed at the prompt, and telemetry are lines of type system. A rewind makes
// another branch. The format is that of versions 0.15 and 0.24.
package qwen

import (
	"bytes"
	"cmp"
	"context"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// afterAll is later than any date.
const afterAll = "9"

type reader struct {
	*record.Forked
	record.Branches
	record.Once
	title string // the last one
}

// Read makes the entries of a session, or of a subagent's own file. Abandoned branches are forks.
func Read(ctx context.Context, r *record.Reading) error {
	q := &reader{Forked: record.NewForked(r)}
	err := record.Scan(ctx, r.Source, isRecord, nil, func(_ record.Span, raw []byte) bool {
		q.Add(jsonl.GetString(raw, "uuid"), jsonl.GetString(raw, "parentUuid"))
		return true
	})
	if err == nil {
		err = record.Each(ctx, r.Source, isRecord, nil, q)
	}
	q.End()
	return err
}

func isRecord(raw []byte) bool { return record.MembersOf(raw).Has("uuid", "sessionId", "type") }

// Record makes the entries of a line.
func (q *reader) Record(_ record.Span, raw []byte) {
	q.Stats.Records++
	id := jsonl.GetString(raw, "uuid")
	key := q.Key(id, raw)
	if key == "" {
		return
	}
	if jsonl.Get(raw, "forkedFrom") != nil { // a record that a fork took from another session
		q.Own = afterAll
	} else {
		q.Own = ""
	}
	e := element{Conversation: q.In(q.Of(id)), raw: raw, key: key, date: record.Date(jsonl.Get(raw, "timestamp"))}
	switch typ := jsonl.GetString(raw, "type"); typ {
	case "user":
		e.person(jsonl.Get(raw, "message", "parts"))
	case "assistant":
		e.answer(jsonl.Get(raw, "message", "parts"))
	case "tool_result":
		e.result()
	case "system":
		q.system(e)
	default:
		e.Put(record.Event(key, e.date, cmp.Or(typ, "record"), record.Compact(raw)))
	}
}

// system emits a record that is not a message.
func (q *reader) system(e element) {
	payload, subtype := jsonl.Get(e.raw, "systemPayload"), jsonl.GetString(e.raw, "subtype")
	data := record.NewObject(len(payload))
	switch subtype {
	case "chat_compression":
		e.Put(record.Anchor(e.key, e.date, "compaction", compression(payload)))
		return
	case "custom_title":
		title := jsonl.GetString(payload, "customTitle")
		if title == q.title {
			return // it comes again at the end of the session
		}
		q.title = title
		e.Put(record.Event(e.key, e.date, "tape.title", data.Str("title", title).Done()))
		return
	case "ui_telemetry":
		// The text and the arguments are in the messages.
		data.All(jsonl.Get(payload, "uiEvent"), "response_text", "function_args")
	default:
		data.All(payload)
	}
	e.Put(record.Event(e.key, e.date, "system."+subtype, data.Done()))
}

// compression returns what the model knows of the session from then on. The messages that it keeps are on
// the tape.
func compression(payload []byte) []byte {
	history, state := jsonl.Get(payload, "compressedHistory"), record.NewObject(1024)
	for m := range jsonl.Elements(history) {
		if text, _ := record.Plain(record.Or(jsonl.Get(m, "parts"), "null")); bytes.HasPrefix(text, []byte(`"<state_snapshot>`)) {
			state.Raw("summary", text)
			history = nil
		}
		break
	}
	return state.Raw("history", history).All(jsonl.Get(payload, "info")).Done()
}

// Describe reads the first records.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "timestamp"))
		info.Session = jsonl.GetString(raw, "sessionId")
		if info.Session == "" {
			return at.Opens()
		}
		info.Complete = true
		info.State = record.NewObject(256).Raw("sessionId", jsonl.Get(raw, "sessionId")).Raw("cwd", jsonl.Get(raw, "cwd")).Raw("version", jsonl.Get(raw, "version")).
			Raw("gitBranch", jsonl.Get(raw, "gitBranch")).Raw("forked_from", jsonl.Get(raw, "forkedFrom", "sessionId")).OrNil()
		if agent := jsonl.GetString(raw, "agentId"); agent != "" {
			info.Agent = subagentPrefix + agent
		}
		return false
	})
}
