package claudecode

import (
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type line struct {
	raw                      []byte
	typ, subtype             string
	uuid, parent, logical    []byte
	timestamp, message, data []byte
	agent                    []byte // whose line it is
	call                     []byte // that started the subagent whose progress this is
	inner                    []byte // data.message of relayed progress
	toolUseResult, requestID []byte
	side, digest, meta       bool
	more                     bool // there are fields of which nothing is told elsewhere
	env                      [len(envelope)][]byte
}

// envelope are the fields of a line that say where it was written. They repeat
// on every line, so only their changes are kept.
var envelope = [...]string{
	"cwd", "version", "gitBranch", "permissionMode", "sessionId", "slug", "userType", "entrypoint", "teamName",
}

func (l *line) parse(raw []byte) {
	*l = line{raw: raw}
	for key, v := range jsonl.Fields(raw) {
		switch key {
		case "type":
			l.typ = record.Text(v)
		case "subtype":
			l.subtype = record.Text(v)
		case "uuid":
			l.uuid = v
		case "parentUuid":
			l.parent = v
		case "logicalParentUuid":
			l.logical = v
		case "message":
			l.message = v
		case "data":
			l.data = v
		case "agentId":
			l.agent = v
		case "isSidechain":
			l.side = v[0] == 't'
		case "isCompactSummary":
			l.digest = v[0] == 't'
		case "isMeta":
			l.meta = v[0] == 't'
		case "timestamp":
			l.timestamp = v
		case "toolUseResult":
			l.toolUseResult = v
		case "requestId":
			l.requestID = v
		case "parentToolUseID":
			l.call, l.more = v, true
		case "content", "leafUuid", "summary", "attachment", "sourceToolAssistantUUID", "isVisibleInTranscriptOnly":
		default:
			if i := slices.Index(envelope[:], key); i >= 0 {
				l.env[i] = v
			} else if !record.Blank(v) {
				l.more = true
			}
		}
	}
	l.more = l.more || l.meta
	if len(l.uuid) < 3 || l.uuid[0] != '"' {
		l.uuid = nil
	}
	if l.typ == "progress" {
		l.relay()
	}
}

// relay looks whether progress carries a subagent's message.
func (l *line) relay() {
	relayed := jsonl.GetString(l.data, "type") == "agent_progress"
	agent, inner := jsonl.Get(l.data, "agentId"), jsonl.Get(l.data, "message")
	if relayed && len(agent) > 2 && jsonl.IsObject(jsonl.Get(inner, "message")) {
		l.agent, l.inner = agent, inner
	}
}

// get is a field of the line that few lines have.
func (l *line) get(name string) []byte { return jsonl.Get(l.raw, name) }

// told are the fields that are about the line and not in it.
var told = append(envelope[:], "type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "agentId", "timestamp")

func isTold(field string) bool { return slices.Contains(told, field) }

// rest is an owned object of what the line says beyond what is told of it otherwise, or
// nil. elsewhere are fields that entries have in other ways.
func (l *line) rest(elsewhere ...string) []byte {
	if !l.more {
		return nil
	}
	return record.NewObject(64).Rest(l.raw, slices.Concat(told, elsewhere)...).OrNil()
}

// first is jsonl.Get for objects that have a key once: it does not look behind it.
func first(obj []byte, name string) []byte {
	for key, v := range jsonl.Fields(obj) {
		if key == name {
			return v
		}
	}
	return nil
}

// plainContent is the content of a message as a string where it is only one text.
func plainContent(content []byte) []byte {
	blocks := slices.Collect(jsonl.Elements(content))
	if len(blocks) != 1 || record.Text(jsonl.Get(blocks[0], "type")) != "text" {
		return content
	}
	if text := jsonl.Get(blocks[0], "text"); len(text) > 0 && text[0] == '"' {
		return text
	}
	return content
}
