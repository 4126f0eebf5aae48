package importer

import (
	"bytes"
	"hash/maphash"

	"tape/internal/jsonl"
)

// Claude Code writes a session as lines that form a tree: each has a uuid and
// names its parent. One answer of the model is several lines with the same
// message.id; a tool's result is a user line; compactions, progress and
// snapshots are lines of their own.
//
// Reading goes twice over the file: the first pass, in this file, keeps a
// small record of each line; then the records are put in order; the second
// pass fetches each line by its place and makes entries of it.

// What a record of a Claude Code session is.
type claudeKind uint8

const (
	claudeOther claudeKind = iota
	claudeUser
	claudeAssistant
	claudeBoundary // a compaction happened here
	claudeDigest   // the summary that a compaction left
	claudeClear
	claudeSummary // names a conversation, for a list of them
	claudeDamaged
)

type claudeFlag uint16

const (
	flagPrompt    claudeFlag = 1 << iota // typed by a person
	flagRelayed                          // progress that carries a subagent's message
	flagSide                             // a subagent's line
	flagDuplicate                        // seen before in this file
	flagMember                           // emitted with the head of its group
	flagOrdered
	flagOnChain
	flagAbandoned
	flagFresh // gave something new
	flagNoID
	flagMoved // the environment changed here
	flagRoot  // has no parent and names none
)

// rec is what is remembered of a line. There is one for every line of the
// file, so it is kept small.
type rec struct {
	off    int64
	size   int32
	line   int32
	parent uint64 // hash of the parent's uuid; later its index plus 1. Without uuid: which of the identical lines
	msg    uint64 // hash of the message's id; later the index of the group's next record plus 1
	tape   uint16
	kind   claudeKind
	flags  claudeFlag
}

func (r *rec) at() span { return span{r.off, int64(r.size), int(r.line)} }

func (r *rec) is(f claudeFlag) bool { return r.flags&f != 0 }

// envelope are the fields of a line that say where it was written. They repeat
// on every line, so only their changes are kept.
var envelope = [...]string{
	"cwd", "version", "gitBranch", "permissionMode", "sessionId", "slug", "userType", "entrypoint", "teamName",
}

func envelopeIndex(key string) int {
	for i, name := range envelope {
		if key == name {
			return i
		}
	}
	return -1
}

type claudeScan struct {
	r    *reading
	seed maphash.Seed
	recs []rec
	byID map[uint64]int32 // uuids, of relayed messages their own too
	agents
	launches
	home    uint16                  // the tape of lines that say nothing of a subagent
	env     [][len(envelope)]uint64 // by tape: what holds now
	moved   map[int32]uint16        // which fields of the envelope a record changed
	reasons map[int32]string        // why a line is damaged
	counts  counter
}

// newClaudeScan makes a scan of a session, or of the file that a subagent has for itself.
func newClaudeScan(r *reading, agent string) *claudeScan {
	c := &claudeScan{
		r: r, seed: maphash.MakeSeed(), byID: map[uint64]int32{},
		agents: newAgents(), launches: newLaunches(),
		env:   make([][len(envelope)]uint64, 1),
		moved: map[int32]uint16{}, reasons: map[int32]string{},
	}
	switch {
	case agent == "":
	case r.src.Within:
		c.home = c.tape(agent, agent)
	default:
		c.tapeNo[agent] = 0 // it is the session here
	}
	return c
}

func (c *claudeScan) hash(raw []byte) uint64 {
	h := maphash.Bytes(c.seed, raw)
	if h == 0 {
		h = 1 // 0 stands for none
	}
	return h
}

// wholeClaude tells a record from a part of one: the messages inside of a
// record have no session.
func wholeClaude(raw []byte) bool {
	return jsonl.Get(raw, "sessionId") != nil || jsonl.Get(raw, "leafUuid") != nil || jsonl.Get(raw, "snapshot") != nil
}

// record remembers one line.
func (c *claudeScan) record(at span, raw []byte) error {
	var l claudeLine
	l.parse(raw)
	r := rec{off: at.off, size: int32(at.size), line: int32(at.line), tape: c.home}
	i := int32(len(c.recs))
	c.r.stats.Records++
	c.link(&r, &l, raw, i)
	switch {
	case l.inner != nil:
		c.relayed(&r, &l, i)
	default:
		c.classify(&r, l.typ, l.message, &l)
		c.noteLaunch(&r, &l)
		if l.side {
			r.flags |= flagSide
			r.tape = c.sideTape(&r, &l)
		}
	}
	c.spoke[r.tape] = true
	c.environment(&r, &l, i)
	c.recs = append(c.recs, r)
	return nil
}

