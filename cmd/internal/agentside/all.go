package agentside

import (
	"context"
	"fmt"
	"strings"

	"tape/internal/sessions/importer"
	"tape/internal/sessions/recorder"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

// Everything says how to import the sessions of all projects.
type Everything struct {
	Agents importer.Formats
	// Workspace is where all sessions go; "": each goes to the workspace of its project.
	Workspace string
	// Open opens the workspace in dir. If there is none, it makes one, for project.
	Open func(ctx context.Context, dir, project string) (*repo.Store, error)
	// Places decides which workspace a session goes to.
	Places recorder.Places
	// Imported is called each time that sessions of a project were imported into a workspace, with their tapes.
	Imported func(ctx context.Context, store *repo.Store, tapes []string) error
}

// Everything imports the sessions that agents keep.
func (m *Import) Everything(ctx context.Context, all Everything) error {
	m.bar = m.Progress("importing")
	defer m.bar.Clear()
	found, err := findSessions(ctx, all.Agents, m.Getenv, func(files int) { m.bar.Step(fmt.Sprintf("looking for sessions: %d", files)) })
	m.bar.Clear()
	if err != nil {
		return err
	}
	m.Found, m.unknown = true, found.unknown
	if m.Failed = found.Unread; found.Files+len(m.Failed) == 0 {
		return layout.NotFound("name the files: tape import FILE…", "no sessions of %s", ListOf(all.Agents))
	}
	m.files, m.brief = found.Files+len(m.Failed), true
	for _, err := range m.Failed {
		m.tell(err)
	}
	if all.Workspace != "" {
		one := foundProject{Dir: all.Workspace, Sessions: found.Homeless}
		for _, p := range found.Projects {
			one.Sessions = append(one.Sessions, p.Sessions...)
		}
		found.Projects, found.Homeless = []foundProject{one}, nil
	}
	for _, p := range found.Projects {
		for _, s := range p.Sessions {
			m.total += s.Size
		}
	}
	m.StderrUnlessQuiet("found %s of %s, in %s", display.Count(found.Files, "transcript", "transcripts"), strings.Join(found.Agents, ", "),
		display.Count(len(found.Projects), "directory", "directories"))
	workspaces := map[string]bool{}
	sums := importer.Result{}
	for _, p := range found.Projects {
		m.sums = importer.Result{}
		before := m.sessions
		if err = m.project(ctx, p, &all, workspaces); err != nil {
			break
		}
		if m.sums.Imported > 0 && !m.JSON {
			m.PrintUnlessQuiet("%s", m.text(ShortPath(m.Streams, p.Dir, m.Width()/2)+": ", m.sums, display.Count(m.sessions-before, "session", "sessions")))
			err = m.Flush()
		}
		sums.Add(m.sums)
	}
	m.bar.Clear()
	m.sayUnknown()
	for _, s := range found.Homeless {
		if importer.IsEmpty(ctx, s.Name) {
			m.files--
			continue
		}
		m.Warn(m.shortHome(s.Name) + " does not say which project it belongs to; tape import FILE imports it into the workspace of the current directory")
	}
	if m.forgotten > 0 {
		m.StderrUnlessQuiet("%s left out; tape rm --forget removed them", display.Count(m.forgotten, "session is", "sessions are"))
	}
	if !m.JSON {
		m.PrintUnlessQuiet("%s", m.text(display.Count(m.files, "file", "files")+": ", sums,
			display.Count(m.sessions, "session", "sessions")+" of "+display.Count(len(workspaces), "project", "projects")))
	}
	return err
}

// project imports the sessions of a directory, and adds to workspaces those that they go to.
func (m *Import) project(ctx context.Context, p foundProject, all *Everything, workspaces map[string]bool) error {
	type target struct{ workspace, project string }
	var targets []target
	files := map[target][]importer.File{}
	for _, s := range p.Sessions {
		to := target{all.Workspace, p.Dir}
		if to.workspace == "" {
			var err error
			if to.workspace, to.project, err = all.Places.Of(ctx, s.format.Name, s.Tape, p.Dir, p.Remote); err != nil {
				return err
			}
		}
		if files[to] == nil {
			targets = append(targets, to)
		}
		files[to] = append(files[to], s.File)
	}
	for _, to := range targets {
		store, err := all.Open(ctx, to.workspace, to.project)
		if err != nil && ctx.Err() == nil { // the others are still imported
			for range files[to] {
				m.Failed = append(m.Failed, err)
			}
			m.tell(fmt.Errorf("%s of %s: %w", display.Count(len(files[to]), "session", "sessions"), p.Dir, err))
			continue
		}
		m.workspace, workspaces[to.workspace] = to.workspace, true
		if err == nil {
			err = m.into(ctx, store, files[to])
		}
		if err == nil {
			err = all.Imported(ctx, store, m.Tapes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ListOf names agents; all of them are too many for a sentence.
func ListOf(agents importer.Formats) string {
	const most = 4
	if len(agents) > most {
		return "any agent that tape knows"
	}
	return strings.Join(agents.Names(), ", ")
}
