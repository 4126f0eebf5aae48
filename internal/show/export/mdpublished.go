package export

import (
	"cmp"
	"strings"

	"tape/internal/show/block"
	"tape/internal/show/callview"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/repo"
)

// A published document folds calls and thoughts, as pages do.

// fold begins a fold; what and about are the line that stays visible.
func (d *document) fold(what, about string) {
	d.w.printf("\n%s<b>%s</b> %s</summary>\n", FoldBegins, block.Escape(what), block.Escape(about))
}

// folded begins a call, which is folded together with its results.
func (d *document) folded(c *conversation.Call, e repo.Entry) {
	v := callview.Of(c, d.dir)
	most := briefCut
	if len(v.Files) > 0 || v.Shape == callview.Read {
		most = nameMost // a path
	}
	about := display.Title(v.Subject, most)
	if v.Added+v.Removed > 0 {
		about += " +" + display.Number(v.Added) + " −" + display.Number(v.Removed)
	}
	if how := c.Outcome(); how != "ok" {
		about += " · " + how
	}
	d.fold(display.Title(cmp.Or(v.Shape.Verb(), c.Name), 120), about)
	if args := c.Args(); args != "" && args != "{}" && !d.change(v, e) {
		d.data("", args, e)
	}
}

// change writes what a call does to files, or the command that it runs. If it reports false, the arguments
// have to be written instead.
func (d *document) change(v callview.View, e repo.Entry) bool {
	if v.Shape == callview.Command && v.Command != "" {
		d.data("", "$ "+v.Command, e)
		return true
	}
	if v.Code != "" {
		d.data("", v.Code, e)
		return true
	}
	shown := false
	for _, f := range v.Files {
		var lines strings.Builder
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				lines.WriteString(string(l.Sign) + " " + l.Text + "\n")
			}
		}
		if lines.Len() == 0 {
			continue
		}
		if len(v.Files) > 1 {
			d.w.printf("\n%s\n", codeSpan(display.Title(f.Path, nameMost)))
		}
		d.code("diff", lines.String(), e)
		shown = true
	}
	return shown
}

// thoughts writes what the model thought, and leaves out other events.
func (d *document) thoughts(events []conversation.Event) {
	for _, ev := range events {
		if text := ev.Thinking(); text != "" {
			d.fold("thinking", display.Title(text, 120))
			d.prose(text, classTools, ev.Entry)
			d.w.printf("\n%s\n", FoldEnds)
		}
	}
}
