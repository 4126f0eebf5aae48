package pi

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"tape/internal/sessions/importer/record"
)

type object = map[string]any

// writer writes sessions that pi resumes, version 3 of the format.
var writer = record.Writer{Files: write}

func write(user record.Where, s *record.Session) ([]record.File, error) {
	s.Line(object{"type": "session", "version": 3, "id": s.ID, "timestamp": record.Stamp(s.Began), "cwd": s.Dir})
	w := &transcript{Session: s}
	for _, m := range s.Messages {
		if m.Model {
			w.answer(m)
			continue
		}
		w.results(m)
		if said := parts(m.Blocks); said != nil {
			at := s.Next()
			w.message(at, object{"role": "user", "content": said, "timestamp": at.UnixMilli()})
		}
	}
	if s.Title != "" {
		w.entry(s.Next(), object{"type": "session_info", "name": s.Title})
	}
	dir := "--" + strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(s.Dir, `/\`)) + "--"
	name := strings.NewReplacer(":", "-", ".", "-").Replace(record.Stamp(s.Began)) + "_" + s.ID + ".jsonl"
	return []record.File{{Path: filepath.Join(sessions(user), dir, name), Data: s.Lines()}}, nil
}

type transcript struct {
	*record.Session
	parent any // id of the entry before
}

func (w *transcript) entry(at time.Time, fields object) {
	id := w.NewID()[:8]
	fields["id"], fields["parentId"], fields["timestamp"] = id, w.parent, record.Stamp(at)
	w.Line(fields)
	w.parent = id
}

func (w *transcript) message(at time.Time, m object) {
	w.entry(at, object{"type": "message", "message": m})
}

func (w *transcript) answer(m record.WrittenMessage) {
	content, stop := parts(m.Blocks), "stop"
	for _, b := range m.Blocks {
		if b.Call != nil {
			stop = "toolUse"
			content = append(content, object{"type": "toolCall", "id": b.Call.ID, "name": b.Call.Name, "arguments": json.RawMessage(b.Call.Input)})
		}
	}
	at := w.Next()
	w.message(at, object{
		"role": "assistant", "content": content, "api": "unknown", "provider": "unknown", "model": "unknown", "stopReason": stop, "timestamp": at.UnixMilli(),
		"usage": object{
			"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
			"cost": object{"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
		},
	})
}

func (w *transcript) results(m record.WrittenMessage) {
	for _, b := range m.Blocks {
		if r := b.Result; r != nil {
			at := w.Next()
			w.message(at, object{
				"role": "toolResult", "toolCallId": r.ID, "toolName": r.Name, "content": []object{text(r.Text)}, "isError": r.Failed, "timestamp": at.UnixMilli(),
			})
		}
	}
}

// parts returns what was said and shown.
func parts(blocks []record.Block) (out []object) {
	for _, b := range blocks {
		switch {
		case b.Image != nil:
			out = append(out, object{"type": "image", "data": b.Image.Base64, "mimeType": b.Image.Media})
		case b.Text != "":
			out = append(out, text(b.Text))
		}
	}
	return out
}

func text(s string) object { return object{"type": "text", "text": s} }
