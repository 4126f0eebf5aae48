package reports

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/index"
	"tape/internal/sessions/trace"
	"tape/internal/show/display"
	"tape/internal/store/about"
	"tape/repo"
)

// FileRow says how a session used a file.
type FileRow struct {
	index.FileUse
	Workspace string // "" if only one workspace is read
	Title     string
	Project   string // the session's directory
	name      string // of the project
	files     int    // how many files the sums are of, see bySession
}

// FindFile returns the rows for a file, or for all files if it is nil. If there are none, people get the rows for files of
// that name in other folders, and a line on standard error says so.
func FindFile(s *stdio.Streams, file *trace.File, rows func(*trace.File) ([][]FileRow, error)) ([]FileRow, error) {
	lists, err := rows(file)
	out := slices.Concat(lists...)
	if err != nil || len(out) > 0 || s.JSON || file == nil || file.Bases() == nil {
		return out, err
	}
	others := file.Namesakes()
	if lists, err = rows(others); err != nil || len(slices.Concat(lists...)) == 0 {
		return nil, err
	}
	out = slices.Concat(lists...)
	s.StderrUnlessQuiet("no session read or wrote %s; files of that name elsewhere: %s", display.Line(file.Name), elsewhere(s, out))
	return out, nil
}

// elsewhere lists the paths of the first rows.
func elsewhere(s *stdio.Streams, rows []FileRow) string {
	const most = 3
	var names []string
	for _, r := range rows {
		name := display.Path(r.Path, s.Getenv("HOME"))
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if n := len(names); n > most {
		names = append(names[:most], fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(names, ", ")
}

// FileFilter returns the filter for uses of a file by some tapes. nil stands for any file, and for all tapes.
func FileFilter(file *trace.File, tapes []string) index.FileFilter {
	f := index.FileFilter{Tapes: tapes}
	if file != nil {
		f.Bases, f.Match = file.Bases(), file.Is
	}
	return f
}

// FileRows returns the uses of files in a workspace. If file is one file, and no folder, each session has one row.
func FileRows(ctx context.Context, x *index.Index, store *repo.Store, file *trace.File, tapes []string) ([]FileRow, error) {
	uses, err := x.Files(ctx, FileFilter(file, tapes))
	if err != nil {
		return nil, err
	}
	return rowsOf(ctx, x, store, uses, file != nil && file.Bases() != nil)
}

// FileEdits returns the last edits in a workspace; most limits how many.
func FileEdits(ctx context.Context, x *index.Index, store *repo.Store, most int) ([]FileRow, error) {
	uses, err := x.Files(ctx, index.FileFilter{Edits: most})
	if err != nil {
		return nil, err
	}
	return rowsOf(ctx, x, store, uses, false)
}

// rowsOf returns the rows for uses of files. If they are of one file, each session has one row.
func rowsOf(ctx context.Context, x *index.Index, store *repo.Store, uses []index.FileUse, one bool) ([]FileRow, error) {
	var rows []FileRow
	opened := map[string]*repo.Tape{}
	for _, u := range uses {
		if opened[u.Tape] == nil {
			t, err := store.Tape(ctx, u.Tape)
			if errors.Is(err, repo.ErrNotFound) {
				continue // gone since the index was read
			}
			if err != nil {
				return nil, err
			}
			opened[u.Tape] = t
		}
		if n := len(rows); one && n > 0 && rows[n-1].Tape == u.Tape {
			rows[n-1].add(u)
			continue
		}
		rows = append(rows, FileRow{FileUse: u})
	}
	if len(rows) == 0 {
		return nil, nil
	}
	known, err := x.About(ctx, slices.Collect(maps.Values(opened)))
	if err != nil {
		return nil, err
	}
	for i := range rows {
		about := known[opened[rows[i].Tape].Branch()]
		rows[i].Title, rows[i].Project, rows[i].name = about.Title, about.Project, about.ProjectName()
	}
	return rows, nil
}

// add adds another use: of the same file in another worktree or under another name, or of another file of the
// session. The path is that of the latest use.
func (r *FileRow) add(u index.FileUse) {
	if u.Last.After(r.Last) {
		r.Path, r.Last = u.Path, u.Last
	}
	if r.First.IsZero() || u.First.Before(r.First) && !u.First.IsZero() {
		r.First = u.First
	}
	r.Reads, r.Writes, r.Added, r.Removed = r.Reads+u.Reads, r.Writes+u.Writes, r.Added+u.Added, r.Removed+u.Removed
}

func latestFirst(rows []FileRow) {
	slices.SortStableFunc(rows, func(a, b FileRow) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Tape, b.Tape), cmp.Compare(a.Path, b.Path))
	})
}

