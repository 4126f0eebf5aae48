package export

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tape/internal/show/block"
	"tape/internal/show/callview"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/store/about"
	"tape/repo"
)

// renderer writes the pieces of a page or a document for people.
type renderer interface {
	begin(top)
	end()
	// section begins the section of a phase. none says that it has no entries of the wanted kinds.
	section(ph repo.Phase, none bool)
	// open begins an entry under a title, close ends it. mark writes the target of links to an
	// entry without content.
	open(class class, title string, e repo.Entry)
	close(class)
	mark(e repo.Entry)
	// call begins a call with its arguments; its results follow, then endCall.
	call(c *conversation.Call, e repo.Entry)
	// late begins a result that is shown apart from its call; of is nil if the call is unknown.
	late(of *conversation.Call, e repo.Entry)
	endCall()
	// result begins a result; its parts follow, then endResult.
	result(r conversation.Result)
	endResult()
	prose(text string, c class, e repo.Entry)
	// data writes preformatted text, under a name unless that is "".
	data(name, text string, e repo.Entry)
	picture(p conversation.ContentPart, e repo.Entry)
	// beginHelper begins the work of a subagent, which is folded; endHelper ends it.
	beginHelper(*outline.Subagent)
	endHelper()
	events([]conversation.Event)
}

// class is the style of an entry: the speaker of a message, or one of these.
type class string

const (
	classSystem        = class(conversation.System)
	classTools   class = "tools"
	classAnchor  class = "anchor"
	classFailure class = "failure"
)

// top is the head of a page or document.
type top struct {
	title   string
	facts   []string
	phases  []repo.Phase
	prompts map[int][]prompt // by phase
	zone    string           // of times without a zone
	dir     string           // of the project
	resume  string           // the command that resumes the session; "" if none does
	outline *outline.Outline // empty unless a subagent took part
}

// prompt is a prompt of a person.
type prompt struct {
	id   int64
	text string
}

// render passes the conversation of a source to a renderer, in sections for its phases.
func render(ctx context.Context, w *output, src Source, r renderer) error {
	t, err := src.top(ctx)
	if err != nil {
		return err
	}
	r.begin(t)
	phases := t.phases
	sections := func(seq int) { // begins those up to a number; 0: all
		for len(phases) > 0 && (seq == 0 || phases[0].Seq <= seq) {
			r.section(phases[0], phases[0].Seq != seq && len(src.Kinds) > 0)
			phases = phases[1:]
		}
	}
	var now *outline.Subagent
	switchTo := func(h *outline.Subagent) {
		if now != nil && h != now {
			r.endHelper()
		}
		if h != nil && h != now {
			r.beginHelper(h)
		}
		now = h
	}
	err = conversation.Each(ctx, src.Entries, func(it *conversation.Item) error {
		return splitEvents(it, func(it *conversation.Item) error {
			switchTo(t.outline.SubagentOf(conversation.Fork(it.Entry)))
			if it.Kind == conversation.Phase {
				sections(it.Entry.AnchorSeq)
			}
			if src.Published {
				withoutStart(it)
			}
			renderItem(r, it)
			return w.failed()
		})
	})
	if err != nil {
		return err
	}
	switchTo(nil)
	sections(0)
	r.end()
	return nil
}

// top reads the whole tape for its title, facts and prompts.
func (s Source) top(ctx context.Context) (top, error) {
	var a about.Tape
	t := top{phases: s.selected(), prompts: map[int][]prompt{}, outline: &outline.Outline{}}
	helped := false
	err := each(ctx, s.Whole, func(e repo.Entry) error {
		a.Add(e)
		helped = helped || outline.IsSubagent(conversation.Fork(e))
		if text := conversation.Asked(e); text != "" && s.has(e) {
			t.prompts[e.AnchorSeq] = append(t.prompts[e.AnchorSeq], prompt{e.ID, text})
		}
		return nil
	})
	if err == nil && helped {
		t.outline, err = outline.Of(ctx, s.Whole)
	}
	t.dir = a.Project
	t.title = cmp.Or(a.Title, "Tape "+s.Tape)
	t.zone = display.Zone(a.Started)
	if s.Resumes != nil && s.Resumes(a.Agent) {
		t.resume = "tape resume " + display.ShellWord(s.Tape)
	}
	t.facts = s.facts(a, t)
	return t, err
}

