package web

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/outline"
	"tape/internal/show/prose"
	"tape/internal/store/about"
	"tape/internal/store/layout"
	"tape/repo"
)

const (
	bodyMost   = 4 << 10  // bytes of a body before it is opened
	bodyLeast  = 600      // of bodies on a page that is full
	bodyEvent  = 300      // of events
	pageMost   = 64 << 10 // bytes of HTML of bodies after which a page is full
	callsMost  = 24 << 10 // after which those of calls are loaded when they are opened
	briefCells = 160      // cells of a folded text
)

// entryView is an item of a conversation as a page shows it.
type entryView struct {
	Base, Tape, Anchor string
	Kind, Look, Who    string
	Quiet              bool // the speaker is that of the item before
	Person             *person
	Fork               string // that it was merged from
	Aside              string // why it is not in the conversation
	ID, LastID         int64
	Seq                int
	Date               time.Time
	Body               []bodyView
	Calls              []callView
	Images             []string
	Files              []repo.Artifact
	Turn               *outline.Turn
	Events             []entryView // of a group, or of a subagent
	CallsIn            int         // of a subagent
}

// bodyView is a text. A page has bodyMost bytes of it.
type bodyView struct {
	Name   string
	HTML   template.HTML
	Folded bool
	Rest   int // bytes that are left out
	ID     int64
	Link   string
}

// viewer makes views of the items that begin within a range of ids.
type viewer struct {
	*View
	base, tape  string
	dir         string // of the session
	first, last int64
	whole       bool
	turns       *outline.Outline // nil if it is not known yet
	helpers     func(agent string) string
	used        int // bytes of bodies
	least       int // if set, how many bytes a body may have
	out         []entryView
	group       *entryView // events since the last prompt
	speaker     string
}

func (v *viewer) within(e repo.Entry) bool { return e.ID >= v.first && e.ID <= v.last }

func (v *viewer) link(id int64) string {
	return v.base + "/t/" + url.PathEscape(v.tape) + "/-/entry/" + strconv.FormatInt(id, 10)
}

func (v *viewer) view(e repo.Entry, kind, look, who string) entryView {
	at, _ := e.Time() // zero: no date is shown
	out := entryView{Base: v.base, Tape: v.tape, Anchor: e.Anchor, Kind: kind, Look: look, Who: display.Line(who), ID: e.ID, LastID: e.ID,
		Seq: e.AnchorSeq, Date: at, Files: repo.References(e), Fork: conversation.Fork(e)}
	if author := e.Author(); author != "" {
		p := personOf(author)
		out.Person = &p
	}
	if conversation.Hidden(e) {
		out.Aside = "not in the context"
	}
	out.Images = v.images(e)
	return out
}

func (v *viewer) item(it *conversation.Item) error {
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
	var look conversation.Speaker
	if it.Kind == conversation.Message {
		if look = it.Speaker(); it.OnlyResults() { // they are with their calls
			v.quiet(v.view(it.Entry, "event", "event", "results for the model"))
			return nil
		}
	}
	e := v.view(it.Entry, itemClasses[it.Kind], string(look), it.Who)
	switch {
	case look == conversation.User && e.Aside != "":
		e.Look = "task"
	case look == conversation.User:
		v.close()
		if v.turns != nil {
			e.Turn = v.turns.TurnOf(e.ID)
		}
	case it.Kind == conversation.Phase:
		v.close()
	}
	if it.Summary != "" {
		e.Body = append(e.Body, v.prose(it.Summary, it.Entry.ID))
	}
	e.Body = append(e.Body, v.parts(it, look)...)
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
		v.quiet(e) // every session begins so
		return nil
	}
	v.add(e)
	return nil
}

