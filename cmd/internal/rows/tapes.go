package rows

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/repo"
)

// Tape is a tape in a list.
type Tape struct {
	about.Tape
	Workspace string // its folder, if tapes of several are listed
	Number    int    // from 1, in the list of all tapes
	Current   bool
	Remotes   []repo.Distance
}

// Empty reports whether the tape has only the anchor with which every tape begins.
func (t *Tape) Empty() bool { return t.Entries <= 1 }

// TapeColumn is a column of a list of tapes.
type TapeColumn struct {
	Head string
	Cell func(*Tape) string
}

// TapeColumns returns the columns that the screen has room for beside the titles; in a pipe, all. A column that says
// the same in each row is there only if no title is cut for it. names are short names of tapes; everywhere says that
// the list is of all workspaces.
func TapeColumns(s *stdio.Streams, list []*Tape, names map[string]string, everywhere bool) []TapeColumn {
	const enough, plenty = 28, 48 // cells of a title
	left := s.Width()
	columns := []TapeColumn{
		{">", func(t *Tape) string {
			return strconv.Itoa(t.Number) + display.Pad(CurrentMark(t.Current && !everywhere), 1)
		}},
		{"~TITLE", func(t *Tape) string {
			return StarSign(t.Starred) + FitLabel(t.Tape, left-display.Width(StarSign(t.Starred)))
		}},
		{"UPDATED", func(t *Tape) string { return display.Briefly(s.Now(), t.Updated) }},
	}
	agent := TapeColumn{"AGENT", func(t *Tape) string {
		if w := s.Width(); w > 0 && w < 100 {
			first, _, _ := strings.Cut(t.Agent, "-")
			return first
		}
		return t.Agent
	}}
	project := projectNames(list)
	label := TapeColumn{"", func(t *Tape) string { return StarSign(t.Starred) + t.Label() }}
	more := []TapeColumn{
		{"PROJECT", func(t *Tape) string {
			if w := s.Width(); w > 0 && w < 100 && everywhere {
				return display.Truncate(project(t), w/5)
			}
			return display.Truncate(project(t), enough)
		}},
		{"TAPE", func(t *Tape) string { return names[t.Name] }},
		{">MESSAGES", func(t *Tape) string { return strconv.Itoa(t.Messages) }},
	}
	projects := map[string]bool{"": true}
	for _, t := range list {
		projects[t.ProjectBranch()] = true
	}
	if len(projects) <= 2 && !everywhere { // one, or none
		more = more[1:]
	}
	if s.Width() == 0 {
		more[len(more)-2].Cell = func(t *Tape) string { return t.Name }
	}
	if len(list) > 0 && !everywhere { // each workspace has remotes of its own
		for i, d := range list[0].Remotes {
			more = append(more, TapeColumn{strings.ToUpper(d.Remote), func(t *Tape) string { return DistanceText(t.Remotes[i]) }})
		}
	}
	if slices.ContainsFunc(list, func(t *Tape) bool { return t.Agent != "" }) {
		more = slices.Insert(more, BoolInt(everywhere), agent) // in a list of all workspaces, the project says more
	}
	more = slices.Insert(more, BoolInt(everywhere), labelColumns(s, list)...)
	for _, c := range columns {
		if c.Head != "~TITLE" {
			left -= cellsOf(c, list) + len("  ")
		}
	}
	constant := func(c TapeColumn) bool {
		return s.Width() > 0 && !slices.ContainsFunc(list, func(t *Tape) bool { return c.Cell(t) != c.Cell(list[0]) })
	}
	slices.SortStableFunc(more, func(x, y TapeColumn) int { return BoolInt(constant(x)) - BoolInt(constant(y)) })
	longest := cellsOf(label, list)
	for _, c := range more {
		title := plenty
		if slices.Contains([]string{"PROJECT", "AGENT", "TAGS", "MARKS"}, c.Head) {
			title = enough
		}
		if constant(c) {
			title = stdio.MaxCell // no column is wider
		}
		if cells := cellsOf(c, list) + len("  "); s.Width() == 0 || left-cells >= min(title, longest) {
			columns = append(columns, c)
			left -= cells
		}
	}
	return columns
}

