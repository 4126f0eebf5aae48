package mcpserver

import (
	"bytes"
	"encoding/json"

	"tape/internal/text"
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

func withoutNoise(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !bytes.Contains(raw, []byte(text.RepeatedHistory)) && !hasIDs(raw) {
		return raw
	}
	switch raw[0] {
	case '{':
		out := []byte("{")
		for key, v := range jsonl.Fields(raw) {
			if key == text.RepeatedHistory || text.AreIDs(v) {
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

// hasIDs reports whether a list in raw may begin with a UUID.
func hasIDs(raw []byte) bool {
	for {
		at := bytes.Index(raw, []byte(`["`))
		if at < 0 {
			return false
		}
		if raw = raw[at+len(`["`):]; text.BeginsWithUUID(raw) {
			return true
		}
	}
}
