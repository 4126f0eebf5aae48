// Package projects says which workspace the sessions of a project go to, and what a project is called. All worktrees of
// a repository are one project, which git proves. Other clones are if the user linked them: anybody can name a remote.
// It has the lists of sessions that were forgotten, and of those that go on with a tape of another name.
package projects

import (
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// NameIn returns the name that lists show for the project of a session: in is its workspace, and dir its
// directory, or "". A directory that is linked to the workspace, and a session without a directory, get the name of
// the workspace's project.
func NameIn(in, dir string) string {
	p := workspace.ProjectOf(in)
	if dir == "" || p.Dir != "" && Holds(in, dir) {
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
	name := workspace.FolderName(dir)
	if strings.Trim(name, "0123456789") == "" {
		name = workspace.FolderName(layout.ProjectPath(dir))
		if remote := originOf(dir); remote != "" {
			name = filepath.Base(plainRemote(remote))
		}
	}
	return strings.TrimSuffix(name, ".git")
}

// ForSession returns the workspace for the sessions of an agent in dir, and the project's directory: all worktrees of a
// repository have one workspace, which need not exist yet. A workspace in a folder above dir counts, too, but not above
// dir's repository, and not the home directory's. A workspace whose project has moved here is linked to it. If dir is
// gone, its project is the oldest one with the git remote that the agent has noted, remote. A name alone makes nothing one.
func ForSession(dir, remote string) (in, project string, err error) {
	dir, project = workspace.ResolvePath(dir), workspace.ProjectDir(dir)
	if found := around(dir); found != "" {
		return found, project, nil
	}
	gone := workspace.IsGone(dir)
	if found, sure, err := workspace.MovedHere(project); err == nil && sure && !gone {
		if in, err = workspace.Link(found[0], project, ""); err == nil {
			return in, project, nil
		}
	}
	if found := withRemote(remote, gone); gone && len(found) > 0 {
		return found[0], project, nil
	}
	in, err = workspace.WorkspaceFor(project)
	return in, project, err
}

// around returns the workspace of a directory or of a folder above it; "" if there is none.
func around(dir string) string {
	top := workspace.RepositoryAround(dir)
	isHome := workspace.HomeTest()
	for at := dir; at == dir || !isHome(at); at = filepath.Dir(at) {
		if found := workspace.At(at); found != "" {
			return found
		}
		if at == top || at == filepath.Dir(at) || workspace.IsElsewhere(at) {
			break
		}
	}
	return ""
}

// Holds reports whether a directory is of the project of a workspace: the project's directory or below it, a worktree of
// it, or linked to it.
func Holds(in, dir string) bool {
	dir = workspace.ResolvePath(dir)
	p := workspace.ProjectOf(in)
	return p.Dir != "" && workspace.ProjectDir(dir) == workspace.ResolvePath(p.Dir) || around(dir) == in
}

// Same reports whether two directories are of one project. in is a workspace that may hold both.
func Same(in, a, b string) bool {
	return a == b || workspace.ProjectDir(a) == workspace.ProjectDir(b) || Holds(in, a) && Holds(in, b)
}

// CloneOf returns the workspace of the oldest project whose git remote dir's repository has, too; "" if there is none, or
// if dir is of that project already, or if the user said that it is not. The remote proves nothing: ask.
func CloneOf(dir string) string {
	dir = workspace.ResolvePath(dir)
	if workspace.RepositoryAround(dir) == "" {
		return ""
	}
	project := workspace.ProjectDir(dir)
	found := withRemote(originOf(project), false)
	if len(found) == 0 || workspace.Declined(project) || Holds(found[0], dir) {
		return ""
	}
	return found[0]
}

// withRemote returns the user's own workspaces whose projects have a git remote, the oldest first; none for "". With
// gone, projects count that had it when tape saw them last.
func withRemote(remote string, gone bool) (found []string) {
	all, err := workspace.Workspaces()
	if err != nil || remote == "" {
		return nil
	}
	for _, in := range all {
		p := workspace.ProjectOf(in)
		address, inside, _ := strings.Cut(p.Remote, "#")
		if inside != "." || plainRemote(address) != plainRemote(remote) || !workspace.IsOwn(in) {
			continue
		}
		if now := originOf(p.Dir); plainRemote(now) == plainRemote(remote) || gone && p.Gone() {
			found = append(found, in)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int {
		return workspace.ProjectOf(a).Since.Compare(workspace.ProjectOf(b).Since)
	})
	return found
}

// originOf returns the address of the git remote of a project's directory; "" if it has none.
func originOf(project string) string {
	if workspace.RepositoryAround(project) == "" {
		return ""
	}
	address, _, _ := strings.Cut(workspace.RemoteOf(project), "#")
	return address
}

// HasRemote reports whether an address is that of the git remote of a project's directory.
func HasRemote(project, address string) bool {
	own := originOf(project)
	return own != "" && plainRemote(own) == plainRemote(address)
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

// Continued returns the sessions that continue a tape under another name, by the user's own workspaces that have these
// tapes. A workspace without any is not in it.
func Continued() map[string]ContinuedList {
	dirs, _, _ := workspace.OwnWorkspaces()
	out := map[string]ContinuedList{}
	for _, dir := range dirs {
		if list, err := ReadContinued(filepath.Join(dir, layout.GitDirName)); err == nil && len(list) > 0 {
			out[dir] = list
		}
	}
	return out
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
		list, _ := ReadContinued(git.GitDir())
		for _, s := range list {
			out[layout.BranchPrefix+layout.TapeSlug(s.ID)] = dir
		}
	}
	return out
}
