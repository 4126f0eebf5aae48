// Package rows shows entries, search hits and changes in rows: for people, or as JSON.
package rows

import (
	"fmt"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/repo"
)

// How many cells are shown.
const (
	TitleCells = 24   // of a tape's title before an entry
	LineCells  = 1000 // of a line, without a screen to wrap it on
	nameCells  = 100  // of a name in a heading
)

// Columns, in cells.
const (
	idCells   = 6
	dateCells = 16
	kindCells = 17

	columnCells = idCells + dateCells + kindCells + 3
	narrowCells = 8 // the indent of text below the columns, on a narrow screen
)

// Style returns a function that colours the pieces of a conversation.
func Style(s *stdio.Streams) func(plain.Style, string) string {
	return func(style plain.Style, text string) string {
		return s.Style([...]string{plain.StyleQuiet: stdio.Dim, plain.StyleHeading: stdio.Bold + ";" + stdio.Yellow, plain.StyleUser: stdio.Bold + ";" + stdio.Green,
			plain.StyleAssistant: stdio.Bold + ";" + stdio.Cyan, plain.StyleOther: stdio.Bold + ";" + stdio.Purple, plain.StyleTool: stdio.Blue, plain.StyleBad: stdio.Red, plain.StylePlain: ""}[style], text)
	}
}

func phaseHead(s *stdio.Streams, e repo.Entry) string {
	return s.Style(stdio.Bold+";"+stdio.Yellow, fmt.Sprintf("%03d %s", e.AnchorSeq, s.Fit(display.Line(e.Anchor), nameCells)))
}

// columns returns the id, date and kind that are shown before the text of an entry.
func columns(s *stdio.Streams, e repo.Entry) string {
	kind, colour := Label(e)
	return display.Pad(fmt.Sprintf("@%d", e.ID), idCells) + " " + s.Style(stdio.Dim, display.Pad(s.Fit(display.Ago(s.Now(), e.Date, display.Minute), dateCells), dateCells)) + " " +
		s.Style(colour, display.Pad(s.Fit(display.Line(kind), kindCells), kindCells))
}

// showText shows the text of an entry after its columns. A sign, unless it is "", is before
// each line, so that no line can look like another entry.
func showText(s *stdio.Streams, columns, sign, colour string, lines []string) error {
	lead, leadCells := "", 0
	if sign != "" {
		lead, leadCells = s.Style(colour, sign)+" ", len(sign+" ")
	}
	head, indent, cells := lead+columns, lead+display.Pad("", columnCells), 0
	if w := s.Width(); w > 0 {
		used := leadCells + columnCells
		if w < used+36 {
			used, indent = leadCells+narrowCells, lead+display.Pad("", narrowCells)
			head = strings.TrimRight(head, " ") + "\n" + indent
		}
		cells = max(20, w-used)
	}
	for i, line := range lines {
		if cells == 0 {
			line = display.Truncate(line, LineCells)
		}
		for j, part := range display.Wrap(strings.ReplaceAll(line, "\t", "    "), cells) {
			switch {
			case i == 0 && j == 0:
				part = head + part
			case part == "":
				part = strings.TrimRight(lead, " ")
			default:
				part = indent + part
			}
			s.Line(part)
		}
	}
	return s.Written()
}

// Brief shows an entry on one line, after the text before.
func Brief(s *stdio.Streams, before string, e repo.Entry) {
	kind, colour := Label(e)
	id, body := fmt.Sprintf("@%d", e.ID), plain.Whole(e)
	kind = s.Fit(display.Line(kind), kindCells)
	if w := s.Width(); w > 0 {
		body = plain.Short(e)
	}
	text := strings.Join(strings.Fields(strings.Join(body, " ")), " ")
	text = s.Fit(text, max(20, s.Width()-len(id)-display.Width(before+kind)-2))
	s.Line(s.Style(stdio.Dim, before) + s.Style(stdio.Yellow, id) + " " + s.Style(colour, kind) + " " + text)
}

// Label returns an entry's kind, with the role of a message, and its colour.
func Label(e repo.Entry) (text, colour string) {
	colour, known := map[string]string{repo.KindMessage: "", repo.KindMessage + "/user": stdio.Green, repo.KindMessage + "/assistant": stdio.Cyan,
		repo.KindToolCall: stdio.Blue, repo.KindToolResult: stdio.Blue, repo.KindAnchor: stdio.Yellow, repo.KindError: stdio.Red,
		repo.KindSystem: stdio.Purple}[plain.Kind(e)]
	if !known && e.Kind != repo.KindMessage {
		colour = stdio.Dim
	}
	return plain.Kind(e), colour
}
