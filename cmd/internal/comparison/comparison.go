// Package comparison shows how two sessions differ, as people see them: prompts, answers and files.
package comparison

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/internal/store/query"
	"tape/repo"
)

// Side is one of the two sessions.
type Side struct {
	Revision *query.Revision
	Facts    about.Tape
	Touches  []index.Touch // of its files
}

// How much is shown of a text.
const (
	promptLines = 4
	answerLines = 8
	lineCells   = 200 // of a line in a pipe
)

// turn is what a person asked, and the last thing that the model said to it.
type turn struct {
	id, answerID   int64
	prompt, answer string
	key            string // the prompt's words
}

// Show shows what differs. It reports whether anything does.
func Show(ctx context.Context, s *stdio.Streams, a, b Side) (differ bool, err error) {
	one, err := turns(ctx, a.Revision)
	if err != nil {
		return false, err
	}
	two, err := turns(ctx, b.Revision)
	if err != nil {
		return false, err
	}
	v := &view{s}
	v.Page()
	v.heading("---", a, len(one))
	v.heading("+++", b, len(two))
	common := pairs(one, two)
	i, j := 0, 0
	for _, p := range append(common, [2]int{len(one), len(two)}) {
		for ; i < p[0]; i++ {
			v.turn("-", stdio.Red, one[i])
		}
		for ; j < p[1]; j++ {
			v.turn("+", stdio.Green, two[j])
		}
		if i < len(one) && j < len(two) {
			differ = v.both(one[i], two[j]) || differ
			i, j = i+1, j+1
		}
	}
	differ = differ || len(common) < max(len(one), len(two))
	return v.files(a, b) || differ, v.Written()
}

// turns returns the turns of a session up to where the revision ends.
func turns(ctx context.Context, r *query.Revision) (out []turn, err error) {
	for e, err := range r.Entries(ctx, 1) {
		if err != nil {
			return nil, err
		}
		if e.Kind != repo.KindMessage || conversation.Hidden(e) {
			continue
		}
		it := conversation.Of(e)
		text := strings.TrimSpace(it.Text())
		switch {
		case text == "":
		case it.Speaker() == conversation.User:
			prompt := conversation.WithoutContext(text)
			out = append(out, turn{id: e.ID, prompt: prompt, key: words(prompt)})
		case it.Speaker() == conversation.Assistant:
			if len(out) == 0 {
				out = append(out, turn{id: e.ID})
			}
			last := &out[len(out)-1]
			last.answer, last.answerID = text, e.ID
		}
	}
	return out, nil
}

// pairs returns the turns with equal prompts, by their places on both sides: as many as possible, in order.
func pairs(a, b []turn) (out [][2]int) {
	keys := func(list []turn) string {
		var all strings.Builder
		for _, t := range list {
			all.WriteString(t.key + "\n")
		}
		return all.String()
	}
	dmp := diffmatchpatch.New()
	one, two, _ := dmp.DiffLinesToRunes(keys(a), keys(b))
	i, j := 0, 0
	for _, d := range dmp.DiffMainRunes(one, two, false) {
		for range d.Text {
			if d.Type == diffmatchpatch.DiffEqual {
				out = append(out, [2]int{i, j})
			}
			if d.Type != diffmatchpatch.DiffInsert {
				i++
			}
			if d.Type != diffmatchpatch.DiffDelete {
				j++
			}
		}
	}
	return out
}

func words(text string) string { return strings.Join(strings.Fields(text), " ") }

type view struct{ *stdio.Streams }

func (v *view) heading(sign string, s Side, turns int) {
	name := s.Revision.Name()
	text := cmp.Or(s.Facts.Title, name)
	var about []string
	if s.Facts.Agent != "" {
		about = append(about, s.Facts.Agent)
	}
	if !s.Facts.Started.IsZero() {
		about = append(about, display.Span(s.Facts.Started, s.Facts.Updated))
	}
	about = append(about, display.Count(turns, "turn", "turns"))
	line := "    " + strings.Join(about, ", ")
	if v.Width() == 0 {
		line = "    " + display.Line(name) + ": " + strings.Join(about, ", ")
	}
	cells := cmp.Or(v.Width(), lineCells)
	v.Line(v.Style(stdio.Bold, sign+" "+v.Fit(display.Line(text), cells-len(sign)-1)))
	v.Line(v.Style(stdio.Dim, v.Fit(line, cells)))
}

// turn shows a turn that only one side has.
func (v *view) turn(sign, colour string, t turn) {
	v.Line("")
	v.text(sign, colour, t.id, t.prompt, promptLines)
	v.text(sign, colour, t.answerID, t.answer, answerLines)
}

// both shows the turns of an equal prompt, and reports whether the answers differ.
func (v *view) both(a, b turn) bool {
	differ := words(a.answer) != words(b.answer)
	v.Line("")
	v.text(" ", stdio.Bold, 0, a.prompt, promptLines)
	if !differ {
		v.text(" ", stdio.Dim, 0, a.answer, 1)
		return false
	}
	v.text("-", stdio.Red, a.answerID, a.answer, answerLines)
	v.text("+", stdio.Green, b.answerID, b.answer, answerLines)
	return true
}

// text shows the beginning of a text, with its entry before the first line.
func (v *view) text(sign, colour string, id int64, text string, most int) {
	if text == "" {
		return
	}
	const idCells = 6
	head := ""
	if id > 0 {
		head = fmt.Sprintf("@%d", id)
	}
	lines := strings.Split(display.Text(text), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return strings.TrimSpace(l) == "" })
	more := len(lines) - most
	for i, line := range lines[:min(most, len(lines))] {
		if i == most-1 && more > 0 {
			line += fmt.Sprintf(" … (%d more)", more)
		}
		line = v.Fit(line, max(20, cmp.Or(v.Width(), lineCells)-len(sign)-idCells-2))
		v.Line(strings.TrimRight(v.Style(colour, sign)+" "+v.Style(stdio.Dim, display.Pad(head, idCells))+" "+line, " "))
		head = ""
	}
}

type use struct{ added, removed int64 }

// files shows which files the sessions changed, and reports whether they differ in that.
func (v *view) files(a, b Side) (differ bool) {
	one, two := changed(a), changed(b)
	paths := slices.Sorted(maps.Keys(one))
	for path := range two {
		if _, ok := one[path]; !ok {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	if len(paths) > 0 {
		v.Line("\n" + v.Style(stdio.Bold, "files changed"))
	}
	for _, path := range paths {
		x, inOne := one[path]
		y, inTwo := two[path]
		if inOne && inTwo && x == y {
			v.Line("  " + v.Fit(display.Line(path)+lines(x), lineCells))
			continue
		}
		differ = true
		if inOne {
			v.Line(v.Style(stdio.Red, "-") + " " + v.Fit(display.Line(path)+lines(x), lineCells))
		}
		if inTwo {
			v.Line(v.Style(stdio.Green, "+") + " " + v.Fit(display.Line(path)+lines(y), lineCells))
		}
	}
	return differ
}

func lines(u use) string {
	if u.added+u.removed == 0 {
		return ""
	}
	return fmt.Sprintf("  +%d -%d", u.added, u.removed)
}

// changed returns the files that a session wrote, up to where the revision ends; those of its project by their
// place in it, so that sessions in several worktrees compare.
func changed(s Side) map[string]use {
	out := map[string]use{}
	for _, t := range s.Touches {
		if t.Writes == 0 || t.Entry > s.Revision.Last() {
			continue
		}
		path := about.InProject(s.Facts.Project, t.Path)
		u := out[path]
		out[path] = use{u.added + t.Added, u.removed + t.Removed}
	}
	return out
}
