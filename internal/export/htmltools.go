package export

import (
	"fmt"
	"slices"
	"strings"

	"tape/repo"
)

// callEntry shows an entry of calls.
func (p *page) callEntry(b *block) {
	more := moreParts(b.entry.Payload, "calls")
	if b.repeats && len(b.calls)+len(more) == 0 {
		p.mark(b.entry)
		return
	}
	p.article("tools", b.entry)
	if len(b.calls) == 0 {
		p.label("no calls", b.entry)
	}
	p.parts(more)
	p.calls(b)
	p.put("</article>\n")
}

// calls shows the calls of a block, each folded together with its results.
func (p *page) calls(b *block) {
	for _, c := range b.calls {
		wrong := slices.ContainsFunc(c.results, func(r result) bool { return r.failed })
		p.put("<details class=\"call\"><summary>")
		p.element("code", line(c.name, nameMost))
		p.put(" ")
		p.element("span class=\"brief\" dir=\"auto\"", line(brief(c.args), briefCut))
		switch {
		case wrong:
			p.put(" <span class=\"badge bad\">failed</span>")
		case len(c.results) == 0:
			p.put(" <span class=\"badge\">no result here</span>")
		}
		if hidden(b.entry) {
			p.put(" <span class=\"badge\">not in context</span>")
		}
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
	p.put("<div class=\"result")
	if hidden(r.entry) {
		p.put(" away")
	}
	p.put("\"")
	if r.index == 0 {
		p.id(r.entry)
	}
	p.put(">\n")
	title := "result"
	if r.failed {
		title = "result, failed"
	}
	p.label(title, r.entry)
	empty := true
	for _, part := range r.parts {
		empty = empty && part.text == "" && part.kind == ""
	}
	if empty {
		p.put("<p class=\"dim\">(empty)</p>\n")
	} else {
		p.parts(r.parts)
	}
	p.put("</div>\n")
}

// orphans shows results whose calls are elsewhere.
func (p *page) orphans(b *block) {
	if len(b.results) == 0 {
		p.article("tools", b.entry)
		p.label("no results", b.entry)
		p.parts(moreParts(b.entry.Payload, "results"))
		p.put("</article>\n")
		return
	}
	p.put("<article class=\"tools\">\n")
	for _, r := range b.results {
		p.put("<details class=\"call\"><summary>")
		if r.of != nil {
			p.put("result of ")
			p.element("code", line(r.of.name, nameMost))
			p.put(" <a href=\"#e")
			p.number(r.of.entry)
			p.put("\">@")
			p.number(r.of.entry)
			p.put("</a>")
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

// parts shows data: the text as it is, other parts under the name of what they are.
func (p *page) parts(all []part) {
	for _, it := range all {
		if it.kind == "" || it.kind == "json" {
			p.data(it.text)
			continue
		}
		p.put("<details class=\"part\"><summary>")
		p.plain(line(it.kind, nameMost))
		p.put("</summary>\n")
		p.data(it.text)
		p.put("</details>\n")
	}
}

// events shows a run of events on one line that can be opened.
func (p *page) events(b *block) {
	p.put("<details class=\"events\"><summary>")
	p.plain(count(len(b.events), "event", "events"))
	p.put(" ")
	p.element("span class=\"brief\"", line(eventNames(b.events), 160))
	p.stamp(b.entry)
	p.put("</summary>\n")
	for _, e := range b.events {
		data := eventData(e)
		p.put("<div class=\"event")
		if hidden(e) {
			p.put(" away")
		}
		p.put("\"")
		p.id(e)
		p.put(">\n")
		p.label(eventName(e), e)
		if data != "" {
			p.data(data)
		}
		p.put("</div>\n")
	}
	p.put("</details>\n")
}

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

func (p *page) failure(e repo.Entry) {
	title, details := errorText(e)
	p.article("failure", e)
	p.label("error", e)
	p.prose(title, systemLines)
	if details != "" {
		p.put("<details><summary>details</summary>\n")
		p.data(details)
		p.put("</details>\n")
	}
	p.put("</article>\n")
}
