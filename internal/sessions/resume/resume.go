// Package resume finds out how a recorded session can be resumed in the agent that made it, and writes it for another one.
//
// A tape may be a stranger's, so it chooses nothing that runs: the program and its options come from
// the format, the directory from the agent's own files on this machine, never from the tape. From
// the tape only the session's id is used. It has to look like an id, and the agent has to have the session
// on this machine, so that at worst a tape leads to another session of the same user.
package resume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/repo"
)

// Plan says how a session is resumed.
type Plan struct {
	Agent    string   // the name of the session's format; "" if no agent is known
	Session  string   // its id; "" if it is not known
	Dir      string   // where to start the program
	Program  string   // its path
	Command  []string // the program's name and arguments
	Moved    string   // its directory is gone, and the project is here now
	Obstacle string   // why the session cannot be resumed, as the end of a sentence; "" if it can
}

// Of returns how the session on a tape is resumed. user says where the agents keep their sessions. here is
// the current directory. If the session was written for other agents, it is resumed in the latest of these
// that still has it.
func Of(ctx context.Context, t *repo.Tape, user record.Where, here string) (Plan, error) {
	list, err := projects.ContinuedIn((*workspace.Store)(t.Store()))
	if err != nil {
		return Plan{}, err
	}
	for _, s := range slices.Backward(list.With(t.Name())) {
		f := importer.All().Find(s.Agent)
		if f == nil || f.Resume == nil || !f.Resume.IsID(s.ID) {
			continue
		}
		dir, why, err := locate(ctx, f, s.ID, user, here)
		if err == nil && dir != "" && why == "" {
			return In(f, s.ID, dir), nil
		}
	}
	f, ids, err := recorded(ctx, t)
	if err != nil {
		return Plan{}, err
	}
	var p Plan
	if f != nil {
		p.Agent = f.Name
	}
	switch {
	case f == nil:
		p.Obstacle = "no agent is known that can resume it"
		return p, nil
	case f.Resume == nil:
		p.Obstacle = "sessions of " + f.Name + " cannot be resumed"
		return p, nil
	case t.IsFork():
		p.Obstacle = "it is a fork, which the agent does not have"
		return p, nil
	case len(ids) == 0:
		p.Obstacle = "the id that " + f.Title + " gave it is not known"
		return p, nil
	}
	for _, id := range ids {
		if p.Dir, p.Obstacle, err = locate(ctx, f, id, user, here); err != nil {
			return p, fmt.Errorf("search the transcripts of %s: %w", f.Title, err)
		}
		if p.Session = id; p.Dir != "" || p.Obstacle != "" {
			break
		}
	}
	if p.Obstacle == "" && p.Dir == "" {
		p.Obstacle = f.Title + " does not have it on this machine, or has deleted it"
	}
	if p.Obstacle != "" {
		if p.Dir != "" && f.Writer != nil {
			p.Moved = movedTo((*workspace.Store)(t.Store()))
		}
		p.Dir = ""
		return p, nil
	}
	return In(f, p.Session, p.Dir), nil
}

// movedTo returns a directory of the workspace's project that is there; "" if none is.
func movedTo(w *workspace.Store) string {
	for _, dir := range append([]string{workspace.ProjectOf(w.Dir()).Dir}, workspace.Linked(w.Dir())...) {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return dir
		}
	}
	return ""
}

// In plans how a session is resumed in a directory. It checks only whether the program is installed.
func In(f *record.Format, session, dir string) Plan {
	p := Plan{Agent: f.Name, Session: session, Dir: dir}
	var err error
	p.Program, err = exec.LookPath(f.Resume.Program)
	switch {
	case errors.Is(err, exec.ErrDot):
		p.Obstacle = f.Resume.Program + " is found only in the current directory, and is not run from there"
	case err != nil:
		p.Obstacle = f.Resume.Program + " is not installed here"
	default:
		p.Command = append(append([]string{f.Resume.Program}, f.Resume.Args...), session)
	}
	return p
}

