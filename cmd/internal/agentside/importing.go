package agentside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/importer"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

// Import is one run of imports.
type Import struct {
	*stdio.Streams
	Options importer.Options
	Version string // of the program
	Source  importer.Opener

	Tapes  []string // the tapes of the last workspace that was imported into
	Failed []error

	found     map[string]bool // files in named folders: they need not be transcripts
	unknown   kinds           // of them, those in no known format
	others    int             // of them, those whose session has the name of another one's tape
	other     error           // the first of these
	sums      importer.Result
	sessions  int       // of all workspaces
	forgotten int       // sessions that are left out
	files     int       // to import
	unit      [2]string // what m.files counts
	many      string    // the last file with several sessions
	bar       *stdio.Progress
	done      int64 // bytes
	total     int64
	Found     bool   // the files were found, not named
	brief     bool   // no line for each file
	workspace string // for JSON, if there are several
}

// Files imports files that somebody named, and those in named folders.
func (m *Import) Files(ctx context.Context, store *repo.Store, names []string) error {
	var list []importer.File
	for _, name := range names {
		found, err := importer.Files(ctx, name)
		if err != nil {
			m.Failed = append(m.Failed, err)
		}
		list = append(list, found...)
	}
	m.found = map[string]bool{}
	for _, t := range list {
		m.found[t.Name] = m.found[t.Name] || t.Found
	}
	m.files, m.unit = len(list)+len(m.Failed), [2]string{"file", "files"}
	for _, err := range m.Failed {
		m.tell(err)
	}
	m.brief = m.Found && m.files > mostLines && !m.Verbose
	label := fmt.Sprintf("importing %d files", m.files)
	for _, t := range list {
		if m.total += t.Size; m.files == 1 {
			label = ShortPath(m.Streams, t.Name, stdio.LabelCells)
		}
	}
	m.bar = m.Progress(label)
	defer m.bar.Clear()
	if err := m.into(ctx, store, list); err != nil {
		return err
	}
	m.sayUnknown()
	if m.files == 0 && !m.Found {
		m.Failed = append(m.Failed, layout.Invalid("the formats are: "+strings.Join(importer.All().Names(), ", "), "no session in a known format in %s", display.Quoted(strings.Join(names, " "))))
		m.files = 1
		return nil
	}
	if (m.files > 1 || m.Found && m.sums.Imported == 0) && !m.JSON {
		m.PrintUnlessQuiet("%s", m.text(display.Count(m.files, m.unit[0], m.unit[1])+": ", m.sums, display.Count(len(m.Tapes), "session", "sessions")))
	}
	return nil
}

// mostLines is how many lines are printed about files that nobody has named.
const mostLines = 20

// count counts the sessions of a file that has several, in place of the file.
func (m *Import) count(res importer.Result) {
	if res.Sessions > 0 && res.File != m.many {
		m.many, m.files, m.unit = res.File, m.files+res.Sessions-1, [2]string{"conversation", "conversations"}
		m.brief = m.brief || res.Sessions > mostLines && !m.Verbose
	}
}

// into imports files into a workspace. If it is interrupted, it keeps what it has read. A file that cannot be imported
// is added to Failed, and is not an error.
func (m *Import) into(ctx context.Context, store *repo.Store, list []importer.File) error {
	m.Tapes = nil
	reported := map[[2]string]bool{} // files with their tapes
	report := func(res importer.Result, err error) error {
		m.bar.Clear()
		m.count(res)
		switch {
		case err == nil && res.Empty && len(res.Problems) > 0 && !m.Found:
			return m.reportEmpty(res)
		case err != nil && m.wasFound(res.File) && errors.Is(err, importer.ErrUnknownFormat):
			m.unknown.add(res.File)
			fallthrough
		case err != nil && m.wasFound(res.File) && errors.Is(err, importer.ErrNoSession), err == nil && res.Empty && m.wasFound(res.File):
			m.files--
			return nil
		case err != nil && m.wasFound(res.File) && isOther(err):
			if m.others++; m.others == 1 {
				m.other = err
			}
			m.files--
			return nil
		case err != nil:
			m.Failed = append(m.Failed, wayOut(err))
			m.tell(err)
			return nil
		case res.Empty:
			return m.reportEmpty(res)
		}
		if path, err := filepath.Abs(res.File); err == nil && res.Sessions == 0 {
			of := [2]string{path, res.Tape}
			if reported[of] && res.Imported == 0 { // it was named twice, or is the session's in place of another form of it
				m.files--
				return nil
			}
			reported[of] = true
		}
		return m.report(res)
	}
	batch := importer.NewBatch(store, m.Version, m.Source, report)
	defer batch.Close()
	for _, t := range list {
		start, o := m.done, m.Options
		o.Fallback = t.Fallback
		o.Progress = func(read, _ int64) { m.bar.Part(start+read, m.total) }
		if t.Problem != nil && t.Found { // such as a database that is being made
			m.bar.Clear()
			m.StderrUnlessQuiet("left out: %s", m.shortHome(t.Problem.Error()))
			m.files--
			continue
		}
		if t.Problem != nil {
			if err := report(importer.Result{File: t.Name}, t.Problem); err != nil {
				return err
			}
			continue
		}
		if err := batch.File(ctx, t.Name, o); err != nil {
			if ctx.Err() == nil {
				return err
			}
			return errors.Join(err, batch.Flush(context.WithoutCancel(ctx)))
		}
		m.done += t.Size
	}
	return batch.Flush(context.WithoutCancel(ctx))
}

