package rows

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/show/plain"
	"tape/internal/store/layout"
	"tape/internal/store/query"
	"tape/internal/text/entrydiff"
	"tape/internal/text/jsonl"
)

// Changes shows changes of entries: for people with a heading for each phase, a sign before
// each entry, and the changed lines of edited ones.
type Changes struct {
	*stdio.Streams
	From, To string // headings
	begun    bool
	phase    string // the last heading
}

// inverse is the style of changes within a line.
const inverse = ";7"

// Show shows a change.
func (v *Changes) Show(c query.Change) error {
	if v.JSON {
		return v.WriteLine(changeJSON(c))
	}
	if !v.begun {
		v.begun = true
		v.Page()
		v.Printf("%s\n%s\n", v.Style(stdio.Bold, "--- "+v.Fit(display.Line(v.From), nameCells)), v.Style(stdio.Bold, "+++ "+v.Fit(display.Line(v.To), nameCells)))
	}
	if phase := phaseHead(v.Streams, c.Entry); phase != v.phase {
		v.phase = phase
		v.Printf("\n%s\n", phase)
	}
	sign := map[string]struct{ sign, colour string }{query.ChangeAdded: {"+", stdio.Green}, query.ChangeRemoved: {"-", stdio.Red},
		query.ChangeEdited: {"~", stdio.Yellow}}[c.Kind]
	columns := columns(v.Streams, c.Entry)
	if c.Kind != query.ChangeEdited {
		return showText(v.Streams, columns+" ", sign.sign, sign.colour, plain.Short(c.Entry))
	}
	v.Line(strings.TrimRight(v.Style(sign.colour, sign.sign)+" "+columns, " "))
	for _, p := range c.Differences() {
		v.Line("    " + v.Style(stdio.Bold, display.Truncate(display.Line(differenceName(p)), 200)))
		for _, l := range display.DiffLines(p) {
			v.changedLine(l.Shorten(LineCells))
		}
	}
	return v.Written()
}

// changedLine shows a line of an edited value.
func (v *Changes) changedLine(l display.TextLine) {
	colour := map[byte]string{'+': stdio.Green, '-': stdio.Red}[l.Sign]
	indent := "    " + v.Style(colour, string(l.Sign)) + " "
	cells := 0
	if w := v.Width(); w > 0 {
		cells = max(20, w-len("    + "))
	}
	for at, part := range display.Wrapped(l.Text, cells) {
		if colour != "" {
			part = v.Marked(part, at, l.Marks, colour, colour+inverse)
		}
		v.Line(strings.TrimRight(indent+part, " "))
	}
}

func changeJSON(c query.Change) []byte {
	out := append(jsonl.AppendString([]byte(`{"change":`), c.Kind), `,"id":`...)
	out = strconv.AppendInt(out, c.Entry.ID, 10)
	out = append(append(out, `,"entry":`...), c.Entry.JSON()...)
	if c.Kind == query.ChangeEdited {
		out = append(append(out, `,"old":`...), c.Old.JSON()...)
		out = append(append(out, `,"parts":`...), stdio.Marshal(stdio.Objects(c.Differences(), describeDifference))...)
	}
	return append(out, '}')
}

// describeDifference returns the JSON of a difference; "old" or "new" is null if that side has no value.
func describeDifference(p entrydiff.Difference) stdio.Object {
	out := stdio.Object{{"path", p.Path}, {"old", nil}, {"new", nil}}
	if p.HasOld {
		out[1][1] = p.Old
	}
	if p.HasNew {
		out[2][1] = p.New
	}
	return out
}

// changeLines describes the change of an entry in a few lines. is == nil means that it was removed.
func changeLines(id int64, was, is []byte) []string {
	if is == nil {
		return []string{fmt.Sprintf("  @%d removed", id)}
	}
	const cells = 60
	out := []string{fmt.Sprintf("  @%d edited", id)}
	for _, p := range entrydiff.Entry(was, is) {
		value := func(text string, has bool) string {
			if !has {
				return "nothing"
			}
			return strconv.Quote(display.Shorten(text, cells))
		}
		out = append(out, "    "+differenceName(p)+": "+value(p.Old, p.HasOld)+" became "+value(p.New, p.HasNew))
	}
	return out
}

// MergeConflict is the error for a file of a phase to which a side has not only added entries. It
// shows the entries of the base that the side has changed or removed.
func MergeConflict(path string, base, ours, theirs []byte) error {
	side, name := ours, "our side"
	if bytes.HasPrefix(ours, base) {
		side, name = theirs, "their side"
	}
	kept := map[int64][]byte{}
	for line := range bytes.Lines(side) {
		id, _ := jsonl.ParseID(line) // 0 if it is not an entry
		kept[id] = bytes.TrimSuffix(line, []byte("\n"))
	}
	lines := []string{path + ": " + name + " has changed what was recorded before; entries are only added"}
	const most = 5
	n := 0
	for was := range bytes.Lines(base) {
		was = bytes.TrimSuffix(was, []byte("\n"))
		id, _ := jsonl.ParseID(was)
		is, ok := kept[id]
		if ok && bytes.Equal(was, is) {
			continue
		}
		if n++; n > most {
			lines = append(lines, "  and more")
			break
		}
		lines = append(lines, changeLines(id, was, is)...)
	}
	return layout.Conflict("git merge --abort undoes the merge; tape verify, on that side, names every change", "%s", strings.Join(lines, "\n"))
}
