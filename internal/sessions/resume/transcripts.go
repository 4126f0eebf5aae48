package resume

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/recorder"
	"tape/internal/store/layout"
	"tape/repo"
)

// Where says whose files are searched.
type Where struct {
	User     record.Where
	Recorder []string // as spool.Places
}

// Session is the session of a tape.
type Session struct {
	Tape string
	IDs  []string // what an import may call it: the tape's name, and the ids that agents gave the session
}

// is reports whether a transcript belongs to the session or to one of its subagents. The session may itself be a
// subagent's.
func (s Session) is(info record.Info) bool {
	return slices.ContainsFunc([]string{info.Session, info.Full, info.Session + "/" + info.Agent}, func(id string) bool { return slices.Contains(s.IDs, id) })
}

// SessionOf returns the session of a tape. If the tape is gone, only its name is known.
func SessionOf(ctx context.Context, s *repo.Store, name string) (Session, error) {
	out := Session{Tape: name, IDs: []string{name}}
	t, err := s.Tape(ctx, name)
	if errors.Is(err, repo.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	ids, err := IDs(ctx, t)
	for _, id := range ids {
		if !slices.Contains(out.IDs, id) {
			out.IDs = append(out.IDs, id)
		}
	}
	return out, err
}

// TranscriptOf returns the transcript from which a tape was imported or recorded.
func TranscriptOf(ctx context.Context, s *repo.Store, t *repo.Tape, at Where) (string, error) {
	noted := importer.Transcript(s, t.Name())
	if _, _, err := importer.Stat(noted); err == nil {
		return noted, nil
	}
	if imported, err := importer.HasImported(ctx, t); err != nil || !imported && noted == "" {
		return "", cmp.Or(err, error(layout.Invalid("", "no transcript of tape %q is known: nothing on it says that it was imported", t.Name()).Try(layout.ImportElsewhere, t.Name())))
	}
	session, err := SessionOf(ctx, s, t.Name())
	if err != nil {
		return "", err
	}
	found, err := Find(ctx, session, at)
	if err != nil {
		return "", err
	}
	for _, path := range slices.Concat(found.Files, found.Own) {
		info, err := importer.Identify(ctx, path)
		if err == nil && (info.Agent == "" || t.Name() == info.Session+"/"+info.Agent) {
			return path, nil
		}
	}
	if noted != "" {
		return "", layout.NotFound("", "the transcript of tape %q is gone: %s", t.Name(), noted).Try(layout.ImportElsewhere, t.Name())
	}
	return "", layout.NotFound("", "no transcript of tape %q is known", t.Name()).Try(layout.ImportElsewhere, t.Name())
}

// Found says where the text of a session is kept.
type Found struct {
	Files    []string // transcripts of agents
	Own      []string // transcripts of tape's recorder
	Programs []string // the formats of agents that keep it, but not in files
}

// Find finds where the text of a session is kept.
func Find(ctx context.Context, s Session, at Where) (out Found, err error) {
	known, err := recorder.Sessions(at.Recorder)
	if err != nil {
		return out, err
	}
	for _, r := range known {
		for _, f := range r.Files {
			// What a hook has named is a transcript only if its content says so.
			info, err := importer.Identify(ctx, f.Path)
			if err == nil && s.is(info) {
				out.add(f.Path, at)
			}
		}
	}
	for _, f := range importer.All() {
		if r := f.Resume; r != nil && r.Has != nil &&
			slices.ContainsFunc(s.IDs, func(id string) bool { return r.IsID(id) && r.Has(at.User, id, ".") != "" }) {
			out.Programs = append(out.Programs, f.Name)
		}
		if f.Files.Folders == nil {
			continue
		}
		for _, folder := range f.Files.Folders(at.User.User()) {
			if err := out.search(ctx, f, folder, s, at); err != nil {
				return out, err
			}
		}
	}
	slices.Sort(out.Files)
	out.Files = slices.Compact(out.Files) // a folder may be inside another one
	return out, nil
}

// search adds the transcripts of a session below a folder, and those of its subagents.
func (out *Found) search(ctx context.Context, f *record.Format, folder string, s Session, at Where) error {
	return disk.Walk(folder, func(path string, st fs.FileInfo, err error) error {
		if err != nil || !st.Mode().IsRegular() || !(importer.Formats{f}).IsTranscript(path) || !mayBe(f, path, s) {
			return ctx.Err() // skip it, also if it is a folder that cannot be read
		}
		info, err := importer.Identify(ctx, path)
		if err != nil || !s.is(info) {
			return ctx.Err() // a file that cannot be read is no transcript
		}
		out.add(path, at)
		for _, file := range f.Files.OfSubagents(path, info.Session) {
			out.add(file, at)
		}
		return ctx.Err()
	})
}

// mayBe reports by a file's name whether it may be a session's, so that not all files have to be read.
func mayBe(f *record.Format, path string, s Session) bool {
	stem := record.Source{Name: path}.Stem()
	if f.Resume == nil || f.Resume.IsFile == nil || f.Files.SubagentPrefix != "" && strings.HasPrefix(stem, f.Files.SubagentPrefix) {
		return true
	}
	return slices.ContainsFunc(s.IDs, func(id string) bool { return f.Resume.IsFile(stem, id) })
}

func (out *Found) add(path string, at Where) {
	if _, err := os.Lstat(path); err != nil {
		return
	}
	list := &out.Files
	if slices.ContainsFunc(at.Recorder, func(dir string) bool { return strings.HasPrefix(path, dir+string(filepath.Separator)) }) {
		list = &out.Own
	}
	if !slices.Contains(*list, path) {
		*list = append(*list, path)
	}
}

// Forget removes what tape keeps of a session beside its tape: what the recorder knows of it, the recorder's
// transcripts in found, and the workspace's notes about imports.
func Forget(s *repo.Store, session Session, found Found, at Where) error {
	for _, path := range found.Own {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := recorder.Forget(at.Recorder, session.Tape, session.IDs); err != nil {
		return err
	}
	return importer.Forget(s, session.Tape)
}

// Containing returns the transcripts of a tape's session, also the recorder's, that have a line for which has is
// true. If has is nil, it returns all transcripts of agents, but not the recorder's.
func Containing(ctx context.Context, t *repo.Tape, at Where, has func(line []byte) bool) ([]string, error) {
	name := t.Name()
	if t.IsFork() {
		name, _, _ = strings.Cut(name, "/")
	}
	session, err := SessionOf(ctx, t.Store(), name)
	if err != nil {
		return nil, err
	}
	found, err := Find(ctx, session, at)
	if err != nil || has == nil {
		return found.Files, err
	}
	var out []string
	for _, path := range append(found.Files, found.Own...) {
		found, err := anyLine(ctx, path, has)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, path)
		}
	}
	return out, nil
}

func anyLine(ctx context.Context, path string, is func(line []byte) bool) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	for r := bufio.NewReaderSize(f, 64<<10); ctx.Err() == nil; {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 && is(line) {
			return true, nil
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return false, err
		}
	}
	return false, ctx.Err()
}
