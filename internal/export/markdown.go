package export

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tape/repo"
)

// How much of a text a document shows; the rest is a command away.
const (
	docLines      = 30 // of data
	docBytes      = 4000
	docProseLines = 400 // of a message
	docProseBytes = 64000
	docEventBytes = 300
)

// document writes Markdown: recorded text in quotes and fences, in titles all escaped.
type document struct {
	w    *output
	tape string // how a command names it; "" if that takes quoting
}

func writeMarkdown(ctx context.Context, w *output, src Source) error {
	d := &document{w: w}
	if regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`).MatchString(src.Tape) {
		d.tape = " --tape " + src.Tape
	}
	d.w.printf("# Tape %s\n\n", escapeLine(line(src.Tape, 200)))
	d.w.printf("%s\n", escapeLine(facts(src)))
	return renderBlocks(ctx, w, src, d)
}

func (d *document) section(ph repo.Phase, none bool) {
	d.w.printf("\n## %03d %s\n\n%s\n", ph.Seq, escapeLine(line(ph.Name, 400)), escapeLine(phaseFacts(ph)))
	if none {
		d.w.printf("\nNo entries of the kinds that were asked for.\n")
	}
}

func (d *document) message(b *block) {
	d.title(who(b.entry), b.entry)
	for _, it := range messageParts(b.entry) {
		if it.kind == "" {
			d.quote(it.text, b.entry.ID)
		} else {
			d.part(it, b.entry.ID)
		}
	}
	d.callsOf(b)
}

func (d *document) calls(b *block) {
	for _, it := range moreParts(b.entry.Payload, "calls") {
		d.part(it, b.entry.ID)
	}
	d.callsOf(b)
}

func (d *document) failure(e repo.Entry) {
	title, details := errorText(e)
	d.title("error", e)
	d.quote(title, e.ID)
	if details != "" {
		d.fence(details, e.ID)
	}
}

func (d *document) opening(e repo.Entry) {
	o := readOpening(e)
	if o.summary != "" {
		d.quote(o.summary, e.ID)
	}
	if o.state != "" {
		d.w.printf("\nState:\n")
		d.fence(o.state, e.ID)
	}
}

// title writes who said something, which entry it is, and when.
func (d *document) title(who string, e repo.Entry) {
	d.w.printf("\n### %s\n", d.stamp(escapeLine(line(who, 80)), e))
}

func (d *document) stamp(what string, e repo.Entry) string {
	out := fmt.Sprintf("%s · @%d", what, e.ID)
	if date, _ := when(e); date != "" {
		out += " · " + escapeLine(line(date, 60))
	}
	if hidden(e) {
		out += " · not in context"
	}
	return out
}

func (d *document) quote(text string, id int64) {
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" {
		return
	}
	head, rest := cut(text, docProseLines, docProseBytes)
	d.w.printf("\n")
	writeQuote(d.w, head)
	d.rest(rest, id)
}

// fence writes data between fences that nothing in it can close.
func (d *document) fence(text string, id int64) {
	text = safe(strings.TrimRight(text, "\r\n"))
	head, rest := cut(text, docLines, docBytes)
	fence := fenceFor(head)
	d.w.printf("\n%s\n%s\n%s\n", fence, strings.TrimSuffix(head, "\n"), fence)
	d.rest(rest, id)
}

// fenceFor returns a fence longer than any in the text.
func fenceFor(text string) string {
	longest, n := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return strings.Repeat("`", longest+1)
}

// rest says what was left out, and how to see it.
func (d *document) rest(rest string, id int64) {
	if rest == "" {
		return
	}
	what := size(len(rest)) + " more"
	if n := strings.Count(strings.TrimRight(rest, "\n"), "\n"); n > 0 {
		what = count(n+1, "more line", "more lines") + " (" + size(len(rest)) + ")"
	}
	d.w.printf("\n*%s: `tape show @%d%s --json`*\n", what, id, d.tape)
}

func (d *document) part(it part, id int64) {
	if it.kind != "" && it.kind != "json" {
		d.w.printf("\n%s:\n", escapeLine(line(it.kind, 80)))
	}
	d.fence(it.text, id)
}

func (d *document) callsOf(b *block) {
	for _, c := range b.calls {
		title := "call of " + codeSpan(line(c.name, 120))
		if len(c.results) == 0 {
			title += " (no result here)"
		}
		d.w.printf("\n### %s\n", d.stamp(title, b.entry))
		if c.args != "" && c.args != "{}" {
			d.fence(c.args, b.entry.ID)
		}
		for _, r := range c.results {
			d.result("result", r)
		}
	}
}

func (d *document) result(what string, r result) {
	if r.failed {
		what += ", failed"
	}
	stamp := d.stamp(what, r.entry)
	if !slices.ContainsFunc(r.parts, func(it part) bool { return it.text != "" }) {
		d.w.printf("\n%s · empty\n", stamp)
		return
	}
	d.w.printf("\n%s\n", stamp)
	for _, it := range r.parts {
		d.part(it, r.entry.ID)
	}
}

func (d *document) orphans(b *block) {
	if len(b.results) == 0 {
		d.title("no results", b.entry)
	}
	for _, r := range b.results {
		what := "result of a call that is not here"
		if r.of != nil {
			what = fmt.Sprintf("result of %s @%d", codeSpan(line(r.of.name, 120)), r.of.entry)
		}
		d.w.printf("\n### %s\n", what)
		d.result("result", r)
	}
}

// events writes a run of events as one line that opens to a line for each.
func (d *document) events(b *block) {
	events := b.events
	d.w.printf("\n<details><summary>%s: %s</summary>\n", count(len(events), "event", "events"), strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(line(eventNames(events), 200)))
	var list strings.Builder
	for _, e := range events {
		date, _ := when(e)
		fmt.Fprintf(&list, "@%d %s %s", e.ID, line(date, 60), line(eventName(e), 80))
		if hidden(e) {
			list.WriteString(" (not in context)")
		}
		if data := line(eventData(e), docEventBytes); data != "" {
			list.WriteString("  " + data)
		}
		list.WriteByte('\n')
	}
	fence := fenceFor(list.String())
	d.w.printf("\n%s\n%s%s\n\n</details>\n", fence, list.String(), fence)
}
