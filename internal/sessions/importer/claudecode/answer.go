package claudecode

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// syntheticModel is the model, as JSON, of answers that the program made.
const syntheticModel = `"<synthetic>"`

// answer collects the lines of one message of the model.
type answer struct {
	text, call, run record.Entry // its entries; finish sets the payloads
	blocks          [][]byte     // of the message, without calls and thinking
	plain           bool         // all blocks are text
	calls           [][]byte
	callExtra       *record.Object
	msg, request    []byte // of the last line
	dollars         []byte // what the message cost, as versions until 1.0.8 have noted it (ryoppippi/ccusage)
	extra           *record.Object
	group           record.Group
}

// assistant emits the entries of the message whose first line is s.
func (c *reader) assistant(s *source) {
	tape := c.recs[s.i].tape
	c.flush(tape)
	a := answer{plain: true, callExtra: record.NewObject(128), extra: record.NewObject(64)}
	c.gather(&a, s)
	for i := c.next(s.i); i >= 0; i = c.next(i) {
		s := c.fetchMember(i)
		c.gather(&a, &s)
	}
	a.finish()
	for _, p := range slices.Concat([]record.Entry{a.text, a.call}, a.attempts(), []record.Entry{a.run}) {
		c.putOf(&a, s, p)
	}
	c.groups[tape] = a.group
}

// putOf emits an entry of an answer, if the answer has it.
func (c *reader) putOf(a *answer, s *source, p record.Entry) {
	if p.Keys == nil {
		return
	}
	p.Fork, p.Hidden, p.Copied, p.RunID = s.fork, s.hidden, s.forked, record.Text(jsonl.Get(a.msg, "id"))
	c.r.Put(p)
}

// served emits a call that the model's service ran, or its result, after what the answer said before it. It reports
// whether the block is one of these.
func (c *reader) served(a *answer, s *source, key, typ string, block []byte) bool {
	r, detail, isResult := record.ServerResult(typ, block)
	if !isResult && !record.IsServerCall(typ) {
		return false
	}
	a.finishText()
	c.putOf(a, s, a.text)
	a.text, a.blocks, a.plain = record.Entry{}, nil, true
	if !isResult {
		call := answer{callExtra: record.NewObject(128)}
		call.addCall(s, key, record.Text(jsonl.Get(block, "id")), block)
		call.finishCall()
		c.putOf(a, s, call.call)
		return true
	}
	r.Key, r.Date, r.Hidden = key, s.date, s.hidden
	var g record.Group
	g.AddCall(r.ID, "", nil)
	g.AddResult(r, func([]byte) *record.Entry {
		rest := record.Remainder(detail, r.Content, nil)
		if rest == nil {
			return nil
		}
		p := record.Event(key+"/detail", s.date, record.EventToolDetail, record.NewObject(len(rest)+64).Str("call_id", r.ID).All(rest).Done())
		p.Fork, p.Hidden = s.fork, s.hidden
		return &p
	})
	c.r.PutResults(s.fork, &g)
	return true
}

// gather adds a line to the answer. It emits thinking at once.
func (c *reader) gather(a *answer, s *source) {
	a.msg = record.NewObject(1024).All(s.message, "content").Done()
	content := jsonl.Get(s.message, "content")
	if len(content) > 0 && content[0] == '"' && c.fresh(s, s.key) {
		a.add(s, s.key, record.NewObject(len(content)+24).Str("type", "text").Raw("text", content).Done())
	}
	for i, block := range slices.Collect(jsonl.Elements(content)) {
		key := record.BlockKey(s.key, i)
		typ := record.Text(first(block, "type"))
		id := ""
		if typ == "tool_use" {
			// A call that the tape has keeps its place in the group.
			id = record.Text(jsonl.Get(block, "id"))
			a.group.AddCall(id, record.Text(jsonl.Get(block, "name")), bytes.Clone(jsonl.Get(block, "input")))
		}
		if !c.fresh(s, key) {
			continue
		}
		switch typ {
		case "thinking", "redacted_thinking":
			p := record.Event(key, s.date, record.EventThinking, record.Without(block, "type"))
			p.Fork, p.Hidden, p.RunID = s.fork, s.hidden, record.Text(first(a.msg, "id"))
			c.r.Put(p)
		case "tool_use":
			a.addCall(s, key, id, block)
			a.call.Begins = append(a.call.Begins, c.agentsOf([]string{id}, func(l *launch) bool { return c.spoke[l.tape] })...)
		default:
			if !c.served(a, s, key, typ, block) {
				a.add(s, key, block)
			}
		}
	}
	a.run.Date = s.date
	if run := s.key + "/run"; c.fresh(s, run) {
		a.run.Keys = append(a.run.Keys, run)
		a.extra.All(s.rest("message", "requestId", "costUSD"))
	}
	if s.requestID != nil {
		a.request = bytes.Clone(s.requestID)
	}
	if s.cost != nil {
		a.dollars = bytes.Clone(s.cost)
	}
}

