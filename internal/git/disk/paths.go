package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// IsInside reports whether path is below dir. Links are followed in that part of the path that exists.
func IsInside(path, dir string) bool {
	inside, err := filepath.Rel(realPath(dir), realPath(path))
	return err == nil && inside != "." && filepath.IsLocal(inside)
}

// realPath follows the links in that part of a path that exists.
func realPath(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path || strings.TrimSpace(path) == "" {
		return path
	}
	return filepath.Join(realPath(parent), filepath.Base(path))
}

// Glob returns the files below dir, or below a folder above it if the pattern begins with "../", whose paths match a pattern
// of [fs.Glob], relative to dir, in the order of names; nil if there are none, or if the pattern is malformed. Unlike with
// [filepath.Glob], dir is a name: people have folders with brackets and stars.
func Glob(dir, pattern string) []string {
	found, _ := fs.Glob(folder(dir), filepath.ToSlash(pattern))
	for i, name := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return found
}

// folder has the files below a folder, and above it, by their slash-separated paths. Unlike those of [os.DirFS], their names
// need not be UTF-8.
type folder string

// Open is what an [fs.FS] has; [Glob] needs only the other two.
func (f folder) Open(name string) (fs.File, error) { return os.Open(f.path(name)) }

// ReadDir lists a folder.
func (f folder) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(f.path(name)) }

// Stat describes a file, not what a link leads to.
func (f folder) Stat(name string) (fs.FileInfo, error) { return os.Lstat(f.path(name)) }

func (f folder) path(name string) string { return filepath.Join(string(f), filepath.FromSlash(name)) }

// SameFile reports whether two paths lead to the same file or folder.
func SameFile(a, b string) bool {
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}
