// Package cursor reads the transcripts that Cursor's agent keeps of its sessions, in the editor and on the command line.
//
// A transcript is a file of lines {role, message: {content}}, ~/.cursor/projects/PROJECT/agent-transcripts/ID.jsonl or
// ID/ID.jsonl; those of subagents are in ID/subagents. PROJECT is the directory with dashes. The content is in Anthropic's
// form, but calls have no ids, and their results and tokens are not in it. Newer versions put the minute before what a
// person said, and have lines {type} for errors and the end of a turn; there are no other dates. Sessions of the editor
// without a transcript are in a database, see composer.go. Cursor is not public; read from other
// people's descriptions: internal/parser/cursor.go in kenn-io/agentsview, jhlee0409/claude-code-history-viewer#304, and
// fixtures/registry/cursor in vshulcz/deja-vu.
package cursor

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	transcripts    = "agent-transcripts"
	subagents      = "subagents"
	subagentPrefix = "agent-"
)

// Format is the format of Cursor.
var Format = record.Format{
	Name: "cursor", Title: "Cursor", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		if m.Has("cursor") && !isOfStore(m.Text("cursor")) {
			return record.Certain
		}
		role := m.Text("role")
		return record.High.If((role == "user" || role == "assistant") && jsonl.Get(m["message"], "content") != nil && !m.Has("type") && !m.Has("content") && !m.Has("uuid"))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/"+transcripts+"/") },
	Files: record.Files{
		Ext:     ".jsonl",
		Folders: func(user record.Where) []string { return []string{filepath.Join(folder(user), "projects")} },
		Subagents: func(path, _ string) string {
			return filepath.Join(filepath.Dir(path), subagents)
		},
		// A database has a session before there is a transcript.
		Former: func(path, other string) bool {
			database, id := filepath.Split(other)
			name := filepath.Base(database)
			return id == record.Source{Name: path}.Stem() && (name == storeFile || name == composers.File)
		},
		Database: &composers,
	},
}

func folder(user record.Where) string { return user.Folder(".cursor", "CURSOR_CONFIG_DIR") }

type reader struct {
	record.Conversation
	record.Once
	facts []byte // of a composer
	date  string // of its last bubble with a date, or of the last prompt
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}}
	err := record.Each(ctx, r.Source, isRecord, nil, c)
	c.end()
	c.End()
	return err
}

func isRecord(raw []byte) bool {
	m := record.MembersOf(raw)
	return m.Has("role", "message") || m.Has("cursor") || m.Has("type")
}

// Record makes the entries of a line.
func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	if kind := jsonl.GetString(raw, "cursor"); kind != "" {
		c.fromComposer(kind, raw)
		return
	}
	key, content := c.Counts.Key(raw), jsonl.Get(raw, "message", "content")
	if jsonl.Get(raw, "message") == nil {
		if data := record.NewObject(len(raw)).Rest(raw, "type").OrNil(); data != nil {
			c.Put(record.Event(key, c.date, cmp.Or(jsonl.GetString(raw, "type"), "record"), record.Compact(data)))
		}
		return
	}
	extra := record.NewObject(64).Rest(raw, "role", "message").OrNil()
	if jsonl.GetString(raw, "role") == "assistant" {
		c.PutAnswer(content, record.Blocks{Key: key, Date: c.date, Extra: extra})
		return
	}
	c.date = cmp.Or(said(content), c.date)
	c.prompt(key, content, record.Blocks{Key: key, Date: c.date, Extra: extra})
}

// prompt emits what a person said, and what Cursor adds to it.
func (c *reader) prompt(key string, content []byte, blocks record.Blocks) {
	var added []string
	blocks.Text = func(text []byte) []byte {
		said, more := record.Within(record.Text(text), "user_query")
		if strings.HasPrefix(said, "<user_info>") { // the first message of the command line has only this
			said, more = "", said
		}
		if more != "" {
			added = append(added, more)
		}
		if said == "" {
			return nil
		}
		return record.Quote(said)
	}
	c.PutPerson(content, blocks)
	if added != nil {
		c.Put(record.Event(key+"/context", c.date, "context", record.NewObject(256).Str("text", strings.Join(added, "\n\n")).Done()))
	}
}

// said returns the date that Cursor puts before what a person said, "" if there is none:
// <timestamp>Friday, Jul 31, 2026, 2:07 PM (UTC+3)</timestamp>.
func said(content []byte) string {
	_, text, _ := bytes.Cut(content, []byte("<timestamp>"))
	text, _, found := bytes.Cut(text, []byte("</timestamp>"))
	local, zone, _ := strings.Cut(string(text), " (UTC")
	if !found || len(text) > 64 {
		return ""
	}
	t, err := time.Parse("Monday, Jan 2, 2006, 3:04 PM", strings.TrimSpace(local))
	if err != nil {
		return ""
	}
	hours, minutes, _ := strings.Cut(strings.TrimSuffix(zone, ")"), ":")
	h, _ := strconv.Atoi(hours) // UTC itself has none
	m, _ := strconv.Atoi(minutes)
	if strings.HasPrefix(hours, "-") {
		m = -m
	}
	t = t.Add(-time.Duration(h)*time.Hour - time.Duration(m)*time.Minute)
	return record.Date(record.Quote(t.Format(time.RFC3339)))
}

// Describe tells the session by its file's name, or by the facts of a composer.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	composer, first := false, ""
	err := record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		composer = composer || jsonl.Get(raw, "cursor") != nil
		if !composer {
			first = said(jsonl.Get(raw, "message", "content"))
			return jsonl.Get(raw, "message") == nil && at.Opens() // the end of a turn says no date
		}
		return describeComposer(raw, info) && at.Line < record.OpeningLines
	})
	if composer || err != nil {
		return err
	}
	path, err := filepath.Abs(src.Name)
	if err != nil || src.Name == "-" {
		return nil //nolint:nilerr // it has no name
	}
	info.Started, info.Complete = cmp.Or(first, src.Modified()), true
	if record.IsUUID(src.Stem()) {
		info.Session = src.Stem()
	}
	parts := strings.Split(filepath.ToSlash(path), "/")
	dir := ""
	for i, part := range parts {
		if part == transcripts && i > 0 {
			dir = directory("/", parts[i-1])
		}
	}
	if n := len(parts); n > 2 && parts[n-2] == subagents && record.IsUUID(parts[n-3]) {
		info.Agent, info.Session = subagentPrefix+src.Stem(), parts[n-3]
	}
	state := record.NewObject(256)
	if info.Session != "" {
		state.Str("sessionId", info.Session)
	}
	if dir != "" {
		state.Str("cwd", dir)
	}
	dates := "of the file"
	if first != "" {
		dates = "of the prompts"
	}
	info.State = state.Str("dates", dates).Done()
	return nil
}

// directory returns the directory below top whose path with dashes is name, if it exists; otherwise "".
func directory(top, name string) string {
	list, err := os.ReadDir(top)
	if err != nil {
		return ""
	}
	for _, e := range list {
		dashed := strings.TrimLeft(record.Dashed(e.Name()), "-")
		if !e.IsDir() && e.Type()&os.ModeSymlink == 0 || dashed == "" {
			continue
		}
		rest, ok := strings.CutPrefix(name, dashed)
		if ok && rest == "" {
			return filepath.Join(top, e.Name())
		}
		if rest, more := strings.CutPrefix(rest, "-"); ok && more {
			if found := directory(filepath.Join(top, e.Name()), rest); found != "" {
				return found
			}
		}
	}
	return ""
}
