package plain

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Screen says how a conversation is shown, and how much of it.
type Screen struct {
	// Width is the width of a line, in cells; 0: lines are not wrapped.
	Width int
	// Whole shows whole texts, calls with their arguments and results, and messages that only repeat results.
	Whole bool
	// Reverse says that the newest entry comes first: results before their calls.
	Reverse bool
	// Wanted selects the entries to show; nil: all. The others are read to match calls with
	// results.
	Wanted func(repo.Entry) bool
	// Partial says that the tape has more entries than these, which may be results.
	Partial bool
	// Events also shows events other than thinking, and messages that only repeat results.
	Events bool
	// Style applies a style to a text.
	Style func(style Style, text string) string
	// Zone is the time zone of dates.
	Zone *time.Location
	// Dir is the directory of the session. Paths are shown relative to it.
	Dir string
	// Session is the session of an entry, if the entries are of several; otherwise nil.
	Session func(repo.Entry) Session
	// More is the command that shows all of an entry.
	More func(repo.Entry) string
}

// Session is what the heading of a session says.
type Session struct {
	Title string
	Name  string // the short name of its tape
	Dir   string // paths are shown relative to it
}

// Shows reports whether an entry is shown. Events other than thinking are shown only with Events.
func (s *Screen) Shows(e repo.Entry) bool {
	return s.Events || e.Kind != repo.KindEvent || conversation.Event{Entry: e}.Thinking() != ""
}

// Style says how a piece of text looks.
type Style int

// The styles.
const (
	StylePlain Style = iota
	StyleQuiet       // less important
	StyleHeading
	StyleUser
	StyleAssistant
	StyleOther // other roles
	StyleTool
	StyleBad
)

// How much of a text is shown, unless the screen is Whole.
const (
	talkLines     = 40 // of a message
	talkBytes     = 4000
	systemShown   = 3        // lines of a system prompt
	injectedShown = 10       // lines of a program's text in a user's message
	lineMost      = 16 << 10 // bytes of a text that is shown on one line
	gutter        = 8        // cells before a text, for the entry's id
)

// Show writes entries as a conversation: who said what, each tool call with its result on one
// line. On a terminal, it says so if there are no entries. It returns how many events, and
// messages that only repeat results, it left out.
func Show(ctx context.Context, w io.Writer, s *Screen, entries iter.Seq2[repo.Entry, error]) (left int, err error) {
	t := &printer{Screen: s, w: bufio.NewWriterSize(w, 64<<10), dir: s.Dir}
	err = conversation.Each(ctx, entries, t.item)
	if err == nil && !t.begun && t.left == 0 && s.Width > 0 {
		_, err = t.w.WriteString("No matching entries.\n")
	}
	if flushed := t.w.Flush(); err == nil {
		err = flushed
	}
	return t.left, err
}

type printer struct {
	*Screen
	w       *bufio.Writer
	begun   bool
	speaker string
	day     string
	dir     string // of the session
	left    int    // see Show
}

func (t *printer) item(it *conversation.Item) error {
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
		t.speak("assistant", StyleAssistant, it.Entry)
		t.calls(it)
	case conversation.Results:
		t.results(it.Entry, it.Results)
	case conversation.Events:
		for _, ev := range it.Events {
			t.event(ev)
		}
	case conversation.Failure:
		t.speak("error", StyleBad, it.Entry)
		t.text(it.Entry, StyleBad, it.Summary, talkLines)
		t.data(it.Details)
	}
	return t.failed()
}

// failed is the first error of a write.
func (t *printer) failed() error {
	_, err := t.w.Write(nil)
	return err
}

func (t *printer) write(text string) { _, _ = t.w.WriteString(text) } // failed returns the error

// line writes a line with an id in the gutter.
func (t *printer) line(id string, style Style, text string) {
	text = t.Style(style, strings.TrimRight(text, " "))
	if pad := gutter - 2 - len(id); id != "" || text != "" {
		text = strings.Repeat(" ", max(0, pad)) + t.Style(StyleQuiet, id) + "  " + text
	}
	t.write(text + "\n")
}

