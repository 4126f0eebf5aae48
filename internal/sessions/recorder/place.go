package recorder

import (
	"context"
	"os"
	"slices"
	"strings"

	"tape/internal/sessions/importer"
	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
	"tape/repo"
)

// Places decides which workspaces sessions belong to, for the recorder and for imports of all sessions. Each
// run needs a new value, because it remembers the workspaces.
type Places struct {
	// AskClone asks whether a directory is a clone of the project of workspace in, whose git remote it has; nil: nobody can
	// be asked.
	AskClone func(ctx context.Context, in, dir string) (bool, error)
	// Apart is called with such a directory that gets a workspace of its own; it may be nil.
	Apart func(in, dir string)

	holders map[string]string // workspaces by the branches of their tapes
	homes   map[home]*home
}

// home is where the sessions of a directory go.
type home struct {
	dir, remote string

	in, project string
	err         error
}

// Of returns the workspace of a session, which need not exist yet, and its project's directory. The session is one of an
// agent, in a directory. If one of the user's own workspaces has it already, it stays there. Any other goes to its
// project's workspace, see [projects.ForSession].
func (p *Places) Of(ctx context.Context, agent, tape, dir, remote string) (in, project string, err error) {
	if p.holders == nil {
		p.holders, p.homes = projects.Holders(), map[home]*home{}
	}
	at := p.home(ctx, dir, remote)
	tape, _, _ = strings.Cut(tape, "/") // a subagent's tape is in its session's workspace
	in = p.holders[layout.BranchPrefix+layout.TapeSlug(tape)]
	if in == "" || in == at.in && at.err == nil || !p.has(ctx, in, agent, tape, dir) {
		return at.in, at.project, at.err
	}
	return in, workspace.ProjectDir(dir), nil
}

// home returns where the sessions of a directory go, and notes that.
func (p *Places) home(ctx context.Context, dir, remote string) *home {
	key := home{dir: dir, remote: remote}
	if at := p.homes[key]; at != nil {
		return at
	}
	at := key
	at.in, at.project, at.err = projects.ForSession(dir, remote)
	if clone := projects.CloneOf(dir); at.err == nil && clone != "" && !workspace.IsWorkspace(at.in) {
		at.err = p.clone(ctx, clone, &at)
	}
	p.homes[key] = &at
	return &at
}

// clone links a directory to the workspace of the project that has its git remote, if it is known as the user's.
func (p *Places) clone(ctx context.Context, in string, at *home) (err error) {
	is := KnownClone(ctx, in, at.project)
	if !is && p.AskClone != nil {
		if is, err = p.AskClone(ctx, in, at.project); err == nil && !is {
			err = workspace.LinkClone("", at.project)
		}
	} else if !is && p.Apart != nil {
		p.Apart(in, at.project)
	}
	if is && err == nil {
		err, at.in = workspace.LinkClone(in, at.project), in
	}
	return err
}

// has reports whether a workspace has this session, not only one with the same id: of the same agent, in the same project.
func (p *Places) has(ctx context.Context, in, agent, tape, dir string) bool {
	store, err := repo.Open(ctx, in, nil)
	if err != nil {
		return false
	}
	return importer.IsOf(ctx, store, tape, agent, dir) == nil
}

// KnownClone reports whether sessions of a directory were recorded into a workspace by a former version, which took
// each clone with the same remote for the project.
func KnownClone(ctx context.Context, in, dir string) bool {
	store, err := repo.Open(ctx, in, nil)
	return err == nil && slices.ContainsFunc(importer.RecordedFrom(ctx, store, os.Getenv), func(began string) bool { return workspace.ProjectDir(began) == dir })
}
