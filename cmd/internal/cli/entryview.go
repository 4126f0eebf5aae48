package cli

import (
	"fmt"
	"strings"

	"tape/internal/jsonl"
	"tape/repo"
)

// entryView shows entries to people: a header for each phase, and below it the
// entries with their number, date and kind in columns.
type entryView struct {
	app     *App
	oneline bool
	seq     int // the phase whose header was shown last
}

// How much is shown of what can be long.
const (
	resultLines = 8    // lines of a tool's result
	argsCells   = 100  // arguments of a call, on one line
	lineCells   = 1000 // one line of text without a screen to wrap it on
	briefCells  = 160  // a line of --oneline without a screen
)

// Columns, in cells.
const (
	idCells   = 6
	dateCells = 16
	kindCells = 17
)

func (v *entryView) show(e repo.Entry) error {
	a := v.app
	if v.oneline {
		return v.brief(e)
	}
	if e.AnchorSeq != v.seq {
		if v.seq > 0 {
			a.printf("\n")
		}
		v.seq = e.AnchorSeq
		a.printf("%s\n", a.style(bold+";"+yellow, fmt.Sprintf("%03d %s", e.AnchorSeq, truncate(safeLine(e.Anchor), 100))))
	}
	kind, colour := label(e)
	head := pad(fmt.Sprintf("@%d", e.ID), idCells) + " " + a.style(dim, pad(truncate(a.when(e.Date), dateCells), dateCells)) + " " +
		a.style(colour, pad(truncate(safeLine(kind), kindCells), kindCells)) + " "
	indent := strings.Repeat(" ", idCells+dateCells+kindCells+3)
	cells := 0
	if w := a.width(); w > 0 {
		// On a narrow screen the text goes below the columns.
		if w < len(indent)+36 {
			head, indent = strings.TrimRight(head, " ")+"\n        ", "        "
		}
		cells = max(20, w-len(indent))
	}
	for i, line := range body(e) {
		if cells == 0 {
			line = truncate(line, lineCells)
		}
		for j, part := range wrap(strings.ReplaceAll(line, "\t", "    "), cells) {
			if i == 0 && j == 0 {
				a.printf("%s", head)
			} else if part != "" {
				a.printf("%s", indent)
			}
			if err := a.writeLine([]byte(part)); err != nil {
				return err
			}
		}
	}
	return nil
}

// brief shows an entry on one line.
func (v *entryView) brief(e repo.Entry) error {
	a := v.app
	kind, colour := label(e)
	text := strings.Join(strings.Fields(strings.Join(body(e), " ")), " ")
	cells := a.width()
	if cells == 0 {
		cells = briefCells
	}
	id := fmt.Sprintf("@%d", e.ID)
	kind = truncate(safeLine(kind), kindCells)
	text = truncate(text, max(20, cells-len(id)-textWidth(kind)-2))
	return a.writeLine([]byte(a.style(yellow, id) + " " + a.style(colour, kind) + " " + text))
}

func pad(s string, cells int) string {
	return s + strings.Repeat(" ", max(0, cells-textWidth(s)))
}

// label is an entry's kind, with the role of a message, and its colour.
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

// body is the text of an entry, safe to show, in lines; there is at least one.
func body(e repo.Entry) []string {
	var text string
	p := []byte(e.Payload)
	switch e.Kind {
	case repo.KindMessage:
		text = messageText(p)
	case repo.KindSystem:
		text = contentText(jsonl.Get(p, "content"))
	case repo.KindToolCall:
		text = callsText(jsonl.Get(p, "calls"))
	case repo.KindToolResult:
		text = resultsText(jsonl.Get(p, "results"))
	case repo.KindAnchor:
		text = anchorText(p)
	case repo.KindEvent:
		text = jsonl.GetString(p, "name")
		if data := jsonl.Get(p, "data"); data != nil {
			text += " " + shorten(string(data), 2*argsCells)
		}
	case repo.KindError:
		text = strings.TrimPrefix(jsonl.GetString(p, "kind")+": "+jsonl.GetString(p, "message"), ": ")
	}
	if text == "" {
		text = shorten(string(p), 2*argsCells)
	}
	return strings.Split(strings.TrimRight(safeText(text), "\n"), "\n")
}

func messageText(payload []byte) string {
	text := contentText(jsonl.Get(payload, "content"))
	if calls := jsonl.Get(payload, "tool_calls"); calls != nil {
		text = strings.TrimPrefix(text+"\n"+callsText(calls), "\n")
	}
	return text
}

// contentText is the text of a message's content: a string, or parts.
func contentText(content []byte) string {
	if text, ok := jsonl.String(content); ok {
		return text
	}
	var parts []string
	for part := range jsonl.Elements(content) {
		text, ok := jsonl.String(jsonl.Get(part, "text"))
		if !ok {
			text, ok = jsonl.String(part)
		}
		if !ok {
			kind := jsonl.GetString(part, "type")
			text = "[" + strings.TrimSpace(kind+" "+shorten(string(part), argsCells)) + "]"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n")
}

// callsText shows calls as name(arguments), one a line.
func callsText(calls []byte) string {
	var out []string
	for call := range jsonl.Elements(calls) {
		name := jsonl.GetString(call, "function", "name")
		if name == "" {
			name = jsonl.GetString(call, "name")
		}
		args := jsonl.Get(call, "function", "arguments")
		text, ok := jsonl.String(args)
		if !ok {
			text = string(args)
		}
		out = append(out, name+"("+shorten(text, argsCells)+")")
	}
	return strings.Join(out, "\n")
}

// resultsText shows results, each up to a number of lines.
func resultsText(results []byte) string {
	var out []string
	for result := range jsonl.Elements(results) {
		text, ok := jsonl.String(result)
		if !ok && len(result) > 0 && result[0] == '[' {
			text = contentText(result)
		} else if !ok {
			text = shorten(string(result), 2*argsCells)
		}
		out = append(out, clip(text))
	}
	return strings.Join(out, "\n")
}

func clip(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= resultLines+1 {
		return text
	}
	return strings.Join(lines[:resultLines], "\n") + fmt.Sprintf("\n… (%d more lines)", len(lines)-resultLines)
}

func anchorText(payload []byte) string {
	text := jsonl.GetString(payload, "name")
	state := jsonl.Get(payload, "state")
	if summary := jsonl.GetString(state, "summary"); summary != "" {
		return text + "\n" + summary
	}
	if jsonl.IsObject(state) && len(state) > len("{}") {
		text += " " + shorten(string(state), 2*argsCells)
	}
	return text
}

// shorten cuts text that is shown on one line.
func shorten(text string, cells int) string {
	const longest = 4 // bytes of a character
	if len(text) > cells*longest {
		text = strings.ToValidUTF8(text[:cells*longest], "")
	}
	return truncate(text, cells)
}
