package disk

import (
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

// SameFile reports whether two paths lead to the same file or folder.
func SameFile(a, b string) bool {
	sa, err := os.Stat(a)
	if err != nil {
		return false
	}
	sb, err := os.Stat(b)
	return err == nil && os.SameFile(sa, sb)
}
