// Package projects says which workspace the sessions of a project go to, and what a project is called. All
// worktrees and clones of a repository are one project.
package projects

import (
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/store/continued"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// NameIn returns the name that lists show for the project of a session: in is its workspace, and dir its
// directory, or "". A clone of the workspace's project, and a session without a directory, get the name of
// the workspace's project.
func NameIn(in, dir string) string {
	p := workspace.ProjectOf(in)
	if dir == "" {
		return projectName(p.Dir)
	}
	own := originOf(workspace.ProjectDir(dir))
	if remote, _, _ := strings.Cut(p.Remote, "#"); own != "" && plainRemote(own) == plainRemote(remote) {
		return projectName(p.Dir)
	}
	return projectName(dir)
}

// Names returns NameIn for a workspace, which looks at each directory once.
func Names(in string) func(dir string) string {
	known := map[string]string{}
	return func(dir string) string {
		name, ok := known[dir]
		if !ok {
			name = NameIn(in, dir)
			known[dir] = name
		}
		return name
	}
}

// projectName is the name of a directory's main worktree. If that is a number, it is the name of the remote,
// or what layout.ProjectPath guesses.
func projectName(dir string) string {
	if dir == "" {
		return ""
	}
	dir = workspace.ProjectDir(dir)
	name := filepath.Base(dir)
	if strings.Trim(name, "0123456789") == "" {
		name = filepath.Base(layout.ProjectPath(dir))
		if remote := originOf(dir); remote != "" {
			name = filepath.Base(plainRemote(remote))
		}
	}
	return strings.TrimSuffix(name, ".git")
}

// ForSession returns the workspace for the sessions of an agent in dir, and the project's directory: all
// worktrees and clones of a repository have one workspace, which need not exist yet. remote is the address
// of dir's git remote as the agent has noted it, or "". A workspace in a folder above dir counts, too, but
// not above dir's repository, and not the home directory's. A workspace whose project has moved here is
// linked to it. If dir is gone, a project of the same name counts as its project, if there is only one.
func ForSession(dir, remote string) (in, project string, err error) {
	dir, project = workspace.ResolvePath(dir), workspace.ProjectDir(dir)
	top := workspace.RepositoryAround(dir)
	for at := dir; at == dir || !workspace.IsHome(at); at = filepath.Dir(at) {
		if found := workspace.At(at); found != "" {
			return found, project, nil
		}
		if at == top || at == filepath.Dir(at) {
			break
		}
	}
	if found, sure, err := workspace.MovedHere(project); err == nil && sure {
		if in, err = workspace.Link(found[0], project); err == nil {
			return in, project, nil
		}
	}
	if found := sameProject(project, remote, workspace.IsGone(dir)); found != "" {
		return found, project, nil
	}
	in, err = workspace.WorkspaceFor(project)
	return in, project, err
}

// WithSameRemote returns the workspace of another clone of the repository that dir is in; "" if there is
// none.
func WithSameRemote(dir string) string {
	if workspace.RepositoryAround(workspace.ResolvePath(dir)) == "" {
		return ""
	}
	return sameProject(workspace.ProjectDir(dir), "", false)
}

// sameProject returns the workspace of a project with the same remote. If the directory is gone, it may also
// be the only one of the same name. It returns "" if there is none.
func sameProject(project, remote string, gone bool) string {
	if own := originOf(project); own != "" && !gone {
		remote = own
	}
	all, err := workspace.Workspaces()
	if err != nil {
		return ""
	}
	var named []string
	for _, dir := range all {
		p := workspace.ProjectOf(dir)
		if p.Dir == "" || !workspace.IsOwn(dir) {
			continue
		}
		address, inside, _ := strings.Cut(p.Remote, "#")
		if remote != "" && inside == "." && plainRemote(address) == plainRemote(remote) && (gone || !p.Gone()) {
			return dir
		}
		if gone && projectName(p.Dir) == projectName(project) {
			named = append(named, dir)
		}
	}
	if len(named) == 1 {
		return named[0]
	}
	return ""
}

// originOf returns the address of the git remote of a project's directory; "" if it has none.
func originOf(project string) string {
	if workspace.RepositoryAround(project) == "" {
		return ""
	}
	address, _, _ := strings.Cut(workspace.RemoteOf(project), "#")
	return address
}

// plainRemote returns the host and path of a remote's address, which are the same in all its spellings.
func plainRemote(address string) string {
	if _, rest, found := strings.Cut(address, "://"); found {
		address = rest
	} else if host, path, found := strings.Cut(address, ":"); found && !strings.Contains(host, "/") {
		address = host + "/" + path // ada@example.org:shop.git
	}
	host, path, found := strings.Cut(address, "/")
	if found {
		address = host[strings.LastIndexByte(host, '@')+1:] + "/" + path
	}
	return strings.TrimSuffix(strings.TrimSuffix(address, "/"), ".git")
}

// Holders maps branches to the user's own workspaces, so that a recorded session stays in the workspace that
// has it. It has the branches of all tapes. For an agent's session that continues a tape with another name,
// it also has the branch that the session's own name would give.
func Holders() map[string]string {
	dirs, _, _ := workspace.OwnWorkspaces()
	out := map[string]string{}
	for _, dir := range slices.Backward(dirs) { // the first one counts
		git, err := workspace.OpenGit(filepath.Join(dir, layout.GitDirName))
		if err != nil {
			continue // whoever opens it learns why
		}
		refs, _ := git.Refs(layout.BranchPrefix)
		for _, ref := range refs {
			out[ref.Name] = dir
		}
		list, _ := continued.Read(git.GitDir())
		for _, s := range list {
			out[layout.BranchPrefix+layout.TapeSlug(s.ID)] = dir
		}
	}
	return out
}
