package importer

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// maxUnsaid bounds the items that wait although nobody has said anything yet.
const maxUnsaid = 20_000

// beginning holds the first items of a new session until its first request has come: README.md shows the request, and
// is part of the first commit.
type beginning struct {
	unfinished bool          // more items may come
	waiting    []record.Item // held back
	facts      about.Tape    // from them
	asked      layout.Entry  // the first request
	said       bool          // somebody says something: without that, it is no session
}

// add adds an item. While there is no tape, items wait for the first request.
func (in *intake) add(ctx context.Context, item record.Item) error {
	if in.tx == nil && in.err == nil {
		item.Line = slices.Clone(item.Line)
		if in.waiting = append(in.waiting, item); !in.isComplete(item) {
			return nil
		}
		return in.flush(ctx)
	}
	return in.put(ctx, item)
}

// flush adds the items that wait.
func (in *intake) flush(ctx context.Context) error {
	waiting := in.waiting
	in.waiting = nil
	for _, item := range waiting {
		if err := in.put(ctx, item); err != nil {
			return err
		}
	}
	return in.err
}

// isComplete takes from an item what README.md needs. It reports whether the tape can be made: the first request has
// come, or too many items wait.
func (in *intake) isComplete(item record.Item) bool {
	const maxWaiting = 200 // items
	e := layout.Entry{Tape: in.res.Tape, ID: int64(len(in.waiting)) + 1, Kind: item.Entry.Kind, Payload: item.Entry.Payload, Meta: item.Entry.Meta, Date: item.Entry.Date}
	if e.Kind == record.KindAnchor {
		e.Anchor = jsonl.GetString(e.Payload, "name")
	}
	if item.Fork == "" {
		in.facts.Add(e)
	}
	asked := in.facts.Asked != "" || in.facts.Copied != ""
	if item.Fork == "" && asked {
		in.asked = e
	}
	in.said = in.said || says(e)
	return asked || in.said && len(in.waiting) >= maxWaiting || len(in.waiting) >= maxUnsaid
}

// says reports whether an entry has something that a person or an agent said or did. A program starts sessions in which
// nobody ever does, and keeps files of them, with its own notes and texts.
func says(e layout.Entry) bool {
	switch e.Kind {
	case record.KindToolCall:
		return true
	case record.KindEvent: // a message that the format does not know as one
		data := jsonl.Get(e.Payload, "data")
		for _, role := range []string{jsonl.GetString(data, "role"), jsonl.GetString(data, "message", "role")} {
			if role == "user" || role == "assistant" || role == "model" {
				return true
			}
		}
	case record.KindAnchor:
		summary := jsonl.Get(e.Payload, "state", "summary")
		return summary != nil && !record.Blank(summary)
	case record.KindMessage:
		content := record.Or(jsonl.Get(e.Payload, "content"), "null")
		text, plain := record.Plain(content)
		switch {
		case plain && strings.TrimSpace(record.Text(text)) == "":
			return jsonl.Get(e.Payload, "tool_calls") != nil
		case e.Role() == "user":
			return about.IsPrompt(e) || !plain
		}
		return e.Role() == "assistant" || e.Role() == "model"
	}
	return false
}

// isEmpty reports whether nobody says anything in a file that was read whole. The files of Bub, which are tapes, are
// kept whatever they have.
func (in *intake) isEmpty() bool {
	return in.tx == nil && in.again == nil && !in.said && in.format.Keys == nil && len(in.waiting) < maxUnsaid
}

// readme returns the text of README.md.
func (in *intake) readme(first repo.Anchor) string {
	var t about.Tape
	payload := append(append([]byte(`{"state":`), cmp.Or(string(first.State), "{}")...), '}')
	t.Add(layout.Entry{ID: 1, Kind: layout.KindAnchor, Anchor: layout.FirstAnchor, Payload: payload, Date: first.Date})
	t.Title, t.Agent = in.facts.Title, cmp.Or(t.Agent, in.facts.Agent)
	t.Project, t.Branch = cmp.Or(t.Project, in.facts.Project), cmp.Or(t.Branch, in.facts.Branch)
	if t.Started.IsZero() {
		t.Started = in.facts.Started
	}
	return about.Readme(t, in.asked, (*workspace.Store)(in.store).Config().Scanner())
}
