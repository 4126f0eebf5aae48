package opencode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type object = map[string]any

// writer writes sessions in the form that "opencode import" reads, as of version 1.18.
var writer = record.Writer{NewID: newID, Files: write, Import: []string{"import"}}

const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newID makes the id of a session. opencode sorts by ids: those of sessions descend with time, those of messages and
// parts ascend.
func newID(now time.Time, random [32]byte) string {
	return "ses_" + id(^uint64(now.UnixMilli()*0x1000), random[:])
}

func id(at uint64, random []byte) string {
	tail := make([]byte, 14)
	for i := range tail {
		tail[i] = digits[int(random[i])%len(digits)]
	}
	return fmt.Sprintf("%012x%s", at&0xffff_ffff_ffff, tail)
}

func write(user record.Where, s *record.Session) ([]record.File, error) {
	provider, model := modelOf(user, s.Dir)
	w := &transcript{Session: s, model: object{"providerID": provider, "modelID": model}}
	for i, m := range s.Messages {
		if !m.Model {
			w.person(m)
			continue
		}
		w.answer(m, s.Results(i))
	}
	title := cmp.Or(s.Title, "New session - "+record.Stamp(s.Began)) // opencode replaces the second with a better one
	began := s.Began.UnixMilli()
	doc := record.JSON(object{"messages": w.messages, "info": object{
		"id": s.ID, "slug": s.ID, "projectID": "global", "directory": s.Dir, "title": title, "version": "1.18.33",
		"time": object{"created": began, "updated": began},
	}})
	return []record.File{{Path: s.ID + ".json", Data: doc}}, nil
}

// modelOf returns the provider and the model that opencode would use for a new session. They are written into the
// messages, because opencode continues a session with those of the last prompt.
func modelOf(user record.Where, dir string) (provider, model string) {
	// Settings may have comments, and then are not JSON.
	named := regexp.MustCompile(`(?m)(?:^|[{,])\s*"model"\s*:\s*"([^"/]+)/([^"]+)"`)
	for _, file := range []string{settings(record.Where{Project: dir, Home: user.Home, Getenv: user.Getenv}), settings(user.User())} {
		text, _ := os.ReadFile(file) // there may be none
		if m := named.FindSubmatch(text); m != nil {
			return string(m[1]), string(m[2])
		}
	}
	state := cmp.Or(user.Getenv("XDG_STATE_HOME"), filepath.Join(user.Home, ".local", "state"))
	recent, _ := os.ReadFile(filepath.Join(state, "opencode", "model.json"))
	for m := range jsonl.Elements(jsonl.Get(recent, "recent")) {
		return jsonl.GetString(m, "providerID"), jsonl.GetString(m, "modelID")
	}
	return "unknown", "unknown"
}

type transcript struct {
	*record.Session
	model    object
	messages []object
	prompt   string // the id of the last prompt
}

func (w *transcript) id(prefix string) string {
	at := w.Next().UnixMilli()
	return prefix + id(uint64(at)*0x1000+1, []byte(w.NewID()))
}

// add adds a message with its parts.
func (w *transcript) add(id string, info object, parts []object) {
	info["id"], info["sessionID"] = id, w.ID
	for _, p := range parts {
		p["id"], p["sessionID"], p["messageID"] = w.id("prt_"), w.ID, id
	}
	w.messages = append(w.messages, object{"info": info, "parts": parts})
}

func (w *transcript) person(m record.WrittenMessage) {
	said := parts(m.Blocks)
	if said == nil {
		return
	}
	w.prompt = w.id("msg_")
	w.add(w.prompt, object{
		"role": "user", "time": object{"created": w.Next().UnixMilli()}, "agent": "build", "model": w.model,
	}, said)
}

func (w *transcript) answer(m record.WrittenMessage, results map[string]*record.Answered) {
	id, at := w.id("msg_"), w.Next().UnixMilli()
	said, finish := parts(m.Blocks), "stop"
	for _, b := range m.Blocks {
		if b.Call != nil {
			finish = "tool-calls"
			said = append(said, tool(b.Call, results[b.Call.ID], at))
		}
	}
	w.add(id, object{
		"role": "assistant", "parentID": w.prompt, "mode": "build", "agent": "build", "modelID": "unknown", "providerID": "unknown",
		"path": object{"cwd": w.Dir, "root": w.Dir}, "cost": 0, "finish": finish, "time": object{"created": at, "completed": at},
		"tokens": object{"input": 0, "output": 0, "reasoning": 0, "cache": object{"read": 0, "write": 0}},
	}, said)
}

func tool(c *record.Asked, r *record.Answered, at int64) object {
	state := object{
		"status": "completed", "input": json.RawMessage(c.Input), "output": "", "title": c.Name, "metadata": object{}, "time": object{"start": at, "end": at},
	}
	switch {
	case r == nil:
	case r.Failed:
		state = object{"status": "error", "input": json.RawMessage(c.Input), "error": r.Text, "time": object{"start": at, "end": at}}
	default:
		state["output"] = r.Text
	}
	return object{"type": "tool", "callID": c.ID, "tool": c.Name, "state": state}
}

// parts returns texts and images as opencode's parts of a message.
func parts(blocks []record.Block) (out []object) {
	for _, b := range blocks {
		switch {
		case b.Image != nil:
			out = append(out, object{"type": "file", "mime": b.Image.Media, "url": "data:" + b.Image.Media + ";base64," + b.Image.Base64})
		case b.Text != "":
			out = append(out, object{"type": "text", "text": b.Text})
		}
	}
	return out
}