// projectNames returns the function that names a tape's project, with its branch. If workspaces of the list have projects
// of one name, the folder above tells them apart.
func projectNames(list []*Tape) func(*Tape) string {
	in := map[string]string{} // a workspace with a project of the name
	twice := map[string]bool{}
	for _, t := range list {
		name := t.ProjectName()
		if other, ok := in[name]; ok && other != t.Workspace {
			twice[name] = true
		}
		in[name] = t.Workspace
	}
	return func(t *Tape) string {
		if name := t.ProjectName(); twice[name] && path.Base(t.Project) == name {
			return path.Join(path.Base(path.Dir(t.Project)), t.ProjectBranch())
		}
		return t.ProjectBranch()
	}
}

// labelColumns are the columns for tags and marks, if a tape in the list has any.
func labelColumns(s *stdio.Streams, list []*Tape) (columns []TapeColumn) {
	const tagCells = 18
	if slices.ContainsFunc(list, func(t *Tape) bool { return len(t.Tags) > 0 }) {
		columns = append(columns, TapeColumn{"TAGS", func(t *Tape) string {
			text := strings.Join(t.Tags, ", ")
			if w := s.Width(); w > 0 && w < 100 {
				return display.Truncate(text, tagCells)
			}
			return text
		}})
	}
	if slices.ContainsFunc(list, func(t *Tape) bool { return len(t.Marks) > 0 }) {
		columns = append(columns, TapeColumn{"MARKS", func(t *Tape) string {
			brief := make([]string, len(t.Marks))
			for i, m := range t.Marks {
				if brief[i] = m.Brief(); i > 0 && s.Width() > 0 && s.Width() < 100 { // failed end, 3×
					brief[i] = strings.TrimPrefix(brief[i], "failed ")
				}
			}
			return strings.Join(brief, ", ")
		}})
	}
	return columns
}

// StarSign is what lists show before the title of a tape with a star; "" for others.
func StarSign(starred bool) string {
	if starred {
		return "★ "
	}
	return ""
}

// FitLabel returns the label of a tape. If its end tells it from others, the title before that is cut so that the label
// fits into cells (0 or less: it is not cut). Other labels are not cut here.
func FitLabel(t about.Tape, cells int) string {
	const least = 12
	if cells <= 0 || t.Title == "" || t.Apart == "" {
		return t.Label()
	}
	return display.Truncate(display.Line(t.Title), max(least, cells-display.Width(t.Suffix()))) + t.Suffix()
}

// cellsOf returns the width of a column.
func cellsOf(c TapeColumn, list []*Tape) int {
	cells := len(strings.TrimPrefix(c.Head, ">"))
	for _, t := range list {
		cells = max(cells, min(display.Width(display.Line(c.Cell(t))), stdio.MaxCell))
	}
	return cells
}

// CurrentMark is what marks the current tape in lists; "" for the others.
func CurrentMark(current bool) string {
	if current {
		return "*"
	}
	return ""
}

// BoolInt is 1 for true and 0 for false, which sorts what is false first.
func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Facts returns what people want to know about a session, as pairs for [stdio.Streams.Fields].
func Facts(t about.Tape) (pairs []any) {
	project := t.Project
	if t.Branch != "" {
		project = strings.TrimSpace(fmt.Sprintf("%s (%s)", project, t.Branch))
	}
	for _, p := range [][2]string{{"title", t.Title}, {"agent", strings.TrimSpace(t.Agent + " " + t.AgentVersion)}, {"model", t.Model},
		{"project", project}, {"authors", strings.Join(t.Authors, ", ")}, {"tags", strings.Join(t.Tags, ", ")}, {"marks", about.MarksText(t.Marks)}} {
		if p[1] != "" {
			pairs = append(pairs, p[0], display.Truncate(p[1], 150))
		}
	}
	if t.Starred {
		pairs = append(pairs, "starred", "yes")
	}
	return pairs
}