func entryID(e repo.Entry) string { return fmt.Sprintf("@%d", e.ID) }

// cells is the width of the text beside the gutter; 0: not limited.
func (t *printer) cells() int {
	if t.Width == 0 {
		return 0
	}
	return max(20, t.Width-gutter)
}

// gap writes an empty line, except at the top.
func (t *printer) gap() {
	if t.begun {
		t.write("\n")
	}
	t.begun = true
}

func (t *printer) heading(title, date string) {
	t.gap()
	t.speaker = ""
	if date != "" {
		date = "  " + date
	}
	t.write(t.Style(StyleHeading, t.fit(title, t.Width-len(date))) + t.Style(StyleQuiet, date) + "\n")
}

func (t *printer) phase(it *conversation.Item) {
	e := it.Entry
	var session Session
	if t.Session != nil {
		session = t.Session(e)
		t.dir = session.Dir // another tape's may differ
	}
	if e.Kind == repo.KindAnchor {
		t.dir = cmp.Or(jsonl.GetString(e.Payload, "state", "cwd"), t.dir)
	}
	title := fmt.Sprintf("%03d %s", e.AnchorSeq, display.Line(e.Anchor))
	date := ""
	if t.Session != nil && e.Kind == repo.KindAnchor {
		title = session.Title + " · " + title
	} else if t.Session != nil {
		if title = session.Title; title != e.Tape {
			date = display.Line(session.Name)
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
		t.text(e, StylePlain, it.Summary, talkLines)
		id = ""
	}
	if it.Typed != "" && !t.Whole {
		t.text(e, StylePlain, it.Typed, talkLines)
	} else if it.Details != "" && t.Whole {
		t.data(it.Details)
	} else if state := strings.TrimPrefix(it.Details+"\n", "owner: human\n"); len(state) > 1 { // the state of every new tape
		t.line(id, StyleQuiet, t.cut(strings.ReplaceAll(strings.TrimSpace(state), "\n", ", "), 0))
	}
}

// date is the time of an entry, with the day if that has changed.
func (t *printer) date(e repo.Entry) string {
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

// speak writes the name of the speaker if that has changed.
func (t *printer) speak(who string, style Style, e repo.Entry) {
	if fork := conversation.Fork(e); fork != "" {
		who += " in " + fork
	}
	if author := e.Author(); author != "" {
		who += ", " + author
	}
	if e.Hidden() {
		who += " (not in context)"
	}
	if who == t.speaker {
		return
	}
	t.gap()
	t.speaker = who
	date := "  " + t.date(e)
	t.write(t.Style(style, t.fit(display.Line(who), t.Width-len(date))) + t.Style(StyleQuiet, date) + "\n")
}

func (t *printer) message(it *conversation.Item) {
	most := talkLines
	if !t.Whole && !t.Events && it.OnlyResults() {
		t.left++ // the results are shown with their calls
		return
	}
	style, ok := map[string]Style{"user": StyleUser, "assistant": StyleAssistant}[it.Who]
	if !ok {
		style = StyleOther
	}
	if it.Entry.Kind == repo.KindSystem || it.Who == "system" {
		most = systemShown
	}
	before := t.speaker
	t.speak(it.Who, style, it.Entry)
	if before == t.speaker {
		t.gap()
	}
	for _, p := range it.Parts {
		switch {
		case p.Kind != "":
			t.part(it.Entry, p)
		case !t.Whole && it.Entry.Role() == "user" && (it.Who != "user" || !about.ByPerson(p.Text)):
			t.injected(it.Entry, p)
		case !t.Whole && it.Who == "user":
			t.text(it.Entry, StylePlain, p.Said(), most)
		default:
			t.text(it.Entry, StylePlain, p.Text, most)
		}
	}
	t.calls(it)
}

// injected shows text that a program wrote into a user's message.
func (t *printer) injected(e repo.Entry, p conversation.ContentPart) {
	switch c := p.Command; {
	case c != nil:
		if c.Typed != "" {
			t.text(e, StylePlain, c.Typed, talkLines)
		}
		if c.Typed == "" || c.Printed != "" {
			t.fold("◂ ", e, cmp.Or(c.Printed, "no output"))
		}
	case strings.Count(p.Text, "\n") < talkLines:
		t.fold("", e, p.Text)
	default:
		t.text(e, StyleQuiet, p.Text, injectedShown)
	}
}

// text shows the text of a message, wrapped.
func (t *printer) text(e repo.Entry, style Style, text string, most int) {
	head, rest := display.SkipBlankLines(strings.TrimRight(text, " \t\r\n")), ""
	if !t.Whole {
		head, rest = display.Cut(head, most, talkBytes*most/talkLines)
	}
	id := entryID(e)
	for l := range strings.SplitSeq(display.Text(strings.TrimSuffix(head, "\n")), "\n") {
		for _, part := range t.wrap(l) {
			t.line(id, style, part)
			id = ""
		}
	}
	if rest != "" {
		t.line("", StyleQuiet, fmt.Sprintf("… %s: %s", display.Count(strings.Count(rest, "\n")+1, "more line", "more lines"), t.More(e)))
	}
}

// wrap breaks a line, and keeps the indent of lists and indented text.
func (t *printer) wrap(l string) []string {
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

// part shows a part that is not text: on one line, or all of it.
func (t *printer) part(e repo.Entry, p conversation.ContentPart) {
	if !t.Whole {
		t.line(entryID(e), StyleQuiet, t.cut("["+p.Kind+" "+p.Text+"]", 0))
		return
	}
	t.line(entryID(e), StyleQuiet, t.fit("["+display.Line(p.Kind)+"]", t.cells()))
	t.data(p.Text)
}

// data shows arguments, results and other data if the screen is Whole.
func (t *printer) data(text string) {
	if !t.Whole || text == "" {
		return
	}
	const indent = 2
	for l := range strings.SplitSeq(display.Text(strings.TrimRight(text, "\r\n")), "\n") {
		for _, part := range t.wrap(strings.Repeat(" ", indent) + l) {
			t.line("", StyleQuiet, part)
		}
	}
}

// fit shortens a name on a screen.
func (t *printer) fit(name string, cells int) string {
	if t.Width == 0 {
		return name
	}
	return display.Truncate(name, max(8, cells))
}

// cut makes text fit on a line of which some cells are used.
func (t *printer) cut(text string, used int) string {
	if t.Width == 0 {
		return display.Line(strings.Join(strings.Fields(text), " "))
	}
	if len(text) > lineMost {
		text = strings.ToValidUTF8(text[:lineMost], "")
	}
	return display.Truncate(display.Line(strings.Join(strings.Fields(text), " ")), max(8, t.cells()-used))
}

// event shows thinking on a line, and other events and kinds if the screen shows them.
func (t *printer) event(ev conversation.Event) {
	e := ev.Entry
	if text := ev.Thinking(); text != "" {
		t.speak("assistant", StyleAssistant, e)
		t.fold("⋯ ", e, text)
		return
	}
	if !t.Shows(e) {
		t.left++
		return
	}
	t.fold("· "+ev.Name()+"  ", e, ev.Data())
}

// fold shows a text on one line, or all of it below its heading if the screen is Whole.
func (t *printer) fold(head string, e repo.Entry, text string) {
	head = t.fit(display.Line(head), t.cells()/2)
	if t.Whole && strings.Contains(text, "\n") {
		t.line(entryID(e), StyleQuiet, head)
		t.data(text)
		return
	}
	t.line(entryID(e), StyleQuiet, head+t.cut(text, display.Width(head)))
}
