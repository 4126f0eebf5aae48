package importer

import (
	"tape/internal/jsonl"
)

// claudeLine is a Claude Code line, taken apart.
type claudeLine struct {
	typ, subtype              string
	uuid, parent, logical     []byte
	message, data, agent      []byte
	call                      []byte // that started the subagent whose progress this is
	side, digest, meta        bool
	timestamp                 []byte
	content                   []byte // of a system line
	inner                     []byte // data.message of relayed progress
	env                       [len(envelope)][]byte
	toolUseResult, requestID  []byte
	leafUUID, summary, attach []byte
	more                      bool // there are fields of which nothing is told elsewhere
}

func (l *claudeLine) parse(raw []byte) {
	*l = claudeLine{}
	for key, v := range jsonl.Fields(raw) {
		switch key {
		case "type":
			l.typ = text(v)
		case "subtype":
			l.subtype = text(v)
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
		case "content":
			l.content = v
		case "toolUseResult":
			l.toolUseResult = v
		case "requestId":
			l.requestID = v
		case "leafUuid":
			l.leafUUID = v
		case "summary":
			l.summary = v
		case "parentToolUseID":
			l.call, l.more = v, true
		case "attachment":
			l.attach = v
		default:
			if i := envelopeIndex(key); i >= 0 {
				l.env[i] = v
			} else if !blank(v) && key != "sourceToolAssistantUUID" && key != "isVisibleInTranscriptOnly" {
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
func (l *claudeLine) relay() {
	var agent, inner []byte
	relayed := false
	for key, v := range jsonl.Fields(l.data) {
		switch key {
		case "type":
			relayed = string(v) == `"agent_progress"`
		case "agentId":
			agent = v
		case "message":
			inner = v
		}
	}
	if relayed && len(agent) > 2 && jsonl.IsObject(inner) && jsonl.IsObject(jsonl.Get(inner, "message")) {
		l.agent, l.inner = agent, inner
	}
}
