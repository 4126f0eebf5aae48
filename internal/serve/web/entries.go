package web

// What the templates of pages need of a session's entries: who speaks, calls in their shapes, texts of which a full page has only the beginning.

import (
	"cmp"
	"hash/fnv"
	"html/template"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/show/prose"
	"tape/internal/store/layout"
	"tape/repo"
)

// shownEntry is an item of a conversation as a page shows it.
type shownEntry struct {
	Base, Tape, Anchor string
	Kind, Look, Who    string
	GoesOn             bool // the same speaker as in the item before
	Person             *person
	Fork               string // the fork that it was merged from, or ""
	Aside              string // why it is not in the conversation
	ID, LastID         int64
	Seq                int
	Date               time.Time
	Body               []entryBody
	Calls              []shownCall
	Images             []string
	Files              []repo.Artifact
	NoFiles            bool // artifacts are only named
	Turn               *outline.Turn
	Events             []shownEntry // of a group, or of a subagent
	CallsIn            int          // of a subagent
}

// entryBody is a text. Name is its heading; of a folded one, the line that is shown.
type entryBody struct {
	Name   string
	HTML   template.HTML
	Folded bool
	Echo   bool // Name is the beginning of the text
	Rest   int  // bytes that are left out
	ID     int64
	Link   string // to the whole text
}

// person is somebody who wrote entries, with a colour of their own: a class of the style sheet.
type person struct {
	Name   string
	Colour int
}

// colours is how many colours people have.
const colours = 8

// personOf returns the person for an author, NAME <ADDRESS>.
func personOf(author string) person {
	name, _, _ := strings.Cut(author, " <")
	h := fnv.New32a()
	_, _ = h.Write([]byte(author))
	return person{display.Line(cmp.Or(name, author)), int(h.Sum32() % colours)}
}

// pageBytes is about how many bytes of HTML a page of entries may have before anything is opened.
const pageBytes = 110_000

// entryViewer makes what a page shows of the items that begin within a range of ids.
type entryViewer struct {
	Prose       *prose.Renderer
	Base, Tape  string // the prefix of links; the session
	Dir         string // of the session's project: paths below it are relative
	First, Last int64
	Most        int                       // about how many bytes of HTML the entries may have; 0: pageBytes
	Whole       bool                      // texts are complete, and nothing is put into groups
	Turns       *outline.Outline          // nil if it is not known yet
	Subagent    func(agent string) string // the address of a subagent's session; "" if it has none
	NoFiles     bool                      // artifacts cannot be opened here: they are named, without links

	out     []shownEntry
	group   *shownEntry // events since the last prompt
	speaker string
	used    int // bytes of HTML
}

// Entries returns what Item has made.
func (v *entryViewer) Entries() []shownEntry {
	v.close()
	return v.out
}

func (v *entryViewer) within(e repo.Entry) bool { return e.ID >= v.First && e.ID <= v.Last }

func (v *entryViewer) link(id int64) string {
	return v.Base + "/t/" + url.PathEscape(v.Tape) + "/-/entry/" + strconv.FormatInt(id, 10)
}

func (v *entryViewer) entry(e repo.Entry, kind, look, who string) shownEntry {
	at, _ := e.Time() // zero: no date is shown
	out := shownEntry{Base: v.Base, Tape: v.Tape, Anchor: e.Anchor, Kind: kind, Look: look, Who: display.Line(who), ID: e.ID, LastID: e.ID,
		Seq: e.AnchorSeq, Date: at, Files: repo.References(e), NoFiles: v.NoFiles, Fork: conversation.Fork(e)}
	if author := e.Author(); author != "" {
		p := personOf(author)
		out.Person = &p
	}
	if e.Hidden() {
		out.Aside = "not in the context"
	}
	out.Images = v.images(e)
	v.used += lineBytes + len(v.link(e.ID))
	return out
}

