package agentside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"tape/cmd/internal/stdio"
	"tape/internal/git/disk"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
)

// foundSession is a transcript of an agent, or a session in its database.
type foundSession struct {
	importer.File
	Tape   string // the name of its tape; for a subagent's file, of the tape of its session
	format *record.Format
	place  place
}

// foundProject is a directory with sessions that began there.
type foundProject struct {
	Dir, Remote string // Remote is the address of its git remote as the agent has noted it, or ""
	Sessions    []foundSession
}

// Found is what the agents have.
type Found struct {
	Projects []foundProject // existing directories first, and of these the deeper ones first
	Agents   []string       // names of those that have sessions
	Files    int            // how many files, those of subagents included, and sessions in databases
	Homeless []foundSession // sessions that do not say what their project is
	Unread   []error        // why some files cannot be read
	unknown  kinds          // files in no known format
}

// place is what the sessions of a project have in common.
type place struct{ dir, remote string }

type finder struct {
	Found
	projects map[place]*foundProject
	sessions map[string]place // by the names of their tapes
	ofAgents []foundSession   // files of subagents
}

// findSessions returns the sessions of agents. step is called after each file and database, with the number of Files so far.
// What cannot be read is in Unread; the error is that of ctx.
func findSessions(ctx context.Context, agents importer.Formats, getenv func(string) string, step func(files int)) (*Found, error) {
	f := &finder{projects: map[place]*foundProject{}, sessions: map[string]place{}}
	for _, agent := range agents {
		before := f.Files
		databases, refused := importer.Databases(agent, getenv)
		f.Unread = append(f.Unread, refused...)
		for _, kept := range databases {
			if err := f.database(ctx, agent, kept); err != nil && ctx.Err() == nil {
				f.Unread = append(f.Unread, err)
			}
			step(f.Files)
		}
		for _, folder := range importer.Folders(agent, getenv) {
			if err := f.walk(ctx, agent, folder, step); err != nil {
				return nil, err
			}
		}
		if f.Files > before {
			f.Agents = append(f.Agents, agent.Name)
		}
	}
	for _, s := range f.ofAgents { // to the projects of their sessions
		at, ok := f.sessions[s.Tape]
		if !ok {
			at = s.place
		}
		f.add(s, at)
	}
	f.placeHomeless()
	for _, p := range f.projects {
		f.Projects = append(f.Projects, *p)
	}
	slices.SortStableFunc(f.Projects, func(a, b foundProject) int {
		return cmp.Or(gone(a.Dir)-gone(b.Dir), depth(b.Dir)-depth(a.Dir), strings.Compare(a.Dir, b.Dir), strings.Compare(a.Remote, b.Remote))
	})
	return &f.Found, nil
}

func depth(dir string) int { return strings.Count(dir, string(filepath.Separator)) }

func gone(dir string) int {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return 1
	}
	return 0
}

// walk finds the sessions in a folder of an agent.
func (f *finder) walk(ctx context.Context, agent *record.Format, folder string, step func(int)) error {
	return disk.Walk(folder, func(path string, st fs.FileInfo, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			f.Unread = append(f.Unread, err)
			return nil
		case !st.Mode().IsRegular() || !(importer.Formats{agent}).IsTranscript(path):
			return nil
		}
		if err := f.file(ctx, agent, path, st.Size()); err != nil && ctx.Err() == nil {
			f.Unread = append(f.Unread, err)
		}
		step(f.Files)
		return nil
	})
}

// file adds a file if it is a transcript.
func (f *finder) file(ctx context.Context, agent *record.Format, path string, size int64) error {
	info, err := importer.Identify(ctx, path)
	switch {
	case errors.Is(err, importer.ErrUnknownFormat):
		f.unknown.add(path)
		return nil
	case errors.Is(err, importer.ErrNoSession):
		return nil
	case err != nil:
		return err
	}
	s := foundSession{File: importer.File{Name: path, Size: size, Found: true}, Tape: info.Session, format: agent,
		place: place{jsonl.GetString(info.State, "cwd"), jsonl.GetString(info.State, "git", "repository_url")}}
	f.Files++
	if info.Agent != "" {
		f.ofAgents = append(f.ofAgents, s)
		return nil
	}
	f.sessions[s.Tape] = s.place
	f.add(s, s.place)
	return nil
}

