package export

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the style of the page
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"tape/internal/show/block"
	"tape/internal/show/callview"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/repo"
)

//go:embed colours.css
var colours string

//go:embed page.css
var pageRules string

// Colours is the part of a style sheet that all pages share, with the style of blocks.
func Colours() string { return colours + block.Style() }

// How much of a text a page shows unfolded.
const (
	shownLines  = 24 // of data: results, arguments, events
	shownBytes  = 3000
	proseLines  = 160 // of a message
	systemLines = 12  // of a system prompt
	briefCut    = 140 // of arguments, on one line
	nameMost    = 1000
)

// page writes HTML. w keeps the error of a failed write.
type page struct {
	w           *output
	renderProse func(text string, lines int) string // see Source.Prose
	zone        string
	dir         string         // of the project: paths below it are relative
	inside      bool           // a section is open
	inHelper    bool           // what follows was done by a subagent
	shape       callview.Shape // of the call that is open
	inResult    bool

	published bool // see Source.Published; what the model thought is shown
	hidden    int  // events that were left out
	left      func() []string
	pieces    *PieceOptions // for pages that others put together; nil: one document
	spent     int           // bytes of text in the piece
}

func writeHTML(ctx context.Context, w *output, src Source) error {
	if src.Prose == nil {
		return errors.New("export to HTML: Source.Prose is missing")
	}
	return render(ctx, w, src, &page{w: w, renderProse: src.Prose, published: src.Published, left: src.Omitted})
}

// markup is HTML that is trusted; recorded text never becomes markup.
type markup string

// put writes markup with an argument in place of each {}: markup as it is, numbers, and
// recorded text, escaped.
func (p *page) put(format markup, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(string(format), "{}")
		p.w.text(before)
		switch arg := arg.(type) {
		case markup:
			p.w.text(string(arg))
		case string:
			p.w.text(block.Escape(arg))
		default:
			p.w.printf("%d", arg)
		}
		format = markup(after)
	}
	p.w.text(string(format))
}

func (p *page) begin(t top) {
	p.zone, p.dir = t.zone, t.dir
	sum := sha256.Sum256([]byte(Style()))
	p.put(`<!DOCTYPE html>
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
`, markup(base64.StdEncoding.EncodeToString(sum[:])), display.Title(t.title, 200), markup(Style()), language(t.title), display.Title(t.title, nameMost))
	p.facts(t.facts)
	p.put("{}", markup(t.tools()))
	p.put("</header>\n<nav aria-label=\"Contents\">\n<h2>Contents</h2>\n")
	for _, ph := range t.phases {
		if !p.plain(ph) {
			p.put("<h3><a href=\"#p{}\"><span class=\"seq\">{}</span> <span dir=\"auto\">{}</span></a></h3>\n",
				ph.Seq, fmt.Sprintf("%03d", ph.Seq), display.Title(ph.Name, 120))
		}
		p.put("<ol>\n")
		for _, q := range t.prompts[ph.Seq] {
			p.put("<li><a href=\"#e{}\" dir=\"auto\"{}>{}</a></li>\n", q.id, language(q.text), display.Title(q.text, 120))
		}
		p.put("</ol>\n")
	}
	p.put("</nav>\n<main id=\"tape\">\n")
}

func (p *page) facts(facts []string) {
	p.put("<p class=\"facts\">")
	for _, f := range facts {
		p.put("<span dir=\"auto\">{}</span>\n", f)
	}
	p.put("</p>\n")
}

func (p *page) end() {
	p.endSection()
	if p.left != nil {
		left := p.left()
		if p.hidden > 0 {
			left = append([]string{display.Count(p.hidden, "event", "events")}, left...)
		}
		if left := strings.Join(left, "; "); left != "" {
			p.put("<footer><p class=\"dim\">Not in this file: {}.</p></footer>\n", left)
		}
	}
	p.put("</main>\n</body>\n</html>\n")
}

func (p *page) endSection() {
	if p.inside {
		p.put("</section>\n")
	}
}

