// Package console shows a conversation on a terminal, or as plain text.
package console

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Screen is what a conversation is shown on, and how much of it.
type Screen struct {
	// Width is that of a line, in cells; 0: a line is as long as its text.
	Width int
	// Whole shows all of a text, and calls with their arguments and results.
	Whole bool
	// Reverse says that the newest entry comes first: results before their calls.
	Reverse bool
	// Wanted are the entries to show; nil: all of them. The others are there to bring calls and
	// results together.
	Wanted func(repo.Entry) bool
	// Partial says that the tape has more entries than these, which may be results.
	Partial bool
	// Events shows what is no part of the conversation, too.
	Events bool
	// Ink gives a text the look of what it is.
	Ink func(ink Ink, text string) string
	// Zone is that of the dates.
	Zone *time.Location
	// Dir is the directory of the session, without which paths in it are shown.
	Dir string
	// Title is what a tape is called above its entries, where they are of several tapes.
	Title func(tape string) string
	// More is the command that shows all of an entry.
	More func(repo.Entry) string
}

// Shows reports whether an entry is part of the conversation, or else is to be shown.
func (s *Screen) Shows(e repo.Entry) bool {
	return s.Events || e.Kind != repo.KindEvent || conversation.Event{Entry: e}.Thinking() != ""
}

// Ink is the look of a piece of text.
type Ink int

// The looks.
const (
	InkPlain Ink = iota
	InkQuiet     // what matters less
	InkHeading
	InkUser
	InkAssistant
	InkOther // who is neither
	InkTool
	InkBad
)

// How much of a text is shown, unless the screen is to show the whole.
const (
	talkLines     = 40 // of a message
	talkBytes     = 4000
	systemShown   = 3  // lines of a system prompt
	injectedShown = 10 // of what a program wrote in the place of a person
	lineMost      = 16 << 10
	gutter        = 8 // cells before a text, for the entry's id
)

// Show writes entries as people read a conversation: who said what, each call of a tool with its
// result as one line. It returns how many events it left out.
func Show(ctx context.Context, w io.Writer, s *Screen, entries iter.Seq2[repo.Entry, error]) (left int, err error) {
	t := &talk{Screen: s, w: bufio.NewWriterSize(w, 64<<10), dir: s.Dir}
	err = conversation.Each(ctx, entries, t.item)
	if flushed := t.w.Flush(); err == nil {
		err = flushed
	}
	return t.left, err
}

type talk struct {
	*Screen
	w       *bufio.Writer
	begun   bool
	speaker string
	day     string
	dir     string // of the session: what is in it is shown without it
	left    int    // events
}

func (t *talk) item(it *conversation.Item) error {
	if t.Wanted != nil && it.Kind != conversation.Phase && !t.Wanted(it.Entry) {
		t.wantedResults(it)
		return t.failed()
	}
	switch it.Kind {
	case conversation.Phase:
		t.phase(it)
	case conversation.Message:
		t.message(it)
	case conversation.Calls:
		t.speak("assistant", InkAssistant, it.Entry)
		t.calls(it)
	case conversation.Results:
		t.results(it.Entry, it.Results)
	case conversation.Events:
		for _, ev := range it.Events {
			t.event(ev)
		}
	case conversation.Failure:
		t.speak("error", InkBad, it.Entry)
		t.text(it.Entry, InkBad, it.Summary, talkLines)
		t.data(it.Details)
	}
	return t.failed()
}

// failed is the first error of a write.
func (t *talk) failed() error {
	_, err := t.w.Write(nil)
	return err
}

func (t *talk) write(text string) { _, _ = t.w.WriteString(text) } // failed has the error

// line writes a line with something in the gutter.
func (t *talk) line(id string, ink Ink, text string) {
	text = t.Ink(ink, strings.TrimRight(text, " "))
	if pad := gutter - 2 - len(id); id != "" || text != "" {
		text = strings.Repeat(" ", max(0, pad)) + t.Ink(InkQuiet, id) + "  " + text
	}
	t.write(text + "\n")
}

func entryID(e repo.Entry) string { return fmt.Sprintf("@%d", e.ID) }

// cells is what a line has for text beside the gutter; 0: as many as it needs.
func (t *talk) cells() int {
	if t.Width == 0 {
		return 0
	}
	return max(20, t.Width-gutter)
}