// link notes who the record is and whose child it is.
func (c *claudeScan) link(r *rec, l *claudeLine, raw []byte, i int32) {
	if l.uuid == nil {
		r.flags |= flagNoID
		sum := c.hash(raw)
		var b [8]byte
		for j := range b {
			b[j] = byte(sum >> (8 * j))
		}
		r.parent = uint64(c.counts.next(b[:]))
		return
	}
	id := c.hash(l.uuid)
	if _, ok := c.byID[id]; ok {
		r.flags |= flagDuplicate
	} else {
		c.byID[id] = i
	}
	switch {
	case len(l.parent) > 2 && l.parent[0] == '"':
		r.parent = c.hash(l.parent)
	case len(l.logical) > 2 && l.logical[0] == '"':
		r.parent = c.hash(l.logical)
	default:
		r.flags |= flagRoot
	}
}

// relayed notes the message of a subagent that progress carries.
func (c *claudeScan) relayed(r *rec, l *claudeLine, i int32) {
	r.flags |= flagRelayed
	r.tape = c.agentTape(text(l.agent))
	c.relays(text(l.call), r.tape, i)
	var in claudeLine
	in.parse(l.inner)
	c.classify(r, in.typ, in.message, &in)
	if in.uuid == nil {
		return
	}
	id := c.hash(in.uuid)
	if _, ok := c.byID[id]; ok {
		// Still a link between its neighbours, but it has nothing new to say.
		r.flags |= flagDuplicate
	} else {
		c.byID[id] = i
	}
}

func (c *claudeScan) classify(r *rec, typ string, message []byte, l *claudeLine) {
	switch {
	case typ == "user" && jsonl.IsObject(message):
		content := first(message, "content")
		if content == nil {
			return
		}
		r.kind = claudeUser
		switch {
		case l.digest:
			r.kind = claudeDigest
		case isClear(content):
			r.kind = claudeClear
		case !l.meta && isPrompt(content):
			r.flags |= flagPrompt
		}
	case typ == "assistant" && jsonl.IsObject(message):
		r.kind = claudeAssistant
		if id := first(message, "id"); len(id) > 2 {
			r.msg = c.hash(id)
		}
	case typ == "system" && l.subtype == "compact_boundary":
		r.kind = claudeBoundary
	case typ == "system" && l.subtype == "local_command" && isClear(l.content):
		r.kind = claudeClear
	case typ == "summary" && len(l.summary) > 0 && l.summary[0] == '"':
		r.kind = claudeSummary
	}
}

// first is jsonl.Get for the usual object, which has a key once: it does not
// look behind it.
func first(obj []byte, name string) []byte {
	for key, v := range jsonl.Fields(obj) {
		if key == name {
			return v
		}
	}
	return nil
}

func isClear(content []byte) bool {
	const open, command = `"<command-`, "<command-name>/clear</command-name>"
	return bytes.HasPrefix(content, []byte(open)) && bytes.Contains(content[:min(len(content), 400)], []byte(command))
}

// isPrompt reports whether a person could have typed the content of a user
// line: it is not a tool's result, and not a note that the program made.
func isPrompt(content []byte) bool {
	notes := func(s []byte) bool {
		for _, note := range []string{`"[Request interrupted`, `"<local-command-`, `"<command-`, `"<bash-std`, `"<task-notification`} {
			if bytes.HasPrefix(s, []byte(note)) {
				return true
			}
		}
		return false
	}
	if content[0] == '"' {
		return !notes(content)
	}
	if startsWithResult(content) {
		return false
	}
	prompt := false
	for block := range jsonl.Elements(content) {
		switch typ := text(first(block, "type")); {
		case typ == "tool_result":
			return false
		case typ == "text" && notes(jsonl.Get(block, "text")):
		default:
			prompt = true
		}
	}
	return prompt
}

// environment notes what of the envelope differs from the line before.
func (c *claudeScan) environment(r *rec, l *claudeLine, i int32) {
	if r.is(flagDuplicate) {
		return
	}
	now := &c.env[r.tape]
	var moved uint16
	for j, v := range l.env {
		if len(v) <= 2 || v[0] != '"' {
			continue
		}
		if h := c.hash(v); h != now[j] {
			now[j] = h
			moved |= 1 << j
		}
	}
	if moved != 0 {
		r.flags |= flagMoved
		c.moved[i] = moved
	}
}

func (c *claudeScan) damaged(at span, reason string) error {
	i := int32(len(c.recs))
	c.reasons[i] = reason
	// A line that is too long may be longer than a record can say.
	c.recs = append(c.recs, rec{
		off: at.off, size: int32(min(at.size, 1<<31-1)), line: int32(at.line),
		tape: c.home, kind: claudeDamaged, flags: flagNoID,
	})
	return nil
}

// startsWithResult knows most lists that begin with a tool's result.
func startsWithResult(content []byte) bool {
	return bytes.HasPrefix(content, []byte(`[{"tool_use_id":`)) || bytes.HasPrefix(content, []byte(`[{"type":"tool_result"`))
}
