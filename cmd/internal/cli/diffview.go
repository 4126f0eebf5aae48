package cli

import (
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/internal/store/query"
)

// diffView shows changes to people: a header for each phase, and below it the entries
// with a sign before them; of an edited one, the lines that changed.
type diffView struct {
	*App
	from, to string // headings
	begun    bool
	phase    string // whose header was shown last
}

// Signs of changes, their colours, and those of what was changed within a line.
var signs = map[string]struct{ sign, colour string }{
	query.ChangeAdded: {"+", stdio.Green}, query.ChangeRemoved: {"-", stdio.Red}, query.ChangeEdited: {"~", stdio.Yellow},
}

const inverse = ";7"

func (v *diffView) show(c query.Change) error {
	if !v.begun {
		v.begun = true
		v.Printf("%s\n%s\n", v.Style(stdio.Bold, "--- "+v.Fit(display.Line(v.from), nameCells)), v.Style(stdio.Bold, "+++ "+v.Fit(display.Line(v.to), nameCells)))
	}
	if phase := v.phaseHead(c.Entry); phase != v.phase {
		v.phase = phase
		v.Printf("\n%s\n", phase)
	}
	sign, columns := signs[c.Kind], v.columns(c.Entry)
	if c.Kind != query.ChangeEdited {
		return v.showText(columns+" ", sign.sign, sign.colour, plain.Short(c.Entry))
	}
	v.Line(strings.TrimRight(v.Style(sign.colour, sign.sign)+" "+columns, " "))
	for _, p := range c.Parts() {
		v.Line("    " + v.Style(stdio.Bold, display.Truncate(display.Line(partName(p)), 200)))
		for _, l := range display.PartLines(p) {
			v.changed(l.Shorten(lineCells))
		}
	}
	return v.Written()
}

func (v *diffView) changed(l display.TextLine) {
	colour := map[byte]string{'+': stdio.Green, '-': stdio.Red}[l.Sign]
	indent := "    " + v.Style(colour, string(l.Sign)) + " "
	cells := 0
	if w := v.Width(); w > 0 {
		cells = max(20, w-len("    + "))
	}
	for at, part := range display.Wrapped(l.Text, cells) {
		if colour != "" {
			part = v.Marked(part, at, l.Marks, colour, colour+inverse)
		}
		v.Line(strings.TrimRight(indent+part, " "))
	}
}
