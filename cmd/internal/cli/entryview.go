package cli

import (
	"fmt"
	"iter"
	"strings"

	"tape/internal/display"
	"tape/internal/jsonl"
	"tape/repo"
)

// How much is shown of a line.
const (
	lineCells  = 1000 // without a screen to wrap it on
	briefCells = 160  // with --oneline, without a screen
	nameCells  = 100  // of a name in a heading
)

// Columns, in cells.
const (
	idCells   = 6
	dateCells = 16
	kindCells = 17

	columnCells = idCells + dateCells + kindCells + 3
	narrowCells = 8 // in their place, where the text goes below them
)

func (a *App) showEntries(entries iter.Seq2[repo.Entry, error], oneline bool) error {
	show := func(e repo.Entry) error { return a.writeLine(e.JSON()) }
	if !a.json {
		a.page()
		show = (&entryView{App: a, oneline: oneline}).show
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		if err := show(e); err != nil {
			return err
		}
	}
	return nil
}

// entryView shows entries to people: a header for each phase, and below it the
// entries with their number, date and kind in columns.
type entryView struct {
	*App
	oneline bool
	seq     int // the phase whose header was shown last
}

func (v *entryView) show(e repo.Entry) error {
	if v.oneline {
		v.brief(e)
		return v.written()
	}
	if e.AnchorSeq != v.seq {
		if v.seq > 0 {
			v.printf("\n")
		}
		v.seq = e.AnchorSeq
		v.line(v.phaseHead(e))
	}
	return v.showText(v.columns(e)+" ", "", "", display.Body(e))
}

func (a *App) phaseHead(e repo.Entry) string {
	return a.style(bold+";"+yellow, fmt.Sprintf("%03d %s", e.AnchorSeq, display.Truncate(display.Line(e.Anchor), nameCells)))
}

// columns are what stands before the text of an entry.
func (a *App) columns(e repo.Entry) string {
	kind, colour := label(e)
	return display.Pad(fmt.Sprintf("@%d", e.ID), idCells) + " " + a.style(dim, display.Pad(display.Truncate(a.when(e.Date), dateCells), dateCells)) + " " +
		a.style(colour, display.Pad(display.Truncate(display.Line(kind), kindCells), kindCells))
}

// showText shows the text of an entry behind its columns. A sign, if there is one, stands
// before each line, so that none of them looks like something else.
func (a *App) showText(columns, sign, colour string, lines []string) error {
	lead, leadCells := "", 0
	if sign != "" {
		lead, leadCells = a.style(colour, sign)+" ", len(sign+" ")
	}
	head, indent, cells := lead+columns, lead+display.Pad("", columnCells), 0
	if w := a.width(); w > 0 {
		used := leadCells + columnCells
		if w < used+36 {
			used, indent = leadCells+narrowCells, lead+display.Pad("", narrowCells)
			head = strings.TrimRight(head, " ") + "\n" + indent
		}
		cells = max(20, w-used)
	}
	for i, line := range lines {
		if cells == 0 {
			line = display.Truncate(line, lineCells)
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
			a.line(part)
		}
	}
	return a.written()
}

// brief shows an entry on one line.
func (a *App) brief(e repo.Entry) {
	kind, colour := label(e)
	text := strings.Join(strings.Fields(strings.Join(display.Body(e), " ")), " ")
	cells := a.width()
	if cells == 0 {
		cells = briefCells
	}
	id := fmt.Sprintf("@%d", e.ID)
	kind = display.Truncate(display.Line(kind), kindCells)
	text = display.Truncate(text, max(20, cells-len(id)-display.Width(kind)-2))
	a.line(a.style(yellow, id) + " " + a.style(colour, kind) + " " + text)
}

func label(e repo.Entry) (text, colour string) {
	switch e.Kind {
	case repo.KindMessage:
		role := jsonl.GetString(e.Payload, "role")
		switch role {
		case "":
			return e.Kind, ""
		case "user":
			colour = green
		case "assistant":
			colour = cyan
		}
		return e.Kind + "/" + role, colour
	case repo.KindToolCall, repo.KindToolResult:
		return e.Kind, blue
	case repo.KindAnchor:
		return e.Kind, yellow
	case repo.KindError:
		return e.Kind, red
	case repo.KindSystem:
		return e.Kind, purple
	}
	return e.Kind, dim
}
