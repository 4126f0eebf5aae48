// Package crush reads the sessions of Crush.
//
// A project has a SQLite database with all its sessions. Each message is a row with a list of parts; the row is
// updated while the model speaks. write makes JSON lines of a session, and Read reads these: {"crush": "session"} has
// its facts, "message" a row, "title" the title, and "usage" the tokens and the cost. A subagent is a session with a
// parent, and becomes a fork. Seen with version 0.90.
package crush

import (
	"context"
	"maps"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	*record.Forked
	record.Once
	runs map[string]record.Entry // the end of the last message, by subagent; emitted after the results of its calls
	ends map[string]string       // the subagents that calls may have started, by caller and call
}

// Read makes the entries of a session. Subagents are forks.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Forked: record.NewForked(r), runs: map[string]record.Entry{}, ends: map[string]string{}}
	err := record.Each(ctx, r.Source, isRecord, nil, c)
	for _, agent := range slices.Sorted(maps.Keys(c.runs)) {
		c.endMessage(agent)
	}
	c.End()
	return err
}

func isRecord(raw []byte) bool { return record.MembersOf(raw).Has("crush") }

// Record makes the entries of a line.
func (c *reader) Record(at record.Span, raw []byte) {
	c.Stats.Records++
	switch kind := jsonl.GetString(raw, "crush"); kind {
	case "session":
		// Its facts are in the opening anchor.
	case "message":
		c.message(at, raw)
	case "title":
		c.title(raw)
	case "usage":
		c.usage(raw)
	default:
		if key := c.Key("", raw); key != "" {
			c.In("").Put(record.Event(key, "", "record", record.Compact(raw)))
		}
	}
}

// title emits the session's title.
func (c *reader) title(raw []byte) {
	title := jsonl.GetString(raw, "title")
	if title == "" || c.Open && jsonl.Get(raw, "last") != nil {
		return
	}
	if key := c.Key("title:"+title, nil); key != "" {
		c.endMessage("")
		c.In("").Put(record.Event(key, "", "tape.title", record.NewObject(64).Str("title", title).Done()))
	}
}

// usage emits the tokens and the cost of a session at its end. Only the cost is a sum: the tokens are those of the last
// request, so they are not counted as a run's.
func (c *reader) usage(raw []byte) {
	used := record.NewObject(128)
	for _, name := range []string{"prompt_tokens", "completion_tokens", "cost"} {
		if v := jsonl.Get(raw, name); v != nil && !record.Blank(v) && string(v) != "0" {
			used.Raw(name, v)
		}
	}
	data := used.OrNil()
	if c.Open || data == nil {
		return
	}
	if key := c.Key("usage:"+record.ContentKey(data, 1), nil); key != "" {
		c.endMessage("")
		c.In("").Put(record.Event(key, record.Date(jsonl.Get(raw, "date")), "session.usage", data))
	}
}

// message makes the entries of a message.
func (c *reader) message(at record.Span, raw []byte) {
	id := c.Key(jsonl.GetString(raw, "id"), raw)
	if id == "" {
		return
	}
	agent := jsonl.GetString(raw, "agent")
	m := message{reader: c, raw: raw, id: id, agent: agent, date: record.Date(jsonl.Get(raw, "created_at"))}
	if string(jsonl.Get(raw, "open")) == "true" {
		m.open = true
		c.Unfinished(at)
	}
	switch role := jsonl.GetString(raw, "role"); role {
	case "user":
		c.endMessage(agent)
		m.person()
	case "assistant":
		c.endMessage(agent)
		m.answer()
	case "tool":
		m.results()
	default:
		c.endMessage(agent)
		c.In(agent).Put(record.Event(id, m.date, "message."+role, record.Without(raw, "crush", "id", "session_id", "role", "agent")))
	}
}

// endMessage emits the end of a subagent's last message, or of the session's if agent is "".
func (c *reader) endMessage(agent string) {
	if p, ok := c.runs[agent]; ok {
		delete(c.runs, agent)
		c.In(agent).Put(p)
	}
}

// Describe reads the line with the session's facts.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "created_at"))
		if jsonl.GetString(raw, "crush") != "session" {
			return at.Opens()
		}
		info.Session, info.Complete = jsonl.GetString(raw, "id"), true
		state := record.NewObject(256).Str("sessionId", info.Session)
		if cwd := jsonl.Get(raw, "cwd"); cwd != nil && !record.Blank(cwd) {
			state.Raw("cwd", cwd)
		}
		info.State = state.OrNil()
		return false
	})
}

// failed reports whether a result is from a command whose exit code was not 0. Crush does not mark such a result as an
// error.
func failed(name, content string) bool {
	if name != "bash" {
		return false
	}
	_, code, found := strings.Cut("\n"+content, "\nExit code ")
	code, _, _ = strings.Cut(code, "\n")
	return found && code != "" && strings.Trim(code, "-0123456789") == "" && strings.Trim(code, "0") != ""
}
