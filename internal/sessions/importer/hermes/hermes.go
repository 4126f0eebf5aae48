// Package hermes reads the sessions of Hermes Agent.
//
// All sessions are in a SQLite database, ~/.hermes/state.db, and one for each profile. write makes JSON lines of a session,
// and Read reads these: {"hermes": "session"} is the row of the session, "message" one of its messages. A message that is
// not active was rewound, or is from before a compaction ("compacted"); the tokens are sums of the session. Older versions
// kept a session as one object, sessions/session_ID.json: the facts, and messages without dates. Sources:
// hermes_state_common.py (the tables) and hermes_state_compression.py in NousResearch/hermes-agent; internal/parser/hermes.go
// in kenn-io/agentsview; src/adapters/hermes in letta-ai/trajectory.
package hermes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const file = "state.db"

// Format is the format of Hermes.
var Format = record.Format{
	Name: "hermes", Title: "Hermes", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("hermes") || isDocument(m))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(head[0] == '{' && record.ContainsAll(head, `"session_id"`, `"session_start"`, `"last_updated"`, `"message_count"`))
	},
	Files: record.Files{Database: &record.Database{File: file, Tables: []string{"sessions", "messages"},
		JSON: []string{"tool_calls", "reasoning_details", "codex_reasoning_items", "codex_message_items", "model_config"}, All: databases, Sessions: sessions, Write: write}},
}

func databases(user record.Where) (out []record.DatabaseFile) {
	dirs := []string{user.Folder(".hermes", "HERMES_HOME")}
	if local := user.Getenv("LOCALAPPDATA"); local != "" { // of Hermes Desktop on Windows
		dirs = append(dirs, filepath.Join(local, "hermes"))
	}
	for _, dir := range dirs {
		for _, path := range append([]string{filepath.Join(dir, file)}, disk.Glob(dir, "profiles/*/"+file)...) {
			out = append(out, record.DatabaseFile{Path: path})
		}
	}
	return out
}

// starts are the reasons for which a session ended and another one followed it, which is no subagent.
var starts = []string{"compression", "branched", "session_reset", "session_switch", "idle", "daily", "suspended", "resume_pending_expired", "new_session"}

// sessionsOf asks for sessions, and why the session before each of them ended.
const sessionsOf = `SELECT s.*, (SELECT MAX(m.timestamp) FROM messages m WHERE m.session_id = s.id) AS tape_changed,
	(SELECT p.end_reason FROM sessions p WHERE p.id = s.parent_session_id) AS tape_parent_end FROM sessions s `

// subagentOf returns the session that started the one in a row; "" if that is no subagent's.
func subagentOf(row []byte) string {
	config := jsonl.Get(row, "model_config")
	if jsonl.Get(config, "_branched_from") != nil || jsonl.Get(config, "_reset_from") != nil || slices.Contains(starts, jsonl.GetString(row, "tape_parent_end")) {
		return ""
	}
	return jsonl.GetString(row, "parent_session_id")
}

func sessions(ctx context.Context, ask record.Ask) (out []record.KeptSession, err error) {
	rows, err := ask(ctx, sessionsOf+`ORDER BY s.parent_session_id IS NOT NULL, s.started_at, s.id`)
	var subagents []record.KeptSession
	for _, row := range rows {
		s := record.KeptSession{ID: jsonl.GetString(row, "id"), Parent: subagentOf(row), Dir: jsonl.GetString(row, "cwd"),
			Changed: max(record.Date(jsonl.Get(row, "tape_changed")), record.Date(jsonl.Get(row, "ended_at")))}
		if s.Parent != "" {
			subagents = append(subagents, s)
		} else {
			out = append(out, s)
		}
	}
	return append(out, subagents...), err
}

func write(ctx context.Context, ask record.Ask, path, id string, w io.Writer) error {
	rows, err := ask(ctx, sessionsOf+`WHERE s.id = ?`, id)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s has no session %s", path, id)
	}
	session := record.NewObject(1024).Str("hermes", "session").Str("subagent_of", subagentOf(rows[0])).Rest(rows[0], "tape_changed", "tape_parent_end")
	if _, err := w.Write(append(session.Done(), '\n')); err != nil {
		return err
	}
	messages, err := ask(ctx, `SELECT * FROM messages WHERE session_id = ? ORDER BY id`, id)
	for _, row := range messages {
		line := record.NewObject(len(row)).Str("hermes", "message").All(row, "display_identity", "display_order").Done()
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return err
}