// tell reports an error, unless there is only one file: then the program does.
func (m *Import) tell(err error) {
	if m.files > 1 {
		m.Message("error", m.shortHome(err.Error()))
	}
}

// wayOut adds the way out to an error.
func wayOut(err error) error {
	switch {
	case errors.Is(err, importer.ErrUnknownFormat):
		return layout.Invalid("name the format: "+strings.Join(importer.All().Names(), ", "), "%v", err)
	case errors.Is(err, importer.ErrNoSession):
		return layout.Invalid("", "%v", err)
	case errors.Is(err, importer.ErrNoName):
		return layout.Invalid("name the tape: --tape NAME", "%v", err)
	}
	return err
}

// Failure returns the error if there was only one file, else an error with the number of failures, in the class that
// all of them share. It is nil if nothing failed.
func (m *Import) Failure() error {
	if len(m.Failed) == 0 {
		return nil
	}
	if m.files == 1 {
		return m.Failed[0]
	}
	text := fmt.Sprintf("%d of %s could not be imported", len(m.Failed), display.Count(m.files, "file", cmp.Or(m.unit[1], "files")))
	for _, class := range []error{repo.ErrNotFound, repo.ErrInvalid, repo.ErrConflict, repo.ErrBusy, repo.ErrCorrupt} {
		if !slices.ContainsFunc(m.Failed, func(err error) bool { return !errors.Is(err, class) }) {
			return &layout.Error{Class: class, Msg: text}
		}
	}
	return errors.New(text)
}

// report shows the result of a file's import.
func (m *Import) report(res importer.Result) error {
	if res.Forgotten {
		if m.forgotten++; m.brief && !m.JSON {
			return nil
		}
		return m.Result(append(stdio.Object{{"file", res.File}, {"tape", res.Tape}}.With("workspace", m.workspace), stdio.Object{{"format", res.Format}, {"imported", 0}, {"skipped", 0},
			{"damaged", 0}, {"anchors", 0}, {"forgotten", true}}...), "%s: left out, the session %s was forgotten; tape new %s begins it again",
			ShortPath(m.Streams, res.File, 60), display.Quoted(res.Tape), display.ShellWord(res.Tape))
	}
	if !slices.Contains(m.Tapes, res.Tape) {
		m.Tapes = append(m.Tapes, res.Tape)
		m.sessions++
	}
	m.sums.Add(res)
	text := m.text("", res, "tape "+display.Quoted(res.Tape))
	noNews := m.Found && !m.Verbose && res.Imported+res.Damaged+len(res.Problems) == 0
	if m.JSON || !m.brief && !noNews {
		err := m.Result(append(stdio.Object{{"file", res.File}, {"tape", res.Tape}}.With("workspace", m.workspace), stdio.Object{{"format", res.Format}, {"imported", res.Imported},
			{"skipped", res.Known + res.LeftOut}, {"damaged", res.Damaged}, {"anchors", res.Anchors}}...).With("subagents", res.Subagents).With("archived", res.Archived),
			"%s: %s", ShortPath(m.Streams, res.File, m.Width()-display.Width(": "+text)), text)
		if err = cmp.Or(err, m.Flush()); err != nil {
			return err
		}
	}
	for _, p := range res.Problems {
		where := res.File
		if p.Line > 0 {
			where = fmt.Sprintf("%s:%d", res.File, p.Line)
		}
		m.Warn(m.shortHome(where) + ": " + p.Msg)
	}
	return nil
}

