package gitstore

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/gitconfig"
)

// HooksDir returns the folder in which git looks for hooks: core.hooksPath if that is
// set, else hooks in the git folder. Hooks run in the root of the working tree, or in a
// bare repository's own folder, and a relative core.hooksPath begins there; for linked
// worktrees the main one is taken. own says that the folder, whether it exists or not, is
// inside the repository's git folder, so that nobody else's hooks are in it. dir is "" where
// the setting is empty, which is how git is told to run none.
func (r *Repo) HooksDir() (dir string, own bool) {
	dir = filepath.Join(r.gitDir, "hooks")
	if set, ok := r.config.ForUser("core", "", "hooksPath"); ok {
		if set == "" {
			return "", false
		}
		dir = filepath.FromSlash(gitconfig.ExpandHome(set, gitconfig.HomeDir()))
	}
	if !filepath.IsAbs(dir) {
		root := r.gitDir
		if main, ok := r.MainDir(); ok {
			root = main
		}
		dir = filepath.Join(root, dir)
	}
	return dir, IsInside(dir, r.gitDir)
}

// IsInside reports whether a path, links followed as far as it exists, lies below dir.
func IsInside(path, dir string) bool {
	inside, err := filepath.Rel(realPath(dir), realPath(path))
	return err == nil && inside != "." && filepath.IsLocal(inside)
}

// realPath follows the links in the part of a path that exists.
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

// Hooks are the names of the hooks in the repository's own folder; git's samples are none.
func (r *Repo) Hooks() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(r.gitDir, "hooks"))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// HookMark is in every hook that this program writes.
const HookMark = "# Written by tape git install; tape git uninstall takes it away."

// PassedOver are the settings of the repository that do not count where it is not the user's own,
// and the hooks that this program's git would run.
func (r *Repo) PassedOver() []string {
	names := r.config.PassedOver()
	for _, name := range r.Hooks() {
		path := filepath.Join(r.gitDir, "hooks", name)
		if raw, err := gitconfig.ReadFile(path); err == nil && !bytes.Contains(raw, []byte(HookMark)) && (name == "pre-push" || name == "reference-transaction") {
			names = append(names, "hooks/"+name)
		}
	}
	return names
}
