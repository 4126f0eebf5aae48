package web

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"tape/internal/show/display"
	"tape/internal/show/export"
	"tape/internal/text/entrydiff"
	"tape/internal/text/jsonl"
	"tape/repo"
)

const (
	bodyMost   = 4 << 10 // bytes of a body that come before it is opened
	briefCells = 160     // of a folded text that are seen
)

// entryView is a piece of a conversation as a page shows it.
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

// bodyView is one text. Of what is longer than bodyMost, the page has the beginning.
type bodyView struct {
	Name   string
	HTML   template.HTML
	Folded bool
	Rest   int // bytes that are not here
	ID     int64
	Link   string
}

type callView struct {
	Name, Brief  string
	Took         time.Duration
	Size         int
	Failed, None bool
	IDs          []int64 // of the results
	Body         []bodyView
	Images       []string
	Files        []repo.Artifact
	Link         string // where its body is, if it is not here
	ID           int64
}

// viewer makes views of pieces that begin within some ids.
type viewer struct {
	*View
	base, tape  string
	first, last int64
	whole       bool
	out         []entryView
}

func (v *viewer) within(e repo.Entry) bool { return e.ID >= v.first && e.ID <= v.last }

func (v *viewer) link(id int64) string {
	return v.base + "/t/" + pathEscape(v.tape) + "/-/entry/" + strconv.FormatInt(id, 10)
}

func (v *viewer) view(e repo.Entry, kind, look, who string) entryView {
	at, _ := e.Time() // one without a date shows none
	out := entryView{Base: v.base, Tape: v.tape, Anchor: e.Anchor, Kind: kind, Look: look, Who: display.Line(who), ID: e.ID, LastID: e.ID,
		Seq: e.AnchorSeq, Date: at, Author: display.Line(jsonl.GetString(e.Meta, "author")), Files: repo.References(e)}
	out.Images = v.images(e)
	return out
}

func (v *viewer) piece(p export.Piece) error {
	if p.Kind == "events" {
		for _, e := range p.Events {
			if v.within(e) {
				v.event(e)
			}
		}
		return nil
	}
	if !v.within(p.Entry) || p.Kind == "phase" && p.Entry.Kind != repo.KindAnchor {
		return nil
	}
	e := v.view(p.Entry, p.Kind, p.Look, p.Who)
	if p.Summary != "" {
		e.Body = append(e.Body, v.prose(p.Summary, p.Entry.ID))
	}
	for _, part := range p.Parts {
		if part.Text != "" || part.Name != "" {
			e.Body = append(e.Body, v.part(part, p.Kind == "message" && p.Look != "system", p.Entry.ID))
		}
	}
	for _, c := range p.Calls {
		e.Calls = append(e.Calls, v.call(c, p.Entry))
		for _, r := range c.Results {
			e.LastID = max(e.LastID, r.Entry.ID)
		}
	}
	v.out = append(v.out, e)
	return nil
}

func (v *viewer) event(e repo.Entry) {
	name, text, thinking := export.EventText(e)
	out := v.view(e, "event", "event", name)
	if thinking {
		out.Look = "thinking"
	}
	b := v.data("", text, e.ID)
	if thinking {
		b = v.prose(text, e.ID)
	}
	b.Folded = true
	b.Name = display.Truncate(display.Line(strings.Join(strings.Fields(text[:min(len(text), bodyMost)]), " ")), briefCells)
	if text != "" {
		out.Body = []bodyView{b}
	}
	v.out = append(v.out, out)
}

// cut is the beginning of a text that is shown, and how much is left out.
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
	text, rest := v.cut(text)
	return bodyView{HTML: v.md.markdown(text), Rest: rest, ID: id, Link: v.link(id)}
}

func (v *viewer) data(name, text string, id int64) bodyView {
	text, rest := v.cut(text)
	return bodyView{Name: display.Line(name), HTML: template.HTML(`<pre tabindex="0">` + shown(text) + "</pre>"), Rest: rest, ID: id, Link: v.link(id)} //nolint:gosec // escaped
}

func (v *viewer) part(p export.Part, prose bool, id int64) bodyView {
	if p.Name == "" && prose {
		return v.prose(p.Text, id)
	}
	b := v.data(p.Name, p.Text, id)
	b.Folded = true
	return b
}

