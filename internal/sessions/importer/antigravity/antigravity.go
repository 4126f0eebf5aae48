// Package antigravity reads the transcripts of Google's Antigravity, in the editor and on the command line (agy).
//
// A transcript is a file of steps, brain/ID/.system_generated/logs/transcript.jsonl in a folder ~/.gemini/antigravity…;
// in newer versions transcript_full.jsonl has the same steps with all of their texts. A step of the type PLANNER_RESPONSE
// is what the model thought, said and called. The results follow in the order of the calls, which have no ids.
// history.jsonl has the directories of conversations. The conversations themselves, conversations/ID.pb, are encrypted,
// and not read. Antigravity is not public; read from a real transcript and other people's descriptions:
// docs/registry/antigravity.md in vshulcz/deja-vu, AgentSessions/Services/AntigravityTranscriptParser.swift in
// jazzyalex/agent-sessions, internal/parser/antigravity_cli.go in kenn-io/agentsview.
package antigravity

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	logs  = "/.system_generated/"
	short = "transcript.jsonl"      // long texts are cut
	full  = "transcript_full.jsonl" // if there is one, it is read
)

// Format is the format of Antigravity.
var Format = record.Format{
	Name: "antigravity", Title: "Antigravity", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		source := m.Text("source")
		return record.Certain.If(m.Has("step_index", "type", "created_at") || m.Has("created_at", "content") && (source == "USER_EXPLICIT" || source == "MODEL"))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, logs+"logs/") },
	Files: record.Files{
		Ext: ".jsonl",
		Folders: func(user record.Where) []string {
			return disk.Glob(user.Home, ".gemini/antigravity*/brain")
		},
		IsNote: func(path, name string) bool {
			if !strings.Contains(path, logs) || name == full {
				return false
			}
			_, err := os.Lstat(filepath.Join(filepath.Dir(filepath.FromSlash(path)), full))
			return name != short || err == nil
		},
	},
}

type reader struct {
	record.Conversation
	record.Once
	calls []string // without a result yet
	model string
}

// Read makes the entries of a transcript.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}}
	err := record.Each(ctx, r.Source, isRecord, nil, c)
	c.End()
	return err
}

func isRecord(raw []byte) bool {
	m := record.MembersOf(raw)
	return m.Has("step_index") || m.Has("source", "content")
}

// Record makes the entries of a step.
func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	raw = record.Compact(raw)
	step := string(jsonl.Get(raw, "step_index"))
	key := c.Key(step, raw)
	if key == "" {
		return
	}
	date, content := record.Date(record.Or(jsonl.Get(raw, "created_at"), "null")), record.Or(jsonl.Get(raw, "content"), `""`)
	if content[0] != '"' {
		content = record.Or(jsonl.Get(content, "text"), content)
	}
	switch typ, source := jsonl.GetString(raw, "type"), jsonl.GetString(raw, "source"); {
	case typ == "USER_INPUT" || typ == "" && source == "USER_EXPLICIT":
		c.calls = nil
		c.person(key, date, record.Text(content))
	case typ == "PLANNER_RESPONSE" || typ == "" && source == "MODEL":
		c.answer(key, date, content, raw)
	case typ == "CHECKPOINT" && !record.Blank(content):
		c.Put(record.Anchor(key, date, "compaction", record.With(nil, "summary", content)))
	case source == "MODEL" || typ == "ERROR_MESSAGE" && len(c.calls) > 0:
		id := "step-" + key
		if len(c.calls) > 0 {
			id, c.calls = c.calls[0], c.calls[1:]
		}
		c.Result(record.Result{ID: id, Key: key, Date: date, Content: content, Failed: typ == "ERROR_MESSAGE" || jsonl.GetString(raw, "status") == "ERROR"}, more(raw, "type", "content"))
	case typ == "ERROR_MESSAGE":
		c.Put(record.Event(key, date, "model.error", record.Without(raw, "step_index", "source", "type", "status", "created_at")))
	default:
		c.Put(record.Event(key, date, cmp.Or(strings.ToLower(typ), "step"), more(raw, "type")))
	}
}

// more returns what a step has besides its place, date and end.
func more(raw []byte, but ...string) []byte {
	o := record.NewObject(256).Rest(raw, append(but, "step_index", "source", "created_at", "status")...)
	if status := jsonl.Get(raw, "status"); status != nil && string(status) != `"DONE"` {
		o.Raw("status", status)
	}
	return o.OrNil()
}

