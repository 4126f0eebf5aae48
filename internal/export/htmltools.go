package export

import (
	"slices"
	"strings"
)

func (p *page) calls(b *block) {
	more := moreParts(b.entry.Payload, "calls")
	switch {
	case b.repeats && len(b.calls)+len(more) == 0:
		p.mark(b.entry)
		return
	case len(b.calls) == 0:
		p.article("tools", "no calls", b.entry)
	default:
		p.put("<article class=\"tools{}\" id=\"e{}\">\n", away(b.entry), b.entry.ID)
	}
	p.parts(more)
	p.callsOf(b)
	p.put("</article>\n")
}

// callsOf shows the calls of a block, each folded together with its results.
func (p *page) callsOf(b *block) {
	for _, c := range b.calls {
		p.put(`<details class="call"><summary><code>{}</code> <span class="brief" dir="auto">{}</span>`,
			line(c.name, nameMost), line(brief(c.args), briefCut))
		switch {
		case slices.ContainsFunc(c.results, func(r result) bool { return r.failed }):
			p.put(` <span class="badge bad">failed</span>`)
		case len(c.results) == 0:
			p.put(` <span class="badge">no result here</span>`)
		}
		p.put("{}", badge(b.entry))
		p.stamp(b.entry)
		p.put("</summary>\n")
		if c.args != "" && c.args != "{}" {
			p.data(c.args)
		}
		for _, r := range c.results {
			p.result(r)
		}
		p.put("</details>\n")
	}
}

// brief is the values of readable arguments, without their names.
func brief(args string) string {
	if len(args) > 4*briefCut {
		args = strings.ToValidUTF8(args[:4*briefCut], "")
	}
	var out []string
	for l := range strings.SplitSeq(args, "\n") {
		if name, val, ok := strings.Cut(l, ":"); ok && !strings.ContainsAny(name, " \t/") {
			l = val
		}
		out = append(out, l)
	}
	return strings.Join(out, " ")
}

// result shows one result; the first of an entry carries the entry's id.
func (p *page) result(r result) {
	p.put(`<div class="result{}"`, away(r.entry))
	if r.index == 0 {
		p.put(` id="e{}"`, r.entry.ID)
	}
	p.put(">\n")
	title := "result"
	if r.failed {
		title = "result, failed"
	}
	p.label(title, r.entry)
	if slices.ContainsFunc(r.parts, func(it part) bool { return it != part{} }) {
		p.parts(r.parts)
	} else {
		p.put("<p class=\"dim\">(empty)</p>\n")
	}
	p.put("</div>\n")
}

// orphans shows results whose calls are elsewhere.
func (p *page) orphans(b *block) {
	if len(b.results) == 0 {
		p.article("tools", "no results", b.entry)
		p.parts(moreParts(b.entry.Payload, "results"))
		p.put("</article>\n")
		return
	}
	p.put("<article class=\"tools\">\n")
	for _, r := range b.results {
		p.put(`<details class="call"><summary>`)
		if r.of != nil {
			p.put(`result of <code>{}</code> <a href="#e{}">@{}</a>`, line(r.of.name, nameMost), r.of.entry, r.of.entry)
		} else {
			p.put("result of a call that is not here")
		}
		p.stamp(b.entry)
		p.put("</summary>\n")
		p.result(r)
		p.put("</details>\n")
	}
	p.put("</article>\n")
}

func (p *page) parts(all []part) {
	for _, it := range all {
		p.part(it)
	}
}

// part shows data: text as it is, other parts under the name of what they are.
func (p *page) part(it part) {
	if it.kind == "" || it.kind == "json" {
		p.data(it.text)
		return
	}
	p.put("<details class=\"part\"><summary>{}</summary>\n", line(it.kind, nameMost))
	p.data(it.text)
	p.put("</details>\n")
}

// events shows a run of events on one line that can be opened.
func (p *page) events(b *block) {
	p.put(`<details class="events"><summary>{} <span class="brief">{}</span>`,
		count(len(b.events), "event", "events"), line(eventNames(b.events), 160))
	p.stamp(b.entry)
	p.put("</summary>\n")
	for _, e := range b.events {
		p.put("<div class=\"event{}\" id=\"e{}\">\n", away(e), e.ID)
		p.label(eventName(e), e)
		if data := eventData(e); data != "" {
			p.data(data)
		}
		p.put("</div>\n")
	}
	p.put("</details>\n")
}
