package display

import (
	"cmp"
	"fmt"
	"strings"

	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
)

// How much is shown of what can be long.
const (
	resultLines = 8   // lines of a tool's result
	argsCells   = 100 // arguments of a call, on one line
)

// Kind is an entry's kind, and of a message the role, too.
func Kind(e layout.Entry) string {
	if role := e.Role(); role != "" && e.Kind == layout.KindMessage {
		return e.Kind + "/" + role
	}
	return e.Kind
}

// Body is the text of an entry, safe to show, in lines; there is at least one. What machines
// say to each other is shortened.
func Body(e layout.Entry) []string { return bodyOf(e, amount{argsCells, 2 * argsCells, resultLines}) }

// Whole is all of the text of an entry, safe to show, in lines.
func Whole(e layout.Entry) []string { return bodyOf(e, amount{}) }

// amount is how much is shown: cells of a call's arguments and of other data, lines of a
// result. 0 is all.
type amount struct{ args, data, lines int }

func bodyOf(e layout.Entry, most amount) []string {
	var text string
	p := []byte(e.Payload)
	switch e.Kind {
	case layout.KindMessage:
		text = most.message(p)
	case layout.KindSystem:
		text = most.content(jsonl.Get(p, "content"))
	case layout.KindToolCall:
		text = most.calls(jsonl.Get(p, "calls"))
	case layout.KindToolResult:
		text = most.results(jsonl.Get(p, "results"))
	case layout.KindAnchor:
		text = most.anchor(p)
	case layout.KindEvent:
		text = jsonl.GetString(p, "name")
		if data := jsonl.Get(p, "data"); data != nil {
			text += " " + Shorten(string(data), most.data)
		}
	case layout.KindError:
		text = strings.TrimPrefix(jsonl.GetString(p, "kind")+": "+jsonl.GetString(p, "message"), ": ")
	}
	if e.Kind != layout.KindAnchor {
		text = strings.TrimPrefix(text+artifactLines(p), "\n")
	}
	if text == "" {
		text = Shorten(string(p), most.data)
	}
	return strings.Split(strings.TrimRight(Text(text), "\n"), "\n")
}

// artifactLines name the artifacts that a payload refers to, each on a line of its own.
func artifactLines(payload []byte) string {
	var out string
	for _, a := range layout.Artifacts(payload) {
		out += fmt.Sprintf("\n[artifact %s %s]", a.ID[:12], a.About())
	}
	return out
}

func (most amount) message(payload []byte) string {
	text := most.content(jsonl.Get(payload, "content"))
	if calls := jsonl.Get(payload, "tool_calls"); calls != nil {
		text = strings.TrimPrefix(text+"\n"+most.calls(calls), "\n")
	}
	return text
}

// content is the text of a message's content: a string, or parts.
func (most amount) content(content []byte) string {
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
			if len(layout.Artifacts(part)) > 0 {
				continue // it has a line of its own
			}
			kind := jsonl.GetString(part, "type")
			text = "[" + strings.TrimSpace(kind+" "+Shorten(string(part), most.args)) + "]"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// calls shows calls as name(arguments), one a line.
func (most amount) calls(calls []byte) string {
	var out []string
	for call := range jsonl.Elements(calls) {
		name := cmp.Or(jsonl.GetString(call, "function", "name"), jsonl.GetString(call, "name"))
		args := jsonl.Get(call, "function", "arguments")
		text, ok := jsonl.String(args)
		if !ok {
			text = string(args)
		}
		out = append(out, name+"("+Shorten(text, most.args)+")")
	}
	return strings.Join(out, "\n")
}

// results shows results, each up to a number of lines.
func (most amount) results(results []byte) string {
	var out []string
	for result := range jsonl.Elements(results) {
		text, ok := jsonl.String(result)
		switch {
		case ok:
		case result[0] == '[':
			text = most.content(result)
		case jsonl.Get(result, "artifact") != nil && jsonl.Get(result, "text") != nil:
			text = jsonl.GetString(result, "text")
		default:
			text = Shorten(string(result), most.data)
		}
		out = append(out, most.clip(text))
	}
	return strings.Join(out, "\n")
}

func (most amount) clip(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if most.lines == 0 || len(lines) <= most.lines+1 {
		return text
	}
	return strings.Join(lines[:most.lines], "\n") + fmt.Sprintf("\n… (%d more lines)", len(lines)-most.lines)
}

func (most amount) anchor(payload []byte) string {
	text := jsonl.GetString(payload, "name")
	state := jsonl.Get(payload, "state")
	if summary := jsonl.GetString(state, "summary"); summary != "" {
		return text + "\n" + summary
	}
	if jsonl.IsObject(state) && len(state) > len("{}") {
		text += " " + Shorten(string(state), most.data)
	}
	return text
}
