package recorder

import (
	"strings"

	"tape/internal/store/layout"
	"tape/internal/store/projects"
	"tape/internal/store/workspace"
)

// Places decides which workspaces sessions belong to, for the recorder and for imports of all sessions. Each
// run needs a new value, because it remembers the workspaces.
type Places struct {
	holders map[string]string // workspaces by the branches of their tapes
}

// Of returns the workspace of a session, which need not exist yet, and its project's directory. A session
// that is already in one of the user's own workspaces stays there. Any other goes to its project's
// workspace, see [projects.ForSession].
func (p *Places) Of(tape, dir, remote string) (in, project string, err error) {
	if p.holders == nil {
		p.holders = projects.Holders()
	}
	tape, _, _ = strings.Cut(tape, "/") // a subagent's tape is in its session's workspace
	if in := p.holders[layout.BranchPrefix+layout.TapeSlug(tape)]; in != "" {
		return in, workspace.ProjectDir(dir), nil
	}
	in, project, err = projects.ForSession(dir, remote)
	return in, project, err
}
