package display

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tape/internal/text/entrydiff"
)

// TextLine is a line of a changed text, safe to show.
type TextLine struct {
	Sign  byte // '+', '-', or ' ' if both sides have it
	Text  string
	Marks [][2]int // the changed ranges, in bytes of Text
}

// Shorten cuts a long line to the text around its first change.
func (l TextLine) Shorten(cells int) TextLine {
	if len(l.Text) <= cells {
		return l
	}
	const before = 60 // bytes
	from := 0
	if len(l.Marks) > 0 {
		from = max(0, l.Marks[0][0]-before)
	}
	for from > 0 && !utf8.RuneStart(l.Text[from]) {
		from--
	}
	lead := ""
	if from > 0 {
		lead = "…"
	}
	out := TextLine{Sign: l.Sign, Text: lead + Truncate(l.Text[from:], cells-1)}
	for _, m := range l.Marks {
		m = [2]int{m[0] - from + len(lead), min(m[1]-from+len(lead), len(out.Text))}
		if m[0] < m[1] {
			out.Marks = append(out.Marks, m)
		}
	}
	return out
}

// DiffLines are the changed lines of a value, with one line of context.
func DiffLines(p entrydiff.Difference) []TextLine {
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

// lineDiff makes lines of the spans of a changed text.
type lineDiff struct {
	out        []TextLine
	olds, news []TextLine // since the last common line
	old, new   TextLine   // the current line of each side
}

func (d *lineDiff) span(s entrydiff.Span) {
	text := strings.ReplaceAll(Text(s.Text), "\t", "    ")
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

func (l *TextLine) add(text string, mark bool) {
	if mark && text != "" {
		l.Marks = append(l.Marks, [2]int{len(l.Text), len(l.Text) + len(text)})
	}
	l.Text += text
}

// newline ends the line of the sides that have this span.
func (d *lineDiff) newline(op entrydiff.Op) {
	if op != entrydiff.Insert {
		d.olds, d.old = append(d.olds, d.old), TextLine{}
	}
	if op != entrydiff.Delete {
		d.news, d.new = append(d.news, d.new), TextLine{}
	}
	if op == entrydiff.Equal && len(d.old.Marks)+len(d.new.Marks) == 0 {
		d.flush()
	}
}

func (d *lineDiff) finish(p entrydiff.Difference) {
	if p.HasOld {
		d.olds = append(d.olds, d.old)
	}
	if p.HasNew {
		d.news = append(d.news, d.new)
	}
	d.flush()
}

// flush outputs the lines of both sides: common ones at the beginning and end once, and
// between them the old ones before the new ones.
func (d *lineDiff) flush() {
	head, tail := 0, 0
	for head < min(len(d.olds), len(d.news)) && d.olds[head].Text == d.news[head].Text {
		head++
	}
	for tail < min(len(d.olds), len(d.news))-head && d.olds[len(d.olds)-1-tail].Text == d.news[len(d.news)-1-tail].Text {
		tail++
	}
	add := func(sign byte, lines []TextLine) {
		for _, l := range lines {
			if l.Sign = sign; sign == ' ' {
				l.Marks = nil
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

// context drops common lines, except n before and after each change.
func (d *lineDiff) context(n int) []TextLine {
	var out []TextLine
	skipped := false
	for i, l := range d.out {
		near := slices.ContainsFunc(d.out[max(0, i-n):min(len(d.out), i+n+1)], func(l TextLine) bool { return l.Sign != ' ' })
		switch {
		case near:
			out = append(out, l)
		case !skipped:
			out = append(out, TextLine{Sign: ' ', Text: "…"})
		}
		skipped = !near
	}
	return out
}

// MarkWords marks what differs between lines of a diff that took each other's place: between the first of a run of
// removed lines and the first of the added lines after it, and so on, if both runs have the same number of lines.
// Lines that have little in common stay as they are, and so do long ones.
func MarkWords(list []TextLine) {
	const longest = 400 // bytes
	run := func(from int, sign byte) int {
		n := from
		for n < len(list) && list[n].Sign == sign {
			n++
		}
		return n
	}
	for from := 0; from < len(list); {
		middle := run(from, '-')
		end := run(middle, '+')
		if n := middle - from; n > 0 && n == end-middle {
			for i := from; i < middle; i++ {
				if old, new := &list[i], &list[i+n]; max(len(old.Text), len(new.Text)) <= longest {
					old.Marks, new.Marks = changedWords(old.Text, new.Text)
				}
			}
		}
		from = max(end, from+1)
	}
}

// changedWords returns the ranges of two lines that differ; none if they have less than half of the shorter one in
// common, without the space around them.
func changedWords(old, new string) (gone, came [][2]int) {
	var a, b TextLine
	same := 0
	for _, s := range entrydiff.Words(strings.ToValidUTF8(old, "?"), strings.ToValidUTF8(new, "?"), 50*time.Millisecond) {
		if s.Op == entrydiff.Equal {
			same += len(strings.TrimSpace(s.Text))
		}
		if s.Op != entrydiff.Insert {
			a.add(s.Text, s.Op == entrydiff.Delete)
		}
		if s.Op != entrydiff.Delete {
			b.add(s.Text, s.Op == entrydiff.Insert)
		}
	}
	if least := min(len(strings.TrimSpace(old)), len(strings.TrimSpace(new))); 2*same < least || a.Text != old || b.Text != new {
		return nil, nil
	}
	return a.Marks, b.Marks
}
