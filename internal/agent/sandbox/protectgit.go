package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Outside of the sandbox, for example at the user's next commit, git runs programs that the repository names: in its
// hooks and its configuration. Other files say where these two are.
const (
	hooksDir       = "hooks"
	configFile     = "config"
	worktreeConfig = "config.worktree"
	commonDir      = "commondir" // names the folder with hooks and configuration; only the admin folder of a worktree should have it
	dotGit         = ".git"
	headFile       = "HEAD"
)

// maxProtected is how many submodules are protected one by one. If there are more, all are read-only.
const maxProtected = 100

// protectGit returns bubblewrap's arguments that make the hooks and the configuration of the repository, its submodules
// and its worktrees read-only. They also mount the folders above, which then can be neither moved nor removed.
func (s *Sandbox) protectGit() (args []string) {
	path := filepath.Join(resolved(s.o.Project), dotGit)
	if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() {
		args = mount(args, "--ro-bind", path)
	}
	git := gitDir(s.o.Project)
	if git == "" {
		return args
	}
	args = protect(mount(args, "--bind", git), git)
	modules := filepath.Join(git, "modules")
	if repositories := modulesIn(modules); len(repositories) > maxProtected {
		args = mount(args, "--ro-bind", modules)
	} else {
		var seen []string
		for _, repository := range repositories {
			for _, dir := range below(modules, repository) {
				if !slices.Contains(seen, dir) {
					seen, args = append(seen, dir), mount(args, "--bind", dir)
				}
			}
			args = protect(args, repository)
		}
	}
	worktrees := filepath.Join(git, "worktrees")
	list, err := os.ReadDir(worktrees)
	if err == nil {
		args = mount(args, "--bind", worktrees)
	}
	for _, e := range list {
		if dir := filepath.Join(worktrees, e.Name()); e.IsDir() {
			args = mount(args, "--bind", dir)
			for _, name := range []string{commonDir, "gitdir", worktreeConfig} {
				args = mount(args, "--ro-bind", filepath.Join(dir, name))
			}
		}
	}
	return args
}

// protect adds the arguments that make the hooks and the configuration of one repository read-only.
func protect(args []string, git string) []string {
	_ = os.Mkdir(filepath.Join(git, hooksDir), 0o777) // otherwise a command could make it later
	if raw, err := os.ReadFile(filepath.Join(git, configFile)); err == nil && strings.Contains(strings.ToLower(string(raw)), "worktreeconfig") {
		if f, err := os.OpenFile(filepath.Join(git, worktreeConfig), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); err == nil { // for the same reason
			_ = f.Close()
		}
	}
	for _, name := range []string{hooksDir, configFile, worktreeConfig, commonDir} {
		args = mount(args, "--ro-bind", filepath.Join(git, name))
	}
	return args
}

// mount adds an argument of bubblewrap that mounts a path onto itself, if the path exists.
func mount(args []string, how, path string) []string {
	if _, err := os.Stat(path); err != nil {
		return args
	}
	return append(args, how, path, path)
}

// gitDir returns the folder that has the hooks and the configuration of a project's repository; "" if there is none.
func gitDir(project string) string {
	path := filepath.Join(resolved(project), dotGit)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return ""
	case info.Mode().IsRegular():
		return commonGitDir(project)
	}
	return resolved(path)
}

// modulesIn returns the repositories of the submodules in a folder, and of their submodules.
func modulesIn(dir string) (out []string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error { // what we cannot read, git cannot read either
		if err != nil || !d.IsDir() {
			return nil
		}
		if info, err := os.Stat(filepath.Join(path, configFile)); err != nil || !info.Mode().IsRegular() {
			return nil
		}
		out = append(append(out, path), modulesIn(filepath.Join(path, "modules"))...)
		return fs.SkipDir
	})
	return out
}

// below returns dir, path, and the folders between them.
func below(dir, path string) []string {
	out := []string{path}
	for path != dir && path != filepath.Dir(path) {
		path = filepath.Dir(path)
		out = append(out, path)
	}
	slices.Reverse(out)
	return out
}
