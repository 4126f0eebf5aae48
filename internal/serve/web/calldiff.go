package web

import (
	"html/template"
	"strings"

	"tape/internal/show/block"
	"tape/internal/show/callview"
	"tape/internal/show/display"
)

// diffOf is a changed file: its name, how many lines were added and removed, and the lines.
func diffOf(f callview.File) template.HTML {
	var b strings.Builder
	b.WriteString(`<div class="filediff">` + block.FileHead(f.Path, f.Op, f.Added, f.Removed))
	for i, h := range f.Hunks {
		b.WriteString(block.HunkHead(h.From, i == 0) + string(linesHTML(h.Lines)))
	}
	return template.HTML(b.String() + "</div>") //nolint:gosec // package block escapes
}

// linesHTML is a changed text with its differences marked.
func linesHTML(list []display.TextLine) template.HTML {
	return template.HTML(`<pre class="diff" tabindex="0">` + block.Diff(list) + "</pre>") //nolint:gosec // package block escapes
}
