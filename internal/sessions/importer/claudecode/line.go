package claudecode

import (
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
)

// line has the fields of a line, as raw JSON where they are bytes.
type line struct {
	raw                      []byte
	typ, subtype             string
	uuid, parent, logical    []byte
	timestamp, message, data []byte
	attachment               []byte
	agent                    []byte // the subagent whose line it is
	call                     []byte // the call that started the subagent of the progress
	inner                    []byte // data.message of relayed progress
	toolUseResult, requestID []byte
	cost                     []byte // in dollars, in older versions
	side, digest, meta       bool
	forked                   bool // copied from another session
	background               bool // written by a session that goes on in the background
	byProgram                bool // the program, or another agent, wrote what looks like a prompt
	channel                  bool // a person wrote it elsewhere, such as in Telegram
	unseen                   bool // the person sees it only in the transcript's view: a summary, never a prompt
	more                     bool // it has fields that entries do not have elsewhere
	env                      [len(envelope)][]byte
}

// envelope are the fields of a line that say where it was written. Every line has them, so only changes
// are kept.
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
		case "costUSD":
			l.cost, l.more = v, true
		case "forkedFrom":
			l.forked, l.more = v[0] == '{', true
		case "sessionKind":
			l.background, l.more = string(v) == `"bg"`, true
		case "origin":
			kind := record.Text(first(v, "kind"))
			l.byProgram, l.channel, l.more = l.byProgram || !about.IsPersons(kind), kind == "channel", true
		case "promptSource":
			l.byProgram, l.more = l.byProgram || string(v) == `"system"`, true
		case "parentToolUseID":
			l.call, l.more = v, true
		case "attachment":
			l.attachment = v
		case "isVisibleInTranscriptOnly":
			l.unseen = v[0] == 't'
		case "content", "leafUuid", "summary", "sourceToolAssistantUUID":
		default:
			if i := slices.Index(envelope[:], key); i >= 0 {
				l.env[i] = v
			} else if !record.Blank(v) {
				l.more = true
			}
		}
	}
	l.more = l.more || l.meta
	l.meta = l.meta && !l.channel
	if len(l.uuid) < 3 || l.uuid[0] != '"' {
		l.uuid = nil
	}
	if l.typ == "progress" {
		l.relay()
	}
}

// relay notes the subagent's message that progress may relay.
func (l *line) relay() {
	relayed := jsonl.GetString(l.data, "type") == "agent_progress"
	agent, inner := jsonl.Get(l.data, "agentId"), jsonl.Get(l.data, "message")
	if relayed && len(agent) > 2 && jsonl.IsObject(jsonl.Get(inner, "message")) {
		l.agent, l.inner = agent, inner
	}
}

// get returns a field that few lines have.
func (l *line) get(name string) []byte { return jsonl.Get(l.raw, name) }

// lineFields are the fields that say where the line belongs.
var lineFields = append(envelope[:], "type", "uuid", "parentUuid", "logicalParentUuid", "isSidechain", "agentId", "timestamp")

func isLineField(field string) bool { return slices.Contains(lineFields, field) }

// said returns what a line says, apart from where and when; nil if it has none of these fields.
func (l *line) said() []byte {
	if content := first(l.message, "content"); content != nil {
		return content
	}
	for _, v := range [][]byte{l.get("content"), l.attachment} {
		if v != nil {
			return v
		}
	}
	return l.data
}

// rest returns a copy of the fields that entries do not have elsewhere, or nil.
func (l *line) rest(elsewhere ...string) []byte {
	if !l.more {
		return nil
	}
	return record.NewObject(64).Rest(l.raw, slices.Concat(lineFields, elsewhere)...).OrNil()
}

// first is like jsonl.Get, but stops at the first member with that name.
func first(obj []byte, name string) []byte {
	for key, v := range jsonl.Fields(obj) {
		if key == name {
			return v
		}
	}
	return nil
}

// plainContent returns a content that is one text block as a string, any other as it is.
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
