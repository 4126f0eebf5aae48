package transport

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitconfig"
	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
)

// If a remote is a path, a git that we start serves it, with the settings and hooks of the repository
// there. If a repository that is not the user's own names the path, both repositories may belong to
// the same stranger.

// checkServed refuses a remote that is a path if git could run programs that the repository there
// names. A fetch is refused only from a partial clone, which git would complete with programs that the
// clone names. So is a push from the user's own repository, since the path is the user's choice. A
// push from any other repository is refused for every setting or hook that could run. A remote that is
// the user's own is never refused.
func checkServed(ctx context.Context, r *gitstore.Repo, address string, push bool) error {
	dir, ok := localDir(r, address)
	if !ok {
		return nil
	}
	strict := push && !r.Config().Own()
	hint := "use an address that is not a path, or clone it again without --filter"
	if strict {
		hint = "if both are yours: " + gitstore.TrustCommand(r.GitDir())
		if strings.HasPrefix(address, "~") && !filepath.IsAbs(dir) {
			return &gitstore.UnsupportedError{Dir: r.GitDir(), What: "git is not run for " + address, Hint: "write the path in full, without ~"}
		}
	}
	for _, gitDir := range servedDirs(dir) {
		if r.Owns(gitDir) {
			continue
		}
		names, err := partialCloneSettings(gitDir)
		if strict && err == nil {
			names, err = wouldRun(ctx, gitDir)
		}
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return &gitstore.UnsupportedError{Dir: gitDir, What: "git is not run there, because the repository could make it run programs with " + strings.Join(names, ", "), Hint: hint}
		}
	}
	return nil
}

// servedDirs returns the git folders that git may use for a path. Which one it uses depends on their
// content and on git's version.
func servedDirs(dir string) (dirs []string) {
	dir = filepath.Clean(dir)
	for _, name := range []string{filepath.Join(dir, ".git"), dir, filepath.Join(dir+".git", ".git"), dir + ".git"} {
		if to, err := gitstore.ReadPath(name); err == nil {
			name = to
		}
		if st, err := os.Stat(name); err == nil && st.IsDir() {
			dirs = append(dirs, name)
		}
	}
	return dirs
}

// partialCloneSettings returns the settings that make a repository a partial clone, and the includes that may
// have such settings.
func partialCloneSettings(gitDir string) (names []string, err error) {
	for _, name := range []string{"config", "config.worktree"} {
		raw, err := gitconfig.ReadFile(filepath.Join(gitDir, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries, err := gitconfig.Entries(raw)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			makes := e.Section == "extensions" && e.Key == "partialclone" || e.Section == "remote" && (e.Key == "promisor" || e.Key == "partialclonefilter")
			if makes || e.IsInclude() && gitconfig.Judge(e) != gitconfig.Harmless {
				names = append(names, e.Name())
			}
		}
	}
	return names, nil
}

// wouldRun returns what a push might run: hooks, and settings that are not known to be harmless.
func wouldRun(ctx context.Context, gitDir string) (names []string, err error) {
	local, err := gitrun.LocalConfig(ctx, gitDir)
	for _, e := range local {
		if gitconfig.Judge(e) != gitconfig.Harmless && !slices.Contains(names, e.Name()) {
			names = append(names, e.Name())
		}
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "commondir")); err == nil {
		names = append(names, "commondir")
	}
	for _, name := range []string{"pre-receive", "update", "proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"} {
		if _, err := os.Stat(filepath.Join(gitDir, "hooks", name)); err == nil {
			names = append(names, "hooks/"+name)
		}
	}
	return names, err
}
