package codex

import (
	"path/filepath"

	"tape/internal/sessions/importer/record"
)

type object = map[string]any

// writer writes sessions that Codex resumes, as version 0.169 takes them.
var writer = record.Writer{Files: write}

func write(user record.Where, s *record.Session) ([]record.File, error) {
	put := func(typ string, payload object) {
		s.Line(object{"timestamp": record.Stamp(s.Next()), "type": typ, "payload": payload})
	}
	put("session_meta", object{
		"id": s.ID, "timestamp": record.Stamp(s.Began), "cwd": s.Dir, "originator": "codex_cli_rs", "cli_version": "0.169.0", "source": "cli",
	})
	for _, m := range s.Messages {
		role, kind := "user", "input_text"
		if m.Model {
			role, kind = "assistant", "output_text"
		}
		for _, b := range m.Blocks {
			switch {
			case b.Call != nil:
				put("response_item", object{"type": "function_call", "name": b.Call.Name, "arguments": string(b.Call.Input), "call_id": b.Call.ID})
			case b.Result != nil:
				put("response_item", object{"type": "function_call_output", "call_id": b.Result.ID, "output": b.Result.Text})
			case b.Image != nil:
				url := "data:" + b.Image.Media + ";base64," + b.Image.Base64
				put("response_item", message(role, object{"type": "input_image", "image_url": url}))
			default:
				put("response_item", message(role, object{"type": kind, "text": b.Text}))
				// Codex shows events, not messages, in its list of sessions.
				if m.Model {
					put("event_msg", object{"type": "agent_message", "message": b.Text})
				} else {
					put("event_msg", object{"type": "user_message", "message": b.Text, "kind": "plain"})
				}
			}
		}
	}
	at := s.Began.Local()
	name := "rollout-" + at.Format("2006-01-02T15-04-05") + "-" + s.ID + ".jsonl"
	return []record.File{{Path: filepath.Join(folder(user), "sessions", at.Format("2006"), at.Format("01"), at.Format("02"), name), Data: s.Lines()}}, nil
}

func message(role string, part object) object {
	return object{"type": "message", "role": role, "content": []object{part}}
}
