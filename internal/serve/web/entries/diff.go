package entries

import (
	"html/template"
	"path"
	"strconv"
	"strings"

	"tape/internal/show/callview"
	"tape/internal/show/display"
	"tape/internal/show/prose"
)

// diffOf is a changed file: its name, how many lines were added and removed, and the lines.
func diffOf(f callview.File) template.HTML {
	var b strings.Builder
	dir, base := path.Split(display.Line(f.Path))
	b.WriteString(`<p class="fname"><span class="dir">` + prose.Escape(dir) + `</span><span class="base">` + prose.Escape(base) + "</span>")
	if f.Op != "" {
		b.WriteString(` <span class="op">` + f.Op + "</span>")
	}
	b.WriteString(" " + string(Changed(f.Added, f.Removed)) + "</p>")
	for i, h := range f.Hunks {
		if i > 0 || h.From > 1 {
			b.WriteString(`<p class="hunk">`)
			if h.From > 0 {
				b.WriteString("line " + strconv.Itoa(h.From))
			} else {
				b.WriteString("⋯")
			}
			b.WriteString("</p>")
		}
		b.WriteString(string(Lines(h.Lines)))
	}
	return template.HTML(`<div class="filediff">` + b.String() + "</div>") //nolint:gosec // each piece is escaped
}

// Changed is how many lines were added and removed.
func Changed(added, removed int64) template.HTML {
	if added == 0 && removed == 0 {
		return ""
	}
	return template.HTML(`<span class="pm"><span class="plus">+` + strconv.FormatInt(added, 10) + `</span> <span class="minus">−` + strconv.FormatInt(removed, 10) + "</span></span>") //nolint:gosec // numbers
}

// Lines is a changed text with its differences marked.
func Lines(list []display.TextLine) template.HTML {
	var b strings.Builder
	b.WriteString(`<pre class="diff" tabindex="0">`)
	for _, l := range list {
		tag := map[byte]string{'+': "ins", '-': "del"}[l.Sign]
		if tag == "" {
			b.WriteString("  " + prose.Escape(l.Text) + "\n")
			continue
		}
		b.WriteString("<" + tag + ">" + string(l.Sign) + " ")
		at := 0
		for _, m := range l.Marks {
			b.WriteString(prose.Escape(l.Text[at:m[0]]) + "<b>" + prose.Escape(l.Text[m[0]:m[1]]) + "</b>")
			at = m[1]
		}
		b.WriteString(prose.Escape(l.Text[at:]) + "</" + tag + ">\n")
	}
	return template.HTML(b.String() + "</pre>") //nolint:gosec // each piece is escaped
}
