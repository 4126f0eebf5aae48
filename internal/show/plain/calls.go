package plain

import (
	"fmt"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/repo"
)

// calls shows the calls of an item, each with its outcome on one line.
func (t *printer) calls(it *conversation.Item) {
	id := ""
	if it.Kind == conversation.Calls {
		id = entryID(it.Entry)
	}
	for _, c := range it.Calls {
		style, outcome := t.outcome(c)
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
		t.line(id, StylePlain, t.Style(StyleTool, name)+what+strings.Repeat(" ", gap)+t.Style(style, outcome))
		id = ""
		t.data(c.Args())
		for _, r := range c.Results {
			t.result(r)
		}
	}
}

// short makes the paths in a text relative to the session's directory.
func (t *printer) short(text string) string {
	text = strings.TrimSpace(text)
	if len(t.dir) < 2 || len(text) > lineMost {
		return text
	}
	dir := strings.TrimSuffix(t.dir, "/")
	return strings.TrimSuffix(strings.ReplaceAll(text, dir+"/", ""), "  "+dir)
}

// outcome says how a call ended: "ok 3.2s  41 lines".
func (t *printer) outcome(c *conversation.Call) (Style, string) {
	if len(c.Results) == 0 && (t.Reverse || t.Partial) {
		return StyleQuiet, ""
	} else if len(c.Results) == 0 {
		return StyleQuiet, "no result"
	}
	if c.Rejected() {
		return StyleQuiet, c.Outcome()
	}
	style, out := StyleQuiet, c.Outcome()
	if c.Failed() {
		style = StyleBad
	}
	if took := c.Took(); took > 0 {
		out += " " + display.Took(took)
	}
	if t.Width > 0 && t.Width < 50 {
		return style, out // there is no room for more
	}
	return style, out + "  " + lineCount(c.Results)
}

// lineCount returns the number of lines of results, as "41 lines".
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

// result shows the result of a call if the screen is Whole; otherwise only why it failed.
func (t *printer) result(r conversation.Result) {
	for _, p := range r.Parts {
		if reason := r.Reason(); reason != "" && !t.Whole {
			t.line("", StyleQuiet, "  "+t.cut(reason, 2))
			return
		}
		if r.Failed && !t.Whole {
			t.line("", StyleBad, "  "+t.cut(printed(p.Text), 2))
			return
		}
		t.data(strings.TrimPrefix(p.Kind+"\n"+p.Text, "\n"))
	}
}

// printed is what a command printed. Codex writes facts about the call before it, such as the exit code.
func printed(result string) string {
	facts, text, _ := strings.Cut(result, "\nOutput:\n")
	for _, begin := range []string{"Chunk ID: ", "Wall time: ", "Exit code: "} {
		if strings.HasPrefix(facts, begin) && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return result
}

// wantedResults shows the results that Wanted selects, of calls that it does not select.
func (t *printer) wantedResults(it *conversation.Item) {
	for _, c := range it.Calls {
		for _, r := range c.Results {
			if t.Wanted(r.Entry) {
				t.results(r.Entry, []conversation.Result{r})
			}
		}
	}
}

// results shows results apart from their calls.
func (t *printer) results(e repo.Entry, results []conversation.Result) {
	id := entryID(e)
	for _, r := range results {
		what := " (its call is before this range)"
		switch {
		case r.Of != nil:
			what = fmt.Sprintf(" of %s @%d", display.Line(r.Of.Name), r.Of.Entry)
		case t.Reverse:
			what = ""
		}
		style := StyleQuiet
		if r.Failed {
			style = StyleBad
		}
		t.line(id, style, t.cut(fmt.Sprintf("◂ result%s, %s", what, lineCount([]conversation.Result{r})), 0))
		t.result(r)
		id = ""
	}
}
