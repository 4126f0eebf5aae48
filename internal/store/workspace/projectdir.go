package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

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

// IsGone reports whether a path does not exist.
func IsGone(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, fs.ErrNotExist)
}

// RepositoryAround returns the working tree of git that a directory is in, "" if there is none. A repository
// in the home directory does not count: it holds settings, not the projects below.
func RepositoryAround(dir string) string {
	for at := dir; at != filepath.Dir(at) && !IsHome(at); at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, layout.GitDirName)); err == nil {
			return at
		}
	}
	return ""
}

// IsHome reports whether a directory is the user's home, whose path may go through a link.
func IsHome(dir string) bool {
	home, err := os.UserHomeDir()
	return err == nil && (dir == home || dir == ResolvePath(home))
}

// mainWorktree returns the main worktree of a linked one; if the repository is bare, its folder. The repository
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
	if filepath.Base(main) == layout.GitDirName {
		main = filepath.Dir(main)
	}
	back, err := gitstore.ReadPath(filepath.Join(admin, "gitdir"))
	if err != nil || !disk.SameFile(filepath.Dir(back), dir) && !disk.IsInside(dir, main) {
		return "", false
	}
	return main, true
}
