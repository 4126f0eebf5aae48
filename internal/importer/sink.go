package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"strconv"
	"unicode/utf8"

	"tape/internal/jsonl"
)

// The kinds of entries that imports make.
const (
	kindAnchor     = "anchor"
	kindEvent      = "event"
	kindMessage    = "message"
	kindSystem     = "system"
	kindToolCall   = "tool_call"
	kindToolResult = "tool_result"
)

// Names of events that more than one format makes.
const (
	eventDamaged     = "import.damaged"
	eventEnvironment = "environment"
	eventPhase       = "phase" // an anchor of a subagent
	eventRun         = "run"
	eventThinking    = "thinking"
	eventToolDetail  = "tool.detail"
)

// maxEntry is how large payload and meta may be together, so that the entry's
// line stays under the limit of a line.
const maxEntry = jsonl.DefaultMaxLine - 4096

// sink makes entries and hands them on.
type sink struct {
	format string
	seen   SeenFunc
	emit   func(Item) error
	stats  *Stats
	date   string // of the last item
}

// part is one entry about to be made.
type part struct {
	fork    string
	kind    string
	payload []byte // owned
	keys    []string
	date    string // normalised; "" stands for the date of the item before

	runID   string
	hidden  bool     // abandoned: not for any view
	callIDs []string // of a tool_result, by position
	failed  []string // those of them whose tool reported an error
	begins  []string // subagents that are started here
	ends    []string // and those whose result this is
	extra   []byte   // fields of the source record without a place in the payload
}

func (s *sink) put(p part) error {
	if p.fork != "" {
		// The session's model saw none of it, and its phases go on meanwhile.
		p.hidden = true
		if p.kind == kindAnchor {
			p.kind, p.payload = kindEvent, eventPayload(eventPhase, p.payload)
		}
	}
	if p.date == "" {
		p.date = s.date
	} else {
		s.date = p.date
	}
	if err := fits(p.payload); err != "" {
		s.stats.problem(0, "record "+p.keys[0]+": "+err)
		p.kind = kindEvent
		p.payload = eventPayload(eventDamaged, damagedData(err, int64(len(p.payload)), bytes.NewReader(p.payload)))
		p.extra = nil
	}
	if len(p.payload)+len(p.extra) > maxEntry || fits(p.extra) != "" {
		s.stats.problem(0, "record "+p.keys[0]+": extra fields left out, they do not fit")
		p.extra = nil
	}
	return s.emit(Item{
		Fork:   p.fork,
		Begins: p.begins,
		Ends:   p.ends,
		Entry:  jsonl.Draft{Kind: p.kind, Payload: p.payload, Meta: s.meta(p), Date: p.date},
		Keys:   p.keys,
	})
}

func (s *sink) meta(p part) []byte {
	size := 96 + len(p.runID) + len(p.extra)
	for _, k := range p.keys {
		size += len(k) + 3
	}
	o := newObject(size)
	if p.runID != "" {
		o.str("run_id", p.runID)
	}
	if p.hidden {
		o.raw("context", []byte("false"))
	}
	if p.callIDs != nil {
		o.strs("call_ids", p.callIDs)
	}
	if p.failed != nil {
		o.strs("is_error", p.failed)
	}
	src := newObject(size)
	src.str("format", s.format)
	src.strs("ids", p.keys)
	if p.extra != nil {
		src.raw("extra", p.extra)
	}
	o.raw("source", src.done())
	return o.done()
}

// fits says why a payload cannot be an entry's, or "".
func fits(payload []byte) string {
	if len(payload) > maxEntry {
		return "larger than an entry may be"
	}
	// Wrapping adds levels to a record that is close to the limit of nesting.
	const plenty = jsonl.MaxDepth / 2
	if bytes.Count(payload, []byte{'{'})+bytes.Count(payload, []byte{'['}) < plenty {
		return ""
	}
	if depth(payload) > jsonl.MaxDepth-4 { // as deep as meta puts anything
		return "nested too deep"
	}
	return ""
}

// depth returns how far the brackets of valid JSON nest.
func depth(raw []byte) int {
	deepest, level := 0, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = closingQuote(raw, i+1)
		case '{', '[':
			level++
			deepest = max(deepest, level)
		case '}', ']':
			level--
		}
	}
	return deepest
}

// closingQuote returns where the string ends that i is inside of.
func closingQuote(raw []byte, i int) int {
	for i < len(raw) {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			break
		}
		i += n
		escapes := 0
		for raw[i-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
		i++
	}
	return len(raw)
}

