// Package cline reads the sessions of Cline's CLI, and its tasks in Visual Studio Code ([Tasks]).
//
// A session of the CLI is a folder of JSON documents. Cline rewrites a document as a whole. ID.messages.json has the messages,
// in Anthropic's form, with ids that do not change; agent_….messages.json has those of a subagent. ID.json has the
// session's facts: its title, its first prompt, which is among the messages only once the model has answered, and
// the commits that restore the project's files. ID.compaction.json has what the model gets instead of the older
// messages, since the last compaction. /undo starts a new session, which begins with copies of the earlier
// messages. Seen with version 3.0.65.
package cline

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	record.Conversation
	record.Once
	opening
	system      []byte   // the system prompt
	compacted   []byte   // the document of the last compaction; nil once its anchor was emitted
	checkpoints [][]byte // not emitted yet
	begun       bool     // something was emitted
	asked       bool     // the first prompt was read
	broken      bool     // the document is empty or damaged, or does not end
}

// Read makes the entries of a session, or of a subagent's own file.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}, broken: true}
	var err error
	if c.opening, err = open(ctx, r.Source); err != nil {
		return err
	}
	if c.agent == "" {
		c.compacted = beside(r.Source, c.id+compaction)
		c.checkpoints = slices.Collect(jsonl.Elements(jsonl.Get(c.session, "metadata", "checkpoint", "history")))
	}
	all := func(record.Span, []byte) bool { return true }
	err = record.Scan(ctx, r.Source, isRecord, func(name string, raw []byte) {
		c.broken = false
		if name == "system_prompt" {
			c.system = raw
		}
	}, all)
	if err != nil {
		return err
	}
	err = record.Each(ctx, r.Source, isRecord, func(string, []byte) {}, c)
	if !r.Open {
		c.end()
	}
	c.Conversation.End()
	return err
}

func isRecord(raw []byte) bool { return record.MembersOf(raw).Has("role", "content") }

// Record makes the entries of a message.
func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	id := jsonl.GetString(raw, "id")
	e := element{reader: c, raw: raw, key: c.Key(id, raw), date: record.Date(jsonl.Get(raw, "ts"))}
	if e.key == "" {
		return
	}
	c.begin(e.date)
	if e.date != "" {
		c.passCheckpoints(e.date)
	}
	switch metadata, role := jsonl.Get(raw, "metadata"), jsonl.GetString(raw, "role"); {
	case jsonl.GetString(metadata, "kind") == summaryKind:
		c.Put(anchor(e.key, e.date, raw))
	case string(jsonl.Get(metadata, "displayOnly")) == "true":
		e.shown(jsonl.GetString(metadata, "displayRole"))
	case role == "user":
		e.person()
	case role == "assistant":
		e.answer()
	default:
		c.Put(record.Event(e.key, e.date, "message."+role, record.Compact(raw)))
	}
	if last := jsonl.GetString(c.compacted, "source_last_message_key"); id != "" && last == "id:"+id {
		c.compact()
	}
}

// begin emits the session's facts and the system prompt, before anything else.
func (c *reader) begin(date string) {
	if c.begun {
		return
	}
	c.begun = true
	facts := record.NewObject(256)
	for _, name := range lasting {
		facts.Raw(name, jsonl.Get(c.session, name))
	}
	if c.agent == "" && !facts.Empty() {
		c.Put(record.Event(c.Key("session", nil), date, "session", facts.Done()))
	}
	if c.system != nil && !record.Blank(c.system) {
		key := "system:" + record.ContentKey(c.system, 1)
		c.Put(record.Entry{Kind: record.KindSystem, Keys: []string{c.Key(key, nil)}, Date: date, Payload: record.With(nil, "content", c.system)})
	}
}

// lasting are the members of ID.json that do not change, besides those in the opening anchor.
var lasting = []string{"source", "workspace_root", "team_name", "enable_tools", "enable_spawn", "enable_teams"}

// promptKey is the key of a prompt that only ID.json has.
const promptKey = "prompt"

// end emits what is in no message: the first prompt, if the model never answered it, and the last checkpoints and
// compaction.
func (c *reader) end() {
	if prompt, _ := unwrap(jsonl.Get(c.session, "prompt")); !c.begun && !c.broken && c.agent == "" && len(prompt) > 0 && !record.Blank(prompt) {
		date := record.Date(jsonl.Get(c.session, "started_at"))
		c.begin(date)
		c.Put(record.Message(promptKey, date, "user", prompt))
		c.title(prompt, date)
	}
	if c.begun {
		c.passCheckpoints("")
		c.compact()
	}
}

// title emits the session's title, unless it is the beginning of the first prompt.
func (c *reader) title(prompt []byte, date string) {
	title := jsonl.GetString(c.session, "metadata", "title")
	first := strings.Join(strings.Fields(record.Text(prompt)), " ")
	same := strings.TrimSuffix(strings.TrimSuffix(strings.Join(strings.Fields(title), " "), "…"), "...")
	if c.agent != "" || strings.HasPrefix(first, same) {
		return
	}
	data := record.NewObject(64).Str("title", title).Done()
	c.Put(record.Event(c.Key("title:"+record.ContentKey(data, 1), nil), date, "tape.title", data))
}

// passCheckpoints emits the checkpoints that were made before a date; all of them if date is "".
func (c *reader) passCheckpoints(date string) {
	for len(c.checkpoints) > 0 {
		at := record.Date(jsonl.Get(c.checkpoints[0], "createdAt"))
		if date != "" && at > date {
			return
		}
		if key := c.Key("checkpoint:"+record.ContentKey(c.checkpoints[0], 1), nil); key != "" {
			c.Put(record.Event(key, at, "checkpoint", record.Compact(c.checkpoints[0])))
		}
		c.checkpoints = c.checkpoints[1:]
	}
}

