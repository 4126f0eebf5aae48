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

// A remote that is a path is served by a git that is started here, in that repository, with its
// settings and its hooks. Where the path comes from a repository that is not the user's own, the
// one at the path may have come with it.

// checkServed refuses to let git serve a fetch from a path, or take a push to it, where that
// could run what the repository there says. Paths that an own repository names are the user's
// choice; of these, too, a partial clone is refused, which git would complete by programs that
// it names.
func checkServed(ctx context.Context, r *gitstore.Repo, address string, push bool) error {
	dir, ok := localDir(r, address)
	if !ok {
		return nil
	}
	strict := push && !r.Config().Own()
	hint := "use an address that is no path, or clone it anew without --filter"
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
		names, err := partial(gitDir)
		if strict && err == nil {
			names, err = wouldRun(ctx, gitDir)
		}
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return &gitstore.UnsupportedError{Dir: gitDir, What: "git is not run there: the repository could let it run something by " + strings.Join(names, ", "), Hint: hint}
		}
	}
	return nil
}

// servedDirs are the git folders that git may serve for a path. Which of them it takes depends on
// what is in them, and on its version.
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

// partial names the settings that make a partial clone, or may be in a file that is included.
func partial(gitDir string) (names []string, err error) {
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

// wouldRun names what a push might run: hooks, and settings that are not known to be harmless.
func wouldRun(ctx context.Context, gitDir string) (names []string, err error) {
	local, err := gitrun.Local(ctx, gitDir)
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
