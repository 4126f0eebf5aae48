package display

import (
	"cmp"
	"fmt"
	"strings"

	"tape/internal/jsonl"
	"tape/internal/layout"
)

// How much is shown of what can be long.
const (
	resultLines = 8   // lines of a tool's result
	argsCells   = 100 // arguments of a call, on one line
)

// Body is the text of an entry, safe to show, in lines; there is at least one.
func Body(e layout.Entry) []string {
	var text string
	p := []byte(e.Payload)
	switch e.Kind {
	case layout.KindMessage:
		text = messageText(p)
	case layout.KindSystem:
		text = contentText(jsonl.Get(p, "content"))
	case layout.KindToolCall:
		text = callsText(jsonl.Get(p, "calls"))
	case layout.KindToolResult:
		text = resultsText(jsonl.Get(p, "results"))
	case layout.KindAnchor:
		text = anchorText(p)
	case layout.KindEvent:
		text = jsonl.GetString(p, "name")
		if data := jsonl.Get(p, "data"); data != nil {
			text += " " + Shorten(string(data), 2*argsCells)
		}
	case layout.KindError:
		text = strings.TrimPrefix(jsonl.GetString(p, "kind")+": "+jsonl.GetString(p, "message"), ": ")
	}
	if text == "" {
		text = Shorten(string(p), 2*argsCells)
	}
	return strings.Split(strings.TrimRight(Text(text), "\n"), "\n")
}

func messageText(payload []byte) string {
	text := contentText(jsonl.Get(payload, "content"))
	if calls := jsonl.Get(payload, "tool_calls"); calls != nil {
		text = strings.TrimPrefix(text+"\n"+callsText(calls), "\n")
	}
	return text
}

// contentText is the text of a message's content: a string, or parts.
func contentText(content []byte) string {
	if text, ok := jsonl.String(content); ok {
		return text
	}
	var parts []string
	for part := range jsonl.Elements(content) {
		text, ok := jsonl.String(jsonl.Get(part, "text"))
		if !ok {
			text, ok = jsonl.String(part)
		}
		if !ok {
			kind := jsonl.GetString(part, "type")
			text = "[" + strings.TrimSpace(kind+" "+Shorten(string(part), argsCells)) + "]"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// callsText shows calls as name(arguments), one a line.
func callsText(calls []byte) string {
	var out []string
	for call := range jsonl.Elements(calls) {
		name := cmp.Or(jsonl.GetString(call, "function", "name"), jsonl.GetString(call, "name"))
		args := jsonl.Get(call, "function", "arguments")
		text, ok := jsonl.String(args)
		if !ok {
			text = string(args)
		}
		out = append(out, name+"("+Shorten(text, argsCells)+")")
	}
	return strings.Join(out, "\n")
}

// resultsText shows results, each up to a number of lines.
func resultsText(results []byte) string {
	var out []string
	for result := range jsonl.Elements(results) {
		text, ok := jsonl.String(result)
		if !ok && len(result) > 0 && result[0] == '[' {
			text = contentText(result)
		} else if !ok {
			text = Shorten(string(result), 2*argsCells)
		}
		out = append(out, clip(text))
	}
	return strings.Join(out, "\n")
}

func clip(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= resultLines+1 {
		return text
	}
	return strings.Join(lines[:resultLines], "\n") + fmt.Sprintf("\n… (%d more lines)", len(lines)-resultLines)
}

func anchorText(payload []byte) string {
	text := jsonl.GetString(payload, "name")
	state := jsonl.Get(payload, "state")
	if summary := jsonl.GetString(state, "summary"); summary != "" {
		return text + "\n" + summary
	}
	if jsonl.IsObject(state) && len(state) > len("{}") {
		text += " " + Shorten(string(state), 2*argsCells)
	}
	return text
}
