package callview

import (
	"slices"
	"strconv"
	"strings"

	"tape/internal/show/conversation"
	"tape/internal/show/display"
	"tape/internal/store/activity"
	"tape/internal/text/entrydiff"
	"tape/internal/text/jsonl"
)

// writes fills in the files that a call changed.
func (v *View) writes(c *conversation.Call, doing activity.Doing, dir string) {
	v.Shape = Edit
	if doing.Patch != "" {
		v.patch(doing.Patch, dir)
	} else {
		v.edits(c, doing, dir)
	}
	for _, f := range v.Files {
		v.Added, v.Removed = v.Added+f.Added, v.Removed+f.Removed
	}
	if len(v.Files) > 0 {
		v.Subject = v.Files[0].Path
	}
	if n := len(v.Files) - maxFiles; n > 0 {
		v.Files, v.More = v.Files[:maxFiles], n
	}
}

func (v *View) patch(patch, dir string) {
	for _, p := range activity.PatchedFiles(patch) {
		if n := len(v.Files); p.Op == "Move to" && n > 0 {
			v.Files[n-1].Path, v.Files[n-1].Op = v.Files[n-1].Path+" → "+short(p.Path, dir), "moved"
			v.Files[n-1].add(p.Lines)
			continue
		}
		f := File{Path: short(p.Path, dir), Op: map[string]string{"Add File": "new", "Delete File": "deleted"}[p.Op]}
		f.add(p.Lines)
		v.Files = append(v.Files, f)
	}
}

// add adds the lines of a patch.
func (f *File) add(lines []string) {
	for _, l := range lines {
		if strings.HasPrefix(l, "@@") {
			f.Hunks = append(f.Hunks, Hunk{})
			continue
		}
		if len(f.Hunks) == 0 {
			f.Hunks = append(f.Hunks, Hunk{})
		}
		f.line(l)
	}
	f.tidy()
}

// line adds a line with its sign to the last hunk.
func (f *File) line(l string) {
	sign := byte(' ')
	if l != "" {
		sign, l = l[0], l[1:]
	}
	switch sign {
	case '+':
		f.Added++
	case '-':
		f.Removed++
	case ' ':
	default: // a note such as "\ No newline at end of file"
		return
	}
	h := &f.Hunks[len(f.Hunks)-1]
	h.Lines = append(h.Lines, display.TextLine{Sign: sign, Text: strings.ReplaceAll(display.Text(l), "\t", "    ")})
}

// tidy removes empty hunks.
func (f *File) tidy() {
	f.Hunks = slices.DeleteFunc(f.Hunks, func(h Hunk) bool { return len(h.Lines) == 0 })
}

// edits fills in the edits of one file: from the agent's own patch, which has context and line numbers, or else from
// the arguments.
func (v *View) edits(c *conversation.Call, doing activity.Doing, dir string) {
	f := File{}
	if len(doing.Paths) > 0 {
		f.Path = short(doing.Paths[0], dir)
	}
	for hunk := range jsonl.Elements(jsonl.Get(c.Detail, "structuredPatch")) {
		h := Hunk{}
		h.From, _ = strconv.Atoi(string(jsonl.Get(hunk, "newStart"))) // 0: unknown
		f.Hunks = append(f.Hunks, h)
		for _, l := range jsonl.Strings(jsonl.Get(hunk, "lines")) {
			f.line(l)
		}
	}
	f.tidy()
	switch {
	case len(f.Hunks) > 0:
	case len(doing.Edits) == 1 && doing.Edits[0].Before == "":
		v.Code = doing.Edits[0].After
		f.Added = int64(strings.Count(strings.TrimSuffix(v.Code, "\n"), "\n") + 1)
		if jsonl.Get(c.Object(), "old_string") == nil { // unlike an edit that inserts text
			v.Shape, f.Op = Write, "new"
		}
	default:
		for _, e := range doing.Edits {
			f.replace(e)
		}
	}
	if f.Path != "" || f.Hunks != nil {
		v.Files = append(v.Files, f)
	}
}

// maxCompared is how many bytes of text are compared; longer texts are shown as replaced.
const maxCompared = 32 << 10

// replace adds a hunk with a replaced text.
func (f *File) replace(e activity.Replacement) {
	parts := []entrydiff.Difference{{Old: e.Before, New: e.After, HasOld: e.Before != "", HasNew: e.After != ""}}
	if len(e.Before)+len(e.After) <= maxCompared {
		parts = entrydiff.Entry([]byte(e.Before), []byte(e.After))
	}
	h := Hunk{}
	for _, p := range parts {
		h.Lines = append(h.Lines, display.DiffLines(p)...)
	}
	for _, l := range h.Lines {
		switch l.Sign {
		case '+':
			f.Added++
		case '-':
			f.Removed++
		}
	}
	f.Hunks = append(f.Hunks, h)
}
