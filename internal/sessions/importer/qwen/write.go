package qwen

import (
	"encoding/json"
	"path/filepath"

	"tape/internal/sessions/importer/record"
)

type object = map[string]any

// writer writes sessions that Qwen Code resumes, as version 0.24 takes them.
var writer = record.Writer{Files: write}

func write(user record.Where, s *record.Session) ([]record.File, error) {
	w := &transcript{Session: s}
	for _, m := range s.Messages {
		var said []object
		for _, b := range m.Blocks {
			switch {
			case b.Call != nil:
				said = append(said, object{"functionCall": object{"id": b.Call.ID, "name": b.Call.Name, "args": json.RawMessage(b.Call.Input)}})
			case b.Result != nil:
				w.result(b.Result)
			case b.Image != nil:
				said = append(said, object{"inlineData": object{"mimeType": b.Image.Media, "data": b.Image.Base64}})
			default:
				said = append(said, object{"text": b.Text})
			}
		}
		switch {
		case said == nil:
		case m.Model:
			w.record("assistant", object{"provenance": "assistant_output", "model": "unknown", "message": object{"role": "model", "parts": said}})
		default:
			w.record("user", object{"provenance": "real_user", "message": object{"role": "user", "parts": said}})
		}
	}
	if s.Title != "" {
		w.record("system", object{
			"provenance": "system", "subtype": "custom_title", "systemPayload": object{"customTitle": s.Title, "titleSource": "auto"},
		})
	}
	path := filepath.Join(folder(user), "projects", record.Dashed(s.Dir), "chats", s.ID+".jsonl")
	return []record.File{{Path: path, Data: s.Lines()}}, nil
}

type transcript struct {
	*record.Session
	parent any // uuid of the record before
}

func (w *transcript) record(typ string, fields object) {
	uuid := w.NewID()
	fields["uuid"], fields["parentUuid"], fields["sessionId"], fields["type"] = uuid, w.parent, w.ID, typ
	fields["timestamp"], fields["cwd"], fields["version"] = record.Stamp(w.Next()), w.Dir, "0.24.4"
	w.Line(fields)
	w.parent = uuid
}

func (w *transcript) result(r *record.Answered) {
	response, status := object{"output": r.Text}, "success"
	if r.Failed {
		response, status = object{"error": r.Text}, "error"
	}
	w.record("tool_result", object{
		"provenance":     "tool_result",
		"message":        object{"role": "user", "parts": []object{{"functionResponse": object{"id": r.ID, "name": r.Name, "response": response}}}},
		"toolCallResult": object{"callId": r.ID, "status": status, "resultDisplay": r.Text},
	})
}