// database adds the sessions of a database.
func (f *finder) database(ctx context.Context, agent *record.Format, kept record.DatabaseFile) error {
	list, err := importer.Sessions(ctx, agent, kept.Path)
	for _, in := range list {
		s := foundSession{File: importer.File{Name: in.Path, Found: true}, Tape: cmp.Or(in.Parent, in.ID), format: agent, place: place{dir: cmp.Or(in.Dir, kept.Dir)}}
		f.Files++
		if in.Parent != "" {
			f.ofAgents = append(f.ofAgents, s)
			continue
		}
		f.sessions[s.Tape] = s.place
		f.add(s, s.place)
	}
	switch {
	case errors.Is(err, importer.ErrOtherProgram):
		return nil
	case errors.Is(err, importer.ErrUnknownFormat):
		f.unknown.add(kept.Path)
		return nil
	}
	return err
}

func (f *finder) add(s foundSession, at place) {
	if !filepath.IsAbs(at.dir) {
		f.Homeless = append(f.Homeless, s)
		return
	}
	if f.projects[at] == nil {
		f.projects[at] = &foundProject{Dir: at.dir, Remote: at.remote}
	}
	f.projects[at].Sessions = append(f.projects[at].Sessions, s)
}

// placeHomeless finds the projects of sessions that do not name them, among those of other sessions and
// those that have a workspace. A session that may be of several stays without one.
func (f *finder) placeHomeless() {
	var places []place
	for at := range f.projects {
		places = append(places, at)
	}
	all, _ := workspace.Workspaces()
	for _, dir := range all {
		if p := workspace.ProjectOf(dir); p.Dir != "" {
			places = append(places, place{dir: p.Dir})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return cmp.Compare(len(b.dir), len(a.dir)) })
	left := f.Homeless
	f.Homeless = nil
	for _, s := range left {
		// Several directories may have one name of a folder: /src/my-app and /src/my/app (anthropics/claude-code#7009).
		of := slices.DeleteFunc(slices.Clone(places), func(at place) bool { return !s.isOf(at.dir) })
		if len(of) == 0 || slices.ContainsFunc(of, func(at place) bool { return at.dir != of[0].dir }) {
			f.Homeless = append(f.Homeless, s)
			continue
		}
		f.add(s, of[0])
	}
}

// isOf reports whether a session's file, or the name of its folder, shows that the session was in a directory.
func (s foundSession) isOf(dir string) bool {
	if holds := s.format.Files.Holds; holds != nil {
		folder := filepath.Base(filepath.Dir(s.Name))
		return utf8.RuneCountInString(dir) == len(folder) && holds(folder, dir)
	}
	if s.format.Files.MadeIn == nil {
		return false
	}
	src, closer, err := importer.OpenSource(s.Name, nil)
	if err != nil {
		return false
	}
	head := make([]byte, 4<<10)
	n, _ := src.R.ReadAt(head, 0)
	return closer.Close() == nil && s.format.Files.MadeIn(head[:n], dir)
}

// errSome ends a walk at the first transcript.
var errSome = errors.New("there is one")

// AnySessions reports whether agents have sessions. It stops at the first one, and reads no file.
func AnySessions(agents importer.Formats, getenv func(string) string) bool {
	for _, agent := range agents {
		if databases, _ := importer.Databases(agent, getenv); len(databases) > 0 {
			return true
		}
		for _, folder := range importer.Folders(agent, getenv) {
			err := disk.Walk(folder, func(path string, st fs.FileInfo, err error) error {
				if err == nil && st.Mode().IsRegular() && (importer.Formats{agent}).IsTranscript(path) {
					return errSome
				}
				return nil
			})
			if errors.Is(err, errSome) {
				return true
			}
		}
	}
	return false
}

// SessionsElsewhere names the directories, other than here, in which agents have sessions: those with the most first, at most
// most of them, and how many there are besides.
func SessionsElsewhere(ctx context.Context, s *stdio.Streams, agents importer.Formats, here string, most int) (names []string, more int, err error) {
	found, err := findSessions(ctx, agents, s.Getenv, func(int) {})
	if err != nil {
		return nil, 0, err
	}
	counts := map[string]int{}
	var dirs []string
	for _, p := range found.Projects {
		if p.Dir == here || len(p.Sessions) == 0 {
			continue
		}
		if counts[p.Dir] == 0 {
			dirs = append(dirs, p.Dir)
		}
		counts[p.Dir] += len(p.Sessions)
	}
	slices.SortStableFunc(dirs, func(x, y string) int { return cmp.Or(counts[y]-counts[x], strings.Compare(x, y)) })
	for _, dir := range dirs[:min(most, len(dirs))] {
		names = append(names, ShortPath(s, dir, 0)+fmt.Sprintf(" (%d)", counts[dir]))
	}
	return names, len(dirs) - len(names), nil
}