// tools are what can be done with a page.
func (t top) tools() string {
	out := `<p class="tools">` + block.Only + "</p>\n"
	if t.resume != "" {
		out += `<div class="tools">` + block.Resume(t.resume) + "</div>\n"
	}
	return out
}

// facts are the facts about the tape and the export.
func (s Source) facts(a about.Tape, t top) []string {
	var entries int64
	for _, p := range t.phases {
		entries += p.Entries
	}
	phases := display.Count(len(t.phases), "phase", "phases")
	if len(t.phases) < len(s.Phases) {
		phases += fmt.Sprintf(" of %d", len(s.Phases))
	}
	agent := a.Agent
	if s.AgentTitle != nil {
		agent = s.AgentTitle(agent)
	}
	out := []string{strings.TrimSpace(agent + " " + a.AgentVersion), a.Model, a.Project}
	if s.Published {
		out[2] = a.ProjectName()
	}
	if a.Branch != "" {
		out = append(out, "branch "+a.Branch)
	}
	if len(a.Authors) > 0 && s.Published {
		out = append(out, strings.Join(withoutAddress(a.Authors), ", "))
	} else if len(a.Authors) > 0 {
		out = append(out, "with entries by "+strings.Join(a.Authors, ", "))
	}
	if !s.Published {
		out = append(out, "tape "+s.Tape, phases, display.Entries(entries))
	}
	if len(s.Kinds) > 0 {
		out = append(out, "only entries of kind "+strings.Join(s.Kinds, ", "))
	}
	if !a.Started.IsZero() {
		out = append(out, display.Span(a.Started, a.Updated), "times are "+display.ZoneName(a.Started))
	}
	for i := range out {
		out[i] = display.Title(out[i], 200)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// phaseFacts are the facts about a phase, without its state.
func phaseFacts(ph repo.Phase, zone string) []string {
	date, _ := when(repo.Entry{Date: ph.Date}, zone)
	out := []string{display.Entries(ph.Entries), fmt.Sprintf("@%d to @%d", ph.FirstID, ph.LastID), display.Title(date, 40)}
	if ph.Tag != "" {
		out = append(out, "tag "+display.Title(ph.Tag, 200))
	}
	if len(ph.Commit) > 10 {
		out = append(out, "commit "+ph.Commit[:10])
	}
	return out
}

// withoutStart removes the state of the first anchor, which is of no use to readers without the repository.
func withoutStart(it *conversation.Item) {
	if it.Kind == conversation.Phase && it.Entry.AnchorSeq == 1 {
		it.Summary, it.Details = "", ""
	}
}

// withoutAddress returns the names of authors, without their mail addresses.
func withoutAddress(authors []string) (names []string) {
	for _, who := range authors {
		name, address, _ := strings.Cut(who, "<")
		if name = strings.TrimSpace(name); name == "" {
			name = address
		}
		name, _, _ = strings.Cut(name, "@")
		names = append(names, name)
	}
	return names
}

func renderItem(r renderer, it *conversation.Item) {
	e := it.Entry
	switch it.Kind {
	case conversation.Phase:
		if e.Kind == repo.KindAnchor {
			renderOpening(r, it)
		}
	case conversation.Message:
		c := class(it.Speaker())
		r.open(c, it.Who, e)
		renderParts(r, it.Parts, c, e)
		renderCalls(r, it)
		r.close(c)
	case conversation.Calls:
		renderToolCalls(r, it)
	case conversation.Results:
		renderResults(r, it)
	case conversation.Events:
		r.events(it.Events)
	case conversation.Failure:
		r.open(classFailure, "error", e)
		r.prose(it.Summary, classFailure, e)
		renderData(r, "details", it.Details, e)
		r.close(classFailure)
	}
}

func renderOpening(r renderer, it *conversation.Item) {
	e := it.Entry
	if it.Summary == "" && it.Details == "" && !e.Hidden() {
		r.mark(e)
		return
	}
	title := "handed over"
	if e.AnchorSeq == 1 {
		title = "start"
	}
	r.open(classAnchor, title, e)
	if it.Summary != "" {
		r.prose(it.Summary, classAnchor, e)
	}
	renderData(r, "state", it.Details, e)
	r.close(classAnchor)
}

func renderData(r renderer, name, data string, e repo.Entry) {
	if data != "" {
		r.data(name, data, e)
	}
}

func renderParts(r renderer, parts []conversation.ContentPart, c class, e repo.Entry) {
	for _, p := range parts {
		switch {
		case p.Command != nil:
			if p.Command.Typed != "" {
				r.prose(p.Command.Typed, c, e)
			}
			renderData(r, "output", p.Command.Printed, e)
		case p.Kind == "" && c != classTools:
			r.prose(p.Text, c, e)
		case p.Kind == "" || p.Kind == "json":
			r.data("", p.Text, e)
		case p.Picture != "":
			r.picture(p, e)
		default:
			r.data(p.Kind, p.Text, e)
		}
	}
}

func renderToolCalls(r renderer, it *conversation.Item) {
	title := ""
	switch {
	case it.Repeats && len(it.Calls)+len(it.Parts) == 0:
		r.mark(it.Entry)
		return
	case len(it.Calls) == 0:
		title = "no calls"
	}
	r.open(classTools, title, it.Entry)
	renderParts(r, it.Parts, classTools, it.Entry)
	renderCalls(r, it)
	r.close(classTools)
}

func renderCalls(r renderer, it *conversation.Item) {
	for _, c := range it.Calls {
		r.call(c, it.Entry)
		command := callview.Of(c, "").Shape == callview.Command
		for _, res := range c.Results {
			renderResult(r, res, command)
		}
		r.endCall()
	}
}

// renderResult renders a result. What a command printed is shown as on a terminal.
func renderResult(r renderer, res conversation.Result, command bool) {
	r.result(res)
	parts := res.Parts
	if command {
		parts = slices.Clone(parts)
		for i := range parts {
			parts[i].Text, _ = display.AsShown(parts[i].Text, true)
		}
	}
	if !slices.ContainsFunc(parts, func(p conversation.ContentPart) bool { return p.Text != "" }) {
		parts = []conversation.ContentPart{{Text: "(empty)"}}
	}
	renderParts(r, parts, classTools, res.Entry)
	r.endResult()
}

// renderResults renders results apart from their calls.
func renderResults(r renderer, it *conversation.Item) {
	if len(it.Results) == 0 {
		r.open(classTools, "no results", it.Entry)
		renderParts(r, it.Parts, classTools, it.Entry)
		r.close(classTools)
		return
	}
	for _, res := range it.Results {
		r.late(res.Of, it.Entry)
		renderResult(r, res, false)
		r.endCall()
	}
}

// author returns the author of an entry, safe to show; "" if the entry names none.
func author(e repo.Entry) string { return display.Title(e.Author(), 200) }

// when returns an entry's date in the local zone. It names the zone if that is not the usual one, as in
// summer time. A date that cannot be parsed is returned as it is stored, with machine "".
func when(e repo.Entry, usual string) (text, machine string) {
	t, ok := e.Time()
	if !ok {
		return e.Date, ""
	}
	text = t.Local().Format(display.Minute)
	if z := display.Zone(t); z != usual {
		text += " " + z
	}
	return text, t.Local().Format(time.RFC3339)
}

// eventNames lists the names of events in order of appearance: "thinking ×3, run".
func eventNames(events []conversation.Event) string {
	var names []string
	times := map[string]int{}
	for _, ev := range events {
		name := ev.Name()
		if times[name]++; times[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		if n := times[name]; n > 1 {
			names[i] = fmt.Sprintf("%s ×%d", name, n)
		}
	}
	return strings.Join(names, ", ")
}