// ShowFileEdits shows the last edits of sessions, at most most: file, lines, date, session.
func ShowFileEdits(s *stdio.Streams, rows []FileRow, most int, names map[string]string) error {
	latestFirst(rows)
	rows = rows[:min(most, len(rows))]
	dirs := map[string]bool{}
	for _, r := range rows {
		dirs[r.Project] = true
	}
	projects := projectsOf(rows)
	last := func(r FileRow) string { return display.Briefly(s.Now(), r.Last) }
	name := func(r FileRow) string { return cmp.Or(names[r.Tape], r.Tape) }
	left := 0
	if s.Width() > 0 {
		others := projects + len("  a session's title, cut")
		for _, cell := range []func(FileRow) string{FileRow.lines, last, name} {
			widest := 0
			for _, r := range rows {
				widest = max(widest, display.Width(cell(r)))
			}
			others += len("  ") + widest
		}
		left = min(stdio.MaxCell, max(20, s.Width()-others)) // a table would cut a longer path at its end
	}
	l := stdio.Listing[FileRow]{None: "no session has edited a file", Paged: true, Object: FileRow.object, Head: []string{"FILE", "LINES", "LAST", "TAPE", "~SESSION"}}
	if projects > 0 {
		l.Head = slices.Insert(l.Head, 0, "PROJECT")
	}
	l.Row = func(r FileRow, add func(cells ...any)) {
		path := about.InProject(r.Project, r.Path)
		if projects == 0 && len(dirs) > 1 && path != r.Path { // of several directories
			path = r.Project[strings.LastIndexByte(r.Project, '/')+1:] + "/" + path
		}
		cells := []any{display.TruncateStart(display.Line(path), left), r.lines(), last(r), name(r), cmp.Or(r.Title, r.Tape)}
		if projects > 0 {
			cells = slices.Insert(cells, 0, any(s.Fit(display.Line(r.name), projects-len("  "))))
		}
		add(cells...)
	}
	return l.Show(s, rows, nil)
}

// projectsOf returns how wide a column with the projects of rows is on a screen, with what is between columns: 0 if they are of
// one workspace.
func projectsOf(rows []FileRow) (width int) {
	const most = 20
	several := slices.ContainsFunc(rows, func(r FileRow) bool { return r.Workspace != rows[0].Workspace })
	for _, r := range rows {
		if several {
			width = max(width, min(most, len("  ")+display.Width(r.name)))
		}
	}
	return width
}

// ShowFiles shows rows, the latest use first, at most most (nil: all): by session, or, with byFile, by file. names are short
// names of tapes.
func ShowFiles(s *stdio.Streams, rows []FileRow, byFile bool, most *int, names map[string]string) error {
	latestFirst(rows)
	several := false
	if !byFile && !s.JSON {
		rows, several = bySession(rows)
	}
	if most != nil {
		rows = rows[:min(*most, len(rows))]
	}
	l := stdio.Listing[FileRow]{None: "no session read or wrote it", Paged: true, Object: FileRow.object, Head: []string{"~SESSION", "TAPE"}}
	lead := func(r FileRow) []any { return []any{cmp.Or(r.Title, r.Tape), cmp.Or(names[r.Tape], r.Tape)} }
	if byFile {
		const others = len("  12 months ago  READ  WRITTEN  +1000 -1000")
		left := 0
		if s.Width() > 0 {
			left = max(20, s.Width()-others)
		}
		l.None, l.Head = "the session read and wrote no file", []string{"~FILE"}
		lead = func(r FileRow) []any {
			return []any{display.TruncateStart(display.Line(about.InProject(r.Project, r.Path)), left)}
		}
	}
	if projects := projectsOf(rows); projects > 0 && !byFile {
		l.Head = slices.Insert(l.Head, 0, "PROJECT")
		of := lead
		lead = func(r FileRow) []any {
			return append([]any{s.Fit(display.Line(r.name), projects-len("  "))}, of(r)...)
		}
	}
	narrow := s.Width() > 0 && s.Width() < 70
	l.Head = append(l.Head, "LAST")
	if several {
		l.Head = append(l.Head, ">FILES")
	}
	if !narrow {
		l.Head = append(l.Head, ">READ")
	}
	l.Head = append(l.Head, ">WRITTEN", ">LINES")
	l.Row = func(r FileRow, add func(cells ...any)) {
		cells := append(lead(r), display.Briefly(s.Now(), r.Last))
		if several {
			cells = append(cells, r.files)
		}
		if !narrow {
			cells = append(cells, count(r.Reads))
		}
		add(append(cells, count(r.Writes), r.lines())...)
	}
	return l.Show(s, rows, nil)
}

// bySession joins the rows of each session, in the order of their first rows. several reports whether a session has
// several files.
func bySession(rows []FileRow) (out []FileRow, several bool) {
	at := map[[2]string]int{}
	for _, r := range rows {
		key := [2]string{r.Workspace, r.Tape}
		i, ok := at[key]
		if !ok {
			i, at[key] = len(out), len(out)
			out = append(out, r)
		} else {
			out[i].add(r.FileUse)
		}
		out[i].files++
		several = several || out[i].files > 1
	}
	return out, several
}

func count(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func (r FileRow) lines() string {
	var out []string
	if r.Added > 0 {
		out = append(out, fmt.Sprintf("+%d", r.Added))
	}
	if r.Removed > 0 {
		out = append(out, fmt.Sprintf("-%d", r.Removed))
	}
	return strings.Join(out, " ")
}

func (r FileRow) object() stdio.Object {
	return append(stdio.Object{{"tape", r.Tape}}.With("workspace", r.Workspace), stdio.Object{{"title", stdio.OrNull(r.Title)}, {"project", stdio.OrNull(r.Project)}, {"path", r.Path},
		{"reads", r.Reads}, {"writes", r.Writes}, {"added", r.Added}, {"removed", r.Removed},
		{"first", stdio.DateOrNull(r.First)}, {"last", stdio.DateOrNull(r.Last)}}...)
}
