package export

import (
	"context"
	"crypto/sha256"
	_ "embed" // the style of the page
	"encoding/base64"
	"fmt"
	"strconv"
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
	w      *output
	phases []repo.Phase // those without a section yet
	kinds  []string
	open   bool // a section is
}

func writeHTML(ctx context.Context, w *output, src Source) error {
	p := &page{w: w, phases: src.selected(), kinds: src.Kinds}
	p.head(src)
	p.contents()
	p.put("<main id=\"tape\">\n")
	err := eachBlock(ctx, src, func(b *block) error {
		p.block(b)
		return w.err
	})
	if err != nil {
		return err
	}
	p.sections(0)
	p.put("</main>\n</body>\n</html>\n")
	return nil
}

func (p *page) put(all ...markup) {
	for _, m := range all {
		p.w.text(string(m))
	}
}

func (p *page) number(n int64) { p.w.text(strconv.FormatInt(n, 10)) }

// element writes an element with text in it. The start tag's attributes are in tag.
func (p *page) element(tag markup, text string) {
	name, _, _ := strings.Cut(string(tag), " ")
	p.put("<", tag, ">")
	p.text(text)
	p.put("</", markup(name), ">")
}

func (p *page) head(src Source) {
	sum := sha256.Sum256([]byte(pageStyle))
	p.put("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-",
		markup(base64.StdEncoding.EncodeToString(sum[:])), "'\">\n",
		"<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n",
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")
	p.plain(line("Tape "+src.Tape, 200))
	p.put("</title>\n<style>", markup(pageStyle), "</style>\n</head>\n<body>\n",
		"<a class=\"skip\" href=\"#tape\">Skip to the entries</a>\n<header class=\"top\">\n<p class=\"what\">Tape</p>\n")
	p.element("h1 dir=\"auto\"", line(src.Tape, nameMost))
	p.put("\n<p class=\"facts\">")
	p.plain(strings.Join(facts(src), " · "))
	p.put("</p>\n</header>\n")
}

// facts says what the whole export is, for the top of a page or document.
func facts(src Source) []string {
	phases := src.selected()
	var entries int64
	for _, p := range phases {
		entries += p.Entries
	}
	out := []string{count(len(phases), "phase", "phases"), count(entries, "entry", "entries")}
	if len(phases) < len(src.Phases) {
		out[0] += fmt.Sprintf(" of %d", len(src.Phases))
	}
	if len(src.Kinds) > 0 {
		out = append(out, "only entries of kind "+line(strings.Join(src.Kinds, ", "), 200))
	}
	if len(phases) > 0 {
		date, _ := when(repo.Entry{Date: phases[0].Date})
		out = append(out, "from "+line(date, 40))
	}
	return append(out, "times are UTC")
}

// phaseFacts says what is known of a phase beside its state.
func phaseFacts(ph repo.Phase) []string {
	date, _ := when(repo.Entry{Date: ph.Date})
	out := []string{count(ph.Entries, "entry", "entries"), fmt.Sprintf("@%d to @%d", ph.FirstID, ph.LastID), line(date, 40)}
	if ph.Tag != "" {
		out = append(out, "tag "+line(ph.Tag, 200))
	}
	if len(ph.Commit) > 10 {
		out = append(out, "commit "+ph.Commit[:10])
	}
	return out
}

// contents writes the table of contents.
func (p *page) contents() {
	p.put("<nav aria-label=\"Phases\">\n<h2>Phases</h2>\n<ol>\n")
	for _, ph := range p.phases {
		p.put("<li><a href=\"#p")
		p.number(int64(ph.Seq))
		p.put("\"><span class=\"seq\">")
		p.plain(fmt.Sprintf("%03d", ph.Seq))
		p.put("</span> ")
		p.element("span dir=\"auto\"", line(ph.Name, 120))
		p.put("</a>")
		p.element("span class=\"dim\"", " "+count(ph.Entries, "entry", "entries"))
		p.put("</li>\n")
	}
	p.put("</ol>\n</nav>\n")
}

// sections opens the sections of the phases up to the one of that number, and closes
// those before. 0 is the end of the page.
func (p *page) sections(seq int) {
	for len(p.phases) > 0 && (seq == 0 || p.phases[0].Seq <= seq) {
		ph := p.phases[0]
		p.phases = p.phases[1:]
		if p.open {
			p.put("</section>\n")
		}
		p.open = true
		id := markup(strconv.Itoa(ph.Seq))
		p.put("<section id=\"p", id, "\" aria-labelledby=\"h", id, "\">\n<h2 id=\"h", id, "\"><a href=\"#p", id, "\"><span class=\"seq\">")
		p.plain(fmt.Sprintf("%03d", ph.Seq))
		p.put("</span> ")
		p.element("span dir=\"auto\"", line(ph.Name, nameMost))
		p.put("</a></h2>\n<p class=\"facts\">")
		p.plain(strings.Join(phaseFacts(ph), " · "))
		p.put("</p>\n")
		if ph.Seq != seq && len(p.kinds) > 0 {
			p.put("<p class=\"facts\">No entries of the kinds that were asked for.</p>\n")
		}
	}
	if seq == 0 && p.open {
		p.put("</section>\n")
	}
}

func (p *page) block(b *block) {
	switch b.kind {
	case blockPhase:
		p.sections(b.entry.AnchorSeq)
		if b.entry.Kind == repo.KindAnchor {
			p.opening(b.entry)
		}
	case blockMessage:
		p.message(b)
	case blockCalls:
		p.callEntry(b)
	case blockResults:
		p.orphans(b)
	case blockEvents:
		p.events(b)
	case blockError:
		p.failure(b.entry)
	}
}

// opening shows what an anchor hands over.
func (p *page) opening(e repo.Entry) {
	o := readOpening(e)
	if o.summary == "" && o.state == "" && !hidden(e) {
		p.mark(e)
		return
	}
	p.article("anchor", e)
	if e.AnchorSeq == 1 {
		p.label("start", e)
	} else {
		p.label("handed over", e)
	}
	if o.summary != "" {
		p.prose(o.summary, proseLines)
	}
	if o.state != "" {
		p.put("<details><summary>state</summary>\n")
		p.data(o.state)
		p.put("</details>\n")
	}
	p.put("</article>\n")
}

// article opens the element of an entry.
func (p *page) article(class markup, e repo.Entry) {
	p.put("<article class=\"", class)
	if hidden(e) {
		p.put(" away")
	}
	p.put("\"")
	p.id(e)
	p.put(">\n")
}

func (p *page) id(e repo.Entry) {
	p.put(" id=\"e")
	p.number(e.ID)
	p.put("\"")
}

// mark is where a link to an entry leads that has nothing to show.
func (p *page) mark(e repo.Entry) {
	p.put("<span")
	p.id(e)
	p.put("></span>\n")
}

// label is the line above a text: who, which entry, and when.
func (p *page) label(who string, e repo.Entry) {
	p.put("<p class=\"label\">")
	p.element("span class=\"who\"", line(who, nameMost))
	if hidden(e) {
		p.put(" <span class=\"badge\">not in context</span>")
	}
	p.stamp(e)
	p.put("</p>\n")
}

// stamp is the link to an entry and its date.
func (p *page) stamp(e repo.Entry) {
	p.put(" <a class=\"ref\" href=\"#e")
	p.number(e.ID)
	p.put("\">@")
	p.number(e.ID)
	p.put("</a>")
	if date, machine := when(e); machine != "" {
		p.put(" <time datetime=\"", markup(machine), "\">", markup(date), "</time>")
	} else if date != "" {
		p.put(" <time>")
		p.text(line(date, 60))
		p.put("</time>")
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
	p.article(class, b.entry)
	p.label(who(b.entry), b.entry)
	for _, it := range messageParts(b.entry) {
		if it.kind != "" {
			p.parts([]part{it})
			continue
		}
		p.prose(it.text, lines)
	}
	p.calls(b)
	p.put("</article>\n")
}