type reader struct {
	record.Conversation
	session  []byte
	said     record.Counter // messages, which a compaction writes again
	dateless bool           // messages have no dates: the same one may be said twice
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}}
	err := record.EachSession(ctx, r.Source, isRecord, c)
	if !r.Open {
		c.Hidden = false
		c.spent()
		c.PutTitle(jsonl.GetString(c.session, "title"))
	}
	c.End()
	return err
}

func isRecord(raw []byte) bool { m := record.MembersOf(raw); return m.Has("hermes") || isDocument(m) }

// isDocument reports whether a record is a whole session.
func isDocument(m record.Members) bool {
	return m.Has("session_id", "session_start", "messages") && m["messages"][0] == '['
}

// line returns the facts of a session that is one object, as the database has them.
func line(whole []byte) []byte {
	return record.NewObject(1024).Str("hermes", "session").Raw("id", jsonl.Get(whole, "session_id")).Raw("started_at", jsonl.Get(whole, "session_start")).
		Raw("ended_at", jsonl.Get(whole, "last_updated")).Raw("source", jsonl.Get(whole, "platform")).
		Raw("cwd", record.Or(jsonl.Get(whole, "cwd"), jsonl.Get(whole, "model_config", "cwd"))).Raw("system_prompt", jsonl.Get(whole, "system_prompt")).
		Raw("model", jsonl.Get(whole, "model")).Raw("title", jsonl.Get(whole, "title")).Done()
}

// Record makes the entries of a line.
func (c *reader) Record(at record.Span, raw []byte) {
	if isDocument(record.MembersOf(raw)) {
		c.Record(at, line(raw))
		c.dateless = true
		for message := range jsonl.Elements(jsonl.Get(raw, "messages")) {
			c.Record(at, record.Compact(message))
		}
		return
	}
	c.Stats.Records++
	if jsonl.GetString(raw, "hermes") == "session" {
		c.session = slices.Clone(raw)
		if prompt := jsonl.Get(raw, "system_prompt"); prompt != nil && !record.Blank(prompt) {
			key, date := "system:"+c.Counts.Key(prompt), record.Date(jsonl.Get(raw, "started_at"))
			c.Put(record.Entry{Kind: record.KindSystem, Keys: []string{key}, Date: date, Payload: record.With(nil, "content", prompt)})
		}
		return
	}
	// A compaction writes the messages that it keeps again, with other ids.
	same := record.NewObject(len(raw))
	for _, name := range []string{"role", "content", "timestamp", "tool_call_id", "tool_calls", "tool_name"} {
		same.Raw(name, jsonl.Get(raw, name))
	}
	norm := same.Done()
	n := c.said.Next(record.SumOf(norm))
	if n > 1 && !c.dateless {
		return
	}
	key, date := record.ContentKey(norm, n), cmp.Or(record.Date(record.Or(jsonl.Get(raw, "timestamp"), "null")), record.Date(record.Or(jsonl.Get(c.session, "started_at"), "null")))
	if hidden := string(jsonl.Get(raw, "active")) == "0" && string(jsonl.Get(raw, "compacted")) != "1"; hidden != c.Hidden {
		c.Flush()
		c.Hidden = hidden
	}
	text := content(jsonl.Get(raw, "content"))
	extra := record.NewObject(64).Rest(raw, "hermes", "id", "session_id", "role", "content", "timestamp", "tool_call_id", "tool_calls", "active", "compacted",
		"observed", "_compressed_summary", "reasoning", "reasoning_content", "reasoning_details", "token_count").OrNil()
	switch role := jsonl.GetString(raw, "role"); {
	case string(jsonl.Get(raw, "_compressed_summary")) == "1":
		c.Put(record.Anchor(key, date, "compaction", record.NewObject(len(text)).Raw("summary", text).Done()))
	case role == "assistant":
		c.answer(key, date, raw, text, extra)
	case role == "tool":
		c.Result(record.Result{ID: jsonl.GetString(raw, "tool_call_id"), Key: key, Date: date, Content: text}, nil)
	case role == "user" && jsonl.GetString(raw, "display_kind") == "hidden": // nobody said it
		c.Put(record.Event(key, date, "context", record.NewObject(256).Raw("content", text).Done()))
	case role == "user":
		p := record.Message(key, date, role, text)
		p.Extra = extra
		c.Put(p)
	case role == "system":
		c.Put(record.Entry{Kind: record.KindSystem, Keys: []string{key}, Date: date, Payload: record.With(nil, "content", text)})
	default:
		c.Put(record.Event(key, date, cmp.Or(role, "record"), record.NewObject(256).Rest(raw, "hermes", "id", "session_id", "role", "timestamp").Done()))
	}
}

