package claudecode

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// opening is what the first lines of a session say about it.
type opening struct {
	env     [len(envelope)][]byte
	model   []byte
	started string
	agent   string         // the name of the subagent whose own file this is, if the file's name and first line agree
	wrote   string         // date of the first line before the conversation
	first   string         // uuid of the first line of the conversation
	began   string         // date of that line
	copied  string         // the id of the session from which that line was copied
	behind  bool           // the session goes on in the background with the history of another one
	ended   bool           // the opening is complete: an answer has come, or the limit was reached
	counts  record.Counter // of the lines before the place where reading begins
}

func open(ctx context.Context, src record.Source) (*opening, error) {
	o := &opening{}
	begun := false // the conversation has begun
	return o, record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		if !at.Opens() {
			o.ended = true
			return false
		}
		var l line
		l.parse(raw)
		for i, v := range l.env {
			if o.env[i] == nil && len(v) > 2 && v[0] == '"' {
				o.env[i] = bytes.Clone(v)
			}
		}
		if !begun && l.uuid == nil {
			o.wrote = cmp.Or(o.wrote, record.Date(l.timestamp))
		}
		if !begun && l.uuid != nil {
			begun = true
			o.first, o.began = record.Text(l.uuid), record.Date(l.timestamp)
			o.copied, o.behind = jsonl.GetString(l.raw, "forkedFrom", "sessionId"), l.background
			if name := agentName(record.Text(l.agent)); l.side && l.agent != nil && name == src.Stem() {
				o.agent = name
			}
		}
		o.started = cmp.Or(o.started, record.Date(l.timestamp))
		if l.typ == "assistant" && l.inner == nil && jsonl.IsObject(l.message) {
			if m := jsonl.Get(l.message, "model"); len(m) > 2 && string(m) != syntheticModel {
				o.model = bytes.Clone(m)
			}
			o.ended = true
		}
		return !o.ended
	})
}

// HasFirst reports whether a session begins with the line of this uuid, and whether that line was not copied.
func HasFirst(ctx context.Context, src record.Source, uuid string) (has, own bool) {
	o, err := open(ctx, src)
	return err == nil && o.first == uuid, err == nil && (o.wrote == "" || o.wrote <= o.began) && !o.behind
}

// Describe reads the opening of a session.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	o, err := open(ctx, src)
	if err != nil {
		return err
	}
	info.Started, info.Agent, info.Complete = o.started, o.agent, o.ended
	info.Session = record.Text(o.env[slices.Index(envelope[:], "sessionId")])
	// A session that continues another one may begin with that one's lines.
	if record.IsUUID(src.Stem()) {
		info.Session = src.Stem()
	}
	// A session in the background has the lines of the one that it goes on with, and does not name it
	// (kenn-io/agentsview#1370).
	if o.began != "" && (o.began < o.wrote || o.behind) {
		info.First = o.first
	}
	state := record.NewObject(256)
	for i, v := range o.env {
		state.Raw(envelope[i], v)
	}
	state.Raw("model", o.model)
	if o.copied != "" {
		state.Str("forked_from", o.copied)
	}
	info.State = state.OrNil()
	return nil
}
