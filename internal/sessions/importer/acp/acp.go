// Package acp records and reads the messages between an agent and its client in the Agent Client Protocol
// (agentclientprotocol.com): lines {at, from, acp}, where from is "client" or "agent", and acp is a message of JSON-RPC. A
// line that is not JSON-RPC has text instead of acp. [Run] writes them for tape acp, [Format] reads them. [Grok] is the
// format of an agent that keeps such messages itself.
//
// An agent that loads a session sends all of it again. So messages are recognised by their content and calls
// by their ids, and those that are sent again make no entries.
package acp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"slices"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type reader struct {
	record.Conversation
	said     record.Counter                 // messages and thoughts so far
	load     bool                           // a session is being loaded
	again    record.Counter                 // messages and thoughts since the loading began
	requests map[string]request             // those without a response, by sender and id
	calls    map[string]*call               // by id
	begun    []*call                        // calls that were not emitted yet
	ended    func(fields map[string][]byte) // is given the fields of a call that has ended; it may be nil
	model    []byte
	echo     []byte // the last prompt, which the agent may repeat
	part     part
}

type request struct {
	method string
	params []byte
}

// Read makes the entries of a session.
func Read(ctx context.Context, r *record.Reading) error {
	c := &reader{Conversation: record.Conversation{Reading: r}, requests: map[string]request{}, calls: map[string]*call{}}
	err := record.Each(ctx, r.Source, isRecord, nil, c)
	if !r.Open || r.Idle { // otherwise the last message may go on
		c.end()
		c.write()
	}
	c.End()
	return err
}

func isRecord(raw []byte) bool { return jsonl.Get(raw, "from") != nil }

func (c *reader) Record(_ record.Span, raw []byte) {
	c.Stats.Records++
	key := c.Counts.Key(raw)
	date, from := record.Date(jsonl.Get(raw, "at")), jsonl.GetString(raw, "from")
	msg := jsonl.Get(raw, "acp")
	if msg == nil {
		c.Put(record.Event(key, date, "output", record.Without(raw, "at")))
		return
	}
	method, id, params := jsonl.GetString(msg, "method"), jsonl.Get(msg, "id"), jsonl.Get(msg, "params")
	switch {
	case method == "":
		c.response(key, date, from, msg)
	case method == "session/update":
		c.update(key, date, jsonl.Get(params, "update"))
	case id == nil:
		c.end()
		c.Put(record.Event(key, date, method, record.Without(params)))
	default:
		c.requests[from+string(id)] = request{method, bytes.Clone(params)}
		c.request(date, method, params)
	}
}

func (c *reader) request(date, method string, params []byte) {
	switch method {
	case "session/prompt":
		c.end()
		content, _ := record.Plain(jsonl.Get(params, "prompt"))
		c.echo = bytes.Clone(content)
		c.say("user", date, content)
	case "session/load":
		c.end()
		c.load, c.again = true, record.Counter{}
	}
}

// peers maps each side to the side that answers it.
var peers = map[string]string{client: agent, agent: client}

// response emits a request with its response. The response to a prompt ends the turn; the prompt itself
// is a message.
func (c *reader) response(key, date, from string, msg []byte) {
	id := peers[from] + string(jsonl.Get(msg, "id"))
	req, result := c.requests[id], jsonl.Get(msg, "result")
	delete(c.requests, id)
	c.end()
	data := record.NewObject(256)
	switch req.method {
	case "session/prompt":
		c.write()
		data.Raw("model", c.model).As(result, map[string]string{"stopReason": "stop_reason"})
		c.Put(record.Event(key, date, record.EventRun, data.Raw("error", jsonl.Get(msg, "error")).Done()))
		return
	case "session/load":
		c.load = false
	case "session/set_model":
		c.use(jsonl.Get(req.params, "modelId"))
	}
	c.use(jsonl.Get(result, "models", "currentModelId"))
	data.Raw("params", req.params).Raw("result", result).Raw("error", jsonl.Get(msg, "error"))
	c.Put(record.Event(key, date, cmp.Or(req.method, "response"), data.Done()))
}

