package rows

import (
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
)

// TextDiff shows all lines of two versions of a file, and which were added and removed.
func TextDiff(s *stdio.Streams, before, after string) {
	dmp := diffmatchpatch.New()
	a, b, words := dmp.DiffLinesToRunes(before, after)
	for _, d := range dmp.DiffCharsToLines(dmp.DiffMainRunes(a, b, false), words) {
		sign, style := " ", ""
		switch d.Type {
		case diffmatchpatch.DiffInsert:
			sign, style = "+", stdio.Green
		case diffmatchpatch.DiffDelete:
			sign, style = "-", stdio.Red
		}
		for line := range strings.Lines(d.Text) {
			s.Line(s.Style(style, sign+display.Line(strings.TrimRight(line, "\r\n"))))
		}
	}
}
