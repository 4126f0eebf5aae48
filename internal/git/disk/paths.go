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

// Glob returns the files below dir whose paths match a pattern of [fs.Glob], relative to dir, in the order of names; nil if
// there are none, or if the pattern is malformed. Unlike with [filepath.Glob], dir is a name: people have folders with
// brackets and stars.
func Glob(dir, pattern string) []string {
	pattern = filepath.ToSlash(pattern)
	for strings.HasPrefix(pattern, "../") { // no path of an fs.FS
		dir, pattern = filepath.Join(dir, ".."), pattern[len("../"):]
	}
	found, _ := fs.Glob(os.DirFS(dir), pattern)
	for i, name := range found {
		found[i] = filepath.Join(dir, filepath.FromSlash(name))
	}
	return found
}

// SameFile reports whether two paths lead to the same file or folder.
func SameFile(a, b string) bool {
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}
