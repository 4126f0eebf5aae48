package export

import (
	"context"
	"crypto/sha256"
	_ "embed" // the style of the page
	"encoding/base64"
	"fmt"
	"strings"

	"tape/repo"
)

//go:embed page.css
var pageStyle string

// How much of a text a page shows before the rest has to be opened.
const (
	shownLines  = 24 // of data: results, arguments, events
	shownBytes  = 3000
	proseLines  = 160 // of a message
	proseBytes  = 16000
	systemLines = 12  // of a system prompt
	briefCut    = 140 // of arguments, on one line
	nameMost    = 1000
)

// markup is HTML of this package's own; recorded text never becomes one.
type markup string

// page writes HTML. A failed write is remembered by w.
type page struct {
	w    *output
	open bool // a section is
}

func writeHTML(ctx context.Context, w *output, src Source) error {
	p := &page{w: w}
	p.head(src)
	p.contents(src.selected())
	p.put("<main id=\"tape\">\n")
	if err := renderBlocks(ctx, w, src, p); err != nil {
		return err
	}
	if p.open {
		p.put("</section>\n")
	}
	p.put("</main>\n</body>\n</html>\n")
	return nil
}

// put writes markup with an argument in the place of each {}: markup as it is, numbers,
// and recorded text, which stays text.
func (p *page) put(format markup, args ...any) {
	for _, arg := range args {
		before, after, _ := strings.Cut(string(format), "{}")
		p.w.text(before)
		switch arg := arg.(type) {
		case markup:
			p.w.text(string(arg))
		case string:
			p.text(arg)
		default:
			p.w.printf("%d", arg)
		}
		format = markup(after)
	}
	p.w.text(string(format))
}

func (p *page) head(src Source) {
	sum := sha256.Sum256([]byte(pageStyle))
	p.put(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-{}'">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{}</title>
<style>{}</style>
</head>
<body>
<a class="skip" href="#tape">Skip to the entries</a>
<header class="top">
<p class="what">Tape</p>
<h1 dir="auto">{}</h1>
<p class="facts">{}</p>
</header>
`, markup(base64.StdEncoding.EncodeToString(sum[:])), line("Tape "+src.Tape, 200), markup(pageStyle), line(src.Tape, nameMost), facts(src))
}

func (p *page) contents(phases []repo.Phase) {
	p.put("<nav aria-label=\"Phases\">\n<h2>Phases</h2>\n<ol>\n")
	for _, ph := range phases {
		p.put(`<li><a href="#p{}"><span class="seq">{}</span> <span dir="auto">{}</span></a><span class="dim"> {}</span></li>`+"\n",
			ph.Seq, fmt.Sprintf("%03d", ph.Seq), line(ph.Name, 120), count(ph.Entries, "entry", "entries"))
	}
	p.put("</ol>\n</nav>\n")
}

// section opens that of a phase, and closes the one before.
func (p *page) section(ph repo.Phase, none bool) {
	if p.open {
		p.put("</section>\n")
	}
	p.open = true
	p.put(`<section id="p{}" aria-labelledby="h{}">
<h2 id="h{}"><a href="#p{}"><span class="seq">{}</span> <span dir="auto">{}</span></a></h2>
<p class="facts">{}</p>
`, ph.Seq, ph.Seq, ph.Seq, ph.Seq, fmt.Sprintf("%03d", ph.Seq), line(ph.Name, nameMost), phaseFacts(ph))
	if none {
		p.put("<p class=\"facts\">No entries of the kinds that were asked for.</p>\n")
	}
}

func (p *page) opening(e repo.Entry) {
	o := readOpening(e)
	if o.summary == "" && o.state == "" && !hidden(e) {
		p.mark(e)
		return
	}
	label := "handed over"
	if e.AnchorSeq == 1 {
		label = "start"
	}
	p.article("anchor", label, e)
	if o.summary != "" {
		p.prose(o.summary, proseLines)
	}
	p.folded("state", o.state)
	p.put("</article>\n")
}

// folded shows data that has to be opened, if there is any.
func (p *page) folded(title, data string) {
	if data != "" {
		p.put("<details><summary>{}</summary>\n", title)
		p.data(data)
		p.put("</details>\n")
	}
}

// article opens the element of an entry with the line above its text.
func (p *page) article(class markup, who string, e repo.Entry) {
	p.put("<article class=\"{}{}\" id=\"e{}\">\n", class, away(e), e.ID)
	p.label(who, e)
}

// away is the class of what is not in the context.
func away(e repo.Entry) markup {
	if hidden(e) {
		return " away"
	}
	return ""
}

func badge(e repo.Entry) markup {
	if hidden(e) {
		return ` <span class="badge">not in context</span>`
	}
	return ""
}

// mark is where a link to an entry leads that has nothing to show.
func (p *page) mark(e repo.Entry) { p.put("<span id=\"e{}\"></span>\n", e.ID) }

// label is the line above a text: who, which entry, and when.
func (p *page) label(who string, e repo.Entry) {
	p.put(`<p class="label"><span class="who">{}</span>{}`, line(who, nameMost), badge(e))
	p.stamp(e)
	p.put("</p>\n")
}

func (p *page) stamp(e repo.Entry) {
	p.put(` <a class="ref" href="#e{}">@{}</a>`, e.ID, e.ID)
	if date, machine := when(e); machine != "" {
		p.put(` <time datetime="{}">{}</time>`, machine, date)
	} else if date != "" {
		p.put(" <time>{}</time>", line(date, 60))
	}
}

func (p *page) message(b *block) {
	class, lines := markup("other"), proseLines
	switch role := who(b.entry); role {
	case "user", "assistant":
		class = markup(role)
	case repo.KindSystem, "developer":
		class, lines = "system", systemLines
	}
	p.article(class, who(b.entry), b.entry)
	for _, it := range messageParts(b.entry) {
		if it.kind == "" {
			p.prose(it.text, lines)
		} else {
			p.part(it)
		}
	}
	p.callsOf(b)
	p.put("</article>\n")
}

func (p *page) failure(e repo.Entry) {
	title, details := errorText(e)
	p.article("failure", "error", e)
	p.prose(title, systemLines)
	p.folded("details", details)
	p.put("</article>\n")
}
