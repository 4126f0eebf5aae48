package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tape/internal/entrydiff"
)

// diffView shows changes to people: a header for each phase, and below it the entries
// with a sign before them; of an edited one, the lines that changed.
type diffView struct {
	app      *App
	from, to string // headings
	begun    bool
	phase    string // whose header was shown last
}

// Signs of changes, their colours, and those of what was changed within a line.
var signs = map[string]struct{ sign, colour string }{
	changeAdded: {"+", green}, changeRemoved: {"-", red}, changeEdited: {"~", yellow},
}

const inverse = ";7"

func (v *diffView) show(c change) error {
	a := v.app
	if !v.begun {
		v.begun = true
		a.printf("%s\n%s\n", a.style(bold, "--- "+truncate(safeLine(v.from), 100)), a.style(bold, "+++ "+truncate(safeLine(v.to), 100)))
	}
	phase := fmt.Sprintf("%03d %s", c.entry.AnchorSeq, truncate(safeLine(c.entry.Anchor), 100))
	if phase != v.phase {
		v.phase = phase
		a.printf("\n%s\n", a.style(bold+";"+yellow, phase))
	}
	sign := signs[c.kind]
	kind, colour := label(c.entry)
	head := a.style(sign.colour, sign.sign) + " " + pad(fmt.Sprintf("@%d", c.entry.ID), idCells) + " " +
		a.style(dim, pad(truncate(a.when(c.entry.Date), dateCells), dateCells)) + " " +
		a.style(colour, pad(truncate(safeLine(kind), kindCells), kindCells))
	if c.kind == changeEdited {
		if err := a.writeLine([]byte(strings.TrimRight(head, " "))); err != nil {
			return err
		}
		return v.parts(c.parts())
	}
	return v.body(head+" ", sign.sign, sign.colour, body(c.entry))
}

