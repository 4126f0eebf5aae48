// Package plain has sessions as text without markup: a conversation on a terminal, a single entry for a line of a list
// or a model, a stored file for git diff, and the page with which another agent goes on.
package plain

import (
	"fmt"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// How much is shown of long values.
const (
	resultLines = 8   // lines of a tool's result
	argsCells   = 100 // arguments of a call, on one line
	dataCells   = 200 // other data
)

// Kind is an entry's kind; for a message, with the role: "message/user".
func Kind(e repo.Entry) string {
	if role := e.Role(); role != "" && e.Kind == repo.KindMessage {
		return e.Kind + "/" + role
	}
	return e.Kind
}

// Short is the text of an entry as lines that are safe to show, at least one. Calls, results and data
// are shortened.
func Short(e repo.Entry) []string { return lines(e, amount{argsCells, dataCells, resultLines}) }

// Whole is all of the text of an entry as lines that are safe to show, at least one.
func Whole(e repo.Entry) []string { return lines(e, amount{}) }

// amount says how much is shown: cells of a call's arguments and of other data, lines of a
// result. 0 means everything.
type amount struct{ args, data, lines int }

func lines(e repo.Entry, most amount) []string {
	it := conversation.Of(e)
	var out []string
	add := func(text string) {
		if text != "" {
			out = append(out, text)
		}
	}
	switch it.Kind {
	case conversation.Phase:
		add(most.phase(it))
	case conversation.Message, conversation.Calls:
		add(most.parts(it.Parts))
		for _, c := range it.Calls {
			add(c.Name + "(" + display.Shorten(c.Arguments, most.args) + ")")
		}
	case conversation.Results:
		for _, r := range it.Results {
			add(most.clip(most.parts(r.Parts)))
		}
	case conversation.Events:
		if thought := it.Events[0].Thinking(); thought != "" {
			add("thinking " + most.clip(strings.TrimSpace(thought))) // the event's other data is only for the model
		} else if e.Kind == repo.KindEvent {
			add(strings.TrimSuffix(jsonl.GetString(e.Payload, "name")+" "+display.Shorten(string(jsonl.Get(e.Payload, "data")), most.data), " "))
		}
	case conversation.Failure:
		add(it.Summary)
		if most.lines == 0 {
			add(it.Details)
		}
	}
	if it.Kind != conversation.Phase {
		for _, a := range repo.References(e) {
			add(fmt.Sprintf("[artifact %s %s]", a.ID[:12], a.About()))
		}
	}
	if len(out) == 0 {
		out = []string{display.Shorten(string(e.Payload), most.data)}
	}
	return strings.Split(strings.TrimRight(display.SkipBlankLines(display.Text(strings.Join(out, "\n"))), "\n"), "\n")
}

func (most amount) phase(it *conversation.Item) string {
	switch {
	case it.Summary != "":
		return it.Name + "\n" + it.Summary
	case it.Details != "":
		return it.Name + " " + display.Shorten(string(it.State), most.data)
	}
	return it.Name
}

// parts is the text of parts. Artifacts are left out, because lines adds a line for each.
func (most amount) parts(parts []conversation.ContentPart) string {
	var out []string
	for _, p := range parts {
		switch {
		case p.Kind == "":
			out = append(out, p.Text)
		case p.Picture != "":
			out = append(out, "["+p.Kind+" "+p.Text+"]")
		case len(repo.References(repo.Entry{Payload: p.Raw})) > 0:
		case p.Raw != nil && p.Kind == "json":
			out = append(out, display.Shorten(string(p.Raw), most.data))
		case p.Raw != nil:
			out = append(out, "["+p.Kind+" "+display.Shorten(string(p.Raw), most.args)+"]")
		}
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
