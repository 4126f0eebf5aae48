package rows

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Heading is what is shown above the hits of a session.
type Heading struct{ Title, Project string }

// SessionTitle shows the title of a session, in full, above its hits, and after it the project, if there is one.
func SessionTitle(s *stdio.Streams, h Heading) {
	lines := display.Wrap(display.Line(h.Title), s.Width())
	if h.Title == "" {
		lines = nil
	}
	place := ""
	if h.Project != "" {
		place = s.Style(stdio.Dim, "in "+display.Line(h.Project))
	}
	for i, line := range lines {
		line, cells := s.Style(stdio.Bold, line), display.Width(line)
		if i == len(lines)-1 && place != "" && (s.Width() == 0 || cells+display.Width(h.Project)+len("  in ") <= s.Width()) {
			line, place = line+"  "+place, ""
		}
		s.Line(line)
	}
	if place != "" {
		s.Line(place)
	}
}

// Hit shows a search hit; tape is "" if only one tape was searched.
func Hit(s *stdio.Streams, h index.Hit, tape string) {
	for _, e := range h.Before {
		Brief(s, "", e)
	}
	kind, colour := Label(h.Entry)
	id := fmt.Sprintf("@%d", h.ID)
	if tape != "" {
		id = s.Fit(display.Line(tape), stdio.MaxCell) + id // as commands take it
	}
	if s.Width() > 0 {
		kind = spoken(h.Entry, kind)
	}
	kind = s.Fit(display.Line(kind), kindCells)
	rest := display.Ago(s.Now(), h.Date, display.Minute)
	if s.Width() == 0 || h.AnchorSeq > 1 { // most sessions have one phase
		rest += "  " + s.Fit(display.Line(h.Anchor), stdio.MaxCell)
	}
	if h.Similar > 0 {
		rest += fmt.Sprintf("  and %d like it", h.Similar)
	}
	head := s.Style(stdio.Bold+";"+stdio.Yellow, id) + "  " + s.Style(colour, kind) + "  " + s.Style(stdio.Dim, rest)
	s.Line(head)
	showSnippet(s, h)
	for _, e := range h.After {
		Brief(s, "", e)
	}
}

// spoken is the kind of an entry as people call it.
func spoken(e repo.Entry, kind string) string {
	if (conversation.Event{Entry: e}).Thinking() != "" {
		return "thinking"
	}
	return strings.ReplaceAll(strings.TrimPrefix(kind, repo.KindMessage+"/"), "_", " ")
}

func showSnippet(s *stdio.Streams, h index.Hit) {
	var text strings.Builder
	var marks [][2]int // the spans in the safe text
	end := 0
	for _, span := range h.Spans {
		text.WriteString(display.Line(h.Snippet[end:span[0]]))
		from := text.Len()
		text.WriteString(display.Line(h.Snippet[span[0]:span[1]]))
		marks = append(marks, [2]int{from, text.Len()})
		end = span[1]
	}
	text.WriteString(display.Line(h.Snippet[end:]))
	for at, line := range display.Wrapped(text.String(), max(0, s.Width()-2)) {
		s.Line("  " + s.Marked(line, at, marks, "", stdio.Bold+";"+stdio.Red))
	}
}

// HitJSON is a hit as JSON. instead is the query that was answered in place of the given one, or "". of is the heading of
// the hit's session, or the zero value.
func HitJSON(h index.Hit, instead string, of Heading) []byte {
	out := h.JSON()
	out = fmt.Appendf(out[:len(out)-1], `,"score":%s,"snippet":`, strconv.FormatFloat(h.Score, 'f', -1, 64))
	out = append(append(jsonl.AppendString(out, h.Snippet), `,"matches":`...), stdio.Marshal(append([][2]int{}, h.Spans...))...)
	if h.Similar > 0 {
		out = fmt.Appendf(out, `,"similar":%d`, h.Similar)
	}
	if h.Has != nil || h.Lacks != nil {
		out = append(append(out, `,"matched":`...), stdio.Marshal(append([]string{}, h.Has...))...)
		out = append(append(out, `,"missing":`...), stdio.Marshal(append([]string{}, h.Lacks...))...)
	}
	if h.Session != "" && h.Session != h.Tape {
		out = jsonl.AppendString(append(out, `,"session":`...), h.Session)
	}
	for _, m := range [][2]string{{"title", of.Title}, {"project", of.Project}} {
		if m[1] != "" {
			out = fmt.Appendf(out, `,"%s":`, m[0])
			out = jsonl.AppendString(out, m[1])
		}
	}
	if h.More > 0 {
		out = fmt.Appendf(out, `,"more":%d`, h.More)
	}
	if instead != "" {
		out = jsonl.AppendString(append(out, `,"instead":`...), instead)
	}
	for i, list := range [][]repo.Entry{h.Before, h.After} {
		if len(list) > 0 {
			lines := make([][]byte, len(list))
			for j, e := range list {
				lines[j] = e.JSON()
			}
			out = fmt.Appendf(out, `,"%s":[%s]`, [...]string{"before", "after"}[i], bytes.Join(lines, []byte(",")))
		}
	}
	return append(out, '}')
}
