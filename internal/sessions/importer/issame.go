package importer

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// A session's id is what somebody wrote into a file. A file is added to the tape of that name only if its agent and its
// project are those of the tape, too.

// IsOf returns nil if the tape with the name of a session is of this session: of the same agent, whose format is given,
// and begun in the same project as dir. Otherwise it returns an error that says whose the tape is.
func IsOf(ctx context.Context, s *repo.Store, session, format, dir string) error {
	list, err := projects.ContinuedIn((*workspace.Store)(s))
	if err != nil || list.Tape(format, session) != "" {
		return err
	}
	t, err := s.Tape(ctx, session)
	if err != nil {
		return err
	}
	is, err := originOf(ctx, t)
	if err != nil {
		return err
	}
	if is.format != format || is.dir == "" || dir == "" || !projects.Same(s.Dir(), is.dir, dir) {
		return is.other(t.Name(), format, dir)
	}
	return nil
}

// origin says where a tape's entries come from.
type origin struct {
	format string // "" if no entry was imported
	dir    string // in which its session began; "" if that is not known
	empty  bool   // it has only its first anchor
}

// originOf reads the beginning of a tape.
func originOf(ctx context.Context, t *repo.Tape) (o origin, err error) {
	const few = 200 // entries of one's own may come before the first that was imported
	n := 0
	for e, err := range t.Entries(ctx, repo.Query{Limit: repo.N(few)}) {
		if err != nil {
			return o, err
		}
		if n++; n == 1 {
			o.dir = jsonl.GetString(e.Payload, "state", "cwd")
		}
		if o.format = jsonl.GetString(e.Meta, "source", "format"); o.format != "" {
			break
		}
	}
	o.empty = n <= 1
	return o, nil
}

// OtherError says that a session has the id of another one, which has the tape.
type OtherError struct{ error }

// formerError says that a tape is of the same session in another file, with which it goes on: the entries of both have
// different keys.
type formerError struct {
	error
	path string
}

func (e formerError) Unwrap() error { return e.error }

func (e OtherError) Unwrap() error { return e.error }

// other returns the error for a session that has the id of another one.
func (o origin) other(tape, format, dir string) error {
	whose := func(format, dir string) string {
		text := "no agent's"
		if format != "" {
			text = All().Title(format) + "'s"
		}
		if dir != "" {
			text += ", in " + display.Line(dir)
		}
		return text
	}
	return OtherError{layout.Conflict("if it belongs there, or for a tape of its own, import the file with --tape NAME", "the session has the name of tape %s, but is another one: it is %s, and the tape is %s",
		display.Quoted(tape), whose(format, dir), whose(o.format, o.dir))}
}

// checkSame refuses a file whose session has the id of another one, which has the tape. Nobody has chosen the tape.
func (b *Batch) checkSame(ctx context.Context, f *record.Format, src record.Source, info record.Info, tape string) error {
	t, err := b.store.Tape(ctx, tape)
	if errors.Is(err, repo.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	is, err := originOf(ctx, t)
	if err != nil {
		return err
	}
	if is.empty { // no file may choose the tape that the workspace began with
		if info.Named && t.Name() == repo.DefaultTape {
			return is.other(tape, f.Name, "")
		}
		return nil
	}
	dir, known := jsonl.GetString(info.State, "cwd"), false
	former := b.marks.paths[tape]
	path, err := filepath.Abs(src.Name)
	if err == nil && former != "" && path != former && (isFormer(f, path, former) || isFormer(All().Find(is.format), former, path)) {
		if _, _, err := Stat(former); err == nil {
			return formerError{is.other(tape, f.Name, dir), former}
		}
	}
	if err == nil && path == former {
		dir, known = is.dir, true // the tape is of this very file, which may have been written anew after its project was moved
	}
	if is.dir == "" {
		is.dir = workspace.ProjectOf(b.store.Dir()).Dir
	}
	if info.Agent != "" && (is.dir == "" || isBelow(src.Name, b.marks.paths[tape]) || disk.IsInside(dir, is.dir)) {
		dir, known = is.dir, true // a subagent works in another folder; its file is beside its session's
	}
	switch {
	case f.Keys == nil && is.format != f.Name:
		return is.other(tape, f.Name, dir)
	case f.Keys == nil && dir != "" && is.dir != "":
		if !projects.Same(b.store.Dir(), is.dir, dir) {
			return is.other(tape, f.Name, dir)
		}
		return nil
	case f.Keys == nil && known:
		return nil
	}
	// Not both name their project, or entries do not name their agent: the content decides.
	same, err := b.sharesEntries(ctx, f, src, t)
	if err == nil && !same {
		err = is.other(tape, f.Name, dir)
	}
	return err
}

// isFormer reports whether a file has the session that another one, of a format, has in another form. f may be nil.
func isFormer(f *record.Format, path, other string) bool {
	return f != nil && f.Files.Former != nil && f.Files.Former(path, other)
}

// isBelow reports whether a file is in the folder of another one, or below it.
func isBelow(name, beside string) bool {
	abs, err := filepath.Abs(name)
	return err == nil && beside != "" && disk.IsInside(abs, filepath.Dir(beside))
}

// sharesEntries reports whether one of a file's first entries is among those of a tape. An empty file shares all.
func (b *Batch) sharesEntries(ctx context.Context, f *record.Format, src record.Source, t *repo.Tape) (bool, error) {
	const few = 100
	first, err := firstKeys(ctx, f, src, few)
	if err != nil || len(first) == 0 {
		return err == nil, err
	}
	keys := keysOf(f)
	for e, err := range t.Entries(ctx, repo.Query{Limit: repo.N(2 * few)}) {
		if err != nil {
			return false, err
		}
		has, err := keys(e)
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(has, func(key string) bool { return slices.Contains(first, key) }) {
			return true, nil
		}
	}
	return false, nil
}

// Began returns the directory in which the session of a tape began, as its transcript says; "" if it does not.
func Began(ctx context.Context, t *repo.Tape) (dir string, err error) {
	is, err := originOf(ctx, t)
	return is.dir, err
}

// RecordedFrom returns the directories, sorted, in which those sessions of a workspace began whose transcripts are in this
// machine's own folders of agents.
func RecordedFrom(ctx context.Context, s *repo.Store, getenv func(string) string) (dirs []string) {
	var folders []string
	for _, f := range All().WithFolders() {
		folders = append(folders, Folders(f, getenv)...)
	}
	if home, err := workspace.Home(); err == nil { // sent by an agent's plugin
		folders = append(folders, home)
	}
	for name, path := range loadMarks((*workspace.Store)(s), "").paths {
		if !slices.ContainsFunc(folders, func(folder string) bool { return disk.IsInside(path, folder) }) {
			continue
		}
		t, err := s.Tape(ctx, name)
		if err != nil {
			continue
		}
		if dir, err := Began(ctx, t); err == nil && dir != "" {
			dirs = append(dirs, dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
