package export

import (
	"context"
	"fmt"
	"strings"

	"tape/internal/show/block"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/repo"
)

// How much of a text a document shows. For the rest it names a command, unless it is published.
const (
	docLines      = 30 // of data
	docBytes      = 4000
	docProseLines = 400 // of a message
	docProseBytes = 64000
	docEventBytes = 300
)

// document writes Markdown: recorded text is quoted or fenced, and escaped in titles.
type document struct {
	w    *output
	zone string
	tape string // the flag that names the tape; "" if the name needs quoting
	dir  string // of the project: paths below it are relative

	published bool // see Source.Published; calls are folded, and what the model thought is shown
	inHelper  bool
}

func writeMarkdown(ctx context.Context, w *output, src Source) error {
	d := &document{w: w, published: src.Published}
	if plainName(src.Tape) {
		d.tape = " --tape " + src.Tape
	}
	return render(ctx, w, src, d)
}

// plainName reports whether a name needs no quotes in a shell.
func plainName(s string) bool {
	return s != "" && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool {
		return r >= 0x80 || !isWord(byte(r)) && !strings.ContainsRune("._/-", r)
	}) < 0
}

func (d *document) begin(t top) {
	d.zone, d.dir = t.zone, t.dir
	d.w.printf("# %s\n\n%s\n", escapeLine(display.Title(t.title, 200)), escapeLine(strings.Join(t.facts, " · ")))
}

func (d *document) end() {}

func (d *document) section(ph repo.Phase, none bool) {
	if d.published {
		if ph.Seq > 1 { // the heading of the first says nothing to readers
			d.w.printf("\n## %s\n", escapeLine(display.Title(ph.Name, 400)))
		}
		return
	}
	d.w.printf("\n## %03d %s\n\n%s\n", ph.Seq, escapeLine(display.Title(ph.Name, 400)), escapeLine(strings.Join(phaseFacts(ph, d.zone), " · ")))
	if none {
		d.w.printf("\nNo entries of the kinds that were asked for.\n")
	}
}

// open writes the heading of an entry; an anchor has its phase's heading already.
func (d *document) open(c class, who string, e repo.Entry) {
	if d.published {
		who = speaker(c, who, e)
	}
	if who != "" && c != classAnchor {
		d.w.printf("\n### %s\n", d.stamp(escapeLine(display.Title(who, 80)), e))
	}
}

func (d *document) close(class)     {}
func (d *document) mark(repo.Entry) {}

func (d *document) call(c *conversation.Call, e repo.Entry) {
	if d.published {
		d.folded(c, e)
		return
	}
	title := "call of " + codeSpan(display.Title(c.Name, 120))
	if len(c.Results) == 0 {
		title += " (no result here)"
	}
	d.w.printf("\n### %s\n", d.stamp(title, e))
	if args := c.Args(); args != "" && args != "{}" {
		d.data("", args, e)
	}
}

func (d *document) late(of *conversation.Call, _ repo.Entry) {
	what, name := "(its call is before this range)", ""
	if of != nil {
		name = display.Title(of.Name, 120)
		what = fmt.Sprintf("of %s @%d", codeSpan(name), of.Entry)
	}
	if d.published {
		d.fold("result", name)
		return
	}
	d.w.printf("\n### result %s\n", what)
}

func (d *document) endCall() {
	if d.published {
		d.w.printf("\n%s\n", FoldEnds)
	}
}

func (d *document) result(r conversation.Result) {
	if d.published {
		d.w.printf("\n%s:\n", r.Title())
		return
	}
	d.w.printf("\n%s\n", d.stamp(r.Title(), r.Entry))
}

func (d *document) endResult() {}

func (d *document) stamp(what string, e repo.Entry) string {
	out := fmt.Sprintf("%s · @%d", what, e.ID)
	if who := author(e); who != "" {
		if d.published {
			who = withoutAddress([]string{who})[0]
		}
		out += " · " + escapeLine(who)
	}
	if date, _ := when(e, d.zone); date != "" {
		out += " · " + escapeLine(display.Title(date, 60))
	}
	if e.Hidden() && !d.inHelper {
		out += " · not in context"
	}
	return out
}

func (d *document) prose(text string, _ class, e repo.Entry) {
	text = display.SkipBlankLines(strings.TrimRight(text, " \t\r\n"))
	if text == "" {
		return
	}
	head, rest := display.Cut(text, docProseLines, docProseBytes)
	d.w.printf("\n")
	writeQuote(d.w, head)
	d.rest(rest, e.ID)
}

// data writes text between fences that nothing in it can close.
func (d *document) data(name, text string, e repo.Entry) {
	if name != "" {
		d.w.printf("\n%s:\n", escapeLine(display.Title(name, 80)))
	}
	d.code("", text, e)
}

func (d *document) code(language, text string, e repo.Entry) {
	text = display.Page(strings.TrimRight(text, "\r\n"))
	head, rest := display.Cut(text, docLines, docBytes)
	fence := fenceFor(head)
	d.w.printf("\n%s%s\n%s\n%s\n", fence, language, strings.TrimSuffix(head, "\n"), fence)
	d.rest(rest, e.ID)
}

func (d *document) picture(p conversation.ContentPart, e repo.Entry) { d.data(p.Kind, p.Text, e) }

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

// rest says how much was left out, and, unless the document is published, which command shows it.
func (d *document) rest(rest string, id int64) {
	switch {
	case rest == "":
	case d.published:
		d.w.printf("\n*%s*\n", display.Amount(rest))
	default:
		d.w.printf("\n*%s: `tape show @%d%s --json`*\n", display.Amount(rest), id, d.tape)
	}
}

// events writes a run of events folded on one line.
func (d *document) events(events []conversation.Event) {
	if d.published {
		d.thoughts(events)
		return
	}
	d.w.printf("\n<details><summary>%s: %s</summary>\n", display.Count(len(events), "event", "events"), block.Escape(display.Title(eventNames(events), 200)))
	var list strings.Builder
	for _, ev := range events {
		e := ev.Entry
		date, _ := when(e, d.zone)
		fmt.Fprintf(&list, "@%d %s %s", e.ID, display.Title(date, 60), display.Title(ev.Name(), 80))
		if e.Hidden() && !d.inHelper {
			list.WriteString(" (not in context)")
		}
		if data := display.Title(ev.Data(), docEventBytes); data != "" {
			list.WriteString("  " + data)
		}
		list.WriteByte('\n')
	}
	fence := fenceFor(list.String())
	d.w.printf("\n%s\n%s%s\n\n</details>\n", fence, list.String(), fence)
}
