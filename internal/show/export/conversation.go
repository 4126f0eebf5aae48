package export

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"tape/internal/show/display"
	"tape/internal/show/export/markup"
	"tape/internal/show/export/messages"
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
	return s.Events || e.Kind != repo.KindEvent || thought(e) != ""
}

// thought is what a model thought, "" if the entry is nothing of that kind.
func thought(e repo.Entry) string {
	if e.Kind != repo.KindEvent || jsonl.GetString(e.Payload, "name") != "thinking" {
		return ""
	}
	return jsonl.GetString(e.Payload, "data", "thinking")
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

// Conversation shows entries as people read a conversation: who said what, each call of a
// tool with its result as one line. It returns how many events it left out.
func Conversation(ctx context.Context, w io.Writer, s *Screen, entries iter.Seq2[repo.Entry, error]) (left int, err error) {
	t := &talk{Screen: s, w: markup.NewOutput(w), dir: s.Dir}
	err = eachBlock(ctx, Source{Entries: entries}, t.block)
	if flushed := t.w.W.Flush(); err == nil {
		err = flushed
	}
	return t.left, err
}

type talk struct {
	*Screen
	w       *markup.Output
	begun   bool
	speaker string
	day     string
	dir     string // of the session: what is in it is shown without it
	left    int    // events
}

func (t *talk) block(b *block) error {
	if t.Wanted != nil && b.kind != blockPhase && !t.Wanted(b.entry) {
		t.wantedResults(b)
		return t.w.Err()
	}
	switch b.kind {
	case blockPhase:
		t.phase(b.entry)
	case blockMessage:
		t.message(b)
	case blockCalls:
		t.speak("assistant", InkAssistant, b.entry)
		t.calls(b)
	case blockResults:
		t.orphans(b)
	case blockEvents:
		for _, e := range b.events {
			t.event(e)
		}
	case blockError:
		title, details := errorText(b.entry)
		t.speak("error", InkBad, b.entry)
		t.text(b.entry, InkBad, title, talkLines)
		t.data(details)
	}
	return t.w.Err()
}

// line writes a line with something in the gutter.
func (t *talk) line(id string, ink Ink, text string) {
	text = t.Ink(ink, strings.TrimRight(text, " "))
	if pad := gutter - 2 - len(id); id != "" || text != "" {
		text = strings.Repeat(" ", max(0, pad)) + t.Ink(InkQuiet, id) + "  " + text
	}
	t.w.Text(text + "\n")
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
		t.w.Text("\n")
	}
	t.begun = true
}

func (t *talk) heading(title, date string) {
	t.gap()
	t.speaker = ""
	if date != "" {
		date = "  " + date
	}
	t.w.Text(t.Ink(InkHeading, t.fit(title, t.Width-len(date))) + t.Ink(InkQuiet, date) + "\n")
}

func (t *talk) phase(e repo.Entry) {
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
	o, id := readOpening(e), entryID(e)
	if o.summary != "" {
		t.text(e, InkPlain, o.summary, talkLines)
		id = ""
	}
	if typed, _, _ := localCommand(strings.TrimPrefix(o.state, "content:")); typed != "" && !t.Whole {
		t.text(e, InkPlain, typed, talkLines)
	} else if o.state != "" && t.Whole {
		t.data(o.state)
	} else if state := strings.TrimPrefix(o.state+"\n", "owner: human\n"); len(state) > 1 { // as every tape begins
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
	if fork := jsonl.GetString(e.Meta, "origin", "fork"); fork != "" {
		who += " in " + fork
	}
	if author := jsonl.GetString(e.Meta, "author"); author != "" {
		who += ", " + author
	}
	if messages.Hidden(e) {
		who += " (not in context)"
	}
	if who == t.speaker {
		return
	}
	t.gap()
	t.speaker = who
	date := "  " + t.date(e)
	t.w.Text(t.Ink(ink, t.fit(display.Line(who), t.Width-len(date))) + t.Ink(InkQuiet, date) + "\n")
}

func (t *talk) message(b *block) {
	role, most := who(b.entry), talkLines
	parts := messageParts(b.entry)
	if !t.Whole && onlyResults(parts) {
		t.left++ // they are with their calls
		return
	}
	ink, ok := map[string]Ink{"user": InkUser, "assistant": InkAssistant}[role]
	if !ok {
		ink = InkOther
	}
	if b.entry.Kind == repo.KindSystem || role == "system" {
		most = systemShown
	}
	again := t.speaker
	t.speak(role, ink, b.entry)
	if again == t.speaker {
		t.gap()
	}
	for _, p := range parts {
		switch {
		case p.kind != "":
			t.part(b.entry, p)
		case role == "user" && !t.Whole && !about.ByPerson(p.text):
			t.injected(b.entry, p.text)
		case role == "user" && !t.Whole:
			t.text(b.entry, InkPlain, withoutContext(p.text), most)
		default:
			t.text(b.entry, InkPlain, p.text, most)
		}
	}
	t.calls(b)
}

// injected shows what a program wrote in the place of a person.
func (t *talk) injected(e repo.Entry, text string) {
	typed, printed, ok := localCommand(text)
	if typed != "" {
		t.text(e, InkPlain, typed, talkLines)
	}
	switch {
	case ok && typed != "" && printed == "":
	case ok:
		t.fold("◂ ", e, cmp.Or(printed, "no output"))
	case strings.Count(text, "\n") < talkLines:
		t.fold("", e, text)
	default:
		t.text(e, InkQuiet, text, injectedShown)
	}
}

// onlyResults reports whether a message is but the form in which a program handed results to
// its model.
func onlyResults(parts []part) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(p part) bool { return !strings.HasPrefix(p.text, "functionResponse:") })
}

// text shows what was said, wrapped.
func (t *talk) text(e repo.Entry, ink Ink, text string, most int) {
	head, rest := strings.TrimRight(text, " \t\r\n"), ""
	if !t.Whole {
		head, rest = cut(head, most, talkBytes*most/talkLines)
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

// item is what a line of a list begins with, below which its text goes on.
func item(l string) string {
	_, n := markup.Marker(l)
	if n == 0 {
		n = markup.IndentOf(l)
		for _, sign := range []string{"• ", "> "} {
			n += len(l[n:]) - len(strings.TrimPrefix(l[n:], sign))
		}
	}
	return l[:n+markup.IndentOf(l[n:])]
}

// wrap breaks a line. What is indented, or an item of a list, stays so.
func (t *talk) wrap(l string) []string {
	l = strings.ReplaceAll(l, "\t", "    ")
	head := item(l)
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
func (t *talk) part(e repo.Entry, p part) {
	if !t.Whole {
		t.line(entryID(e), InkQuiet, t.cut("["+p.kind+" "+p.text+"]", 0))
		return
	}
	t.line(entryID(e), InkQuiet, t.fit("["+display.Line(p.kind)+"]", t.cells()))
	t.data(p.text)
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
func (t *talk) event(e repo.Entry) {
	if text := thought(e); text != "" {
		t.speak("assistant", InkAssistant, e)
		t.fold("⋯ ", e, text)
		return
	}
	if !t.Shows(e) {
		t.left++
		return
	}
	t.fold("· "+eventName(e)+"  ", e, eventData(e))
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