const summaryKind = "compaction_summary"

// compact emits the anchor of the last compaction. The other messages that the model gets from then on are on the
// tape already.
func (c *reader) compact() {
	doc := c.compacted
	c.compacted = nil
	for m := range jsonl.Elements(jsonl.Get(doc, "messages")) {
		if jsonl.GetString(m, "metadata", "kind") != summaryKind {
			continue
		}
		date := cmp.Or(record.Date(jsonl.Get(m, "metadata", "generatedAt")), record.Date(jsonl.Get(doc, "updated_at")))
		if key := c.Key("compaction:"+record.ContentKey(m, 1), nil); key != "" {
			c.Put(anchor(key, date, m))
		}
		return
	}
}

// anchor makes an anchor of a summary.
func anchor(key, date string, m []byte) record.Entry {
	metadata := jsonl.Get(m, "metadata")
	text, _ := record.Plain(record.Or(jsonl.Get(m, "content"), "null"))
	state := record.NewObject(len(text)).Raw("summary", record.Or(jsonl.Get(metadata, "summary"), text))
	return record.Anchor(key, date, "compaction", state.Rest(metadata, "kind", "displayRole", "userRunSpan", "summary", "generatedAt").Done())
}

// Damaged is called with a part that cannot be read. If it reaches the end of the file, Cline is writing the document
// or was killed: the next import reads the rest.
func (c *reader) Damaged(at record.Span, reason string) {
	if c.broken = true; at.Off+at.Size >= c.Size {
		c.Unfinished(at)
		return
	}
	c.Conversation.Damaged(at, reason)
}

// Unfinished is called with a document that does not end.
func (c *reader) Unfinished(at record.Span) {
	c.broken = true
	c.Conversation.Unfinished(at)
}

// opening has the facts of a session that are read before its messages.
type opening struct {
	id      string // of the session, also in a subagent's file
	agent   string // the subagent's name; "" for the session's own file
	version []byte
	first   string // the id of the first message
	began   string // the date of the first message
	session []byte // ID.json, nil if it is missing or being written
}

func open(ctx context.Context, src record.Source) (opening, error) {
	var o opening
	var full, role string
	err := record.Scan(ctx, src, isRecord, func(name string, raw []byte) {
		switch name {
		case "sessionId":
			full = record.Text(raw)
		case "agent":
			role = record.Text(raw)
		case "origin":
			o.version = jsonl.Get(raw, "version")
		}
	}, func(_ record.Span, raw []byte) bool {
		o.first, o.began = jsonl.GetString(raw, "id"), record.Date(jsonl.Get(raw, "ts"))
		return false
	})
	// A subagent or teammate has the id SESSION__NAME, where SESSION is the session that started it.
	id, own, _ := strings.Cut(full, "__")
	if stem := strings.TrimSuffix(path.Base(strings.ReplaceAll(src.Name, `\`, "/")), messages); id == "" && isID(stem) {
		id = stem // the file is being written
	}
	o.id = id
	if role != "" && role != "lead" && own != "" {
		o.agent = subagentPrefix + strings.TrimPrefix(own, subagentFile)
	}
	o.session = beside(src, o.id+".json")
	return o, err
}

// beside returns a document from the session's folder. It returns nil if the file is missing or incomplete, or if its
// name does not begin with a session's id.
func beside(src record.Source, name string) []byte {
	if id, _, _ := strings.Cut(name, "."); !isID(id) {
		return nil
	}
	if raw := src.Beside(name); jsonl.Valid(raw) == nil && jsonl.IsObject(bytes.TrimSpace(raw)) {
		return record.Compact(raw)
	}
	return nil
}

// start returns the date that is part of a session's id, or "".
func (o opening) start() string {
	at, _, _ := strings.Cut(o.id, "_")
	if ms, err := strconv.ParseInt(at, 10, 64); err != nil || !isID(o.id) || ms <= 0 {
		return ""
	}
	return record.Date([]byte(at))
}

// copied reports whether a message of this date was copied from the session before /undo.
func (o opening) copied(date string) bool { return o.agent == "" && date != "" && date < o.start() }

// HasFirst reports whether a session begins with the message of this id, and whether that message was not copied.
func HasFirst(ctx context.Context, src record.Source, id string) (has, own bool) {
	o, err := open(ctx, src)
	return err == nil && o.first == id, err == nil && !o.copied(o.began)
}

// Describe reads the facts of a session.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	o, err := open(ctx, src)
	if err != nil {
		return err
	}
	info.Session, info.Agent, info.Complete = o.id, o.agent, o.began != ""
	info.Started = cmp.Or(record.Date(jsonl.Get(o.session, "started_at")), o.start(), o.began)
	if o.agent != "" {
		info.Started = cmp.Or(o.began, info.Started)
	}
	if o.copied(o.began) {
		info.First = o.first
	}
	state := record.NewObject(256)
	if isID(o.id) {
		state.Str("sessionId", o.id)
	}
	info.State = state.Raw("cwd", jsonl.Get(o.session, "cwd")).Raw("version", o.version).Raw("model", jsonl.Get(o.session, "model")).
		Raw("provider", jsonl.Get(o.session, "provider")).Raw("gitBranch", jsonl.Get(o.session, "metadata", "git", "branch")).OrNil()
	return nil
}
