package jsonl

import (
	"math"
	"slices"
)

// members walks and validates an object that is the whole input: the one pass of
// Parse and ParseDraft.
//
// After next, scan.spaced and scan.escaped say whether the value has insignificant
// whitespace and, if it is a string, any escape.
type members struct {
	scan
	i      int // where the next member starts
	at     int // where the current value starts
	opened bool
	closed bool
	key    []byte // decoded
	rawKey []byte // as written, with its quotes
	val    []byte
}

// next moves to the next member. It reports false at the end of the input, or with
// err set.
func (m *members) next() bool {
	if m.err != nil || m.closed || !m.separator() {
		return false
	}
	m.escaped = false
	start := m.i
	colon := m.scan.key(start)
	if colon < 0 {
		return false
	}
	m.rawKey = m.b[start:trimSpaceBefore(m.b, colon)]
	m.key = m.rawKey[1 : len(m.rawKey)-1]
	if m.escaped {
		m.key = AppendDecoded(nil, m.key)
	}
	m.at = m.space(colon + 1)
	m.spaced, m.escaped = false, false
	end := m.value(m.at, 1)
	if end < 0 {
		return false
	}
	m.val = m.b[m.at:end:end]
	m.i = end
	return true
}

// appendTo appends a comma and the current member, compacted.
func (m *members) appendTo(dst []byte) []byte {
	dst = append(append(append(dst, ','), m.rawKey...), ':')
	return appendStripped(dst, m.val, m.spaced)
}

// separator moves over the brace or comma to the next key. It reports false after the
// last member, and sets err if anything follows the object.
func (m *members) separator() bool {
	want, c := "',' or '}'", byte(',')
	if !m.opened {
		want, c = "an object", '{'
	}
	i := m.space(m.i)
	switch {
	case i < len(m.b) && m.b[i] == c:
		first := !m.opened
		m.opened = true
		m.i = m.space(i + 1)
		if first && m.i < len(m.b) && m.b[m.i] == '}' {
			m.finish(m.i)
			return false
		}
		return true
	case m.opened && i < len(m.b) && m.b[i] == '}':
		m.finish(i)
	default:
		m.unexpected(i, want)
	}
	return false
}

// finish accepts the closing brace at i, if only whitespace follows it.
func (m *members) finish(i int) {
	m.closed = true
	if i = m.space(i + 1); i < len(m.b) {
		m.unexpected(i, "the end")
	}
}

// refuse sets an error about the current value.
func (m *members) refuse(msg string) {
	if m.err == nil {
		m.err = dataError(m.at, msg)
	}
}

// trimSpaceBefore returns the end of the text before i, without trailing whitespace.
func trimSpaceBefore(b []byte, i int) int {
	for isSpace(b[i-1]) {
		i--
	}
	return i
}

// memberSet is a set of the members that the format defines.
type memberSet uint8

const (
	keyID memberSet = 1 << iota
	keyKind
	keyPayload
	keyMeta
	keyDate
)

func memberOf(key []byte) memberSet {
	switch string(key) {
	case "id":
		return keyID
	case "kind":
		return keyKind
	case "payload":
		return keyPayload
	case "meta":
		return keyMeta
	case "date":
		return keyDate
	}
	return 0
}

// isOutputKey reports whether output adds this key to entries.
func isOutputKey(key []byte) bool {
	return slices.Contains([]string{"tape", "workspace", "anchor", "anchor_seq", "score", "snippet"}, string(key))
}

// isHitKey reports whether a hit of a search has this key after its snippet.
func isHitKey(key []byte) bool {
	return slices.Contains([]string{"matches", "similar", "matched", "missing", "session", "more", "instead", "before", "after"}, string(key))
}

func (m *members) id() int64 {
	var n uint64
	for _, c := range m.val {
		if c < '0' || c > '9' || n > math.MaxInt64/10 {
			n = 0
			break
		}
		n = n*10 + uint64(c-'0')
	}
	if n == 0 || n > math.MaxInt64 {
		m.refuse("id is not an integer of 1 or more")
		return 0
	}
	return int64(n)
}

func (m *members) kind() string {
	kind := m.text("kind")
	if kind == "" && m.err == nil {
		m.refuse("kind is empty")
	}
	return kind
}

// text returns the current value decoded, if it is a string.
func (m *members) text(name string) string {
	if m.val[0] != '"' {
		m.refuse(name + " is not a string")
		return ""
	}
	return decodeString(m.val[1:len(m.val)-1], m.escaped)
}

// object returns the current value if it is an object.
func (m *members) object(name string) []byte {
	if m.val[0] != '{' {
		m.refuse(name + " is not an object")
		return nil
	}
	return m.val
}

// require refuses the line if it has no member of that name.
func (m *members) require(seen, key memberSet, name string) {
	if m.err == nil && seen&key == 0 {
		m.err = dataError(0, "no "+name)
	}
}