func (p *page) section(ph repo.Phase, none bool) {
	p.endSection()
	p.inside = true
	if p.plain(ph) {
		p.put("<section id=\"p{}\">\n", ph.Seq)
		return
	}
	p.put(`<section id="p{}" aria-labelledby="h{}">
<h2 id="h{}"><a href="#p{}"><span class="seq">{}</span> <span dir="auto">{}</span></a></h2>
`, ph.Seq, ph.Seq, ph.Seq, ph.Seq, fmt.Sprintf("%03d", ph.Seq), display.Title(ph.Name, nameMost))
	p.facts(phaseFacts(ph, p.zone))
	if none {
		p.put("<p class=\"facts\">No entries of the kinds that were asked for.</p>\n")
	}
}

// plain reports whether a phase begins without a heading: on a published page, that is the first phase, whose heading
// says nothing to readers.
func (p *page) plain(ph repo.Phase) bool { return p.published && ph.Seq == 1 }

// open begins the element of an entry, with a label if there is a title.
func (p *page) open(c class, title string, e repo.Entry) {
	if p.published {
		title = speaker(c, title, e)
	}
	p.put("<article class=\"{}{}\" id=\"e{}\">\n", markup(c), p.away(e), e.ID)
	if title != "" {
		p.label(title, e)
	}
}

// speaker returns the label of a message on a page for others, as in the web view.
func speaker(c class, title string, e repo.Entry) string {
	switch conversation.Speaker(c) {
	case conversation.User:
		if outline.IsSubagent(conversation.Fork(e)) {
			return "Task"
		}
		return "Prompt"
	case conversation.Assistant:
		return "Agent"
	}
	return title
}

func (p *page) close(class) { p.put("</article>\n") }

// away is the HTML class of entries that are not in the context.
func (p *page) away(e repo.Entry) markup {
	if e.Hidden() && !p.inHelper {
		return " away"
	}
	return ""
}

func (p *page) badge(e repo.Entry) markup {
	if e.Hidden() && !p.inHelper {
		return ` <span class="badge">not in context</span>`
	}
	return ""
}

func (p *page) mark(e repo.Entry) { p.put("<span id=\"e{}\"></span>\n", e.ID) }

// label is the line above a text: who, the entry's id, and when.
func (p *page) label(who string, e repo.Entry) {
	p.put(`<p class="label"><span class="who">{}</span>{}`, display.Title(who, nameMost), p.badge(e))
	p.stamp(e)
	p.put("</p>\n")
}

// stamp says who wrote an entry and when, with its id as a link to it.
func (p *page) stamp(e repo.Entry) { p.stampWith(e, `<a class="ref" href="#e{}">@{}</a>`, e.ID, e.ID) }

// foldStamp is stamp without the link, for the line of a fold, which must not contain one.
func (p *page) foldStamp(e repo.Entry) { p.stampWith(e, `<span class="ref">@{}</span>`, e.ID) }

func (p *page) stampWith(e repo.Entry, ref markup, ids ...any) {
	if who := author(e); who != "" {
		if p.published {
			who = withoutAddress([]string{who})[0]
		}
		p.put(` <span class="author" dir="auto">{}</span>`, who)
	}
	p.put(" "+ref, ids...)
	if date, machine := when(e, p.zone); machine != "" {
		p.put(` <time datetime="{}">{}</time>`, machine, date)
	} else if date != "" {
		p.put(" <time>{}</time>", display.Title(date, 60))
	}
}

// call shows a call folded together with its results.
func (p *page) call(c *conversation.Call, e repo.Entry) {
	v := callview.Of(c, p.dir)
	p.shape = v.Shape
	p.put(`<details class="call"><summary><code>{}</code> `, display.Title(cmp.Or(v.Shape.Verb(), c.Name), nameMost))
	p.subject(v)
	switch {
	case c.Rejected():
		p.put(` <span class="badge">rejected</span>`)
	case c.Failed():
		p.put(` <span class="badge bad">failed</span>`)
	case len(c.Results) == 0:
		p.put(` <span class="badge">no result here</span>`)
	}
	p.foldStamp(e)
	p.put("</summary>\n")
	if args := c.Args(); args != "" && args != "{}" && !p.change(v, e) {
		p.data("", args, e)
	}
}

