package claudecode

import (
	"encoding/json"
	"path/filepath"

	"tape/internal/sessions/importer/record"
)

type object = map[string]any

// writer writes sessions that Claude Code can resume, in the form of version 2.1.
var writer = record.Writer{Files: write}

func write(user record.Where, s *record.Session) ([]record.File, error) {
	w := &transcript{Session: s}
	for _, m := range s.Messages {
		if m.Model {
			w.answer(m)
		} else {
			w.person(m)
		}
	}
	if s.Title != "" {
		s.Line(object{"type": "summary", "summary": s.Title, "leafUuid": w.parent})
	}
	path := filepath.Join(folder(user), "projects", record.Dashed(s.Dir), s.ID+".jsonl")
	return []record.File{{Path: path, Data: s.Lines()}}, nil
}

// transcript collects the lines of a session.
type transcript struct {
	*record.Session
	parent any // uuid of the line before
}

func (w *transcript) line(typ string, message object) {
	uuid := w.NewID()
	w.Line(object{
		"parentUuid": w.parent, "isSidechain": false, "type": typ, "message": message, "uuid": uuid,
		"timestamp": record.Stamp(w.Next()), "userType": "external", "entrypoint": "cli", "cwd": w.Dir, "sessionId": w.ID, "version": "2.1.0",
	})
	w.parent = uuid
}

// person writes the results in a message as one line, and what was said as another one.
func (w *transcript) person(m record.WrittenMessage) {
	var results, said []object
	for _, b := range m.Blocks {
		switch {
		case b.Result != nil:
			results = append(results, object{
				"type": "tool_result", "tool_use_id": b.Result.ID, "content": b.Result.Text, "is_error": b.Result.Failed,
			})
		case b.Image != nil:
			said = append(said, object{"type": "image", "source": object{"type": "base64", "media_type": b.Image.Media, "data": b.Image.Base64}})
		default:
			said = append(said, text(b.Text))
		}
	}
	if results != nil {
		w.line("user", object{"role": "user", "content": results})
	}
	if said != nil {
		w.line("user", object{"role": "user", "content": said})
	}
}

func (w *transcript) answer(m record.WrittenMessage) {
	var blocks []object
	stop := "end_turn"
	for _, b := range m.Blocks {
		if b.Call == nil {
			blocks = append(blocks, text(b.Text))
			continue
		}
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": b.Call.ID, "name": b.Call.Name, "input": json.RawMessage(b.Call.Input)})
	}
	w.line("assistant", object{
		"id": "msg_" + w.NewID(), "type": "message", "role": "assistant", "model": "unknown", "content": blocks,
		"stop_reason": stop, "stop_sequence": nil, "usage": object{"input_tokens": 0, "output_tokens": 0},
	})
}

func text(s string) object { return object{"type": "text", "text": s} }
