// Package copilot reads the sessions of GitHub Copilot CLI, and of the chat in Visual Studio Code ([VSCode]).
//
// A session of the CLI is a file of lines {type, data, id, timestamp, parentId}, each the parent of the next one. Lines
// of a subagent have an agentId, and stand among those of the session. Hooks (which repeat what they were
// told) and model.* (which repeat what was sent to the model) are left out. Seen with version 1.0.102.
package copilot

import (
	"bytes"
	"cmp"
	"context"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	*record.Forked
	record.Once
	started map[string][]byte // the data of calls that run
	segment
	summed
	running map[string]bool // subagents that may go on
	rewound record.TakenBack
	held    bool // a running subagent has begun: the records from there on are read once it has ended
	subagents
}

// Read makes the entries of a session. Subagents are forks.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Forked: record.NewForked(r), started: map[string][]byte{}}
	var err error
	if c.rewound, err = findRewound(ctx, r.Source); err != nil {
		return err
	}
	if r.Open {
		if c.running, err = running(ctx, r.Source); err != nil {
			return err
		}
	}
	err = record.Each(ctx, r.Source, isRecord, nil, c)
	c.release("")
	if !r.Open {
		c.putTitle()
	}
	c.End()
	return err
}

// putTitle emits the name of the session, which is in a note beside it (kenn-io/agentsview#430).
func (c *reader) putTitle() {
	t := c.In("")
	hidden := t.Hidden
	t.Hidden = false
	t.PutTitle(nameIn(c.Source.Beside(workspace)))
	t.Hidden = hidden
}

// workspace is the note beside a session, in YAML.
const workspace = "workspace.yaml"

// nameIn returns the name in a note, "" if it has none.
func nameIn(note []byte) string {
	for line := range strings.Lines(string(note)) {
		name, ok := strings.CutPrefix(line, "name:")
		if name = strings.TrimSpace(name); !ok || name == "" {
			continue
		}
		switch inner := name[1:max(1, len(name)-1)]; {
		case name[0] == '>' || name[0] == '|' || name == "null": // a text of several lines, or none
			return ""
		case name[0] == '\'' && strings.HasSuffix(inner+name[len(name)-1:], "'"):
			return strings.ReplaceAll(inner, "''", "'")
		case name[0] == '"':
			return record.Text([]byte(name))
		}
		return name
	}
	return ""
}

// running returns the subagents that have not ended at the end of the file, and for which the session waits.
func running(ctx context.Context, src record.Source) (map[string]bool, error) {
	out := map[string]bool{}
	err := record.Scan(ctx, src, isRecord, nil, func(_ record.Span, raw []byte) bool {
		typ, agent := jsonl.GetString(raw, "type"), jsonl.GetString(raw, "agentId")
		switch {
		case agent != "":
			out[agent] = typ != "subagent.completed"
		case strings.HasPrefix(typ, "assistant.") || typ == "user.message": // the session goes on
			clear(out)
		}
		return true
	})
	return out, err
}

func isRecord(raw []byte) bool { return record.MembersOf(raw).Has("type", "data", "id", "timestamp") }

const subagentPrefix = "agent-"

// Record makes the entries of a line.
func (c *reader) Record(at record.Span, raw []byte) {
	c.Stats.Records++
	typ := jsonl.GetString(raw, "type")
	key := c.Key(jsonl.GetString(raw, "id"), raw)
	if key == "" || strings.HasPrefix(typ, "hook.") || strings.HasPrefix(typ, "model.") {
		return
	}
	agent := jsonl.GetString(raw, "agentId")
	if c.held = c.held || c.running[agent]; c.held {
		return
	}
	if typ == "session.start" || typ == "session.resume" {
		c.segment = segment{model: cmp.Or(jsonl.GetString(raw, "data", "selectedModel"), c.model)}
	}
	e := element{
		reader: c, agent: agent, key: key, data: record.Or(jsonl.Get(raw, "data"), "{}"),
		date: record.Date(jsonl.Get(raw, "timestamp")), takenBack: c.rewound.Has(at.Off),
	}
	c.follow(typ, agent, e.data)
	if agent == "" && (strings.HasPrefix(typ, "assistant.") || typ == "user.message") { // the session goes on
		c.release("")
	}
	if of := c.before(e.data); of != "" && typ == "tool.execution_complete" && agent == "" {
		e.data = bytes.Clone(e.data)
		c.waiting = append(c.waiting, early{of, e})
		return
	}
	e.emit(typ)
	if typ == "subagent.completed" {
		c.release(agent)
	}
}

// emit makes the entries of an element.
func (e element) emit(typ string) {
	c, key, agent := e.reader, e.key, ""
	if e.agent != "" {
		agent = subagentPrefix + e.agent
	}
	e.Conversation = c.In(agent)
	if e.takenBack != e.Hidden {
		e.Flush()
		e.Hidden = e.takenBack
	}
	switch typ {
	case "user.message":
		e.person()
	case "system.message":
		text, _ := record.Plain(record.Or(jsonl.Get(e.data, "content"), `""`))
		p := record.Entry{Kind: record.KindSystem, Keys: []string{key}, Date: e.date, Payload: record.With(nil, "content", text)}
		p.Extra = e.rest("role", "content")
		e.Put(p)
	case "assistant.message":
		e.answer()
	case "assistant.turn_start", "assistant.turn_end":
		// Each answer has the number of its turn.
	case "session.model_change":
		c.model = cmp.Or(jsonl.GetString(e.data, "newModel"), c.model)
		e.event(typ)
	case "session.shutdown":
		e.event(typ)
		e.shutdown()
	case "session.usage_record":
		c.recorded = true
		e.Put(record.Event(key, e.date, record.EventRun, cost(jsonl.Get(e.data, "usage"))))
	case "tool.execution_start":
		e.start()
	case "tool.execution_complete":
		e.result()
	case "session.compaction_complete":
		if summary := jsonl.Get(e.data, "summaryContent"); summary != nil {
			e.Put(record.Anchor(key, e.date, "compaction", record.NewObject(1024).Raw("summary", summary).All(e.rest("summaryContent")).Done()))
			return
		}
		e.event(typ)
	case "session.context_cleared":
		e.Put(record.Anchor(key, e.date, "clear", record.Or(e.rest(), "{}")))
	case "subagent.completed":
		// The result of the call comes next.
		c.In("").Put(record.Entry{
			Kind: record.KindEvent, Keys: []string{key}, Date: e.date, Ends: []string{agent},
			Payload: record.NewObject(256).Str("name", typ).Raw("data", e.rest()).Done(),
		})
	case "tool.user_requested":
		e.event("shell")
	default:
		e.event(cmp.Or(typ, "record"))
	}
}

// Describe reads the line that starts the session, which may not be the first.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	return record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "timestamp"))
		if jsonl.GetString(raw, "type") != "session.start" {
			return at.Opens()
		}
		data := jsonl.Get(raw, "data")
		info.Session, info.Complete = jsonl.GetString(data, "sessionId"), true
		cwd := jsonl.Get(data, "context", "cwd")
		if dir := record.EditorWorkspace(src, filepath.Join("..", "..")); cwd == nil && dir != "" && strings.Contains(filepath.ToSlash(src.Name), ofChat) {
			cwd = record.Quote(dir)
		}
		info.State = record.NewObject(256).Raw("cwd", cwd).Raw("version", jsonl.Get(data, "copilotVersion")).
			Raw("model", jsonl.Get(data, "selectedModel")).Raw("gitBranch", jsonl.Get(data, "context", "branch")).OrNil()
		return false
	})
}
