package web

import (
	"cmp"
	"html/template"
	"path"
	"strings"
	"time"

	"tape/internal/show/block"
	"tape/internal/show/callview"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/repo"
)

const (
	subjectCells = 200         // cells of what a call is about
	minTook      = time.Second // shorter times are not shown
)

// shownCall is a call as a page shows it: a line, and a body to open.
type shownCall struct {
	Shape, Verb, Tool string
	Dir, Base         string // of a path; else Subject
	Subject           string
	Added, Removed    int64
	MoreFiles         int
	Took              time.Duration
	Failed            bool
	Outcome           string  // "" if the call went well
	IDs               []int64 // of the results
	Body              []entryBody
	Tasks             []callview.Task
	Images            []string
	Files             []repo.Artifact
	Link              string // to its body, if that is left out
	Agent             string // the address of the subagent's session
	ID                int64
}

// call makes what is shown of a call with its results. A long body is loaded when it is opened.
func (v *entryViewer) call(c *conversation.Call, from repo.Entry) shownCall {
	shown := callview.Of(c, v.Dir)
	name := display.Line(c.Name)
	out := shownCall{Shape: string(shown.Shape), Tool: name, Verb: cmp.Or(shown.Shape.Verb(), name), Took: c.Took(),
		Added: shown.Added, Removed: shown.Removed, MoreFiles: max(0, len(shown.Files)+shown.More-1), Failed: c.Failed(), ID: from.ID, Tasks: shown.Tasks}
	if o := c.Outcome(); o != "ok" {
		out.Outcome = o
	}
	if out.Took < minTook {
		out.Took = 0
	}
	out.Subject = display.Truncate(display.PageLine(strings.Join(strings.Fields(display.Shorten(strings.TrimSpace(shown.Subject), 4*subjectCells)), " ")), subjectCells)
	if shown.Shape == callview.Edit || shown.Shape == callview.Write || shown.Shape == callview.Read {
		out.Dir, out.Base = path.Split(out.Subject)
	}
	if shown.Shape == callview.Agent && v.Subagent != nil {
		out.Agent = v.Subagent(shown.AgentID)
	}
	v.used += lineBytes + len(out.Subject)
	size := len(c.Arguments)
	for _, r := range c.Results {
		if r.Entry.ID != from.ID {
			out.IDs = append(out.IDs, r.Entry.ID)
			out.Files = append(out.Files, repo.References(r.Entry)...)
		}
		for _, p := range r.Parts {
			if !p.File {
				size += len(p.Text)
			}
		}
		out.Images = append(out.Images, v.images(r.Entry)...)
	}
	if most := v.room(); !v.Whole && (size > most || v.used > v.most()/2 && size > min(most, bodyLeast)) {
		out.Link, out.Tasks = v.link(from.ID), nil
		v.used += 2 * len(out.Link)
		return out
	}
	v.arguments(&out, c, shown)
	v.results(&out, c, shown)
	for _, b := range out.Body {
		v.used += len(b.HTML)
	}
	return out
}

// arguments shows what a call was asked to do.
func (v *entryViewer) arguments(out *shownCall, c *conversation.Call, shown callview.View) {
	add := func(html template.HTML) { out.Body = append(out.Body, entryBody{HTML: html, ID: out.ID}) }
	switch shown.Shape {
	case callview.Edit:
		for _, f := range shown.Files {
			add(diffOf(f))
		}
		if shown.Code != "" {
			add(v.Prose.Code(shown.Code, shown.Subject))
		}
		if len(shown.Files) == 0 {
			out.Body = append(out.Body, v.data("arguments", c.Args(), out.ID))
		}
	case callview.Write:
		add(v.Prose.Code(shown.Code, shown.Subject))
	case callview.Command:
		add(template.HTML(`<pre class="term" tabindex="0"><span class="ps">$ </span>` + block.Text(shown.Command) + "</pre>")) //nolint:gosec // escaped
	case callview.Tasks, callview.Read:
	default:
		if args := c.Args(); args != "" {
			out.Body = append(out.Body, v.data("asked for", args, out.ID))
		}
	}
}

// results shows what came of a call.
func (v *entryViewer) results(out *shownCall, c *conversation.Call, shown callview.View) {
	for _, r := range c.Results {
		for _, p := range r.Parts {
			text := strings.TrimRight(p.Text, "\n")
			if shown.Shape == callview.Command {
				text, _ = display.AsShown(text, true)
			}
			switch {
			case p.File, text == "":
			case p.Kind != "":
				out.Body = append(out.Body, v.data(p.Kind, text, r.Entry.ID))
			case (shown.Shape == callview.Edit || shown.Shape == callview.Write || shown.Shape == callview.Tasks) && !r.Failed && !r.Rejected:
				b := v.data(oneLine(text), text, r.Entry.ID) // the text only confirms the change
				b.Folded = true
				out.Body = append(out.Body, b)
			case shown.Shape == callview.Command:
				out.Body = append(out.Body, v.pre("term out", block.Text(text), r.Entry.ID))
			case shown.Shape == callview.Search:
				out.Body = append(out.Body, v.pre("matches", block.Matches(text), r.Entry.ID))
			case shown.Shape == callview.Agent:
				out.Body = append(out.Body, v.prose(text, r.Entry.ID))
			default:
				out.Body = append(out.Body, v.data("", text, r.Entry.ID))
			}
		}
	}
}

func (v *entryViewer) pre(class, html string, id int64) entryBody {
	return entryBody{HTML: template.HTML(`<pre class="` + class + `" tabindex="0">` + html + "</pre>"), ID: id, Link: v.link(id)} //nolint:gosec // the caller escaped it
}
