package web

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/show/prose"
	"tape/internal/text/entrydiff"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const (
	bodyMost   = 4 << 10 // bytes of a body before it is opened
	briefCells = 160     // cells of a folded text
	briefMost  = 140     // bytes of a call's arguments
)

// entryView is an item of a conversation as a page shows it.
type entryView struct {
	Base, Tape, Anchor string
	Kind, Look, Who    string
	Author             string
	ID, LastID         int64
	Seq                int
	Date               time.Time
	Body               []bodyView
	Calls              []callView
	Images             []string
	Files              []repo.Artifact
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

type callView struct {
	Name, Brief  string
	Took         time.Duration
	Size         int
	Failed, None bool
	Outcome      string
	IDs          []int64 // of the results
	Body         []bodyView
	Images       []string
	Files        []repo.Artifact
	Link         string // to its body, if that is left out
	ID           int64
}

// viewer makes views of the items that begin within a range of ids.
type viewer struct {
	*View
	base, tape  string
	first, last int64
	whole       bool
	out         []entryView
}

func (v *viewer) within(e repo.Entry) bool { return e.ID >= v.first && e.ID <= v.last }

func (v *viewer) link(id int64) string {
	return v.base + "/t/" + url.PathEscape(v.tape) + "/-/entry/" + strconv.FormatInt(id, 10)
}

func (v *viewer) view(e repo.Entry, kind, look, who string) entryView {
	at, _ := e.Time() // zero: no date is shown
	out := entryView{Base: v.base, Tape: v.tape, Anchor: e.Anchor, Kind: kind, Look: look, Who: display.Line(who), ID: e.ID, LastID: e.ID,
		Seq: e.AnchorSeq, Date: at, Author: display.Line(e.Author()), Files: repo.References(e)}
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
		look = it.Speaker()
	}
	e := v.view(it.Entry, itemClasses[it.Kind], string(look), it.Who)
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
	v.out = append(v.out, e)
	return nil
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
		case p.File, p.Kind == "" && text == "":
		case p.Kind == "" && it.Kind == conversation.Message && look != conversation.System:
			out = append(out, v.prose(text, it.Entry.ID))
		default:
			add(p.Kind, text)
		}
		if p.Command != nil && p.Command.Printed != "" {
			add("output", p.Command.Printed)
		}
	}
	return out
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
		b = v.data("", text, e.ID)
	}
	b.Folded = true
	b.Name = display.Truncate(display.Line(strings.Join(strings.Fields(text[:min(len(text), bodyMost)]), " ")), briefCells)
	if text != "" {
		out.Body = []bodyView{b}
	}
	v.out = append(v.out, out)
}

// cut returns the shown beginning of a text, and how many bytes are left out.
func (v *viewer) cut(text string) (string, int) {
	if v.whole || len(text) <= bodyMost {
		return text, 0
	}
	end := bodyMost
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], len(text) - end
}

func (v *viewer) prose(text string, id int64) bodyView {
	text, rest := v.cut(display.SkipBlankLines(text))
	return bodyView{HTML: v.md.HTML(text), Rest: rest, ID: id, Link: v.link(id)}
}

func (v *viewer) data(name, text string, id int64) bodyView {
	text, rest := v.cut(text)
	return bodyView{Name: display.Line(name), HTML: template.HTML(`<pre tabindex="0">` + prose.Escape(text) + "</pre>"), Rest: rest, ID: id, Link: v.link(id)} //nolint:gosec // escaped
}

// call is the view of a call with its results. A long body is loaded when it is opened.
func (v *viewer) call(c *conversation.Call, from repo.Entry) callView {
	out := callView{Name: display.Line(c.Name), Brief: display.Title(c.Brief(), briefMost), Took: c.Took(), Failed: c.Failed(), Outcome: c.Outcome(), None: len(c.Results) == 0, ID: from.ID}
	for _, r := range c.Results {
		if r.Entry.ID != from.ID {
			out.IDs = append(out.IDs, r.Entry.ID)
			out.Files = append(out.Files, repo.References(r.Entry)...)
		}
		for _, p := range r.Parts {
			if !p.File {
				out.Size += len(p.Text)
			}
		}
		out.Images = append(out.Images, v.images(r.Entry)...)
	}
	args := c.Args()
	if len(args)+out.Size > bodyMost && !v.whole {
		out.Link = v.link(from.ID)
		return out
	}
	if d := v.edit(c); d != "" {
		out.Body = append(out.Body, bodyView{Name: "change", HTML: d, ID: from.ID})
	} else if args != "" {
		out.Body = append(out.Body, v.data("arguments", args, from.ID))
	}
	for _, r := range c.Results {
		for _, p := range r.Parts {
			if !p.File {
				out.Body = append(out.Body, v.data(cmp.Or(p.Kind, "result"), p.Text, r.Entry.ID))
			}
		}
	}
	return out
}

// edit shows the change that a call makes to a file; "" for other calls.
func (v *viewer) edit(c *conversation.Call) template.HTML {
	args := c.Object()
	if patch := jsonl.GetString(args, "input"); strings.HasPrefix(patch, "*** Begin Patch") {
		return v.md.Code(patch, "diff")
	}
	var b strings.Builder
	one := func(edit []byte) {
		old, ok := jsonl.String(jsonl.Get(edit, "old_string"))
		new, ok2 := jsonl.String(jsonl.Get(edit, "new_string"))
		if ok && ok2 {
			for _, p := range entrydiff.Entry([]byte(old), []byte(new)) {
				b.WriteString(string(lines(display.DiffLines(p))))
			}
		}
	}
	one(args)
	for edit := range jsonl.Elements(jsonl.Get(args, "edits")) {
		one(edit)
	}
	if content := jsonl.GetString(args, "content"); content != "" && jsonl.GetString(args, "file_path") != "" {
		return v.md.Code(content, jsonl.GetString(args, "file_path"))
	}
	return template.HTML(b.String()) //nolint:gosec // lines escapes
}

// lines is a changed text with its differences marked.
func lines(list []display.TextLine) template.HTML {
	var b strings.Builder
	b.WriteString(`<pre class="diff" tabindex="0">`)
	for _, l := range list {
		tag := map[byte]string{'+': "ins", '-': "del"}[l.Sign]
		if tag == "" {
			b.WriteString("  " + prose.Escape(l.Text) + "\n")
			continue
		}
		b.WriteString("<" + tag + ">" + string(l.Sign) + " ")
		at := 0
		for _, m := range l.Marks {
			b.WriteString(prose.Escape(l.Text[at:m[0]]) + "<b>" + prose.Escape(l.Text[m[0]:m[1]]) + "</b>")
			at = m[1]
		}
		b.WriteString(prose.Escape(l.Text[at:]) + "</" + tag + ">\n")
	}
	return template.HTML(b.String() + "</pre>") //nolint:gosec // each piece is escaped
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