// Item takes the next item of a conversation.
func (v *entryViewer) Item(it *conversation.Item) error {
	if it.Kind == conversation.Events {
		for _, ev := range it.Events {
			if v.within(ev.Entry) {
				v.event(ev)
			}
		}
		return nil
	}
	if !v.within(it.Entry) || it.Kind == conversation.Phase && it.Entry.Kind != repo.KindAnchor {
		return nil
	}
	var speaker conversation.Speaker
	if it.Kind == conversation.Message {
		if speaker = it.Speaker(); it.OnlyResults() { // the results are shown with their calls
			v.addEvent(v.entry(it.Entry, "event", "event", "results for the model"))
			return nil
		}
	}
	e := v.entry(it.Entry, itemClasses[it.Kind], string(speaker), it.Who)
	switch {
	case speaker == conversation.User && outline.IsSubagent(e.Fork):
		e.Look = "task"
	case speaker == conversation.User && e.Aside != "": // taken back
	case speaker == conversation.User:
		v.close()
		if v.Turns != nil {
			e.Turn = v.Turns.TurnOf(e.ID)
		}
	case it.Kind == conversation.Phase:
		v.close()
	}
	if it.Summary != "" {
		e.Body = append(e.Body, v.prose(it.Summary, it.Entry.ID))
	}
	e.Body = append(e.Body, v.parts(it, speaker)...)
	for _, c := range it.Calls {
		e.Calls = append(e.Calls, v.call(c, it.Entry))
		for _, r := range c.Results {
			e.LastID = max(e.LastID, r.Entry.ID)
		}
	}
	for _, r := range it.Results {
		c := &conversation.Call{Name: "result", Results: []conversation.Result{r}}
		if r.Of != nil {
			c.Name = r.Of.Name
		}
		e.Calls = append(e.Calls, v.call(c, it.Entry))
	}
	if it.Kind == conversation.Phase && it.Entry.Anchor == layout.FirstAnchor && it.Summary == "" {
		v.addEvent(e) // every session begins so
		return nil
	}
	v.add(e)
	return nil
}

// add adds an entry. Somebody who goes on speaking is not named again. What a subagent did is in a group of its own.
func (v *entryViewer) add(e shownEntry) {
	if outline.IsSubagent(e.Fork) && !v.Whole {
		v.addHelper(e)
		return
	}
	speaker := e.Kind + e.Look
	switch {
	case e.Kind == "calls" || e.Kind == "results" || e.Look == "assistant" || e.Look == "thinking":
		speaker = "agent"
	case e.Kind == "message":
		speaker = e.Look
	}
	if e.Person != nil {
		speaker += " " + e.Person.Name
	}
	speaker += e.Fork + e.Aside
	e.GoesOn = speaker == v.speaker && speaker != "user" && e.Kind != "phase"
	v.speaker = speaker
	v.out = append(v.out, e)
}

// addHelper adds an entry to the group of its subagent, which is named by its task.
func (v *entryViewer) addHelper(e shownEntry) {
	n := len(v.out)
	if n == 0 || v.out[n-1].Kind != "helper" || v.out[n-1].Fork != e.Fork {
		group := shownEntry{Base: v.Base, Tape: v.Tape, Kind: "helper", ID: e.ID, Fork: e.Fork, Who: display.Line(path.Base(e.Fork))}
		if v.Turns != nil {
			if h := v.Turns.SubagentOf(e.Fork); h != nil && h.Task != "" {
				group.Who = display.PageLine(h.Task)
			}
		}
		v.out = append(v.out, group)
		v.speaker, n = "", n+1
	}
	group := &v.out[n-1]
	e.Aside, e.Fork = "", ""
	speaker := e.Look
	if e.Kind != "message" || e.Look == "assistant" {
		speaker = "agent"
	}
	e.GoesOn = speaker == v.speaker
	v.speaker = speaker
	group.CallsIn += len(e.Calls)
	group.Events, group.LastID = append(group.Events, e), max(group.LastID, e.LastID)
}

// addEvent adds an event to the group of its turn.
func (v *entryViewer) addEvent(e shownEntry) {
	if v.Whole {
		v.out = append(v.out, e)
		return
	}
	if v.group == nil {
		v.group = &shownEntry{Base: v.Base, Tape: v.Tape, Kind: "group", ID: e.ID}
	}
	v.group.Events = append(v.group.Events, e)
	v.group.LastID = max(v.group.LastID, e.LastID)
}

// close ends the group of a turn.
func (v *entryViewer) close() {
	if v.group != nil {
		v.out = append(v.out, *v.group)
		v.group = nil
	}
}

func (v *entryViewer) event(ev conversation.Event) {
	e, text := ev.Entry, ev.Thinking()
	out := v.entry(e, "event", "event", ev.Name())
	var b entryBody
	if text != "" {
		out.Look = "thinking"
		b = v.prose(text, e.ID)
	} else {
		text = ev.Data()
		b = v.upTo(bodyEvent, "", text, e.ID)
	}
	b.Folded, b.Echo = true, true
	b.Name = oneLine(text)
	v.used += lineBytes/2 + len(b.Name)
	if text != "" {
		out.Body = []entryBody{b}
	}
	if out.Look == "thinking" {
		v.add(out)
		return
	}
	v.addEvent(out)
}

// itemClasses are the CSS classes of the kinds of items.
var itemClasses = [...]string{conversation.Phase: "phase", conversation.Message: "message", conversation.Calls: "calls",
	conversation.Results: "results", conversation.Events: "events", conversation.Failure: "error"}
