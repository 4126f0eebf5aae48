package export

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"tape/internal/show/display"
	"tape/internal/show/export/markup"
	"tape/internal/show/export/messages"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// renderer has the pieces that a page or a document for people is made of.
type renderer interface {
	begin(top)
	end()
	// section begins that of a phase; none: it has no entries of the kinds that were asked for.
	section(ph repo.Phase, none bool)
	// open begins an entry under a title, close ends it; mark is where a link to one leads
	// that has nothing to show.
	open(class class, title string, e repo.Entry)
	close(class)
	mark(e repo.Entry)
	// call begins a call with its arguments; its results follow, then endCall.
	call(c *call, e repo.Entry)
	// late begins what a result is in that comes apart from its call, nil if that is not known.
	late(of *call, e repo.Entry)
	endCall()
	// result begins a result; what it has follows, then endResult.
	result(r result)
	endResult()
	prose(text string, c class, e repo.Entry)
	// data writes text as it is spaced, under a name if that is not "".
	data(name, text string, e repo.Entry)
	picture(p part, e repo.Entry)
	events([]repo.Entry)
}

// class is how an entry looks.
type class string

const (
	classUser      class = "user"
	classAssistant class = "assistant"
	classSystem    class = "system"
	classOther     class = "other"
	classTools     class = "tools"
	classAnchor    class = "anchor"
	classFailure   class = "failure"
)

// top is what stands above all entries.
type top struct {
	title   string
	facts   []string
	phases  []repo.Phase
	prompts map[int][]prompt // by phase
	zone    string           // of times that do not name theirs
}

// prompt is what a person asked.
type prompt struct {
	id   int64
	text string
}

// render shows the blocks of a source to a renderer, each in the section of its phase.
func render(ctx context.Context, w *markup.Output, src Source, r renderer) error {
	t, err := src.top(ctx)
	if err != nil {
		return err
	}
	r.begin(t)
	phases := t.phases
	sections := func(seq int) { // up to the one of that number; 0 is the end
		for len(phases) > 0 && (seq == 0 || phases[0].Seq <= seq) {
			r.section(phases[0], phases[0].Seq != seq && len(src.Kinds) > 0)
			phases = phases[1:]
		}
	}
	err = eachBlock(ctx, src, func(b *block) error {
		if b.kind == blockPhase {
			sections(b.entry.AnchorSeq)
		}
		renderBlock(r, b)
		return w.Err()
	})
	if err != nil {
		return err
	}
	sections(0)
	r.end()
	return nil
}

// top reads the whole tape for what it is about.
func (s Source) top(ctx context.Context) (top, error) {
	var a about.Tape
	t := top{phases: s.selected(), prompts: map[int][]prompt{}}
	err := each(ctx, s.Whole, func(e repo.Entry) error {
		a.Add(e)
		if text := asked(e); text != "" && s.has(e) {
			t.prompts[e.AnchorSeq] = append(t.prompts[e.AnchorSeq], prompt{e.ID, text})
		}
		return nil
	})
	t.title = cmp.Or(a.Title, "Tape "+s.Tape)
	t.zone = display.Zone(a.Started)
	t.facts = s.facts(a, t)
	return t, err
}

// asked is what a person asks in an entry, as a title; "" if nothing.
func asked(e repo.Entry) string {
	var one about.Tape
	one.Add(e)
	return one.Asked
}

