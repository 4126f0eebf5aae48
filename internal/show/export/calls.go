package export

import (
	"path"
	"strings"

	"tape/internal/show/block"
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
	p.put(" {}", markup(block.Changed(v.Added, v.Removed)))
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
		p.put("{}", markup(block.Tasks(v.Tasks)))
		return true
	case callview.Edit, callview.Write:
		if v.Code != "" {
			p.data("", v.Code, e)
			return true
		}
		for _, f := range v.Files {
			shown = shown || len(f.Hunks) > 0
			p.put("<div class=\"filediff\">{}", markup(block.FileHead(f.Path, f.Op, f.Added, f.Removed)))
			for i, h := range f.Hunks {
				p.put("{}", markup(block.HunkHead(h.From, i == 0)))
				p.diff(h.Lines, e)
			}
			p.put("</div>\n")
		}
	}
	return shown
}

// diff shows the lines of a change.
func (p *page) diff(lines []display.TextLine, e repo.Entry) {
	end, size := 0, 0
	for end < len(lines) && (p.pieces == nil || p.pieces.Whole == nil || end < 2*shownLines && size <= 2*p.limit(shownBytes)) {
		size += len(lines[end].Text)
		end++
	}
	p.spent += size
	p.put("<pre class=\"diff\">{}</pre>\n", markup(block.Diff(lines[:end])))
	if end < len(lines) {
		p.elsewhere(strings.Repeat("\n", len(lines)-end), e)
	}
}