func eventPayload(name string, data []byte) []byte {
	o := newObject(len(name) + len(data) + 24)
	o.str("name", name)
	if len(data) > len("{}") {
		o.raw("data", data)
	}
	return o.done()
}

func anchorPayload(name string, state []byte) []byte {
	o := newObject(len(name) + len(state) + 24)
	o.str("name", name)
	if len(state) > len("{}") {
		o.raw("state", state)
	}
	return o.done()
}

// messagePayload makes a chat message; content is raw JSON.
func messagePayload(role string, content []byte) []byte {
	o := newObject(len(role) + len(content) + 32)
	o.str("role", role)
	o.raw("content", content)
	return o.done()
}

// keptHead is how much is kept of a text that does not fit into an entry.
const keptHead = 64 << 10

// damagedData describes a text that is no record: the text itself where it
// fits, otherwise its size, hash and beginning.
func damagedData(reason string, size int64, r io.Reader) []byte {
	o := newObject(256)
	o.str("error", reason)
	// A control character takes six bytes when escaped, and base64 may join it.
	if size < maxEntry/8 {
		raw, _ := io.ReadAll(io.LimitReader(r, size))
		addText(o, raw)
		return o.done()
	}
	h := sha256.New()
	head, _ := io.ReadAll(io.LimitReader(r, min(size, maxEntry)))
	h.Write(head)
	if size <= maxEntry {
		// Most texts grow little when quoted: see whether this one does.
		try := newObject(len(head) + len(head)/8)
		try.str("error", reason)
		addText(try, head)
		if len(try.b) < maxEntry-4096 {
			return try.done()
		}
	}
	_, _ = io.Copy(h, r)
	o.raw("size", strconv.AppendInt(nil, size, 10))
	o.str("sha256", hex.EncodeToString(h.Sum(nil)))
	head = head[:min(len(head), keptHead)]
	// Not to cut a character in two.
	for i := 0; i < utf8.UTFMax && len(head) > 0 && !utf8.Valid(head[max(0, len(head)-utf8.UTFMax):]); i++ {
		head = head[:len(head)-1]
	}
	addText(o, head)
	return o.done()
}

func addText(o *object, raw []byte) {
	o.str("raw", string(raw))
	if !utf8.Valid(raw) {
		o.str("raw_base64", base64.StdEncoding.EncodeToString(raw))
	}
}

// contentKey is the key of a record that has no identity of its own: the n-th
// one (from 1) with this content.
func contentKey(raw []byte, n int) string {
	sum := sha256.Sum256(raw)
	return hashKey(sum[:], n)
}

func hashKey(sum []byte, n int) string {
	b := make([]byte, 0, 48)
	b = append(b, "sha256:"...)
	b = hex.AppendEncode(b, sum[:16])
	b = append(b, '#')
	return string(strconv.AppendInt(b, int64(n), 10))
}

// partKey is the key of the i-th block of a record.
func partKey(key string, i int) string {
	if i == 0 {
		return key
	}
	return key + "/" + strconv.Itoa(i)
}

// object builds a JSON object.
type object struct{ b []byte }

func newObject(size int) *object {
	return &object{b: append(make([]byte, 0, size+2), '{')}
}

func (o *object) key(name string) {
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = append(jsonl.AppendString(o.b, name), ':')
}

// raw adds a member whose value is valid JSON.
func (o *object) raw(name string, v []byte) {
	o.key(name)
	o.b = append(o.b, v...)
}

func (o *object) str(name, v string) {
	o.key(name)
	o.b = jsonl.AppendString(o.b, v)
}

func (o *object) strs(name string, vs []string) {
	o.key(name)
	o.b = append(o.b, '[')
	for i, v := range vs {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = jsonl.AppendString(o.b, v)
	}
	o.b = append(o.b, ']')
}

func (o *object) empty() bool { return len(o.b) == 1 }

// done closes the object. Nothing may be added afterwards.
func (o *object) done() []byte {
	o.b = append(o.b, '}')
	return o.b
}

// blank reports whether a value says nothing that its absence would not say.
func blank(v []byte) bool {
	switch string(v) {
	case "null", "false", `""`, "[]", "{}":
		return true
	}
	return false
}

// text decodes a JSON string; anything else gives "".
func text(raw []byte) string {
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	s, _ := jsonl.String(raw)
	return s
}

func quote(s string) []byte { return jsonl.AppendString(make([]byte, 0, len(s)+2), s) }

func compact(raw []byte) []byte {
	out, err := jsonl.Compact(make([]byte, 0, len(raw)), raw)
	if err != nil {
		return raw
	}
	return out
}