// facts says what the whole export is.
func (s Source) facts(a about.Tape, t top) []string {
	var entries int64
	for _, p := range t.phases {
		entries += p.Entries
	}
	phases := display.Count(len(t.phases), "phase", "phases")
	if len(t.phases) < len(s.Phases) {
		phases += fmt.Sprintf(" of %d", len(s.Phases))
	}
	out := []string{strings.TrimSpace(a.Agent + " " + a.AgentVersion), a.Model, a.Project}
	if a.Branch != "" {
		out = append(out, "branch "+a.Branch)
	}
	if len(a.Authors) > 0 {
		out = append(out, "with entries by "+strings.Join(a.Authors, ", "))
	}
	out = append(out, "tape "+s.Tape, phases, display.Entries(entries))
	if len(s.Kinds) > 0 {
		out = append(out, "only entries of kind "+strings.Join(s.Kinds, ", "))
	}
	if !a.Started.IsZero() {
		out = append(out, display.Span(a.Started, a.Updated), "times are "+display.ZoneName(a.Started))
	}
	for i := range out {
		out[i] = markup.Line(out[i], 200)
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// phaseFacts says what is known of a phase beside its state.
func phaseFacts(ph repo.Phase, zone string) []string {
	date, _ := when(repo.Entry{Date: ph.Date}, zone)
	out := []string{display.Entries(ph.Entries), fmt.Sprintf("@%d to @%d", ph.FirstID, ph.LastID), markup.Line(date, 40)}
	if ph.Tag != "" {
		out = append(out, "tag "+markup.Line(ph.Tag, 200))
	}
	if len(ph.Commit) > 10 {
		out = append(out, "commit "+ph.Commit[:10])
	}
	return out
}

func renderBlock(r renderer, b *block) {
	e := b.entry
	switch b.kind {
	case blockPhase:
		if e.Kind == repo.KindAnchor {
			renderOpening(r, e)
		}
	case blockMessage:
		c := classOf(e)
		r.open(c, who(e), e)
		renderParts(r, messageParts(e), c, e)
		renderCalls(r, b)
		r.close(c)
	case blockCalls:
		renderToolCalls(r, b)
	case blockResults:
		renderOrphans(r, b)
	case blockEvents:
		r.events(b.events)
	case blockError:
		title, details := errorText(e)
		r.open(classFailure, "error", e)
		r.prose(title, classFailure, e)
		renderData(r, "details", details, e)
		r.close(classFailure)
	}
}

func classOf(e repo.Entry) class {
	switch who(e) {
	case "user":
		if asked(e) == "" { // a program put it there
			return classSystem
		}
		return classUser
	case "assistant":
		return classAssistant
	case repo.KindSystem, "developer":
		return classSystem
	}
	return classOther
}

func renderOpening(r renderer, e repo.Entry) {
	o := readOpening(e)
	if o.summary == "" && o.state == "" && !messages.Hidden(e) {
		r.mark(e)
		return
	}
	title := "handed over"
	if e.AnchorSeq == 1 {
		title = "start"
	}
	r.open(classAnchor, title, e)
	if o.summary != "" {
		r.prose(o.summary, classAnchor, e)
	}
	renderData(r, "state", o.state, e)
	r.close(classAnchor)
}

func renderData(r renderer, name, data string, e repo.Entry) {
	if data != "" {
		r.data(name, data, e)
	}
}

func renderParts(r renderer, parts []part, c class, e repo.Entry) {
	for _, it := range parts {
		typed, printed, local := localCommand(it.text)
		switch {
		case it.kind == "" && c != classTools && local:
			if typed != "" {
				r.prose(typed, c, e)
			}
			if printed != "" {
				r.data("output", printed, e)
			}
		case it.kind == "" && c != classTools:
			r.prose(it.text, c, e)
		case it.kind == "" || it.kind == "json":
			r.data("", it.text, e)
		case it.data != "":
			r.picture(it, e)
		default:
			r.data(it.kind, it.text, e)
		}
	}
}

func renderToolCalls(r renderer, b *block) {
	more := moreParts(b.entry.Payload, "calls")
	title := ""
	switch {
	case b.repeats && len(b.calls)+len(more) == 0:
		r.mark(b.entry)
		return
	case len(b.calls) == 0:
		title = "no calls"
	}
	r.open(classTools, title, b.entry)
	renderParts(r, more, classTools, b.entry)
	renderCalls(r, b)
	r.close(classTools)
}

func renderCalls(r renderer, b *block) {
	for _, c := range b.calls {
		r.call(c, b.entry)
		for _, res := range c.results {
			renderResult(r, res)
		}
		r.endCall()
	}
}

func renderResult(r renderer, res result) {
	r.result(res)
	if !slices.ContainsFunc(res.parts, func(it part) bool { return it.text != "" }) {
		res.parts = []part{{text: "(empty)"}}
	}
	renderParts(r, res.parts, classTools, res.entry)
	r.endResult()
}

// renderOrphans shows results whose calls are elsewhere.
func renderOrphans(r renderer, b *block) {
	if len(b.results) == 0 {
		r.open(classTools, "no results", b.entry)
		renderParts(r, moreParts(b.entry.Payload, "results"), classTools, b.entry)
		r.close(classTools)
		return
	}
	for _, res := range b.results {
		r.late(res.of, b.entry)
		renderResult(r, res)
		r.endCall()
	}
}

// author is who wrote an entry, where that is not who began the tape.
func author(e repo.Entry) string { return markup.Line(jsonl.GetString(e.Meta, "author"), 200) }

// eventNames lists the names of events in the order they first come, with how many.
func eventNames(events []repo.Entry) string {
	var names []string
	times := map[string]int{}
	for _, e := range events {
		name := eventName(e)
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
