package display

import (
	"strings"
	"testing"

	"tape/internal/testkit"
	"tape/internal/text/entrydiff"
)

func textDifference(old, new string) entrydiff.Difference {
	return entrydiff.Difference{Path: "payload.content", Old: old, New: new, HasOld: true, HasNew: true}
}

func shownLines(lines []TextLine) string {
	var out []string
	for _, l := range lines {
		text, end := "", 0
		for _, m := range l.Marks {
			text += l.Text[end:m[0]] + "[" + l.Text[m[0]:m[1]] + "]"
			end = m[1]
		}
		out = append(out, string(l.Sign)+text+l.Text[end:])
	}
	return strings.Join(out, "|")
}

// A changed text is shown by the lines that changed, with what changed in them.
func TestDiffLines(t *testing.T) {
	span := func(op entrydiff.Op, text string) entrydiff.Span { return entrydiff.Span{Op: op, Text: text} }
	const same, gone, came = entrydiff.Equal, entrydiff.Delete, entrydiff.Insert
	for _, c := range []struct {
		part entrydiff.Difference
		want string
	}{
		{textDifference("a", "b"), "-[a]|+[b]"},
		{entrydiff.Difference{New: "b\nc", HasNew: true}, "+[b]|+[c]"},
		{entrydiff.Difference{Old: "", HasOld: true}, "-"},
		{textDifference("\x1b[1m", "\u202e"), `-[\x1b[1m]|+[<U+202E>]`},
	} {
		if got := shownLines(DiffLines(c.part)); got != c.want {
			t.Errorf("%+v is shown as %s, not %s", c.part, got, c.want)
		}
	}
	for _, c := range []struct {
		spans []entrydiff.Span
		want  string
	}{
		{[]entrydiff.Span{span(same, "one\ntwo "), span(gone, "old"), span(came, "new"), span(same, " end\nthree")}, " one|-two [old] end|+two [new] end| three"},
		{[]entrydiff.Span{span(same, "1\n2\n3\n4\n5"), span(came, "x"), span(same, "\n6\n7\n8")}, " …| 4|-5|+5[x]| 6| …"},
		{[]entrydiff.Span{span(same, "a\n"), span(came, "x\n"), span(same, "b")}, " a|+[x]| b"},
		{[]entrydiff.Span{span(same, "a"), span(came, "\nx"), span(same, "\nb")}, " a|+[x]| b"},
		{[]entrydiff.Span{span(same, "a\n"), span(gone, "x\ny\n"), span(same, "b")}, " a|-[x]|-[y]| b"},
	} {
		p := entrydiff.Difference{HasOld: true, HasNew: true, Text: c.spans}
		if got := shownLines(DiffLines(p)); got != c.want {
			t.Errorf("%v is shown as %s, not %s", c.spans, got, c.want)
		}
	}
}

// Without the + lines, a diff is the old text; without the - lines, it is the new one.
func TestDiffLinesAreOfBoth(t *testing.T) {
	rnd := testkit.Random(t)
	words := []string{"a", "b\n", "\n", "c d ", "世\n界"}
	for range testkit.Size(200, 50000) {
		var p entrydiff.Difference
		for range 1 + rnd.IntN(8) {
			s := entrydiff.Span{Op: entrydiff.Op(rnd.IntN(3) - 1), Text: words[rnd.IntN(len(words))]}
			p.Text = append(p.Text, s)
			if s.Op != entrydiff.Insert {
				p.Old += s.Text
			}
			if s.Op != entrydiff.Delete {
				p.New += s.Text
			}
		}
		p.HasOld, p.HasNew = true, true
		d := &lineDiff{}
		for _, s := range p.Text {
			d.span(s)
		}
		d.finish(p)
		var old, new []string
		for _, l := range d.out {
			if l.Sign != '+' {
				old = append(old, l.Text)
			}
			if l.Sign != '-' {
				new = append(new, l.Text)
			}
		}
		if got := strings.Join(old, "\n"); got != p.Old {
			t.Fatalf("%v: the old text is shown as %q", p.Text, got)
		}
		if got := strings.Join(new, "\n"); got != p.New {
			t.Fatalf("%v: the new text is shown as %q", p.Text, got)
		}
	}
}

// A very long line is cut to the text around its change.
func TestLongLine(t *testing.T) {
	l := TextLine{Sign: '-'}
	l.add(strings.Repeat("世", 5000), false)
	l.add("changed", true)
	l.add(strings.Repeat("x", 5000), false)
	got := l.Shorten(100)
	if !strings.Contains(got.Text, "changed") || Width(got.Text) > 100 {
		t.Errorf("the line has %d cells, not at most 100, or lacks the change: %s", Width(got.Text), got.Text)
	}
	if m := got.Marks; len(m) != 1 || got.Text[m[0][0]:m[0][1]] != "changed" {
		t.Errorf("the marks %v of %q are not the change", m, got.Text)
	}
}

// What changed in a line that took another's place is marked, and nothing where lines have little in common or are not
// of the same number.
func TestMarkWords(t *testing.T) {
	for text, want := range map[string]string{
		" a|-wait for 5 s|+wait for 30 s| b":                                 " a|-wait for [5] s|+wait for [30] s| b",
		"-  retry(upload, 3)|-  log(err)|+  retry(upload, 5)|+  log(err, n)": "-  retry(upload, [3])|-  log(err)|+  retry(upload, [5])|+  log(err[, n])",
		"-  x := one()|+      x := one()":                                    "-  x := one()|+[    ]  x := one()",
		"-return nil|+for range list {":                                      "-return nil|+for range list {",
		"-one two three|+one two four|+five":                                 "-one two three|+one two four|+five",
		"+one two three|-one two four":                                       "+one two three|-one two four",
	} {
		var list []TextLine
		for _, line := range strings.Split(text, "|") {
			list = append(list, TextLine{Sign: line[0], Text: line[1:]})
		}
		MarkWords(list)
		if got := shownLines(list); got != want {
			t.Errorf("%s is shown as %s, not %s", text, got, want)
		}
	}
}
