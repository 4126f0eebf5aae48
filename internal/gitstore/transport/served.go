package transport

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/gitstore"
	"tape/internal/gitstore/gitconfig"
	"tape/internal/gitstore/gitrun"
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
	gitDir := servedDir(dir)
	if gitDir == "" || r.Owns(gitDir) {
		return nil
	}
	strict := push && !r.Config().Own()
	names, err := partial(gitDir)
	if strict && err == nil {
		names, err = wouldRun(ctx, gitDir)
	}
	if err != nil || len(names) == 0 {
		return err
	}
	hint := "use an address that is no path, or clone it anew without --filter"
	if strict {
		hint = "if both are yours: " + gitstore.TrustCommand(r.GitDir())
	}
	return &gitstore.UnsupportedError{Dir: gitDir, What: "git is not run there: the repository could let it run something by " + strings.Join(names, ", "), Hint: hint}
}

// servedDir is the git folder that git serves for a path.
func servedDir(dir string) string {
	for _, name := range []string{filepath.Join(dir, ".git"), dir, dir + ".git", filepath.Join(dir+".git", ".git")} {
		if st, err := os.Stat(filepath.Join(name, "objects")); err == nil && st.IsDir() {
			return name
		}
		if to, err := gitstore.ReadPath(name); err == nil {
			if st, err := os.Stat(to); err == nil && st.IsDir() {
				return to
			}
		}
	}
	return ""
}

// partial names the settings that make a partial clone.
func partial(gitDir string) (names []string, err error) {
	raw, err := gitconfig.ReadFile(filepath.Join(gitDir, "config"))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := gitconfig.Entries(raw)
	for _, e := range entries {
		if e.Section == "extensions" && e.Key == "partialclone" || e.Section == "remote" && e.Key == "promisor" {
			names = append(names, e.Name())
		}
	}
	return names, err
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
