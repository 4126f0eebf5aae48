package host

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"tape/internal/show/conversation"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// The types of results that runs report about tools. They are recorded as events.
const (
	toolStarted   = "tool.call.started"
	toolCompleted = "tool.call.completed"
)

// itemTypes maps each kind in a transcript to the kinds of entries and names of events that it comprises.
func itemTypes() map[string][]string {
	return map[string][]string{repo.KindMessage: {repo.KindMessage}, repo.KindSystem: {repo.KindSystem}, repo.KindAnchor: {repo.KindAnchor},
		repo.KindToolCall: {repo.KindToolCall, toolStarted}, repo.KindToolResult: {repo.KindToolResult, toolCompleted}}
}

// isShown reports whether an entry is in the transcript.
func isShown(e repo.Entry) bool {
	switch kindOf(e) {
	case repo.KindMessage, repo.KindSystem, repo.KindToolCall, repo.KindToolResult, repo.KindAnchor:
		return true
	}
	return false
}

// kindOf returns an entry's kind in the transcript: a run's results about tools are calls and results.
func kindOf(e repo.Entry) string {
	if e.Kind == repo.KindEvent {
		switch jsonl.GetString(e.Payload, "name") {
		case toolStarted:
			return repo.KindToolCall
		case toolCompleted:
			return repo.KindToolResult
		}
	}
	return e.Kind
}

// roleOf returns who speaks in an entry.
func roleOf(e repo.Entry) string {
	switch kindOf(e) {
	case repo.KindToolCall:
		return "assistant"
	case repo.KindToolResult:
		return "tool"
	case repo.KindAnchor:
		return repo.KindSystem
	}
	return e.Role()
}

// itemType returns an event's name, or an entry's kind.
func itemType(e repo.Entry) string {
	if e.Kind == repo.KindEvent {
		if name := jsonl.GetString(e.Payload, "name"); name != "" {
			return name
		}
	}
	return e.Kind
}

// nameOf is itemType without control characters: a line end would end the event's line in a stream.
func nameOf(e repo.Entry) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, itemType(e))
}

// textOf returns the text of an entry with a kind and a payload; of an anchor, it is the summary.
func textOf(kind string, payload []byte) string {
	switch kind {
	case repo.KindAnchor:
		return conversation.Of(repo.Entry{Kind: kind, Payload: payload}).Summary
	case repo.KindEvent:
		return toolText(jsonl.Get(payload, "data"))
	}
	return conversation.Of(repo.Entry{Kind: kind, Payload: payload}).Text()
}

// toolText returns the text of a run's result about a tool: the tool's result, or its arguments.
func toolText(data []byte) string {
	for _, key := range []string{"content", "result", "output", "text", "error", "arguments", "input"} {
		value := jsonl.Get(data, key)
		if text := jsonl.GetString(data, key); text != "" {
			return text
		}
		if len(value) > 0 && value[0] != '"' && string(value) != "null" {
			return string(value)
		}
	}
	return ""
}

// cutText returns a text, cut to limit characters.
func cutText(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	n := 0
	for i := range text {
		if n == limit {
			return text[:i]
		}
		n++
	}
	return text
}

// withoutBinary removes encoded content, and reports whether there was any: data URLs, and sources of type
// base64.
func withoutBinary(payload json.RawMessage) (json.RawMessage, bool) {
	if !bytes.Contains(payload, []byte("base64")) {
		return payload, false
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return payload, false
	}
	removed := false
	v = strip(v, &removed)
	out, err := json.Marshal(v)
	if err != nil || !removed {
		return payload, false
	}
	return out, true
}

// strip removes encoded content from a JSON value, at any depth.
func strip(v any, removed *bool) any {
	switch v := v.(type) {
	case string:
		if head, _, ok := strings.Cut(v[:min(len(v), 200)], ","); ok && strings.HasPrefix(head, "data:") && strings.HasSuffix(head, ";base64") {
			*removed = true
			return head + ","
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i], removed)
		}
	case map[string]any:
		if _, ok := v["data"].(string); ok && v["type"] == "base64" {
			v["data"], *removed = "", true
		}
		for k := range v {
			v[k] = strip(v[k], removed)
		}
	}
	return v
}