// add adds a view. Somebody who goes on speaking is not named again. What a subagent did is in a group of its own.
func (v *viewer) add(e entryView) {
	if outline.IsHelper(e.Fork) && !v.whole {
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
	e.Quiet = speaker == v.speaker && speaker != "user" && e.Kind != "phase"
	v.speaker = speaker
	v.out = append(v.out, e)
}

// addHelper adds a view to the group of its subagent, which is named by its task.
func (v *viewer) addHelper(e entryView) {
	n := len(v.out)
	if n == 0 || v.out[n-1].Kind != "helper" || v.out[n-1].Fork != e.Fork {
		group := entryView{Base: v.base, Tape: v.tape, Kind: "helper", ID: e.ID, Fork: e.Fork, Who: display.Line(path.Base(e.Fork))}
		if v.turns != nil {
			if h := v.turns.HelperOf(e.Fork); h != nil && h.Task != "" {
				group.Who = display.Line(h.Task)
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
	e.Quiet = speaker == v.speaker
	v.speaker = speaker
	group.CallsIn += len(e.Calls)
	group.Events, group.LastID = append(group.Events, e), max(group.LastID, e.LastID)
}

// quiet adds an event to the group of its turn.
func (v *viewer) quiet(e entryView) {
	if v.whole {
		v.out = append(v.out, e)
		return
	}
	if v.group == nil {
		v.group = &entryView{Base: v.base, Tape: v.tape, Kind: "group", ID: e.ID}
	}
	v.group.Events = append(v.group.Events, e)
	v.group.LastID = max(v.group.LastID, e.LastID)
}

// close ends the group of a turn.
func (v *viewer) close() {
	if v.group != nil {
		v.out = append(v.out, *v.group)
		v.group = nil
	}
}

// itemClasses are the CSS classes of the kinds of items.
var itemClasses = [...]string{conversation.Phase: "phase", conversation.Message: "message", conversation.Calls: "calls",
	conversation.Results: "results", conversation.Events: "events", conversation.Failure: "error"}

// parts are the texts of an item after its summary, without pictures and artifacts.
func (v *viewer) parts(it *conversation.Item, look conversation.Speaker) []bodyView {
	var out []bodyView
	add := func(name, text string) {
		b := v.data(name, text, it.Entry.ID)
		b.Folded = true
		out = append(out, b)
	}
	if it.Details != "" {
		add(map[conversation.Kind]string{conversation.Phase: "state", conversation.Failure: "details"}[it.Kind], it.Details)
	}
	for _, p := range it.Parts {
		text := p.Text
		if p.Command != nil {
			text = p.Command.Typed
		}
		switch {
		case p.File, p.Kind == "" && strings.TrimSpace(text) == "":
		case p.Kind == "" && look == conversation.User && !about.ByPerson(p.Text):
			add(oneLine(text), text)
		case p.Kind == "" && it.Kind == conversation.Message && look != conversation.System:
			if look == conversation.User {
				text = conversation.WithoutContext(text)
			}
			out = append(out, v.prose(text, it.Entry.ID))
		case p.Kind == "":
			add(oneLine(text), text)
		default:
			add(p.Kind, text)
		}
		if p.Command != nil && p.Command.Printed != "" {
			add("output: "+oneLine(p.Command.Printed), p.Command.Printed)
		}
	}
	return out
}

// oneLine is the beginning of a text as the line of a folded one.
func oneLine(text string) string {
	return display.Truncate(display.Line(strings.Join(strings.Fields(text[:min(len(text), bodyMost)]), " ")), briefCells)
}

func (v *viewer) event(ev conversation.Event) {
	e, text := ev.Entry, ev.Thinking()
	out := v.view(e, "event", "event", ev.Name())
	var b bodyView
	if text != "" {
		out.Look = "thinking"
		b = v.prose(text, e.ID)
	} else {
		text = ev.Data()
		v.least = bodyEvent
		b = v.data("", text, e.ID)
		v.least = 0
	}
	b.Folded = true
	b.Name = oneLine(text)
	if text != "" {
		out.Body = []bodyView{b}
	}
	if out.Look == "thinking" {
		v.add(out)
		return
	}
	v.quiet(out)
}

// room is how many bytes a body may have.
func (v *viewer) room() int {
	if v.least > 0 {
		return v.least
	}
	if v.used > pageMost {
		return bodyLeast
	}
	return bodyMost
}

// cut returns the shown beginning of a text, and how many bytes are left out.
func (v *viewer) cut(text string) (string, int) {
	end := v.room()
	if v.whole || len(text) <= end {
		return text, 0
	}
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], len(text) - end
}

func (v *viewer) prose(text string, id int64) bodyView {
	text, rest := v.cut(display.SkipBlankLines(text))
	html := v.md.HTML(text)
	v.used += len(html)
	return bodyView{HTML: html, Rest: rest, ID: id, Link: v.link(id)}
}

func (v *viewer) data(name, text string, id int64) bodyView {
	text, rest := v.cut(text)
	v.used += len(text)
	return bodyView{Name: display.Line(name), HTML: template.HTML(`<pre tabindex="0">` + prose.Escape(text) + "</pre>"), Rest: rest, ID: id, Link: v.link(id)} //nolint:gosec // escaped
}

// images are the URLs of the pictures of an entry.
func (v *viewer) images(e repo.Entry) []string {
	var out []string
	n := 0
	if bytes.Contains(e.Payload, []byte("image/")) {
		inline(e.Payload, func(string, string) bool {
			out = append(out, fmt.Sprintf("%s/t/%s/-/image/%d/%d", v.base, url.PathEscape(v.tape), e.ID, n))
			n++
			return n < 20
		})
	}
	for _, a := range repo.References(e) {
		if display.IsShown(a.MIMEType) {
			out = append(out, v.base+"/t/"+url.PathEscape(v.tape)+"/-/artifact/"+a.ID)
		}
	}
	return out
}

// image sends a picture within an entry.
func (s *View) image(r *request) error {
	_, e, err := r.one()
	if err != nil {
		return err
	}
	want, err := strconv.Atoi(r.PathValue("n"))
	n := 0
	done := false
	inline(e.Payload, func(mime, data string) bool {
		if n++; n-1 != want || err != nil {
			return true
		}
		r.w.Header().Set("Content-Type", mime)
		_, err = io.Copy(r.w, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))
		done = true
		return false
	})
	if err == nil && !done {
		return fmt.Errorf("%w: the entry has no such image", repo.ErrNotFound)
	}
	return err
}