// body shows the text of an entry behind its head. The sign stands before each line, so
// that none of them looks like something else.
func (v *diffView) body(head, sign, colour string, lines []string) error {
	a := v.app
	indent := a.style(colour, sign) + strings.Repeat(" ", 1+idCells+dateCells+kindCells+3)
	cells := 0
	if w := a.width(); w > 0 {
		used := 2 + idCells + dateCells + kindCells + 3
		if w < used+36 { // on a narrow screen the text goes below the columns
			indent = a.style(colour, sign) + "         "
			head, used = strings.TrimRight(head, " ")+"\n"+indent, 10
		}
		cells = max(20, w-used)
	}
	for i, line := range lines {
		if cells == 0 {
			line = truncate(line, lineCells)
		}
		for j, part := range wrap(strings.ReplaceAll(line, "\t", "    "), cells) {
			switch {
			case i == 0 && j == 0:
				part = head + part
			case part == "":
				part = a.style(colour, sign)
			default:
				part = indent + part
			}
			if err := a.writeLine([]byte(part)); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts shows what was changed in an entry.
func (v *diffView) parts(parts []entrydiff.Part) error {
	a := v.app
	for _, p := range parts {
		if err := a.writeLine([]byte("    " + a.style(bold, truncate(safeLine(cmp.Or(p.Path, "the line")), 200)))); err != nil {
			return err
		}
		for _, line := range partLines(p) {
			if err := v.line(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// line shows a line of a changed text.
func (v *diffView) line(l textLine) error {
	a := v.app
	colour := map[byte]string{'+': green, '-': red}[l.sign]
	indent := "    " + a.style(colour, string(l.sign)) + " "
	cells := 0
	if w := a.width(); w > 0 {
		cells = max(20, w-len("    + "))
	}
	l = l.cut(lineCells)
	rest, at := l.text, 0
	for _, part := range wrap(rest, cells) {
		skipped := max(0, strings.Index(rest, part))
		rest, at = rest[skipped:], at+skipped
		shown := part
		if colour != "" {
			shown = l.coloured(a, part, at, colour)
		}
		if err := a.writeLine([]byte(strings.TrimRight(indent+shown, " "))); err != nil {
			return err
		}
		n := min(len(part), len(rest))
		rest, at = rest[n:], at+n
	}
	return nil
}

// textLine is a line of a changed text, safe to show.
type textLine struct {
	sign  byte // '+', '-', or ' ' for one that both sides have
	text  string
	marks [][2]int // what of it was changed
}

// coloured colours a part of the line, which begins at a place of it.
func (l textLine) coloured(a *App, part string, at int, colour string) string {
	var out strings.Builder
	end := 0
	for _, m := range l.marks {
		from, to := max(m[0]-at, end), min(m[1]-at, len(part))
		if from < to {
			out.WriteString(a.style(colour, part[end:from]) + a.style(colour+inverse, part[from:to]))
			end = to
		}
	}
	return out.String() + a.style(colour, part[end:])
}

// cut shortens a line without end to what is around its first change.
func (l textLine) cut(cells int) textLine {
	if len(l.text) <= cells {
		return l
	}
	const before = 60 // bytes
	from := 0
	if len(l.marks) > 0 {
		from = max(0, l.marks[0][0]-before)
	}
	for from > 0 && !utf8.RuneStart(l.text[from]) {
		from--
	}
	lead := ""
	if from > 0 {
		lead = "…"
	}
	out := textLine{sign: l.sign, text: lead + truncate(l.text[from:], cells-1)}
	for _, m := range l.marks {
		m = [2]int{m[0] - from + len(lead), min(m[1]-from+len(lead), len(out.text))}
		if m[0] < m[1] {
			out.marks = append(out.marks, m)
		}
	}
	return out
}

// partLines are the lines of a part that changed, with a line around them.
func partLines(p entrydiff.Part) []textLine {
	spans := p.Text
	if len(spans) == 0 {
		if p.HasOld {
			spans = append(spans, entrydiff.Span{Op: entrydiff.Delete, Text: p.Old})
		}
		if p.HasNew {
			spans = append(spans, entrydiff.Span{Op: entrydiff.Insert, Text: p.New})
		}
	}
	d := &lineDiff{}
	for _, s := range spans {
		d.span(s)
	}
	d.finish(p)
	return d.context(1)
}

// lineDiff makes lines of the runs of a changed text.
type lineDiff struct {
	out        []textLine
	olds, news []textLine // between lines that both sides have
	old, new   textLine   // in hand
}

func (d *lineDiff) span(s entrydiff.Span) {
	text := strings.ReplaceAll(safeText(s.Text), "\t", "    ")
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			d.newline(s.Op)
		}
		if s.Op != entrydiff.Insert {
			d.old.add(line, s.Op == entrydiff.Delete)
		}
		if s.Op != entrydiff.Delete {
			d.new.add(line, s.Op == entrydiff.Insert)
		}
	}
}

func (l *textLine) add(text string, mark bool) {
	if mark && text != "" {
		l.marks = append(l.marks, [2]int{len(l.text), len(l.text) + len(text)})
	}
	l.text += text
}

// newline ends a line, on the sides that have this run.
func (d *lineDiff) newline(op entrydiff.Op) {
	if op != entrydiff.Insert {
		d.olds, d.old = append(d.olds, d.old), textLine{}
	}
	if op != entrydiff.Delete {
		d.news, d.new = append(d.news, d.new), textLine{}
	}
	if op == entrydiff.Equal && len(d.old.marks)+len(d.new.marks) == 0 {
		d.flush()
	}
}

func (d *lineDiff) finish(p entrydiff.Part) {
	if p.HasOld {
		d.olds = append(d.olds, d.old)
	}
	if p.HasNew {
		d.news = append(d.news, d.new)
	}
	d.flush()
}

// flush gives the lines of both sides: what is the same at their ends once, and between
// the old ones before the new ones.
func (d *lineDiff) flush() {
	head, tail := 0, 0
	for head < min(len(d.olds), len(d.news)) && d.olds[head].text == d.news[head].text {
		head++
	}
	for tail < min(len(d.olds), len(d.news))-head && d.olds[len(d.olds)-1-tail].text == d.news[len(d.news)-1-tail].text {
		tail++
	}
	add := func(sign byte, lines []textLine) {
		for _, l := range lines {
			if l.sign = sign; sign == ' ' {
				l.marks = nil
			}
			d.out = append(d.out, l)
		}
	}
	add(' ', d.olds[:head])
	add('-', d.olds[head:len(d.olds)-tail])
	add('+', d.news[head:len(d.news)-tail])
	add(' ', d.olds[len(d.olds)-tail:])
	d.olds, d.news = nil, nil
}

// context leaves out lines that are the same, but n before and behind what changed.
func (d *lineDiff) context(n int) []textLine {
	var out []textLine
	skipped := false
	for i, l := range d.out {
		near := slices.ContainsFunc(d.out[max(0, i-n):min(len(d.out), i+n+1)], func(l textLine) bool { return l.sign != ' ' })
		if !near {
			skipped = true
			continue
		}
		if skipped {
			out, skipped = append(out, textLine{sign: ' ', text: "…"}), false
		}
		out = append(out, l)
	}
	if skipped {
		out = append(out, textLine{sign: ' ', text: "…"})
	}
	return out
}
