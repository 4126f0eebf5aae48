package gitstore

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/git/gitconfig"
)

// HooksDir returns the folder in which git looks for hooks: core.hooksPath if set, else hooks in the
// git folder. A relative core.hooksPath starts at the root of the main working tree, or at a bare
// repository's folder, as git runs hooks there. dir is "" if the setting is empty, which turns hooks
// off. own reports whether the folder, existing or not, is inside the repository's git folder, so that
// only this repository's hooks are in it.
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
	return dir, disk.IsInside(dir, r.gitDir)
}

// Hooks returns the names of the hooks in the repository's own folder, without git's samples.
func (r *Repo) Hooks() (names []string) {
	entries, _ := os.ReadDir(filepath.Join(r.gitDir, "hooks"))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names
}

// HookMark is a line in every hook that tape writes.
const HookMark = "# Written by tape git install; tape git uninstall takes it away."

// Ignored returns the settings of a repository that are ignored where it is not the user's own, and
// the hooks that a git started by tape would otherwise run.
func (r *Repo) Ignored() []string {
	names := r.config.Ignored()
	for _, name := range r.Hooks() {
		path := filepath.Join(r.gitDir, "hooks", name)
		if raw, err := gitconfig.ReadFile(path); err == nil && !bytes.Contains(raw, []byte(HookMark)) && (name == "pre-push" || name == "reference-transaction") {
			names = append(names, "hooks/"+name)
		}
	}
	return names
}
