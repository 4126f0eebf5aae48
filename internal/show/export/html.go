package export

import (
	"context"
	"crypto/sha256"
	_ "embed" // the style of the page
	"encoding/base64"
	"fmt"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/export/markup"
	"tape/repo"
)

//go:embed page.css
var pageStyle string

// How much of a text a page shows before the rest has to be opened.
const (
	shownLines  = 24 // of data: results, arguments, events
	shownBytes  = 3000
	proseLines  = 160 // of a message
	systemLines = 12  // of a system prompt
	briefCut    = 140 // of arguments, on one line
	nameMost    = 1000
)

// page writes HTML. A failed write is remembered by w.
type page struct {
	markup.Marks
	zone   string
	inside bool // a section is
}

func writeHTML(ctx context.Context, w *markup.Output, src Source) error {
	return render(ctx, w, src, &page{Marks: markup.Marks{W: w}})
}

func (p *page) begin(t top) {
	p.zone = t.zone
	sum := sha256.Sum256([]byte(pageStyle))
	p.Put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-{}'">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
<style>{}</style>
</head>
<body>
<a class="skip" href="#tape">Skip to the entries</a>
<header class="top">
<h1 dir="auto"{}>{}</h1>
`, markup.HTML(base64.StdEncoding.EncodeToString(sum[:])), display.Title(t.title, 200), markup.HTML(pageStyle), language(t.title), display.Title(t.title, nameMost))
	p.facts(t.facts)
	p.Put("</header>\n<nav aria-label=\"Contents\">\n<h2>Contents</h2>\n")
	for _, ph := range t.phases {
		p.Put("<h3><a href=\"#p{}\"><span class=\"seq\">{}</span> <span dir=\"auto\">{}</span></a></h3>\n<ol>\n",
			ph.Seq, fmt.Sprintf("%03d", ph.Seq), display.Title(ph.Name, 120))
		for _, q := range t.prompts[ph.Seq] {
			p.Put("<li><a href=\"#e{}\" dir=\"auto\"{}>{}</a></li>\n", q.id, language(q.text), display.Title(q.text, 120))
		}
		p.Put("</ol>\n")
	}
	p.Put("</nav>\n<main id=\"tape\">\n")
}

func (p *page) facts(facts []string) {
	p.Put("<p class=\"facts\">")
	for _, f := range facts {
		p.Put("<span dir=\"auto\">{}</span>\n", f)
	}
	p.Put("</p>\n")
}

func (p *page) end() {
	p.endSection()
	p.Put("</main>\n</body>\n</html>\n")
}

func (p *page) endSection() {
	if p.inside {
		p.Put("</section>\n")
	}
}

func (p *page) section(ph repo.Phase, none bool) {
	p.endSection()
	p.inside = true
	p.Put(`<section id="p{}" aria-labelledby="h{}">
<h2 id="h{}"><a href="#p{}"><span class="seq">{}</span> <span dir="auto">{}</span></a></h2>
`, ph.Seq, ph.Seq, ph.Seq, ph.Seq, fmt.Sprintf("%03d", ph.Seq), display.Title(ph.Name, nameMost))
	p.facts(phaseFacts(ph, p.zone))
	if none {
		p.Put("<p class=\"facts\">No entries of the kinds that were asked for.</p>\n")
	}
}

// open begins the element of an entry, with the line above its text if there is a title.
func (p *page) open(c class, title string, e repo.Entry) {
	p.Put("<article class=\"{}{}\" id=\"e{}\">\n", markup.HTML(c), away(e), e.ID)
	if title != "" {
		p.label(title, e)
	}
}

func (p *page) close(class) { p.Put("</article>\n") }

// away is the class of what is not in the context.
func away(e repo.Entry) markup.HTML {
	if conversation.Hidden(e) {
		return " away"
	}
	return ""
}

func badge(e repo.Entry) markup.HTML {
	if conversation.Hidden(e) {
		return ` <span class="badge">not in context</span>`
	}
	return ""
}

func (p *page) mark(e repo.Entry) { p.Put("<span id=\"e{}\"></span>\n", e.ID) }

// label is the line above a text: who, which entry, and when.
func (p *page) label(who string, e repo.Entry) {
	p.Put(`<p class="label"><span class="who">{}</span>{}`, display.Title(who, nameMost), badge(e))
	p.stamp(e)
	p.Put("</p>\n")
}

func (p *page) stamp(e repo.Entry) {
	if who := author(e); who != "" {
		p.Put(` <span class="author" dir="auto">{}</span>`, who)
	}
	p.Put(` <a class="ref" href="#e{}">@{}</a>`, e.ID, e.ID)
	if date, machine := when(e, p.zone); machine != "" {
		p.Put(` <time datetime="{}">{}</time>`, machine, date)
	} else if date != "" {
		p.Put(" <time>{}</time>", display.Title(date, 60))
	}
}

// call shows a call folded together with its results.
func (p *page) call(c *conversation.Call, e repo.Entry) {
	p.Put(`<details class="call"><summary><code>{}</code> <span class="brief" dir="auto">{}</span>`,
		display.Title(c.Name, nameMost), display.Title(c.Brief, briefCut))
	switch {
	case c.Failed():
		p.Put(` <span class="badge bad">failed</span>`)
	case len(c.Results) == 0:
		p.Put(` <span class="badge">no result here</span>`)
	}
	p.stamp(e)
	p.Put("</summary>\n")
	if c.Args != "" && c.Args != "{}" {
		p.data("", c.Args, e)
	}
}

func (p *page) late(of *conversation.Call, e repo.Entry) {
	p.Put(`<details class="call"><summary>`)
	if of != nil {
		p.Put(`result of <code>{}</code> <a href="#e{}">@{}</a>`, display.Title(of.Name, nameMost), of.Entry, of.Entry)
	} else {
		p.Put("result of a call that is not here")
	}
	p.stamp(e)
	p.Put("</summary>\n")
}

func (p *page) endCall() { p.Put("</details>\n") }

// result shows one result; the first of an entry carries the entry's id.
func (p *page) result(r conversation.Result) {
	p.Put(`<div class="result{}"`, away(r.Entry))
	if r.Index == 0 {
		p.Put(` id="e{}"`, r.Entry.ID)
	}
	p.Put(">\n")
	p.label(r.Title(), r.Entry)
}

func (p *page) endResult() { p.Put("</div>\n") }

// data writes text; what is long or has a name can be opened.
func (p *page) data(name, text string, _ repo.Entry) {
	if name != "" {
		p.Put("<details class=\"part\"><summary>{}</summary>\n", display.Title(name, nameMost))
	}
	head, rest := display.Cut(strings.TrimRight(text, "\r\n"), shownLines, shownBytes)
	p.pre(head)
	if rest != "" {
		p.More(rest)
		p.pre(rest)
		p.Put("</details>\n")
	}
	if name != "" {
		p.Put("</details>\n")
	}
}

func (p *page) picture(it conversation.Part, _ repo.Entry) {
	p.Put("<p class=\"picture\"><img alt=\"{}\" src=\"{}\"></p>\n", display.Title(it.Text, nameMost), it.Picture)
}

// pre writes a block of text. The line end behind the tag is for the parser, which drops it.
func (p *page) pre(text string) { p.Put("<pre{}>\n{}</pre>\n", language(text), text) }

// events shows a run of events on one line that can be opened.
func (p *page) events(events []conversation.Event) {
	p.Put(`<details class="events"><summary>{} <span class="brief">{}</span></summary>`+"\n",
		display.Count(len(events), "event", "events"), display.Title(eventNames(events), 160))
	for _, ev := range events {
		e := ev.Entry
		p.Put("<div class=\"event{}\" id=\"e{}\">\n", away(e), e.ID)
		p.label(ev.Name(), e)
		if data := ev.Data(); data != "" {
			p.data("", data, e)
		}
		p.Put("</div>\n")
	}
	p.Put("</details>\n")
}

func (p *page) prose(text string, c class, _ repo.Entry) {
	lines := proseLines
	if c == classSystem || c == classFailure {
		lines = systemLines
	}
	p.Put("<div class=\"text\" dir=\"auto\"{}>\n", language(text))
	p.Markdown(text, lines)
	p.Put("</div>\n")
}

// language is the attribute that tells a browser which forms of characters a text is in.
func language(s string) markup.HTML { return markup.HTML(` lang="` + display.Language(s) + `"`) }