// person emits what a person said, and what Antigravity added, such as the model that was chosen.
func (c *reader) person(key, date, text string) {
	said, added := record.Within(text, "USER_REQUEST")
	c.model = cmp.Or(chosen(added), c.model)
	if said != "" {
		c.Put(record.Message(key, date, "user", record.Quote(said)))
	}
	if added != "" {
		c.Put(record.Event(key+"/context", date, "context", record.NewObject(len(added)).Str("text", added).Done()))
	}
}

// chosen returns the model that a person has chosen, as Antigravity says so.
func chosen(added string) string {
	_, after, _ := strings.Cut(added, "`Model Selection` from ")
	_, model, _ := strings.Cut(after, " to ")
	model, _, _ = strings.Cut(model, "\n")
	model, _, _ = strings.Cut(model, ". No need")
	return strings.TrimSuffix(strings.TrimSpace(model), ".")
}

// answer emits what the model thought, said and called, and tokens if they are noted.
func (c *reader) answer(key, date string, content, raw []byte) {
	put := c.InRun(key)
	c.calls = nil
	if thought := jsonl.Get(raw, "thinking"); thought != nil && !record.Blank(thought) {
		put(record.Event(key+"/thinking", date, record.EventThinking, record.With(nil, "thinking", thought)))
	}
	if !record.Blank(content) {
		p := record.Message(key, date, "assistant", content)
		p.Extra = record.NewObject(64).Rest(raw, "step_index", "source", "type", "status", "created_at", "content", "thinking", "tool_calls", "usage", "model").OrNil()
		put(p)
	}
	i := 0
	for call := range jsonl.Elements(jsonl.Get(raw, "tool_calls")) {
		id := cmp.Or(jsonl.GetString(call, "id"), "call-"+record.BlockKey(key, i))
		args := record.NewObject(len(call))
		for name, v := range jsonl.Fields(jsonl.Get(call, "args")) {
			if inside := record.Inside(v); inside != nil { // each argument is JSON in a text
				v = record.Compact(inside)
			}
			args.Raw(name, v)
		}
		c.Call(record.NewCall(id, jsonl.GetString(call, "name"), args.Done(), "call:"+record.BlockKey(key, i), date))
		c.calls = append(c.calls, id)
		i++
	}
	usage := record.NewObject(128)
	for _, of := range [][2]string{{"input_tokens", "input_tokens"}, {"prompt_token_count", "input_tokens"}, {"output_tokens", "output_tokens"}, {"candidates_token_count", "output_tokens"}, {"cached_content_token_count", "cached_input_tokens"}} {
		usage.Raw(of[1], record.Or(jsonl.Get(raw, "usage", of[0]), jsonl.Get(raw, of[0])))
	}
	if model := cmp.Or(jsonl.GetString(raw, "model"), c.model); !usage.Empty() {
		put(record.Event(key+"/run", date, record.EventRun, record.NewObject(128).Str("model", model).Raw("usage", usage.Done()).Done()))
	}
}

// Describe tells a conversation by its folder, and finds its directory in the history.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	path, err := filepath.Abs(src.Name)
	if parent, _, ok := strings.Cut(filepath.ToSlash(path), logs); err == nil && ok && src.Name != "-" {
		info.Session = filepath.Base(parent)
	}
	state := record.NewObject(128)
	if record.IsUUID(info.Session) {
		state.Str("sessionId", info.Session)
	}
	for line := range bytes.Lines(src.Beside(filepath.Join("..", "..", "..", "..", "history.jsonl"))) {
		if dir := jsonl.GetString(line, "workspace"); dir != "" && cmp.Or(jsonl.GetString(line, "conversationId"), jsonl.GetString(line, "conversation_id")) == info.Session {
			state.Str("cwd", strings.TrimPrefix(dir, "file://"))
			break
		}
	}
	err = record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		info.Began(record.Or(jsonl.Get(raw, "created_at"), "null"))
		if model := chosen(jsonl.GetString(raw, "content")); model != "" && jsonl.GetString(raw, "source") == "USER_EXPLICIT" {
			state.Str("model", model)
			return false
		}
		return at.Opens()
	})
	info.Complete, info.State = info.Started != "", state.OrNil()
	return err
}