func (p *page) late(of *conversation.Call, e repo.Entry) {
	p.put(`<details class="call"><summary>`)
	if of != nil {
		p.put(`result of <code>{}</code> @{}`, display.Title(of.Name, nameMost), of.Entry)
	} else {
		p.put("result (its call is before this range)")
	}
	p.foldStamp(e)
	p.put("</summary>\n")
	if of != nil {
		p.put("<p class=\"label\"><a href=\"#e{}\">to the call</a></p>\n", of.Entry)
	}
}

func (p *page) endCall() {
	p.shape = ""
	p.put("</details>\n")
}

// result begins a result; the first one of an entry has the entry's id.
func (p *page) result(r conversation.Result) {
	p.put(`<div class="result{}"`, p.away(r.Entry))
	if r.Index == 0 {
		p.put(` id="e{}"`, r.Entry.ID)
	}
	p.put(">\n")
	p.label(r.Title(), r.Entry)
	p.inResult = true
}

func (p *page) endResult() {
	p.inResult = false
	p.put("</div>\n")
}

// data writes text. Long text, and text with a name, is folded.
func (p *page) data(name, text string, e repo.Entry) {
	if name != "" {
		p.put("<details class=\"part\"><summary>{}</summary>\n", display.Title(name, nameMost))
	}
	head, rest := display.Cut(strings.TrimRight(text, "\r\n"), shownLines, p.limit(shownBytes))
	p.pre(head)
	p.spent += len(head)
	if rest != "" && !p.elsewhere(rest, e) {
		p.put("<details class=\"more\"><summary>{}</summary>\n", display.Amount(rest))
		p.pre(rest)
		p.put("</details>\n")
	}
	if name != "" {
		p.put("</details>\n")
	}
}

func (p *page) picture(it conversation.ContentPart, _ repo.Entry) {
	address := it.Picture
	if p.pieces != nil {
		address = p.pieces.Picture(address)
	}
	p.put("<p class=\"picture\"><img alt=\"{}\" src=\"{}\" loading=\"lazy\"></p>\n", display.Title(it.Text, nameMost), address)
}

// pre writes a block of text. HTML parsers drop the first newline.
func (p *page) pre(text string) {
	class, inside := "", ""
	switch {
	case p.shape == callview.Command && p.inResult:
		class = "term out"
	case p.shape == callview.Command:
		class = "term"
	case p.shape == callview.Search && p.inResult:
		class, inside = "matches", block.Matches(text)
	}
	if class != "" {
		class = ` class="` + class + `"`
	}
	p.put("<pre{}{}>\n{}</pre>\n", markup(class), language(text), markup(cmp.Or(inside, block.Text(text))))
}

// events shows a run of events folded on one line.
func (p *page) events(events []conversation.Event) {
	if p.published {
		p.thoughts(events)
		return
	}
	p.put(`<details class="events"><summary>{} <span class="brief">{}</span></summary>`+"\n",
		display.Count(len(events), "event", "events"), display.Title(eventNames(events), 160))
	for _, ev := range events {
		e := ev.Entry
		p.put("<div class=\"event{}\" id=\"e{}\">\n", p.away(e), e.ID)
		p.label(ev.Name(), e)
		if data := ev.Data(); data != "" {
			p.data("", data, e)
		}
		p.put("</div>\n")
	}
	p.put("</details>\n")
}

func (p *page) prose(text string, c class, e repo.Entry) {
	text = display.SkipBlankLines(text)
	lines := proseLines
	if c == classSystem || c == classFailure {
		lines = systemLines
	}
	rest := ""
	if p.pieces != nil && p.pieces.Whole != nil {
		text, rest = display.Cut(text, lines, p.limit(pieceProse))
	}
	p.spent += len(text)
	p.put("<div class=\"text\" dir=\"auto\"{}>\n", language(text))
	p.put("{}", markup(p.renderProse(text, lines)))
	p.put("</div>\n")
	if rest != "" {
		p.elsewhere(rest, e)
	}
}

// language is the attribute by which browsers choose the forms of Han characters.
func language(s string) markup { return markup(` lang="` + display.Language(s) + `"`) }