// gap writes an empty line, but not at the top.
func (t *talk) gap() {
	if t.begun {
		t.write("\n")
	}
	t.begun = true
}

func (t *talk) heading(title, date string) {
	t.gap()
	t.speaker = ""
	if date != "" {
		date = "  " + date
	}
	t.write(t.Ink(InkHeading, t.fit(title, t.Width-len(date))) + t.Ink(InkQuiet, date) + "\n")
}

func (t *talk) phase(it *conversation.Item) {
	e := it.Entry
	if t.Title != nil {
		t.dir = "" // another tape may have another one
	}
	if e.Kind == repo.KindAnchor {
		t.dir = cmp.Or(jsonl.GetString(e.Payload, "state", "cwd"), t.dir)
	}
	title := fmt.Sprintf("%03d %s", e.AnchorSeq, display.Line(e.Anchor))
	date := ""
	if t.Title != nil && e.Kind == repo.KindAnchor {
		title = t.Title(e.Tape) + " · " + title
	} else if t.Title != nil {
		if title = t.Title(e.Tape); title != e.Tape {
			date = display.Line(e.Tape)
		}
	}
	if e.Kind == repo.KindAnchor {
		date = t.date(e)
	}
	t.heading(title, date)
	if e.Kind != repo.KindAnchor {
		return
	}
	id := entryID(e)
	if it.Summary != "" {
		t.text(e, InkPlain, it.Summary, talkLines)
		id = ""
	}
	if it.Typed != "" && !t.Whole {
		t.text(e, InkPlain, it.Typed, talkLines)
	} else if it.Details != "" && t.Whole {
		t.data(it.Details)
	} else if state := strings.TrimPrefix(it.Details+"\n", "owner: human\n"); len(state) > 1 { // as every tape begins
		t.line(id, InkQuiet, t.cut(strings.ReplaceAll(strings.TrimSpace(state), "\n", ", "), 0))
	}
}

// date is the time of an entry, with the day where it is another one than before.
func (t *talk) date(e repo.Entry) string {
	at, ok := e.Time()
	if !ok {
		return display.Line(e.Date)
	}
	at = at.In(t.Zone)
	if day := at.Format(time.DateOnly); day != t.day {
		t.day = day
		return day + at.Format(" 15:04")
	}
	return at.Format("15:04")
}

// speak says who speaks from here on, if it is somebody else than before.
func (t *talk) speak(who string, ink Ink, e repo.Entry) {
	if fork := conversation.Fork(e); fork != "" {
		who += " in " + fork
	}
	if author := conversation.Author(e); author != "" {
		who += ", " + author
	}
	if conversation.Hidden(e) {
		who += " (not in context)"
	}
	if who == t.speaker {
		return
	}
	t.gap()
	t.speaker = who
	date := "  " + t.date(e)
	t.write(t.Ink(ink, t.fit(display.Line(who), t.Width-len(date))) + t.Ink(InkQuiet, date) + "\n")
}

func (t *talk) message(it *conversation.Item) {
	most := talkLines
	if !t.Whole && onlyResults(it.Parts) {
		t.left++ // they are with their calls
		return
	}
	ink, ok := map[string]Ink{"user": InkUser, "assistant": InkAssistant}[it.Who]
	if !ok {
		ink = InkOther
	}
	if it.Entry.Kind == repo.KindSystem || it.Who == "system" {
		most = systemShown
	}
	again := t.speaker
	t.speak(it.Who, ink, it.Entry)
	if again == t.speaker {
		t.gap()
	}
	for _, p := range it.Parts {
		switch {
		case p.Kind != "":
			t.part(it.Entry, p)
		case it.Who == "user" && !t.Whole && !about.ByPerson(p.Text):
			t.injected(it.Entry, p)
		case it.Who == "user" && !t.Whole:
			t.text(it.Entry, InkPlain, conversation.WithoutContext(p.Text), most)
		default:
			t.text(it.Entry, InkPlain, p.Text, most)
		}
	}
	t.calls(it)
}

