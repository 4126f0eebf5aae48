package workspace

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"tape/internal/git/disk"
	"tape/internal/git/gitconfig"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// Project is the directory that a workspace under Home belongs to. It is noted in the workspace, because the
// name of the workspace's folder has only the directory's name and a hash of its path.
type Project struct {
	Dir    string `json:"project"`
	Remote string `json:"remote,omitempty"` // the address of its git remote, as RemoteOf returns it
	Folder string `json:"folder,omitempty"` // folderIdentity of Dir, which stays when it is moved or renamed
	// Since is when the project was noted first; zero for workspaces of older versions.
	Since time.Time `json:"since,omitzero"`
}

func projectPath(workspace string) string {
	return filepath.Join(workspace, layout.GitDirName, layout.PrivateDir, "project")
}

// NoteProject notes which project a workspace under Home belongs to: dir, or else ProjectDir of dir. If the
// workspace belongs to neither, nothing is noted.
func (s *Store) NoteProject(dir string) error {
	for _, dir := range []string{dir, ProjectDir(dir)} {
		own, err := WorkspaceFor(dir)
		if err != nil {
			return err
		}
		if own == s.dir {
			return noteProject(s.fs, s.dir, dir)
		}
	}
	return nil
}

func noteProject(d *disk.FS, workspace, dir string) error {
	dir = ResolvePath(dir)
	p := Project{Dir: dir, Remote: RemoteOf(dir), Folder: identityOf(dir), Since: time.Now().UTC()}
	if was := ProjectOf(workspace); was.Dir != "" {
		p.Since = was.Since
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return d.WriteFile(projectPath(workspace), append(raw, '\n'))
}

// ProjectOf returns the project that was noted for a workspace. It is empty if nothing was noted, as for
// workspaces of older versions.
func ProjectOf(workspace string) (p Project) {
	if raw, err := os.ReadFile(projectPath(workspace)); err == nil {
		_ = json.Unmarshal(raw, &p)
	}
	return p
}

// projectGit returns the .git folder of the workspace's project; "" if it is not in git.
func (s *Store) projectGit() string {
	dir := ProjectOf(s.dir).Dir
	if dir == "" {
		return ""
	}
	top := RepositoryAround(dir)
	if top == "" {
		return ""
	}
	gitDir := filepath.Join(top, layout.GitDirName)
	if st, err := os.Stat(gitDir); err == nil && !st.IsDir() {
		if gitDir, err = gitstore.ReadPath(gitDir); err != nil {
			return ""
		}
	}
	return gitDir
}

// Gone reports whether the project's directory no longer exists.
func (p Project) Gone() bool { return p.Dir != "" && IsGone(p.Dir) }

// Workspaces returns the folders of all workspaces under Home.
func Workspaces() ([]string, error) {
	home, err := Home()
	if err != nil {
		return nil, err
	}
	names, err := DirNames(home)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, layout.Wrap(err, "list workspaces")
	}
	var out []string
	for _, name := range names {
		if dir := filepath.Join(home, name); IsWorkspace(dir) {
			out = append(out, dir)
		}
	}
	return out, nil
}

// MovedHere returns the workspaces of projects whose directory is gone and may be dir now. Those with the same git
// remote come first, then those whose directory had the same name. If nothing speaks for any, the only one is returned.
// sure is true if the first one's directory has the same remote and is dir itself, moved or renamed: a remote alone can
// be anybody's.
func MovedHere(dir string) (found []string, sure bool, err error) {
	all, err := Workspaces()
	if err != nil {
		return nil, false, err
	}
	dir = ResolvePath(dir)
	remote, folder := RemoteOf(dir), identityOf(dir)
	var lists [4][]string
	for _, ws := range all {
		p := ProjectOf(ws)
		same, at := p.Folder != "" && p.Folder == folder, 3
		switch {
		case !p.Gone() || !IsOwn(ws):
			continue
		case same:
			at, sure = 0, sure || remote != "" && p.Remote == remote
		case remote != "" && p.Remote == remote:
			at = 1
		case filepath.Base(p.Dir) == filepath.Base(dir):
			at = 2
		case p.Folder != "":
			continue
		}
		lists[at] = append(lists[at], ws)
	}
	if n := len(lists[3]); n > 1 || len(slices.Concat(lists[:3]...)) > 0 {
		lists[3] = nil
	}
	return slices.Concat(lists[:]...), sure && len(lists[0]) == 1, nil
}

// Link makes a workspace under Home belong to another project directory, and returns its new folder. The directory in
// which the project was before stays linked to it. If that directory has a workspace, aside is where to move it, and
// must not exist. Errors: ErrConflict if the directory has a workspace and aside is "".
func Link(workspace, dir, aside string) (string, error) {
	to, err := WorkspaceFor(dir)
	if err != nil {
		return "", err
	}
	d, was := (*disk.FS)(nil), ProjectOf(workspace)
	if _, err := os.Lstat(to); err == nil && to != workspace {
		if aside == "" {
			return "", layout.Conflict("move it away, or use it", "%s has a workspace: %s", ResolvePath(dir), to)
		}
		if err := SetAside(dir, aside); err != nil {
			return "", err
		}
	}
	if err := noteProject(d, workspace, dir); err != nil {
		return "", err
	}
	if to == workspace {
		return to, nil
	}
	if _, err := Unlink(dir); err != nil {
		return "", err
	}
	if err := moveSettings(workspace, to); err != nil {
		return "", err
	}
	if err := moveLinks(workspace, to, was); err != nil {
		return "", err
	}
	return to, layout.Wrap(d.Rename(workspace, to), "move workspace %s", workspace)
}

// Absolute returns the absolute path of a file or directory. Errors: ErrNotFound if the current directory is gone.
func Absolute(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", layout.NotFound("change to a folder that exists: cd DIR", "the current directory does not exist any more: %v", err)
	}
	return abs, nil
}

// ResolvePath returns the absolute path of a directory, with links followed if it exists. The name of its
// workspace is derived from that path.
func ResolvePath(dir string) string {
	if IsElsewhere(dir) {
		return dir
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}

// RemoteOf returns the address of origin in the git repository that a directory is in, without user name and
// password, followed by "#" and the directory's path in the repository. It is "" if there is no origin.
func RemoteOf(dir string) string {
	for top := dir; ; top = filepath.Dir(top) {
		raw, err := os.ReadFile(filepath.Join(top, layout.GitDirName, "config"))
		if err != nil {
			if top == filepath.Dir(top) {
				return ""
			}
			continue
		}
		entries, _ := gitconfig.Entries(raw)
		for _, e := range entries {
			if e.Section == "remote" && e.Subsection == layout.DefaultRemote && e.Key == "url" {
				inside, _ := filepath.Rel(top, dir)
				return withoutUser(e.Value) + "#" + filepath.ToSlash(inside)
			}
		}
		return ""
	}
}

func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return address
	}
	u.User = nil
	return u.String()
}
