package importer

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"tape/internal/jsonl"
)

// Gemini writes a session as one document {sessionId, …, messages: […]}, in
// newer versions as lines: the document's fields first, then messages, a line
// again for a message that has changed, {"$set": …} for a field, and
// {"$rewindTo": id} where the user went back.

// geminiRecord is where a message, or another record, stands.
type geminiRecord struct {
	at      span
	id      [8]byte
	hidden  bool // the user went back behind it
	message bool
	reason  string // of a damaged line
}

type gemini struct {
	talk
	recs []geminiRecord
	byID map[[8]byte]int
	win  window
}

func readGemini(r *reading) error {
	g := &gemini{talk: talk{reading: r}, byID: map[[8]byte]int{}, win: window{src: r.src}}
	doc, err := isDocument(r.src)
	if err != nil {
		return err
	}
	header := newObject(256)
	if doc {
		err = eachElement(r.ctx, r.src, geminiSurvey{g}, func(name string, raw []byte) error {
			header.raw(name, raw)
			return nil
		})
	} else {
		err = eachLine(r.ctx, r.src, wholeGemini, geminiSurvey{g})
	}
	if err != nil {
		return err
	}
	if !header.empty() {
		// Dates of change would make the same session look new every time.
		data := rest(header.done(), "lastUpdated")
		if _, err := g.put(part{kind: kindEvent, payload: eventPayload("session", data), keys: []string{g.counts.key(data)}, date: normalDate(jsonl.Get(data, "startTime"))}); err != nil {
			return err
		}
	}
	for n, rec := range g.recs {
		if n%256 == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		if err := g.write(rec); err != nil {
			return err
		}
	}
	return g.flush()
}

func wholeGemini(raw []byte) bool {
	return jsonl.Get(raw, "timestamp") != nil && jsonl.Get(raw, "type") != nil
}

// geminiSurvey notes where the records are, and of a message that is there
// several times the last version in the place of the first.
type geminiSurvey struct{ *gemini }

func (g geminiSurvey) damaged(at span, reason string) error {
	g.recs = append(g.recs, geminiRecord{at: at, reason: reason})
	return nil
}

func (g geminiSurvey) record(at span, raw []byte) error {
	rec := geminiRecord{at: at}
	if to := jsonl.Get(raw, "$rewindTo"); to != nil {
		g.rewind(to)
	} else if id := jsonl.Get(raw, "id"); id != nil && jsonl.Get(raw, "type") != nil {
		sum := sha256.Sum256(id)
		rec.id, rec.message = [8]byte(sum[:8]), true
		if i, ok := g.byID[rec.id]; ok {
			g.recs[i].at, g.recs[i].hidden = at, false
			g.stats.Records++
			return nil
		}
		g.byID[rec.id] = len(g.recs)
	}
	g.recs = append(g.recs, rec)
	return nil
}

// rewind hides the message that the user went back to, and all behind it.
func (g geminiSurvey) rewind(id []byte) {
	sum := sha256.Sum256(id)
	from := g.byID[[8]byte(sum[:8])]
	for i := range g.recs[from:] {
		if g.recs[from+i].message {
			g.recs[from+i].hidden = true
		}
	}
}

func (g *gemini) write(rec geminiRecord) error {
	if rec.reason != "" {
		return g.damaged(rec.at, rec.reason)
	}
	raw, err := g.win.at(rec.at)
	if err != nil {
		return err
	}
	if rec.hidden != g.hidden {
		if err := g.flush(); err != nil {
			return err
		}
		g.hidden = rec.hidden
	}
	var fresh bool
	if jsonl.Get(raw, "type") != nil {
		fresh, err = g.message(raw)
	} else {
		fresh, err = g.note(raw)
	}
	g.count(fresh)
	return err
}

// note writes a record that is no message.
func (g *gemini) note(raw []byte) (bool, error) {
	name, data := "record", compact(raw)
	switch {
	case jsonl.Get(raw, "$rewindTo") != nil:
		name = "session.rewind"
	case jsonl.Get(raw, "$set") != nil:
		name, data = "session.update", compact(jsonl.Get(raw, "$set"))
		if !jsonl.IsObject(data) {
			data = compact(raw)
		}
	case jsonl.Get(raw, "sessionId") != nil:
		name = "session"
	}
	date := normalDate(jsonl.Get(data, "lastUpdated"))
	return g.put(part{kind: kindEvent, payload: eventPayload(name, data), keys: []string{g.counts.key(raw)}, date: date})
}

// keyed makes the keys of one message's parts.
type keyed struct {
	id   string
	date string
}

func (g *gemini) message(raw []byte) (bool, error) {
	k := keyed{id: jsonl.GetString(raw, "id"), date: normalDate(jsonl.Get(raw, "timestamp"))}
	if k.id == "" {
		k.id = g.counts.key(raw)
	}
	typ := jsonl.GetString(raw, "type")
	fresh := false
	put := func(p part) error {
		more, err := g.put(p)
		fresh = fresh || more
		return err
	}
	n := 0
	for thought := range jsonl.Elements(jsonl.Get(raw, "thoughts")) {
		p := part{kind: kindEvent, keys: []string{k.id + "/thought/" + strconv.Itoa(n)}, date: k.date}
		p.payload = eventPayload(eventThinking, geminiThought(thought))
		n++
		if err := put(p); err != nil {
			return false, err
		}
	}
	calls := jsonl.Get(raw, "toolCalls")
	hasCalls := len(calls) > 2 && calls[0] == '['
	if p := geminiMessage(k, typ, raw); p.keys != nil && (!hasCalls || p.kind != kindMessage || !blank(orNull(jsonl.Get(raw, "content"))) || p.extra != nil) {
		if err := put(p); err != nil {
			return false, err
		}
	}
	more, err := g.calls(k, calls)
	if err != nil {
		return false, err
	}
	fresh = fresh || more
	tokens, model := jsonl.Get(raw, "tokens"), jsonl.Get(raw, "model")
	if typ == "gemini" && (jsonl.IsObject(tokens) || model != nil) {
		if err := put(part{kind: kindEvent, payload: geminiRun(tokens, model), keys: []string{k.id + "/run"}, date: k.date}); err != nil {
			return false, err
		}
	}
	more, err = g.results(k, calls)
	return fresh || more, err
}