// injected shows what a program wrote in the place of a person.
func (t *talk) injected(e repo.Entry, p conversation.Part) {
	switch c := p.Command; {
	case c != nil:
		if c.Typed != "" {
			t.text(e, InkPlain, c.Typed, talkLines)
		}
		if c.Typed == "" || c.Printed != "" {
			t.fold("◂ ", e, cmp.Or(c.Printed, "no output"))
		}
	case strings.Count(p.Text, "\n") < talkLines:
		t.fold("", e, p.Text)
	default:
		t.text(e, InkQuiet, p.Text, injectedShown)
	}
}

// onlyResults reports whether a message is but the form in which a program handed results to
// its model.
func onlyResults(parts []conversation.Part) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p conversation.Part) bool { return !strings.HasPrefix(p.Text, "functionResponse:") })
}

// text shows what was said, wrapped.
func (t *talk) text(e repo.Entry, ink Ink, text string, most int) {
	head, rest := strings.TrimRight(text, " \t\r\n"), ""
	if !t.Whole {
		head, rest = display.Cut(head, most, talkBytes*most/talkLines)
	}
	id := entryID(e)
	for l := range strings.SplitSeq(display.Text(strings.TrimSuffix(head, "\n")), "\n") {
		for _, part := range t.wrap(l) {
			t.line(id, ink, part)
			id = ""
		}
	}
	if rest != "" {
		t.line("", InkQuiet, fmt.Sprintf("… %s: %s", display.Count(strings.Count(rest, "\n")+1, "more line", "more lines"), t.More(e)))
	}
}

// wrap breaks a line. What is indented, or an item of a list, stays so.
func (t *talk) wrap(l string) []string {
	l = strings.ReplaceAll(l, "\t", "    ")
	head := listItem(l)
	if t.Width == 0 || display.Width(l) <= t.cells() || len(head) > t.cells()/2 {
		return display.Wrap(l, t.cells())
	}
	parts := display.Wrap(l[len(head):], t.cells()-display.Width(head))
	for i, part := range parts {
		parts[i] = strings.Repeat(" ", display.Width(head)) + part
	}
	parts[0] = head + strings.TrimLeft(parts[0], " ")
	return parts
}

// part shows what is not text: on one line, or the whole of it.
func (t *talk) part(e repo.Entry, p conversation.Part) {
	if !t.Whole {
		t.line(entryID(e), InkQuiet, t.cut("["+p.Kind+" "+p.Text+"]", 0))
		return
	}
	t.line(entryID(e), InkQuiet, t.fit("["+display.Line(p.Kind)+"]", t.cells()))
	t.data(p.Text)
}

// data shows the whole of a text that machines wrote, where that is asked for.
func (t *talk) data(text string) {
	if !t.Whole || text == "" {
		return
	}
	const indent = 2
	for l := range strings.SplitSeq(display.Text(strings.TrimRight(text, "\r\n")), "\n") {
		for _, part := range t.wrap(strings.Repeat(" ", indent) + l) {
			t.line("", InkQuiet, part)
		}
	}
}

// fit shortens a name on a screen.
func (t *talk) fit(name string, cells int) string {
	if t.Width == 0 {
		return name
	}
	return display.Truncate(name, max(8, cells))
}

// cut makes text fit beside what else is on its line.
func (t *talk) cut(text string, used int) string {
	if t.Width == 0 {
		return display.Line(strings.Join(strings.Fields(text), " "))
	}
	if len(text) > lineMost {
		text = strings.ToValidUTF8(text[:lineMost], "")
	}
	return display.Truncate(display.Line(strings.Join(strings.Fields(text), " ")), max(8, t.cells()-used))
}

// event shows thinking on a line, kinds of one's own, and other events where they are asked for.
func (t *talk) event(ev conversation.Event) {
	e := ev.Entry
	if text := ev.Thinking(); text != "" {
		t.speak("assistant", InkAssistant, e)
		t.fold("⋯ ", e, text)
		return
	}
	if !t.Shows(e) {
		t.left++
		return
	}
	t.fold("· "+ev.Name()+"  ", e, ev.Data())
}

// fold shows a text on one line, or the whole of it below.
func (t *talk) fold(head string, e repo.Entry, text string) {
	head = t.fit(display.Line(head), t.cells()/2)
	if t.Whole && strings.Contains(text, "\n") {
		t.line(entryID(e), InkQuiet, head)
		t.data(text)
		return
	}
	t.line(entryID(e), InkQuiet, head+t.cut(text, display.Width(head)))
}
