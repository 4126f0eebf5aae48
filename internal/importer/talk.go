package importer

import (
	"bytes"

	"tape/internal/jsonl"
)

// talk writes the entries of formats whose records are in order already: it
// groups calls and holds results until a group is complete.
type talk struct {
	*reading
	counts counter // of contents, for keys
	turn   turn
	open   []call // calls that may still be joined by others
	hidden bool
}

// call is one call that is about to be written.
type call struct {
	raw   []byte // in the shape of the format
	id    string
	input []byte
	key   string
	date  string
}

// has reports whether the tape has an entry of that key.
func (t *talk) has(key string) bool { return t.out.seen("", key) }

// settle writes the calls that are open.
func (t *talk) settle() error {
	if len(t.open) == 0 {
		return nil
	}
	p := part{kind: kindToolCall, hidden: t.hidden}
	var calls []byte
	t.turn = turn{}
	for _, c := range t.open {
		t.turn.calls = append(t.turn.calls, pending{id: c.id, input: c.input})
		if t.has(c.key) {
			continue
		}
		if len(calls) > 0 {
			calls = append(calls, ',')
		}
		calls = append(calls, c.raw...)
		p.keys = append(p.keys, c.key)
		p.date = c.date
	}
	t.open = nil
	if p.keys == nil {
		return nil
	}
	p.payload = callsPayload(calls)
	return t.out.put(p)
}

// call adds a call to the group. It reports whether it was new.
func (t *talk) call(c call) (bool, error) {
	if t.turn.calls != nil {
		if err := t.flush(); err != nil {
			return false, err
		}
	}
	t.open = append(t.open, c)
	return !t.has(c.key), nil
}

// result adds a result. extra, an object or nil, is what the source knows of
// it beyond what the model was told. It reports whether it was new.
func (t *talk) result(id, key, date string, content, extra []byte, failed bool) (bool, error) {
	if err := t.settle(); err != nil {
		return false, err
	}
	if t.turn.held > 0 && t.turn.held+len(content) > maxHeld {
		if err := t.flush(); err != nil {
			return false, err
		}
	}
	c := t.turn.find(id)
	stray := c == nil
	if stray {
		c = &pending{id: id}
	}
	fresh := !t.has(key)
	if fresh {
		c.content, c.key, c.date, c.failed, c.hidden = bytes.Clone(content), key, date, failed, t.hidden
		t.turn.held += len(content)
	} else {
		c.done = true
	}
	if rest := untold(extra, content, c.input); rest != nil && !t.has(key+"/detail") {
		data := newObject(len(rest) + 64)
		data.str("call_id", id)
		for name, v := range jsonl.Fields(rest) {
			data.raw(name, v)
		}
		c.detail = &part{kind: kindEvent, keys: []string{key + "/detail"}, date: date, hidden: t.hidden, payload: eventPayload(eventToolDetail, data.done())}
	}
	if stray {
		return fresh, t.putResults(&turn{calls: []pending{*c}})
	}
	if t.turn.complete() {
		return fresh, t.flush()
	}
	return fresh, nil
}

// flush writes everything that is held.
func (t *talk) flush() error {
	if err := t.settle(); err != nil {
		return err
	}
	held := t.turn
	t.turn = turn{}
	return t.putResults(&held)
}

func (t *talk) putResults(held *turn) error { return t.out.putResults("", held) }

// put writes an entry, unless the tape has it. It reports whether it was new.
func (t *talk) put(p part) (bool, error) {
	if err := t.settle(); err != nil {
		return false, err
	}
	if p.kind != kindEvent {
		// A conversation goes on: no results are to come.
		if err := t.flush(); err != nil {
			return false, err
		}
	}
	if t.has(p.keys[0]) {
		return false, nil
	}
	p.hidden = t.hidden
	return true, t.out.put(p)
}

func (t *talk) damaged(at span, reason string) error {
	if err := t.settle(); err != nil {
		return err
	}
	return t.putDamaged("", at, reason, &t.counts)
}

// count notes whether a record gave something new.
func (t *talk) count(fresh bool) {
	t.stats.Records++
	if !fresh {
		t.stats.Skipped++
	}
}

// textOf is the text of a message's content, and whether that is all of it.
func textOf(content []byte) (s string, all bool) {
	if len(content) == 0 || string(content) == "null" {
		return "", true
	}
	if content[0] == '"' {
		return text(content), true
	}
	if content[0] != '[' {
		return "", false
	}
	var b []byte
	n := 0
	for el := range jsonl.Elements(content) {
		if el[0] == '"' {
			el = append(append([]byte(`{"type":"text","text":`), el...), '}')
		}
		v := jsonl.Get(el, "text")
		switch text(jsonl.Get(el, "type")) {
		case "input_text", "output_text", "text", "":
		default:
			return "", false
		}
		if len(v) == 0 || v[0] != '"' {
			return "", false
		}
		if n > 0 {
			b = append(b, "\n\n"...)
		}
		n++
		b = append(b, text(v)...)
	}
	return string(b), true
}

// plainOr is a content as a string where it is all text, otherwise as it is.
// The text keeps its spelling.
func plainOr(content []byte) []byte {
	if len(content) > 0 && content[0] == '"' {
		return content
	}
	if _, all := textOf(content); !all {
		return content
	}
	b := []byte{'"'}
	for el := range jsonl.Elements(content) {
		v := el
		if el[0] != '"' {
			v = jsonl.Get(el, "text")
		}
		if len(b) > 1 {
			b = append(b, `\n\n`...)
		}
		b = append(b, v[1:len(v)-1]...)
	}
	return append(b, '"')
}