func (c *reader) use(model []byte) {
	if model != nil {
		c.model = bytes.Clone(model)
	}
}

// update handles a session/update.
func (c *reader) update(key, date string, u []byte) {
	kind := jsonl.GetString(u, "sessionUpdate")
	switch kind {
	case "user_message_chunk":
		c.chunk("user", date, u)
	case "agent_message_chunk":
		c.chunk("assistant", date, u)
	case "agent_thought_chunk":
		c.chunk(thought, date, u)
	case "tool_call", "tool_call_update":
		c.tool(date, u)
	default:
		c.end()
		if !c.load {
			c.Put(record.Event(key, date, cmp.Or(kind, "session/update"), record.Without(u, "sessionUpdate")))
		}
	}
}

// part is a message or thought that comes in chunks.
type part struct {
	who, date, id string
	blocks        [][]byte
	text          []byte // of the last block: its JSON without quotes
}

const thought = "thought"

func (c *reader) chunk(who, date string, u []byte) {
	id := jsonl.GetString(u, "messageId")
	if c.part.who != who || c.part.id != id {
		c.end()
	}
	c.part.who, c.part.id, c.part.date = who, id, cmp.Or(c.part.date, date)
	c.part.add(jsonl.Get(u, "content"))
}

func (p *part) add(block []byte) {
	if text := jsonl.Get(block, "text"); jsonl.GetString(block, "type") == "text" && len(text) > 0 && text[0] == '"' {
		p.text = append(p.text, text[1:len(text)-1]...)
		return
	}
	p.close()
	p.blocks = append(p.blocks, bytes.Clone(block))
}

// close ends the text block.
func (p *part) close() {
	if p.text != nil {
		p.blocks = append(p.blocks, slices.Concat([]byte(`{"type":"text","text":"`), p.text, []byte(`"}`)))
	}
	p.text = nil
}

// end emits the message that came in chunks.
func (c *reader) end() {
	p := c.part
	c.part = part{}
	if p.who == "" {
		return
	}
	p.close()
	content, _ := record.Plain(record.Array(p.blocks))
	if p.who == "user" && !c.load && bytes.Equal(content, c.echo) {
		c.echo = nil
		return
	}
	c.say(p.who, p.date, content)
}

// say emits a message, unless it is repeated because the session was loaded.
func (c *reader) say(who, date string, content []byte) {
	hash := sha256.Sum256(append([]byte(who+"\x00"), content...))
	if sum := record.Sum(hash[:]); c.load && c.again.Next(sum) <= c.said.Count(sum) {
		return
	}
	c.write()
	key := "said:" + c.said.HashKey(hash[:])
	if who == thought {
		c.Put(record.Event(key, date, record.EventThinking, record.NewObject(len(content)+16).Raw("thinking", content).Done()))
		return
	}
	c.Put(record.Message(key, date, who, content))
}

// Describe reads the beginning of a session.
func Describe(ctx context.Context, src record.Source, info *record.Info) error {
	state := record.NewObject(256)
	done := false
	err := record.Scan(ctx, src, isRecord, nil, func(at record.Span, raw []byte) bool {
		info.Began(jsonl.Get(raw, "at"))
		msg := jsonl.Get(raw, "acp")
		result, params := jsonl.Get(msg, "result"), jsonl.Get(msg, "params")
		switch method := jsonl.GetString(msg, "method"); {
		case jsonl.Get(result, "protocolVersion") != nil:
			agent := jsonl.Get(result, "agentInfo")
			state.Raw("agent", jsonl.Get(agent, "name")).Raw("agent_version", jsonl.Get(agent, "version"))
		case method == "session/new", method == "session/load", method == "session/resume":
			state.Raw("cwd", jsonl.Get(params, "cwd"))
			info.Session = jsonl.GetString(params, "sessionId")
			done = info.Session != ""
		case jsonl.Get(result, "sessionId") != nil:
			info.Session, done = jsonl.GetString(result, "sessionId"), true
			state.Raw("model", jsonl.Get(result, "models", "currentModelId"))
		}
		return !done && at.Opens()
	})
	info.State = state.OrNil()
	return err
}