// call is a call with its results. What is long comes when it is opened.
func (v *viewer) call(c export.Call, from repo.Entry) callView {
	out := callView{Name: display.Line(c.Name), Brief: c.Brief, Took: c.Took, Failed: c.Failed, None: len(c.Results) == 0, ID: from.ID}
	total := len(c.Args)
	for _, r := range c.Results {
		if r.Entry.ID != from.ID {
			out.IDs = append(out.IDs, r.Entry.ID)
			out.Files = append(out.Files, repo.References(r.Entry)...)
		}
		for _, p := range r.Parts {
			out.Size += len(p.Text)
		}
		out.Images = append(out.Images, v.images(r.Entry)...)
	}
	if total += out.Size; total > bodyMost && !v.whole {
		out.Link = v.link(from.ID)
		return out
	}
	if d := v.edit(c, from); d != "" {
		out.Body = append(out.Body, bodyView{Name: "change", HTML: d, ID: from.ID})
	} else if c.Args != "" {
		out.Body = append(out.Body, v.data("arguments", c.Args, from.ID))
	}
	for _, r := range c.Results {
		for _, p := range r.Parts {
			name := p.Name
			if name == "" {
				name = "result"
			}
			out.Body = append(out.Body, v.data(name, p.Text, r.Entry.ID))
		}
	}
	return out
}

// edit shows the change that a call makes to a file, "" if it is no such call.
func (v *viewer) edit(c export.Call, from repo.Entry) template.HTML {
	args := argsOf(from, c)
	if patch := jsonl.GetString(args, "input"); strings.HasPrefix(patch, "*** Begin Patch") {
		return v.md.coloured(patch, "diff")
	}
	var b strings.Builder
	one := func(edit []byte) {
		old, ok := jsonl.String(jsonl.Get(edit, "old_string"))
		new, ok2 := jsonl.String(jsonl.Get(edit, "new_string"))
		if ok && ok2 {
			for _, p := range entrydiff.Entry([]byte(old), []byte(new)) {
				b.WriteString(string(lines(display.PartLines(p))))
			}
		}
	}
	one(args)
	for edit := range jsonl.Elements(jsonl.Get(args, "edits")) {
		one(edit)
	}
	if content := jsonl.GetString(args, "content"); content != "" && jsonl.GetString(args, "file_path") != "" {
		return v.md.coloured(content, jsonl.GetString(args, "file_path"))
	}
	return template.HTML(b.String()) //nolint:gosec // lines escapes
}

// argsOf are the arguments of a call as JSON.
func argsOf(e repo.Entry, c export.Call) []byte {
	for _, list := range []string{"calls", "tool_calls"} {
		for raw := range jsonl.Elements(jsonl.Get(e.Payload, list)) {
			if jsonl.GetString(raw, "id") != c.ID {
				continue
			}
			for _, path := range [][]string{{"function", "arguments"}, {"arguments"}, {"input"}} {
				if args := jsonl.Get(raw, path...); args != nil {
					if text, ok := jsonl.String(args); ok {
						args = []byte(text)
					}
					if jsonl.IsObject(args) && jsonl.Valid(args) == nil {
						return args
					}
				}
			}
		}
	}
	return nil
}

// lines is a changed text, with the words that differ marked.
func lines(list []display.TextLine) template.HTML {
	var b strings.Builder
	b.WriteString(`<pre class="diff" tabindex="0">`)
	for _, l := range list {
		tag := map[byte]string{'+': "ins", '-': "del"}[l.Sign]
		if tag == "" {
			b.WriteString("  " + shown(l.Text) + "\n")
			continue
		}
		b.WriteString("<" + tag + ">" + string(l.Sign) + " ")
		at := 0
		for _, m := range l.Marks {
			b.WriteString(shown(l.Text[at:m[0]]) + "<b>" + shown(l.Text[m[0]:m[1]]) + "</b>")
			at = m[1]
		}
		b.WriteString(shown(l.Text[at:]) + "</" + tag + ">\n")
	}
	return template.HTML(b.String() + "</pre>") //nolint:gosec // each piece is escaped
}

// images are the addresses of the pictures of an entry.
func (v *viewer) images(e repo.Entry) []string {
	var out []string
	n := 0
	if bytes.Contains(e.Payload, []byte("image/")) {
		inline(e.Payload, func(string, string) bool {
			out = append(out, fmt.Sprintf("%s/t/%s/-/image/%d/%d", v.base, pathEscape(v.tape), e.ID, n))
			n++
			return n < 20
		})
	}
	for _, a := range repo.References(e) {
		if display.IsShown(a.MIMEType) {
			out = append(out, v.base+"/t/"+pathEscape(v.tape)+"/-/artifact/"+a.ID)
		}
	}
	return out
}

// image is a picture within an entry.
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
