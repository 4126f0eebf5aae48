package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
)

// ProjectDir returns the directory of the project that dir belongs to: the main worktree of its git
// repository, or dir if it is in none. If dir is gone, its path may show that it was a worktree.
func ProjectDir(dir string) string {
	dir = ResolvePath(dir)
	if top := RepositoryAround(dir); top != "" {
		if main, ok := mainWorktree(top); ok {
			return ResolvePath(main)
		}
		return top
	}
	if IsGone(dir) {
		return layout.ProjectPath(dir)
	}
	return dir
}

// IsElsewhere reports whether a path is one of Windows, and this system is not: sessions come from there to WSL or to a
// server. Such a path is in no folder here.
func IsElsewhere(dir string) bool {
	drive := len(dir) > 2 && dir[1] == ':' && (dir[2] == '\\' || dir[2] == '/')
	return filepath.Separator == '/' && (drive || strings.HasPrefix(dir, `\\`)) && IsGone(dir)
}

// FolderName returns the last part of a path, also of one from elsewhere.
func FolderName(dir string) string {
	if IsElsewhere(dir) {
		dir = strings.ReplaceAll(dir, `\`, "/")
	}
	return filepath.Base(dir)
}

// IsGone reports whether a path does not exist.
func IsGone(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// RepositoryAround returns the working tree of git that a directory is in, "" if there is none. A repository
// in the home directory does not count: it holds settings, not the projects below.
func RepositoryAround(dir string) string {
	if IsElsewhere(dir) {
		return ""
	}
	isHome := HomeTest()
	for at := dir; at != filepath.Dir(at) && !isHome(at); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, layout.GitDirName)); err == nil {
			return at
		}
	}
	return ""
}

// HomeTest returns a function that reports whether a directory is the user's home, whose path may go through a link. For
// many directories, the links are followed once.
func HomeTest() func(dir string) bool {
	home, err := os.UserHomeDir()
	if err != nil {
		return func(string) bool { return false }
	}
	real := ResolvePath(home)
	return func(dir string) bool { return dir == home || dir == real }
}

// isRepositoryOf reports whether gitDir, directly below dir, is what makes dir a project. The home directory is none.
func isRepositoryOf(dir, gitDir string) bool {
	switch filepath.Base(gitDir) {
	case layout.GitDirName:
		return true
	case ".bare":
		return !HomeTest()(dir)
	}
	leads, err := gitstore.ReadPath(filepath.Join(dir, layout.GitDirName))
	return err == nil && disk.SameFile(leads, gitDir) && !HomeTest()(dir)
}

// NewFor returns the folder for a new workspace of a directory: in a linked worktree, that of the main one, so that all
// worktrees of a repository have one.
func NewFor(dir string) (string, error) {
	if _, err := Absolute(dir); err != nil {
		return "", err
	}
	if err := CheckSeparated(ResolvePath(dir)); err != nil {
		return "", err
	}
	if main, ok := mainWorktree(ResolvePath(dir)); ok {
		dir = main
	}
	return WorkspaceFor(dir)
}

// mainWorktree returns the main worktree of a linked one. If the repository is bare, that is its folder, or the folder
// that holds it as .bare, or under another name with a file .git that leads to it: there its worktrees are. The repository
// has to know the worktree, or contain it: otherwise a folder from somebody else could name any repository. It knows the
// folder, not only the file in it, which may be a link.
func mainWorktree(dir string) (string, bool) {
	file := filepath.Join(dir, layout.GitDirName)
	if st, err := os.Lstat(file); err != nil || !st.Mode().IsRegular() {
		return "", false
	}
	admin, err := gitstore.ReadPath(file)
	if err != nil || filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return "", false
	}
	main := filepath.Dir(filepath.Dir(admin))
	if above := filepath.Dir(main); isRepositoryOf(above, main) {
		main = above
	}
	back, err := gitstore.ReadPath(filepath.Join(admin, "gitdir"))
	if err != nil || !disk.SameFile(filepath.Dir(back), dir) && !disk.IsInside(dir, main) {
		return "", false
	}
	return main, true
}
