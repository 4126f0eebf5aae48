package export

import (
	"path"
	"strings"

	"tape/internal/show/callview"
	"tape/internal/show/display"
	"tape/repo"
)

// subject shows what a call is about: a path in two parts, so that the name of the file is always seen, or a text.
func (p *page) subject(v callview.View) {
	text := display.Title(v.Subject, briefCut)
	switch v.Shape {
	case callview.Edit, callview.Write, callview.Read:
		dir, base := path.Split(display.Title(v.Subject, nameMost))
		p.put(`<span class="path" dir="ltr"><span class="dir">{}</span><span class="base">{}</span></span>`, dir, base)
		if n := len(v.Files) + v.More - 1; n > 0 {
			p.put(` <span class="dim">and {} more</span>`, n)
		}
	case callview.Agent:
		p.put(`<span class="brief task" dir="auto">{}</span>`, text)
	default:
		p.put(`<span class="brief" dir="auto">{}</span>`, text)
	}
	if v.Added+v.Removed > 0 {
		p.put(` <span class="pm"><span class="plus">+{}</span> <span class="minus">−{}</span></span>`, v.Added, v.Removed)
	}
}

// change shows what a call does to files, the command that it runs, or its tasks. If it reports false, the
// arguments have to be shown instead.
func (p *page) change(v callview.View, e repo.Entry) (shown bool) {
	switch v.Shape {
	case callview.Command:
		if v.Command == "" {
			return false
		}
		p.data("", "$ "+v.Command, e)
		return true
	case callview.Tasks:
		p.tasks(v.Tasks)
		return true
	case callview.Edit, callview.Write:
		if v.Code != "" {
			p.data("", v.Code, e)
			return true
		}
		for _, f := range v.Files {
			if shown = shown || len(f.Hunks) > 0; len(v.Files) > 1 || f.Op != "" {
				p.put("<p class=\"label\"><code>{}</code> {}</p>\n", display.Title(f.Path, nameMost), f.Op)
			}
			for _, h := range f.Hunks {
				p.diff(h.Lines, e)
			}
		}
	}
	return shown
}

func (p *page) tasks(list []callview.Task) {
	p.put("<ul class=\"tasks\">\n")
	for _, t := range list {
		sign := map[string]string{"done": "✓", "doing": "▸"}[t.State]
		p.put("<li>{} <span dir=\"auto\">{}</span></li>\n", sign, display.Title(t.Text, nameMost))
	}
	p.put("</ul>\n")
}

// diff shows the lines of a change.
func (p *page) diff(lines []display.TextLine, e repo.Entry) {
	p.put("<pre class=\"diff\">\n")
	size := 0
	for i, l := range lines {
		if size += len(l.Text); p.pieces != nil && p.pieces.Whole != nil && (i >= 2*shownLines || size > 2*p.limit(shownBytes)) {
			p.put("</pre>\n")
			p.elsewhere(strings.Repeat("\n", len(lines)-i), e)
			return
		}
		tag := markup(map[byte]string{'+': "ins", '-': "del"}[l.Sign])
		if tag == "" {
			tag = "span"
		}
		p.put("<{}>{} {}</{}>", tag, string(l.Sign), l.Text, tag)
	}
	p.spent += size
	p.put("</pre>\n")
}
