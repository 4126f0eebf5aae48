package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// ProjectDir returns the directory of the project that dir belongs to: the main worktree of its git
// repository, or dir if it is in none. Where dir is gone, its path may show that it was a worktree.
func ProjectDir(dir string) string {
	dir = resolvePath(dir)
	if top := repositoryAround(dir); top != "" {
		if main, ok := mainWorktree(top); ok {
			return resolvePath(main)
		}
		return top
	}
	if isGone(dir) {
		return layout.ProjectPath(dir)
	}
	return dir
}

func isGone(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// repositoryAround returns the working tree of git that a directory is in, "" if there is none. A
// repository of the home directory is none: it has settings, and not the projects below.
func repositoryAround(dir string) string {
	home, _ := os.UserHomeDir()
	for at := dir; at != filepath.Dir(at); at = filepath.Dir(at) {
		if at == home {
			break
		}
		if _, err := os.Lstat(filepath.Join(at, layout.GitDirName)); err == nil {
			return at
		}
	}
	return ""
}

// mainWorktree returns the main worktree of a linked one, or the folder of a bare repository. The repository
// has to know the worktree: otherwise a folder from somebody else could name any.
func mainWorktree(dir string) (string, bool) {
	file := filepath.Join(dir, layout.GitDirName)
	admin, err := gitstore.ReadPath(file)
	if err != nil || filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return "", false
	}
	main := filepath.Dir(filepath.Dir(admin))
	if filepath.Base(main) == layout.GitDirName {
		main = filepath.Dir(main)
	}
	back, err := gitstore.ReadPath(filepath.Join(admin, "gitdir"))
	if err != nil || !gitstore.SameFile(back, file) && !gitstore.IsInside(dir, main) {
		return "", false
	}
	return main, true
}

// ProjectNameIn is how lists name the project of a directory with a session in a workspace: clones have the
// name of the workspace's project, which is that of a session without a directory, too.
func ProjectNameIn(workspace, dir string) string {
	p := ProjectOf(workspace)
	if dir == "" {
		return projectName(p.Dir)
	}
	own := originOf(ProjectDir(dir))
	if remote, _, _ := strings.Cut(p.Remote, "#"); own != "" && plainRemote(own) == plainRemote(remote) {
		return projectName(p.Dir)
	}
	return projectName(dir)
}

// projectName is the name of a directory's main worktree, or where that is a number, of its remote.
func projectName(dir string) string {
	if dir == "" {
		return ""
	}
	dir = ProjectDir(dir)
	name := filepath.Base(dir)
	if strings.Trim(name, "0123456789") == "" {
		name = filepath.Base(layout.ProjectPath(dir))
		if remote := originOf(dir); remote != "" {
			name = filepath.Base(plainRemote(remote))
		}
	}
	return strings.TrimSuffix(name, ".git")
}

// ForSession returns the workspace for the sessions of an agent in dir, which need not exist yet, and the
// project's directory: one workspace for all worktrees and clones of a repository. remote is the address of
// its git remote as the agent has noted it, or "". The workspace of a folder above counts too, but not one
// above a repository, and not that of the home directory. Where dir is gone, a project of the same
// name is taken for it.
func ForSession(dir, remote string) (workspace, project string, err error) {
	dir, project = resolvePath(dir), ProjectDir(dir)
	home, _ := os.UserHomeDir()
	top := repositoryAround(dir)
	for at := dir; at == dir || at != home; at = filepath.Dir(at) {
		if found := workspaceAt(at); found != "" {
			return found, project, nil
		}
		if at == top || at == filepath.Dir(at) {
			break
		}
	}
	if found, sure, err := MovedHere(project); err == nil && sure {
		if workspace, err = Link(found[0], project); err == nil {
			return workspace, project, nil
		}
	}
	if found := sameProject(project, remote, isGone(dir)); found != "" {
		return found, project, nil
	}
	workspace, err = WorkspaceFor(project)
	return workspace, project, err
}

// WithSameRemote returns the workspace of another clone of the repository that dir is in; "" if there is
// none.
func WithSameRemote(dir string) string {
	if repositoryAround(resolvePath(dir)) == "" {
		return ""
	}
	return sameProject(ProjectDir(dir), "", false)
}

// sameProject returns the workspace of a project with the same remote, or, if the directory is gone, with
// the same name, if there is only one.
func sameProject(dir, remote string, gone bool) string {
	if own := originOf(dir); own != "" && !gone {
		remote = own
	}
	all, err := Workspaces()
	if err != nil {
		return ""
	}
	var named []string
	for _, workspace := range all {
		p := ProjectOf(workspace)
		if p.Dir == "" || !IsOwn(workspace) {
			continue
		}
		address, inside, _ := strings.Cut(p.Remote, "#")
		if remote != "" && inside == "." && plainRemote(address) == plainRemote(remote) && (gone || !p.Gone()) {
			return workspace
		}
		if gone && projectName(p.Dir) == projectName(dir) {
			named = append(named, workspace)
		}
	}
	if len(named) == 1 {
		return named[0]
	}
	return ""
}

// originOf returns the address of the git remote of a project's directory; "" if it has none.
func originOf(project string) string {
	if repositoryAround(project) == "" {
		return ""
	}
	address, _, _ := strings.Cut(remoteOf(project), "#")
	return address
}

// plainRemote is what is the same in all spellings of a remote's address: host and path.
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

// Holders returns the user's own workspaces by the branches of the tapes in them. A session of an agent that
// was recorded stays in the workspace that has it.
func Holders() map[string]string {
	dirs, _, _ := OwnWorkspaces()
	out := map[string]string{}
	for _, dir := range slices.Backward(dirs) { // the first one has it
		git, err := gitstore.Open(filepath.Join(dir, layout.GitDirName), options(func(string) {}))
		if err != nil {
			continue // whoever opens it learns why
		}
		refs, _ := git.Refs(layout.BranchPrefix)
		for _, ref := range refs {
			out[ref.Name] = dir
		}
	}
	return out
}