// content returns a content. One with pictures is kept as a text that begins so.
func content(text []byte) []byte {
	if inside, ok := strings.CutPrefix(record.Text(text), "\x00json:"); ok && jsonl.Valid([]byte(inside)) == nil {
		plain, _ := record.Plain(record.Compact([]byte(inside)))
		return plain
	}
	if text == nil || string(text) == "null" {
		return []byte(`""`)
	}
	return record.Compact(text)
}

func (c *reader) answer(key, date string, raw, text, extra []byte) {
	put := c.InRun(key)
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if thought := jsonl.Get(raw, name); strings.TrimSpace(record.Text(thought)) != "" {
			put(record.Event(key+"/thought", date, record.EventThinking, record.NewObject(len(thought)).Raw("thinking", thought).Rest(raw, allBut(raw, "reasoning_details")...).Done()))
			break
		}
	}
	if !record.Blank(text) {
		p := record.Message(key, date, "assistant", text)
		p.Extra = extra
		put(p)
	}
	i := 0
	for call := range jsonl.Elements(jsonl.Get(raw, "tool_calls")) {
		name := cmp.Or(jsonl.GetString(call, "function", "name"), jsonl.GetString(call, "name"))
		arguments := record.Or(jsonl.Get(call, "function", "arguments"), string(record.Or(jsonl.Get(call, "arguments"), "{}")))
		if arguments[0] == '"' {
			arguments = []byte(record.Text(arguments))
		}
		callKey := record.BlockKey(key+"/call", i)
		c.Call(record.NewCall(cmp.Or(jsonl.GetString(call, "id"), jsonl.GetString(call, "call_id"), callKey), name, arguments, callKey, date))
		i++
	}
}

// allBut returns the names of the members of an object, except one.
func allBut(obj []byte, but string) (names []string) {
	for name := range jsonl.Fields(obj) {
		if name != but {
			names = append(names, name)
		}
	}
	return names
}

// spent emits the sums of the session. They have the session's id, so of several, as the session goes on, what is more
// counts.
func (c *reader) spent() {
	s := c.session
	if tokens := jsonl.Get(s, "input_tokens"); tokens == nil && jsonl.Get(s, "output_tokens") == nil {
		return
	}
	usage := record.NewObject(160)
	for _, of := range [][2]string{{"input_tokens", "input_tokens"}, {"output_tokens", "output_tokens"}, {"cache_read_tokens", "cache_read_input_tokens"},
		{"cache_write_tokens", "cache_creation_input_tokens"}, {"reasoning_tokens", "reasoning_output_tokens"}} {
		usage.Raw(of[1], record.Or(jsonl.Get(s, of[0]), "0"))
	}
	spent := usage.Done()
	if !strings.ContainsAny(string(spent), "123456789") {
		return
	}
	data := record.NewObject(256).Raw("model", jsonl.Get(s, "model")).Raw("message_id", jsonl.Get(s, "id")).Raw("usage", spent)
	for _, cost := range []string{"actual_cost_usd", "estimated_cost_usd"} {
		if v := jsonl.Get(s, cost); v != nil && string(v) != "0" && string(v) != "0.0" {
			data.Raw("cost", v)
			break
		}
	}
	raw := data.Done()
	if key := "usage:" + record.ContentKey(raw, 1); !c.Has(key) {
		c.Put(record.Event(key, record.Date(jsonl.Get(s, "ended_at")), record.EventRun, raw))
	}
}

// Describe reads the line of the session.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.ScanSession(ctx, src, isRecord, func(raw []byte) bool {
		if isDocument(record.MembersOf(raw)) {
			raw = line(raw)
		}
		if jsonl.GetString(raw, "hermes") != "session" {
			return false
		}
		info.Began(jsonl.Get(raw, "started_at"))
		info.Session, info.Complete = jsonl.GetString(raw, "id"), true
		state := record.NewObject(256).Str("sessionId", info.Session).Raw("cwd", jsonl.Get(raw, "cwd")).Raw("model", jsonl.Get(raw, "model")).Raw("gitBranch", jsonl.Get(raw, "git_branch")).
			Raw("source", jsonl.Get(raw, "source"))
		parent := jsonl.GetString(raw, "parent_session_id")
		switch of := jsonl.GetString(raw, "subagent_of"); {
		case of != "":
			info.Agent, info.Session = "agent-"+info.Session, of
		case jsonl.Get(raw, "model_config", "_branched_from") != nil:
			state.Str("forked_from", parent)
		case parent != "":
			state.Str("follows", parent)
		}
		info.State = state.Done()
		return false
	})
}