func geminiThought(thought []byte) []byte {
	if !jsonl.IsObject(thought) {
		o := newObject(len(thought) + 16)
		o.raw("thinking", thought)
		return o.done()
	}
	o := newObject(len(thought))
	for name, v := range jsonl.Fields(thought) {
		if name == "description" {
			name = "thinking"
		}
		o.raw(name, v)
	}
	return o.done()
}

// geminiMessage is the message itself. Its key has a hash of the content: a
// message that is written again with another content is another entry.
func geminiMessage(k keyed, typ string, raw []byte) part {
	content := jsonl.Get(raw, "content")
	sum := sha256.Sum256(content)
	p := part{kind: kindMessage, keys: []string{k.id + "/" + hex.EncodeToString(sum[:4])}, date: k.date}
	told := []string{"id", "timestamp", "type", "content", "thoughts", "toolCalls", "tokens"}
	if typ == "gemini" {
		told = append(told, "model")
	}
	for name, v := range jsonl.Fields(rest(raw, told...)) {
		if !blank(v) {
			p.extra = with(orEmpty(p.extra), name, v)
		}
	}
	switch typ {
	case "user":
		p.payload = messagePayload("user", plainOr(orEmptyString(content)))
	case "gemini":
		p.payload = messagePayload("assistant", plainOr(orEmptyString(content)))
	default:
		p.kind = kindEvent
		data := newObject(len(raw))
		if content != nil {
			data.raw("content", content)
		}
		for name, v := range jsonl.Fields(p.extra) {
			data.raw(name, v)
		}
		p.extra = nil
		p.payload = eventPayload("gemini."+typ, data.done())
	}
	return p
}

func orEmpty(obj []byte) []byte {
	if obj == nil {
		return []byte("{}")
	}
	return obj
}

func orEmptyString(raw []byte) []byte {
	if raw == nil {
		return []byte(`""`)
	}
	return raw
}

func geminiRun(tokens, model []byte) []byte {
	usage := newObject(128)
	names := map[string]string{
		"input": "input_tokens", "cached": "cached_input_tokens", "output": "output_tokens",
		"total": "total_tokens", "thoughts": "reasoning_output_tokens", "tool": "tool_tokens",
	}
	for name, v := range jsonl.Fields(tokens) {
		if full, ok := names[name]; ok {
			name = full
		}
		usage.raw(name, v)
	}
	data := newObject(192)
	if model != nil {
		data.raw("model", model)
	}
	if !usage.empty() {
		data.raw("usage", usage.done())
	}
	return eventPayload(eventRun, data.done())
}

func (k keyed) call(c []byte, n int) string {
	id := jsonl.GetString(c, "id")
	if id == "" {
		id = strconv.Itoa(n)
	}
	return k.id + "/call/" + id
}

func (g *gemini) calls(k keyed, calls []byte) (bool, error) {
	fresh := false
	n := 0
	for c := range jsonl.Elements(calls) {
		key := k.call(c, n)
		n++
		id := jsonl.GetString(c, "id")
		input := compact(orEmpty(jsonl.Get(c, "args")))
		more, err := g.call(call{raw: appendCall(nil, id, jsonl.GetString(c, "name"), input), id: id, input: input, key: key, date: k.date})
		if err != nil {
			return false, err
		}
		fresh = fresh || more
	}
	return fresh, g.settle()
}

func (g *gemini) results(k keyed, calls []byte) (bool, error) {
	fresh := false
	n := 0
	for c := range jsonl.Elements(calls) {
		key := k.call(c, n) + "/result"
		n++
		status := jsonl.GetString(c, "status")
		result := jsonl.Get(c, "result")
		extra := rest(c, "id", "name", "args", "result", "timestamp", "renderOutputAsMarkdown")
		if status == "success" {
			extra = rest(orEmpty(extra), "status")
		}
		failed := status == "error" || status == "cancelled"
		if result == nil || string(result) == "null" {
			if status != "success" && !failed && (status != "" || extra == nil) {
				continue // still running, or never recorded
			}
			result = []byte("null")
		}
		date := normalDate(jsonl.Get(c, "timestamp"))
		if date == "" {
			date = k.date
		}
		more, err := g.result(jsonl.GetString(c, "id"), key, date, geminiResult(result), extra, failed)
		if err != nil {
			return false, err
		}
		fresh = fresh || more
	}
	return fresh, nil
}

// geminiResult takes the response out of the parts that it is wrapped in.
func geminiResult(parts []byte) []byte {
	var only []byte
	n := 0
	for p := range jsonl.Elements(parts) {
		only = p
		n++
	}
	if n != 1 {
		return parts
	}
	response := jsonl.Get(only, "functionResponse", "response")
	if response == nil {
		return parts
	}
	fields := 0
	for range jsonl.Fields(response) {
		fields++
	}
	if out := jsonl.Get(response, "output"); out != nil && fields == 1 {
		return out
	}
	return response
}