// wasFound reports whether nobody has named a file.
func (m *Import) wasFound(file string) bool { return m.Found || m.found[file] }

// reportEmpty reports a file that somebody named, in which nobody says anything, perhaps because it is damaged.
func (m *Import) reportEmpty(res importer.Result) error {
	said := "nobody says anything in it"
	if len(res.Problems) > 0 {
		said = "nobody says anything in what can be read of it: " + res.Problems[0].Msg
	}
	return m.Result(append(stdio.Object{{"file", res.File}, {"tape", nil}}.With("workspace", m.workspace), stdio.Object{{"format", res.Format}, {"imported", 0},
		{"skipped", 0}, {"damaged", res.Damaged}, {"anchors", 0}, {"empty", true}}...), "%s: no session, %s", ShortPath(m.Streams, res.File, 60), said)
}

// sayUnknown names the kinds of files that are in no known format.
func (m *Import) sayUnknown() {
	for _, line := range m.unknown.lines(func(path string) string { return ShortPath(m.Streams, path, 60) }) {
		m.StderrUnlessQuiet("%s", line)
	}
	if m.others > 0 {
		m.StderrUnlessQuiet("left out: %s whose sessions have the names of tapes that are not theirs, such as this one: %s", display.Count(m.others, "file", "files"), m.shortHome(m.other.Error()))
		m.StderrUnlessQuiet("tape import FILE --tape NAME imports such a file by itself")
	}
}

func isOther(err error) bool {
	_, ok := errors.AsType[importer.OtherError](err)
	return ok
}

// shortHome writes the home directory in a text as ~, except for JSON.
func (m *Import) shortHome(text string) string {
	if home := m.Getenv("HOME"); home != "" && !m.JSON {
		return strings.ReplaceAll(text, home+"/", "~/")
	}
	return text
}

// ShortPath returns a path with ~ for the home directory. On a screen, its beginning is cut if it is longer than
// cells, which are at least 24.
func ShortPath(s *stdio.Streams, path string, cells int) string {
	const least = 24
	text := display.Path(path, s.Getenv("HOME"))
	if s.Width() == 0 {
		return text
	}
	return display.TruncateStart(text, max(least, cells))
}

func (m *Import) text(what string, res importer.Result, into string) string {
	text := fmt.Sprintf("%s%s into %s", what, display.Entries(res.Imported), into)
	parts := append([]string{text}, display.CountList(len(res.Subagents), "fork", "forks")...)
	return strings.Join(slices.Concat([]string{strings.Join(parts, " and ")}, display.CountList(res.Anchors, "anchor", "anchors"), display.CountList(res.Known, "known", "known"), display.CountList(res.LeftOut, "left out", "left out"),
		display.CountList(res.Damaged, "damaged line", "damaged lines")), ", ")
}

// LeaveEmpty makes the newest of some tapes the current one if the current one is the empty tape that was
// made with the workspace. It returns the new name, or "" if nothing changed.
func LeaveEmpty(ctx context.Context, store *repo.Store, tapes []string) (string, error) {
	t, err := store.Tape(ctx, "")
	if err != nil || len(tapes) == 0 {
		return "", nil //nolint:nilerr // without a current tape, there is none to leave
	}
	if now, err := t.Summary(ctx); err != nil || now.Entries > 1 {
		return "", err
	}
	var newest string
	var last time.Time
	for _, name := range tapes {
		t, err := store.Tape(ctx, name)
		if err != nil {
			return "", err
		}
		s, err := t.Summary(ctx)
		if err != nil {
			return "", err
		}
		if at, ok := display.ParseStored(s.Updated); ok && s.Entries > 1 && !at.Before(last) {
			newest, last = name, at
		}
	}
	if newest == "" {
		return "", nil
	}
	// The files of its working tree are written when somebody writes to it.
	_, err = (*workspace.Store)(store).Switch(ctx, newest)
	return newest, err
}
