// Package droid reads the sessions of Factory's Droid.
//
// A session is a file of lines, ~/.factory/sessions/PROJECT/ID.jsonl: "session_start" has the id, the title and the
// directory, "message" a message in Anthropic's form. ID.settings.json beside it has the model, and the sums of the tokens.
// What `droid exec --output-format stream-json` prints is read, too, see printed.go.
// Droid is not public; read from other people's descriptions: src/connectors/factory.rs in
// Dicklesworthstone/coding_agent_session_search, packages/core/src/sessions/droid.ts in junhoyeo/tokscale, and
// src/providers/droid.ts in getagentseal/codeburn.
package droid

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const settings = ".settings.json"

// Format is the format of Droid.
var Format = record.Format{
	Name: "droid", Title: "Factory Droid", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Text("type") == "session_start" && m.Has("id") && (m.Has("cwd") || m.Has("version") || m.Has("title")) ||
			m.Text("type") == "message" && m.Has("timestamp", "message") && record.IsUUID(m.Text("id")) || isPrinted(m))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/.factory/") },
	Files: record.Files{
		Ext:     ".jsonl",
		Folders: func(user record.Where) []string { return []string{filepath.Join(user.Home, ".factory", "sessions")} },
		IsNote:  func(_, name string) bool { return strings.HasSuffix(name, settings) },
		Beside:  func(path string) []string { return []string{strings.TrimSuffix(path, ".jsonl") + settings} },
	},
}

type reader struct {
	record.Conversation
	record.Once
	said  string // the last answer that was printed
	title string
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}}
	err := record.Each(ctx, r.Source, isRecord, nil, c)
	if !r.Open {
		c.usage()
		c.PutTitle(c.title)
	}
	c.End()
	return err
}

func isRecord(raw []byte) bool { return record.MembersOf(raw).Has("type") }

// Record makes the entries of a line.
func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	if m := record.MembersOf(raw); isPrinted(m) || m.Text("type") == "system" && printedSession(raw) != "" {
		c.printed(m, raw)
		return
	}
	key, date, typ := c.Key(jsonl.GetString(raw, "id"), raw), record.Date(jsonl.Get(raw, "timestamp")), jsonl.GetString(raw, "type")
	if key == "" {
		return
	}
	message := jsonl.Get(raw, "message")
	blocks := record.Blocks{Key: key, Date: date, Extra: record.NewObject(64).Rest(message, "role", "content").OrNil()}
	switch {
	case typ == "session_start":
		c.title = jsonl.GetString(raw, "sessionTitle") // title is the first prompt
		c.Put(record.Event(key, date, "session", record.NewObject(256).Rest(raw, "type", "timestamp").Done()))
	case typ == "message" && jsonl.GetString(message, "role") == "assistant":
		c.PutAnswer(jsonl.Get(message, "content"), blocks)
	case typ == "message":
		c.person(jsonl.Get(message, "content"), blocks)
	case typ == "compaction_state" && jsonl.GetString(raw, "summaryText") != "":
		state := record.NewObject(1024).Raw("summary", jsonl.Get(raw, "summaryText")).Rest(raw, "type", "id", "timestamp", "summaryText")
		c.Put(record.Anchor(key, date, "compaction", state.Done()))
	default:
		c.Put(record.Event(key, date, cmp.Or(typ, "record"), record.NewObject(256).Rest(raw, "type", "id", "timestamp").Done()))
	}
}

// person emits what a person said, and as events what Droid adds to it.
func (c *reader) person(content []byte, blocks record.Blocks) {
	var added []string
	blocks.Text = func(text []byte) []byte {
		said, reminders := withoutReminders(record.Text(text))
		if reminders == nil {
			return text
		}
		added = append(added, reminders...)
		if said == "" {
			return nil
		}
		return record.Quote(said)
	}
	c.PutPerson(content, blocks)
	for i, text := range added {
		c.Put(record.Event(record.BlockKey(blocks.Key+"/context", i), blocks.Date, "context", record.NewObject(len(text)).Str("text", text).Done()))
	}
}

// withoutReminders takes the reminders before and below a text out of it. In the text, a person may quote one.
func withoutReminders(text string) (said string, reminders []string) {
	const begin, end = "<system-reminder>", "</system-reminder>"
	said = strings.TrimSpace(text)
	for strings.HasPrefix(said, begin) {
		reminder, rest, complete := strings.Cut(said[len(begin):], end)
		if !complete {
			return said, reminders
		}
		said, reminders = strings.TrimSpace(rest), append(reminders, strings.TrimSpace(reminder))
	}
	before := len(reminders)
	for strings.HasSuffix(said, end) {
		at := strings.LastIndex(said, "\n"+begin)
		if at < 0 {
			break
		}
		reminder := said[at+1+len(begin) : len(said)-len(end)]
		if strings.Contains(reminder, end) {
			break
		}
		said, reminders = strings.TrimSpace(said[:at]), slices.Insert(reminders, before, strings.TrimSpace(reminder))
	}
	return said, reminders
}

// beside returns the session's settings.
func beside(src record.Source) []byte {
	raw := bytes.TrimSpace(src.Beside(src.Stem() + settings))
	if !jsonl.IsObject(raw) || jsonl.Valid(raw) != nil {
		return nil
	}
	return record.Compact(raw)
}

// usage emits the sums of the session. They have the session's id, so of several, as the session goes on, what is more
// counts.
func (c *reader) usage() {
	set := beside(c.Source)
	tokens := record.NewObject(160).As(jsonl.Get(set, "tokenUsage"), map[string]string{"inputTokens": "input_tokens", "outputTokens": "output_tokens",
		"cacheReadTokens": "cache_read_input_tokens", "cacheCreationTokens": "cache_creation_input_tokens", "thinkingTokens": "reasoning_output_tokens"})
	if tokens.Empty() {
		return
	}
	data := record.NewObject(256).Raw("model", jsonl.Get(set, "model")).Str("message_id", c.Stem()).Raw("usage", tokens.Done()).Done()
	if key := "usage:" + record.ContentKey(data, 1); !c.Has(key) {
		c.Put(record.Event(key, "", record.EventRun, data))
	}
}

// Describe reads the line that starts the session.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "timestamp"))
		if jsonl.GetString(raw, "type") == "session_start" {
			info.Session = jsonl.GetString(raw, "id")
			info.State = record.NewObject(256).Str("sessionId", info.Session).Raw("cwd", jsonl.Get(raw, "cwd")).Raw("model", jsonl.Get(beside(src), "model")).Done()
		}
		if id := printedSession(raw); id != "" && info.Session == "" {
			info.Session = id
			info.State = record.NewObject(256).Str("sessionId", id).Raw("cwd", jsonl.Get(raw, "cwd")).Raw("model", jsonl.Get(raw, "model")).Done()
		}
		info.Complete = info.Session != "" && info.Started != ""
		return !info.Complete && at.Opens()
	})
}
