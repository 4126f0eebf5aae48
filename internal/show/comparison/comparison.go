// Package comparison compares two sessions by what people see of them: prompts, answers and files. It returns plain
// data, for the command line and the browser.
package comparison

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"

	"tape/index"
	"tape/internal/show/conversation"
	"tape/internal/store/about"
	"tape/internal/store/query"
	"tape/repo"
)

// Side is one of the two sessions.
type Side struct {
	Revision *query.Revision
	Facts    about.Tape
	Touches  []index.Touch // of files
}

// Comparison says what two sessions have in common and where they differ.
type Comparison struct {
	Turns [2]int // how many, of the left and the right side
	Rows  []Row
	Files []File
}

// Turn is a prompt and the last answer to it. If a session begins with an answer, its first turn has no prompt.
type Turn struct {
	ID, AnswerID   int64
	Prompt, Answer string
}

// Row is a turn of one side, or of both if their prompts are equal. Between two rows with both, those with only a
// left turn come first.
type Row struct {
	Left, Right *Turn
}

// Same reports whether both sides have the turn and the same answer.
func (r Row) Same() bool {
	return r.Left != nil && r.Right != nil && squeezed(r.Left.Answer) == squeezed(r.Right.Answer)
}

// Change is how many lines of a file a session changed.
type Change struct{ Added, Removed int64 }

// File is a file that at least one of the sessions changed.
type File struct {
	Path        string
	Left, Right *Change
}

// Same reports whether both sides changed the same numbers of lines.
func (f File) Same() bool { return f.Left != nil && f.Right != nil && *f.Left == *f.Right }

// Of compares two sessions.
func Of(ctx context.Context, a, b Side) (*Comparison, error) {
	one, err := turns(ctx, a.Revision)
	if err != nil {
		return nil, err
	}
	two, err := turns(ctx, b.Revision)
	if err != nil {
		return nil, err
	}
	return &Comparison{Turns: [2]int{len(one), len(two)}, Rows: rows(one, two), Files: files(changed(a), changed(b))}, nil
}

// Differ reports whether the sessions differ in a turn or a file.
func (c *Comparison) Differ() bool {
	return slices.ContainsFunc(c.Rows, func(r Row) bool { return !r.Same() }) || slices.ContainsFunc(c.Files, func(f File) bool { return !f.Same() })
}

// turns returns the turns of a session up to where the revision ends.
func turns(ctx context.Context, r *query.Revision) (out []Turn, err error) {
	for e, err := range r.Entries(ctx, 1) {
		if err != nil {
			return nil, err
		}
		if e.Kind != repo.KindMessage || e.Hidden() {
			continue
		}
		it := conversation.Of(e)
		text := strings.TrimSpace(it.Text())
		switch {
		case text == "":
		case it.Speaker() == conversation.User:
			out = append(out, Turn{ID: e.ID, Prompt: conversation.WithoutContext(text)})
		case it.Speaker() == conversation.Assistant:
			if len(out) == 0 {
				out = append(out, Turn{ID: e.ID})
			}
			last := &out[len(out)-1]
			last.Answer, last.AnswerID = text, e.ID
		}
	}
	return out, nil
}

// rows pairs the turns with equal prompts: as many as possible without changing the order of either side.
func rows(a, b []Turn) (out []Row) {
	keys := func(list []Turn) string {
		var all strings.Builder
		for _, t := range list {
			all.WriteString(squeezed(t.Prompt) + "\n")
		}
		return all.String()
	}
	dmp := diffmatchpatch.New()
	one, two, _ := dmp.DiffLinesToRunes(keys(a), keys(b))
	for _, d := range dmp.DiffMainRunes(one, two, false) {
		for range d.Text {
			var row Row
			if d.Type != diffmatchpatch.DiffInsert {
				row.Left, a = &a[0], a[1:]
			}
			if d.Type != diffmatchpatch.DiffDelete {
				row.Right, b = &b[0], b[1:]
			}
			out = append(out, row)
		}
	}
	return out
}

// Pair is a row whose turns may have different prompts.
type Pair struct {
	Row
	SamePrompt bool
}

// Same reports whether both sides have the prompt and the same answer.
func (p Pair) Same() bool { return p.SamePrompt && p.Row.Same() }

// Beside puts the turns that only the right side has beside those before them that only the left side has.
func Beside(list []Row) (out []Pair) {
	free := 0 // the index of the first pair without a right turn, after the last row with both
	for _, row := range list {
		switch {
		case row.Left != nil && row.Right != nil:
			out = append(out, Pair{row, true})
			free = len(out)
		case row.Right != nil && free < len(out):
			out[free].Right = row.Right
			free++
		case row.Right != nil:
			out = append(out, Pair{row, false})
			free = len(out)
		default:
			out = append(out, Pair{row, false})
		}
	}
	return out
}

func squeezed(text string) string { return strings.Join(strings.Fields(text), " ") }

func files(one, two map[string]Change) (out []File) {
	all := maps.Clone(one)
	maps.Copy(all, two)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		f := File{Path: path}
		if u, ok := one[path]; ok {
			f.Left = &u
		}
		if u, ok := two[path]; ok {
			f.Right = &u
		}
		out = append(out, f)
	}
	return out
}

// changed returns how many lines of each file a session changed up to the end of the revision. Paths in the project
// are relative to it, so that sessions in different worktrees can be compared.
func changed(s Side) map[string]Change {
	out := map[string]Change{}
	for _, t := range s.Touches {
		if t.Writes == 0 || t.Entry > s.Revision.Last() {
			continue
		}
		path := about.InProject(s.Facts.Project, t.Path)
		u := out[path]
		out[path] = Change{u.Added + t.Added, u.Removed + t.Removed}
	}
	return out
}
