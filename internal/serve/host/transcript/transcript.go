// Package transcript says what entries are in a conversation: who speaks, and in which words.
package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"tape/internal/show/conversation"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// The results of runs that tell of tools, which are kept as events.
const (
	toolStarted   = "tool.call.started"
	toolCompleted = "tool.call.completed"
)

// Types are the types of the entries that are part of a conversation's transcript, by what they are there.
func Types() map[string][]string {
	return map[string][]string{repo.KindMessage: {repo.KindMessage}, repo.KindSystem: {repo.KindSystem}, repo.KindAnchor: {repo.KindAnchor},
		repo.KindToolCall: {repo.KindToolCall, toolStarted}, repo.KindToolResult: {repo.KindToolResult, toolCompleted}}
}

// Has reports whether an entry is part of the conversation's transcript.
func Has(e repo.Entry) bool {
	switch KindOf(e) {
	case repo.KindMessage, repo.KindSystem, repo.KindToolCall, repo.KindToolResult, repo.KindAnchor:
		return true
	}
	return false
}

// KindOf is what an entry is in the transcript: what a run has told of a tool is a call or a result.
func KindOf(e repo.Entry) string {
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

// RoleOf is who speaks in an entry.
func RoleOf(e repo.Entry) string {
	switch KindOf(e) {
	case repo.KindToolCall:
		return "assistant"
	case repo.KindToolResult:
		return "tool"
	case repo.KindAnchor:
		return repo.KindSystem
	}
	return e.Role()
}

// TypeOf is an event's name, or an entry's kind.
func TypeOf(e repo.Entry) string {
	if e.Kind == repo.KindEvent {
		if name := jsonl.GetString(e.Payload, "name"); name != "" {
			return name
		}
	}
	return e.Kind
}

// TextOf is what an entry says in words.
func TextOf(kind string, payload []byte) string {
	switch kind {
	case repo.KindAnchor:
		return conversation.Of(repo.Entry{Kind: kind, Payload: payload}).Summary
	case repo.KindEvent:
		return toolText(jsonl.Get(payload, "data"))
	}
	return conversation.Of(repo.Entry{Kind: kind, Payload: payload}).Text()
}

// toolText is what a run has told of a tool: what came of it, or with what it was called.
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

// Cut keeps the first characters of a text.
func Cut(text string, most int) string {
	if len(text) <= most || utf8.RuneCountInString(text) <= most {
		return text
	}
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}

// WithoutBinary leaves out content that is encoded: data URLs, and sources of type base64.
func WithoutBinary(payload json.RawMessage) (json.RawMessage, bool) {
	if !bytes.Contains(payload, []byte("base64")) {
		return payload, false
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return payload, false
	}
	left := false
	v = strip(v, &left)
	out, err := json.Marshal(v)
	if err != nil || !left {
		return payload, false
	}
	return out, true
}

func strip(v any, left *bool) any {
	switch v := v.(type) {
	case string:
		if head, _, ok := strings.Cut(v[:min(len(v), 200)], ","); ok && strings.HasPrefix(head, "data:") && strings.HasSuffix(head, ";base64") {
			*left = true
			return head + ","
		}
	case []any:
		for i := range v {
			v[i] = strip(v[i], left)
		}
	case map[string]any:
		if _, ok := v["data"].(string); ok && v["type"] == "base64" {
			v["data"], *left = "", true
		}
		for k := range v {
			v[k] = strip(v[k], left)
		}
	}
	return v
}
