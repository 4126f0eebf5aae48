package mcpserver

import (
	"bytes"
	"encoding/json"

	"tape/internal/text/jsonl"
	"tape/repo"
)

// quiet returns an anchor or an event without what only the agent's program needs: the history that a compaction of Codex
// repeats, and lists of ids. It costs a model tokens, and says nothing.
func quiet(e repo.Entry) repo.Entry {
	if e.Kind == repo.KindAnchor || e.Kind == repo.KindEvent {
		e.Payload = withoutNoise(e.Payload)
	}
	return e
}

const repeatedHistory = "replacement_history"

func withoutNoise(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !bytes.Contains(raw, []byte(repeatedHistory)) && !hasIDs(raw) {
		return raw
	}
	switch raw[0] {
	case '{':
		out := []byte("{")
		for key, v := range jsonl.Fields(raw) {
			if key == repeatedHistory || areIDs(v) {
				continue
			}
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(jsonl.AppendString(out, key), ':'), withoutNoise(v)...)
		}
		return append(out, '}')
	case '[':
		out := []byte("[")
		for v := range jsonl.Elements(raw) {
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(out, withoutNoise(v)...)
		}
		return append(out, ']')
	}
	return raw
}

// uuidLength is that of a UUID: 8-4-4-4-12 hexadecimal digits.
const uuidLength = 36

// hasIDs reports whether a list in raw may begin with a UUID.
func hasIDs(raw []byte) bool {
	for {
		at := bytes.Index(raw, []byte(`["`))
		if at < 0 {
			return false
		}
		if raw = raw[at+len(`["`):]; len(raw) >= uuidLength && isUUID(raw[:uuidLength]) {
			return true
		}
	}
}

// areIDs reports whether a value is a list of nothing but UUIDs.
func areIDs(raw []byte) bool {
	list := jsonl.Strings(raw)
	for _, id := range list {
		if !isUUID([]byte(id)) {
			return false
		}
	}
	return len(list) > 0
}

func isUUID(text []byte) bool {
	if len(text) != uuidLength {
		return false
	}
	for i, c := range text {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && !bytes.ContainsRune([]byte("0123456789abcdefABCDEF"), rune(c)) {
			return false
		}
	}
	return true
}