// add adds a block that is neither a call nor thinking.
func (a *answer) add(s *source, key string, block []byte) {
	a.text.Keys, a.text.Date = append(a.text.Keys, key), cmp.Or(a.text.Date, s.date)
	members := 0
	for range jsonl.Fields(block) {
		members++
	}
	text := jsonl.Get(block, "text")
	if jsonl.GetString(block, "type") != "text" || len(text) == 0 || text[0] != '"' || members > 2 {
		a.plain = false
	}
	a.blocks = append(a.blocks, bytes.Clone(block))
}

func (a *answer) addCall(s *source, key, id string, block []byte) {
	a.call.Keys, a.call.Date = append(a.call.Keys, key), cmp.Or(a.call.Date, s.date)
	input := record.Quote(string(record.Or(jsonl.Get(block, "input"), "{}")))
	a.calls = append(a.calls, record.RawCall(id, record.Text(jsonl.Get(block, "name")), input))
	used := []string{"type", "id", "name", "input"}
	if string(jsonl.Get(block, "caller")) == `{"type":"direct"}` {
		used = append(used, "caller")
	}
	a.callExtra.Raw(id, record.NewObject(64).Rest(block, used...).OrNil())
}

func (a *answer) finish() {
	a.finishText()
	a.finishCall()
	a.run.Kind, a.run.Payload = record.KindEvent, a.cost()
}

func (a *answer) finishText() {
	a.text.Kind, a.text.Payload = record.KindMessage, record.Message("", "", "assistant", a.content()).Payload
}

func (a *answer) finishCall() {
	a.call.Kind, a.call.Payload, a.call.Extra = record.KindToolCall, record.Calls(a.calls), a.callExtra.OrNil()
}

// attempts returns the runs of other models for the message. They come before its own, whose model is that of the session.
func (a *answer) attempts() (out []record.Entry) {
	id := record.Text(jsonl.Get(a.msg, "id"))
	if a.run.Keys == nil || id == "" {
		return nil
	}
	for _, other := range record.Attempts(jsonl.Get(a.msg, "model"), jsonl.Get(a.msg, "usage")) {
		n := "/" + strconv.Itoa(other.N)
		data := record.NewObject(256).Raw("model", other.Model).Raw("usage", other.Usage).Str("message_id", id+n).Raw("request_id", a.request)
		out = append(out, record.Event(a.run.Keys[0]+n, a.run.Date, record.EventRun, data.Done()))
	}
	return out
}

// content returns the content of the message: a string if it is only text.
func (a *answer) content() []byte {
	content := record.Array(a.blocks)
	if a.plain {
		content, _ = record.Plain(content)
	}
	return content
}

// cost returns the payload of the run. It is from the last line: the usage grows while a message is
// being written.
func (a *answer) cost() []byte {
	data := record.NewObject(len(a.msg) + 128)
	name := record.EventRun
	if string(jsonl.Get(a.msg, "model")) == syntheticModel {
		// No model ran, so its usage must not count as the last one.
		name = "run.synthetic"
	}
	data.Raw("model", jsonl.Get(a.msg, "model")).Raw("usage", jsonl.Get(a.msg, "usage"))
	data.Raw("message_id", jsonl.Get(a.msg, "id")).Raw("request_id", a.request).Raw("cost", a.dollars)
	for field, v := range jsonl.Fields(a.msg) {
		switch {
		case field == "model", field == "usage", field == "id", field == "role", field == "type":
		case field == "stop_reason" || !record.Blank(v):
			data.Raw(field, v)
		}
	}
	data.Raw("record", a.extra.OrNil())
	return record.Event("", "", name, data.Done()).Payload
}
