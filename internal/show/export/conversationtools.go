package export

import (
	"fmt"
	"slices"
	"strings"

	"tape/internal/show/display"
	"tape/repo"
)

// calls shows the calls of a block, each with what came of it on one line.
func (t *talk) calls(b *block) {
	id := ""
	if b.kind == blockCalls {
		id = entryID(b.entry)
	}
	for _, c := range b.calls {
		ink, outcome := t.outcome(c, b.entry)
		name := "▸ " + t.fit(display.Line(c.name), max(t.cells()/4, 8)) + "  "
		what, gap := t.short(c.brief), 2
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
		t.data(c.args)
		for _, r := range c.results {
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
func (t *talk) outcome(c *call, from repo.Entry) (Ink, string) {
	if len(c.results) == 0 && (t.Reverse || t.Partial) {
		return InkQuiet, ""
	} else if len(c.results) == 0 {
		return InkQuiet, "no result"
	}
	ink, out := InkQuiet, "ok"
	if slices.ContainsFunc(c.results, func(r result) bool { return r.failed }) {
		ink, out = InkBad, "failed"
	}
	began, ok := from.Time()
	if ended, ok2 := c.results[len(c.results)-1].entry.Time(); ok && ok2 && ended.After(began) {
		out += " " + display.Took(ended.Sub(began))
	}
	if t.Width > 0 && t.Width < 50 {
		return ink, out // there is no room for more
	}
	return ink, out + "  " + lineCount(c.results)
}

// lineCount is how many lines the text of results has.
func lineCount(results []result) string {
	lines := 0
	for _, r := range results {
		for _, p := range r.parts {
			if text := strings.TrimRight(p.text, "\r\n"); text != "" {
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
func (t *talk) result(r result) {
	for _, p := range r.parts {
		if r.failed && !t.Whole {
			t.line("", InkBad, "  "+t.cut(p.text, 2))
			return
		}
		t.data(strings.TrimPrefix(p.kind+"\n"+p.text, "\n"))
	}
}

// wantedResults shows the results of calls that are not to be shown.
func (t *talk) wantedResults(b *block) {
	for _, c := range b.calls {
		for _, r := range c.results {
			if t.Wanted(r.entry) {
				t.orphans(&block{entry: r.entry, results: []result{r}})
			}
		}
	}
}

// orphans shows results whose calls were shown before, or are not here.
func (t *talk) orphans(b *block) {
	id := entryID(b.entry)
	for _, r := range b.results {
		what := " of a call that is not here"
		switch {
		case r.of != nil:
			what = fmt.Sprintf(" of %s @%d", display.Line(r.of.name), r.of.entry)
		case t.Reverse:
			what = ""
		}
		ink := InkQuiet
		if r.failed {
			ink = InkBad
		}
		t.line(id, ink, t.cut(fmt.Sprintf("◂ result%s, %s", what, lineCount([]result{r})), 0))
		t.result(r)
		id = ""
	}
}
