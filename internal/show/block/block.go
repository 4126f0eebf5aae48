// Package block writes blocks of recorded text as HTML: what a program printed, changed lines, tasks, the matches of a
// search. Pages, published pages and exports have them from here. Recorded text stays text.
package block

import (
	_ "embed" // the style of blocks
	"fmt"
	"path"
	"strconv"
	"strings"

	"tape/internal/show/callview"
	"tape/internal/show/display"
)

//go:embed block.css
var style string

// Style is the part of a style sheet that blocks need; it uses the colours of pages.
func Style() string { return style }

//go:embed copy.js
var script string

// Script is a script that adds buttons to copy blocks; pages do without it.
func Script() string { return script }

// Only is the switch that shows prompts and answers only, without a script: its page's style looks whether #only is
// checked.
const Only = `<label class="only"><input type="checkbox" id="only"> Prompts and answers only</label>`

// Resume shows the command that resumes a session, to be copied.
func Resume(command string) string {
	command = Escape(command)
	return `<details class="resume"><summary>Resume</summary><pre tabindex="0">` + command + `</pre></details> <button type="button" data-copies="` + command + `">Copy resume command</button>`
}

var inHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;")

// Escape returns text as HTML, also for an attribute in double quotes.
func Escape(s string) string { return inHTML.Replace(display.Page(s)) }

// Text returns text for a pre element, in the colours that a terminal would show.
func Text(text string) string {
	if !strings.Contains(text, "\x1b[") {
		return Escape(text)
	}
	var b strings.Builder
	for style, piece := range display.Styled(text) {
		if class := classOf(style); class != "" {
			b.WriteString(`<span class="` + class + `">` + Escape(piece) + "</span>")
		} else {
			b.WriteString(Escape(piece))
		}
	}
	return b.String()
}

// classOf returns the classes for a style; "" for the usual one. They are in block.css.
func classOf(s display.Style) string {
	var out []string
	for _, c := range []struct {
		is   bool
		name string
	}{{s.Bold, "tb"}, {s.Dim, "td"}, {s.Italic, "ti"}, {s.Underlined, "tu"}, {s.Struck, "ts"}, {s.Inverse, "tr"}} {
		if c.is {
			out = append(out, c.name)
		}
	}
	if s.Colour > 0 {
		out = append(out, fmt.Sprintf("tf%d", (s.Colour-1)%8))
	}
	if s.Ground > 0 {
		out = append(out, fmt.Sprintf("tg%d", (s.Ground-1)%8))
	}
	return strings.Join(out, " ")
}

// Diff returns the inside of a pre element with changed lines, whose differences are marked.
func Diff(list []display.TextLine) string {
	var b strings.Builder
	for _, l := range list {
		tag := map[byte]string{'+': "ins", '-': "del"}[l.Sign]
		if tag == "" {
			b.WriteString("  " + Escape(l.Text) + "\n")
			continue
		}
		b.WriteString("<" + tag + ">" + string(l.Sign) + " ")
		at := 0
		for _, m := range l.Marks {
			b.WriteString(Escape(l.Text[at:m[0]]) + "<b>" + Escape(l.Text[m[0]:m[1]]) + "</b>")
			at = m[1]
		}
		b.WriteString(Escape(l.Text[at:]) + "</" + tag + ">\n")
	}
	return b.String()
}

// FileHead is the line above a file's changes: its name, what became of it, and how many lines were added and removed.
func FileHead(name, op string, added, removed int64) string {
	dir, base := path.Split(display.Line(name))
	out := `<p class="fname"><span class="path"><span class="dir">` + Escape(dir) + `</span><span class="base">` + Escape(base) + "</span></span>"
	if op != "" {
		out += ` <span class="op">` + Escape(op) + "</span>"
	}
	return out + " " + Changed(added, removed) + "</p>"
}

// HunkHead is the line before a run of lines of a diff that does not begin a file; "" if it does. from is the number of
// its first line, 0 if that is unknown; first says that no other run is before it.
func HunkHead(from int, first bool) string {
	switch {
	case first && from <= 1:
		return ""
	case from > 0:
		return `<p class="hunk">line ` + strconv.Itoa(from) + "</p>"
	}
	return `<p class="hunk">⋯</p>`
}

// Changed is how many lines were added and removed; "" if none were.
func Changed(added, removed int64) string {
	if added == 0 && removed == 0 {
		return ""
	}
	return `<span class="pm"><span class="plus">+` + strconv.FormatInt(added, 10) + `</span> <span class="minus">−` + strconv.FormatInt(removed, 10) + "</span></span>"
}

// Tasks is a task list.
func Tasks(list []callview.Task) string {
	var b strings.Builder
	b.WriteString(`<ul class="tasks">`)
	for _, t := range list {
		b.WriteString(`<li class="` + t.State + `"><span dir="auto">` + Escape(display.Title(t.Text, 1000)) + `</span><span class="unseen"> (` + t.State + ")</span></li>")
	}
	return b.String() + "</ul>\n"
}

// Matches returns the inside of a pre element with the lines that a search found, PATH:LINE:TEXT or PATH, with each path
// as a heading of its lines.
func Matches(text string) string {
	var b strings.Builder
	last := ""
	for line := range strings.Lines(text) {
		file, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		number, found, numbered := strings.Cut(rest, ":")
		_, err := strconv.Atoi(number)
		if !ok || !numbered || err != nil || file == "" {
			b.WriteString(Text(line))
			continue
		}
		if file != last {
			b.WriteString("<b>" + Escape(file) + "</b>\n")
			last = file
		}
		b.WriteString(`<span class="no">` + Escape(number) + "</span>" + Text(found) + "\n")
	}
	return b.String()
}
