package plain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tape/index"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// How much of a session the page has.
const (
	requests    = 3        // the latest ones
	mostRequest = 600      // bytes of a request; three times as many of the last one
	mostAnswer  = 2500     // bytes
	mostState   = 16 << 10 // bytes of an anchor's summary and state
	mostCalls   = 5        // calls without a result
	mostFiles   = 40
)

// page is the content of the page.
type page struct {
	anchor   *conversation.Item   // of the last phase, if that begins with a handoff or a compaction
	requests []request            // the last one first
	answer   *conversation.Item   // the last message of the model
	open     []*conversation.Call // without a result
	failure  string               // the error with which the session ended
	stopped  bool                 // a person interrupted the session
}

type request struct {
	id   int64
	text string
}

// ForAgent returns the page of a tape as Markdown. facts say what the tape is about, files what was done with files, and
// more is the command that shows the whole session. ForAgent reads the entries backwards, and no further than it has to.
func ForAgent(ctx context.Context, t *repo.Tape, facts about.Tape, files []index.FileUse, more string) (string, error) {
	p, err := read(ctx, t)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Go on with: %s\n\n", cmp.Or(display.Line(facts.Title), display.Line(t.Name())))
	b.WriteString(head(facts) + " This was recorded: check that it still holds before you act on it.\n")
	if p.anchor != nil {
		section(&b, "## State at the anchor "+display.Line(p.anchor.Name), quote(clip(state(p.anchor), mostState)))
	}
	if n := len(p.requests); n > 0 {
		var before []string
		for _, r := range slices.Backward(p.requests[1:]) {
			before = append(before, quote(clip(r.text, mostRequest)))
		}
		section(&b, "## Earlier requests", strings.Join(before, "\n\n"))
		section(&b, "## The last request", quote(clip(p.requests[0].text, 3*mostRequest)))
	}
	if p.answer != nil {
		section(&b, "## The last answer", quote(clip(strings.TrimSpace(p.answer.Text()), mostAnswer)))
	}
	section(&b, "## Files changed", changed(files, facts.Project))
	section(&b, "## Where it stopped", p.end())
	fmt.Fprintf(&b, "\nAll of it, where tape is installed: %s\n", more)
	return display.Text(b.String()), nil
}

func section(b *strings.Builder, title, text string) {
	if text != "" {
		b.WriteString("\n" + title + "\n\n" + text + "\n")
	}
}

// state is what an anchor says about the work: its summary, and what else the handoff wrote.
func state(anchor *conversation.Item) string {
	if jsonl.Get(anchor.Entry.Meta, "source") != nil {
		return anchor.Summary // the rest is an agent's bookkeeping
	}
	return strings.TrimSpace(anchor.Summary + "\n\n" + anchor.Details)
}

// head says which session it is.
func head(t about.Tape) string {
	text := "A session"
	if t.Agent != "" {
		text += " of " + display.Line(t.Agent)
	}
	if t.Model != "" {
		text += " (" + display.Line(t.Model) + ")"
	}
	if t.Project != "" {
		text += " in " + display.Line(t.Project)
	}
	if t.Branch != "" {
		text += ", branch " + display.Line(t.Branch)
	}
	if !t.Updated.IsZero() {
		text += ", " + display.Span(t.Started, t.Updated)
	}
	return text + "."
}

// changed lists the files that were changed. Paths in the project are relative to it.
func changed(files []index.FileUse, project string) string {
	var lines []string
	for _, f := range files {
		if f.Writes > 0 {
			lines = append(lines, fmt.Sprintf("- %s +%d -%d", display.Line(about.InProject(project, f.Path)), f.Added, f.Removed))
		}
	}
	if n := len(lines) - mostFiles; n > 0 {
		lines = append(lines[:mostFiles], "- and "+display.Count(n, "other file", "other files"))
	}
	return strings.Join(lines, "\n")
}

// read reads a tape from its end.
func read(ctx context.Context, t *repo.Tape) (page, error) {
	var p page
	answered := map[string]bool{} // calls, by id
	for e, err := range t.Entries(ctx, repo.Query{Reverse: true}) {
		if err != nil {
			return p, err
		}
		if e.Hidden() {
			continue
		}
		p.add(conversation.Of(e), answered)
		if p.anchor == nil && e.Kind == repo.KindAnchor {
			p.anchor = conversation.Of(e)
		}
		if len(p.requests) == requests && p.answer != nil && p.anchor != nil {
			break
		}
	}
	if p.anchor != nil && p.anchor.Name == layout.FirstAnchor {
		p.anchor = nil
	}
	return p, nil
}

// add takes an item into account. Items come in reverse order. answered has the ids of the calls with a result.
func (p *page) add(it *conversation.Item, answered map[string]bool) {
	last := len(p.requests) == 0 && p.answer == nil // nothing was said after it
	for _, id := range jsonl.Strings(jsonl.Get(it.Entry.Meta, "call_ids")) {
		answered[id] = true
	}
	if id := jsonl.GetString(it.Entry.Payload, "tool_call_id"); id != "" {
		answered[id] = true
	}
	switch it.Kind {
	case conversation.Failure:
		if last && len(p.open) == 0 {
			p.failure = cmp.Or(p.failure, it.Summary)
		}
	case conversation.Calls, conversation.Message:
		for _, c := range it.Calls {
			if last && c.ID != "" && !answered[c.ID] && len(p.open) < mostCalls {
				p.open = append(p.open, c)
			}
		}
		if it.Kind == conversation.Calls {
			break
		}
		text := strings.TrimSpace(it.Text())
		switch {
		case it.Speaker() == conversation.User:
			if len(p.requests) < requests {
				p.requests = append(p.requests, request{it.Entry.ID, conversation.WithoutContext(text)})
			}
		case it.Entry.Role() == "user" && last && strings.HasPrefix(text, "[Request interrupted"):
			p.stopped = true
		case it.Speaker() == conversation.Assistant && text != "" && p.answer == nil:
			p.answer = it
		}
	}
}

// end says where the session stopped.
func (p *page) end() string {
	var lines []string
	switch {
	case p.stopped:
		lines = append(lines, "The person interrupted it.")
	case p.failure != "":
		lines = append(lines, "It ended with an error: "+clip(p.failure, mostRequest))
	}
	for _, c := range p.open {
		lines = append(lines, "No result was recorded of this call: "+display.Line(c.Name+" "+clip(c.Brief(), mostRequest)))
	}
	unanswered := len(p.requests) > 0 && (p.answer == nil || p.answer.Entry.ID < p.requests[0].id)
	switch {
	case unanswered:
		lines = append(lines, "The last request has no answer yet.")
	case len(lines) == 0:
		lines = append(lines, "It ended with that answer; nothing was left running.")
	}
	return strings.Join(lines, "\n")
}

// clip shortens a text.
func clip(text string, most int) string {
	head, rest := display.Cut(text, 200, most)
	if rest != "" {
		head = strings.TrimRight(head, "\n") + "\n… " + display.Amount(rest)
	}
	return strings.TrimRight(head, "\n")
}

// quote marks a text as somebody's words, so that its headings are not taken for headings of the page.
func quote(text string) string {
	if text == "" {
		return ""
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}
