package console

import (
	"fmt"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/repo"
)

// calls shows the calls of an item, each with what came of it on one line.
func (t *talk) calls(it *conversation.Item) {
	id := ""
	if it.Kind == conversation.Calls {
		id = entryID(it.Entry)
	}
	for _, c := range it.Calls {
		ink, outcome := t.outcome(c)
		name := "▸ " + t.fit(display.Line(c.Name), max(t.cells()/4, 8)) + "  "
		what, gap := t.short(c.Brief()), 2
		if t.Width == 0 {
			what = t.cut(what, 0)
		} else if room := t.cells() - display.Width(name+outcome) - gap; room < 8 {
			what, gap = "", max(0, room+gap)
		} else {
			what = t.cut(what, t.cells()-room)
			gap += room - display.Width(what)
		}
		t.line(id, InkPlain, t.Ink(InkTool, name)+what+strings.Repeat(" ", gap)+t.Ink(ink, outcome))
		id = ""
		t.data(c.Args())
		for _, r := range c.Results {
			t.result(r)
		}
	}
}

// short takes the session's directory off the paths in a text.
func (t *talk) short(text string) string {
	text = strings.TrimPrefix(strings.TrimSpace(text), "*** Begin Patch")
	if len(t.dir) < 2 || len(text) > lineMost {
		return text
	}
	dir := strings.TrimSuffix(t.dir, "/")
	return strings.TrimSuffix(strings.ReplaceAll(text, dir+"/", ""), "  "+dir)
}

// outcome says how a call went: ok 3.2s  41 lines.
func (t *talk) outcome(c *conversation.Call) (Ink, string) {
	if len(c.Results) == 0 && (t.Reverse || t.Partial) {
		return InkQuiet, ""
	} else if len(c.Results) == 0 {
		return InkQuiet, "no result"
	}
	ink, out := InkQuiet, "ok"
	if c.Failed() {
		ink, out = InkBad, "failed"
	}
	if took := c.Took(); took > 0 {
		out += " " + display.Took(took)
	}
	if t.Width > 0 && t.Width < 50 {
		return ink, out // there is no room for more
	}
	return ink, out + "  " + lineCount(c.Results)
}

// lineCount is how many lines the text of results has.
func lineCount(results []conversation.Result) string {
	lines := 0
	for _, r := range results {
		for _, p := range r.Parts {
			if text := strings.TrimRight(p.Text, "\r\n"); text != "" {
				lines += strings.Count(text, "\n") + 1
			}
		}
	}
	if lines == 0 {
		return "no output"
	}
	return display.Count(lines, "line", "lines")
}

// result shows what a call returned where all is shown, and otherwise why it failed.
func (t *talk) result(r conversation.Result) {
	for _, p := range r.Parts {
		if r.Failed && !t.Whole {
			t.line("", InkBad, "  "+t.cut(p.Text, 2))
			return
		}
		t.data(strings.TrimPrefix(p.Kind+"\n"+p.Text, "\n"))
	}
}

// wantedResults shows the results of calls that are not to be shown.
func (t *talk) wantedResults(it *conversation.Item) {
	for _, c := range it.Calls {
		for _, r := range c.Results {
			if t.Wanted(r.Entry) {
				t.results(r.Entry, []conversation.Result{r})
			}
		}
	}
}

// results shows results of an entry whose calls were shown before, or are not here.
func (t *talk) results(e repo.Entry, results []conversation.Result) {
	id := entryID(e)
	for _, r := range results {
		what := " of a call that is not here"
		switch {
		case r.Of != nil:
			what = fmt.Sprintf(" of %s @%d", display.Line(r.Of.Name), r.Of.Entry)
		case t.Reverse:
			what = ""
		}
		ink := InkQuiet
		if r.Failed {
			ink = InkBad
		}
		t.line(id, ink, t.cut(fmt.Sprintf("◂ result%s, %s", what, lineCount([]conversation.Result{r})), 0))
		t.result(r)
		id = ""
	}
}