// IDs returns the ids that agents may have given to the session on a tape.
func IDs(ctx context.Context, t *repo.Tape) ([]string, error) {
	_, ids, err := recorded(ctx, t)
	if err != nil {
		return nil, err
	}
	list, err := projects.ContinuedIn((*workspace.Store)(t.Store()))
	for _, s := range list.With(t.Name()) {
		ids = append(ids, s.ID)
	}
	return ids, err
}

// maxSearched is how many entries are searched for the format and the id of a session.
const maxSearched = 50

// recorded returns the format of the session on a tape, nil if there is none, and the ids that the session
// may have: the tape's name, if it looks like an id, and the recorded ids. A subagent's tape has none.
func recorded(ctx context.Context, t *repo.Tape) (f *record.Format, ids []string, err error) {
	var entries []repo.Entry
	for e, err := range t.Entries(ctx, repo.Query{Limit: repo.N(maxSearched)}) {
		if err != nil {
			return nil, nil, err
		}
		entries = append(entries, e)
		if f == nil {
			f = importer.All().Find(jsonl.GetString(e.Meta, "source", "format"))
		}
	}
	if f == nil || f.Resume == nil {
		return f, nil, nil
	}
	found := []string{t.Name()}
	for _, e := range entries {
		if e.Kind == repo.KindAnchor && jsonl.GetString(e.Payload, "state", "owner") == "agent" {
			return f, nil, nil // a subagent's tape: the id on it is the whole session's
		}
		if jsonl.GetString(e.Payload, "name") == f.Resume.Entry {
			found = append(found, jsonl.GetString(e.Payload, "state", f.Resume.Member), jsonl.GetString(e.Payload, "data", f.Resume.Member))
		}
	}
	return f, slices.DeleteFunc(found, func(id string) bool { return !f.Resume.IsID(id) }), nil
}

// locate returns the directory in which a session is resumed, or why it cannot be; neither if the agent does
// not have it, and both if the directory is gone. For an agent whose sessions do not depend on the directory it is the current one, where the user
// would start the agent.
func locate(ctx context.Context, f *record.Format, id string, user record.Where, here string) (dir, why string, err error) {
	if f.Resume.Has != nil {
		return f.Resume.Has(user, id, here), "", nil
	}
	for _, folder := range f.Files.Folders(user.User()) {
		path, info, err := transcript(ctx, f, folder, id)
		if err != nil {
			return "", "", err
		}
		if path == "" {
			continue
		}
		if f.Resume.Refused != nil {
			if why := f.Resume.Refused(folder); why != "" {
				return "", why + ": " + path, nil
			}
		}
		dir := jsonl.GetString(info.State, "cwd")
		st, err := os.Stat(dir)
		switch {
		case !filepath.IsAbs(dir):
			return "", "its transcript does not name its directory: " + path, nil
		case err != nil || !st.IsDir():
			return dir, "its directory is gone: " + dir, nil
		}
		return dir, "", nil
	}
	return "", "", nil
}

// transcript finds the transcript of a session in a folder. path is "" if there is none.
func transcript(ctx context.Context, f *record.Format, folder, id string) (path string, info record.Info, err error) {
	err = disk.Walk(folder, func(file string, st fs.FileInfo, err error) error {
		if err != nil || !st.Mode().IsRegular() || !f.Resume.IsFile(record.Source{Name: file}.Stem(), id) {
			return ctx.Err() // skip also a folder that cannot be read
		}
		src, closer, err := importer.OpenSource(file, nil)
		if errors.Is(err, record.ErrPacked) {
			return err
		}
		if err != nil {
			return nil
		}
		defer closer.Close()
		found, err := importer.Describe(ctx, f, src)
		if err == nil && found.Session == id && found.Agent == "" {
			path, info = file, found
			return filepath.SkipAll
		}
		return ctx.Err()
	})
	return path, info, err
}
