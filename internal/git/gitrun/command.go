package gitrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tape/internal/git/gitconfig"
	"tape/internal/git/gitstore"
)

// Command returns a git command for a repository. All commands on a repository are made here. If
// the repository is not the user's own, it cannot choose what git runs or where git sends
// something: its hooks are ignored, and its settings of that kind overridden. Errors: an
// *UnsupportedError of gitstore if a setting cannot be overridden, or is not known to be harmless.
func Command(ctx context.Context, r *gitstore.Repo, args ...string) (*exec.Cmd, error) {
	return CommandIn(ctx, r, r.GitDir(), args...)
}

// CommandIn is Command with another git folder, made by us, in place of the repository's.
func CommandIn(ctx context.Context, r *gitstore.Repo, gitDir string, args ...string) (*exec.Cmd, error) {
	settings, err := settings(ctx, r)
	if err != nil {
		return nil, err
	}
	all := []string{"--no-pager", "--git-dir=" + gitDir}
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	cmd := exec.CommandContext(ctx, "git", append(all, args...)...)
	cmd.Dir, cmd.Env = r.GitDir(), Environment()
	return cmd, nil
}

// Runnable returns nil if git can be run on a repository. Errors: ErrNoGit, or those of [Command].
func Runnable(ctx context.Context, r *gitstore.Repo) error {
	if err := CheckGit(); err != nil {
		return err
	}
	_, err := settings(ctx, r)
	return err
}

// settings returns the values for -c that keep git from running what the settings of somebody
// else's repository name. For the user's own repository there are none.
func settings(ctx context.Context, r *gitstore.Repo) ([]string, error) {
	if r.Config().Own() {
		return nil, nil
	}
	if _, err := os.Lstat(filepath.Join(r.GitDir(), "commondir")); err == nil {
		return nil, untrusted(r.GitDir(), "another git folder stands in for it (the file commondir)")
	}
	if err := r.CheckTree(); err != nil {
		return nil, err
	}
	local, err := LocalConfig(ctx, r.GitDir())
	if err != nil {
		return nil, err
	}
	for _, e := range local {
		if gitconfig.Judge(e) == gitconfig.Refused {
			if partial := partialBy(r, e); partial != nil {
				return nil, partial
			}
			return nil, untrusted(r.GitDir(), "its own git configuration sets "+e.Name())
		}
	}
	r.ReportIgnored(r.Ignored())
	return r.Config().Overrides(local), nil
}

// partialBy returns the error for a partial clone if a setting makes the repository one: its git may fetch
// what is missing at any time.
func partialBy(r *gitstore.Repo, e gitconfig.Entry) error {
	remote := e.Subsection
	switch e.Section + "." + e.Key {
	case "extensions.partialclone":
		remote = e.Value
	case "remote.promisor", "remote.partialclonefilter":
	default:
		return nil
	}
	if partial := r.Partial(remote); partial != nil {
		return partial
	}
	return nil
}

func untrusted(gitDir, why string) error {
	return &gitstore.UnsupportedError{Dir: gitDir, What: "git is not run here: the repository did not come from your own tape, and " + why,
		Hint: "look at what that would let run: " + gitstore.TrustCommand(gitDir)}
}

// LocalConfig returns what a repository's own files set, as git itself reads them: if we parsed
// odd files differently, we could miss what git sees. Git lists each file alone, and uses none of
// the settings.
func LocalConfig(ctx context.Context, gitDir string) (all []gitconfig.Entry, err error) {
	for _, name := range []string{"config", "config.worktree", gitconfig.OwnFile} {
		path := filepath.Join(gitDir, filepath.FromSlash(name))
		if _, err := gitconfig.ReadFile(path); errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		entries, err := list(ctx, path)
		if err != nil {
			return nil, fmt.Errorf("read git configuration %s: %w", path, err)
		}
		for _, e := range entries {
			if name == gitconfig.OwnFile && e.IsInclude() {
				e.Subsection += " in " + name // so that it differs from an include in config
			}
			all = append(all, e)
		}
	}
	return all, nil
}

func list(ctx context.Context, path string) (entries []gitconfig.Entry, err error) {
	cmd := exec.CommandContext(ctx, "git", "--no-pager", "config", "--file", path, "--no-includes", "--null", "--list")
	cmd.Dir = string(filepath.Separator)
	cmd.Env = append(Environment(), "GIT_DIR="+os.DevNull) // no repository's settings
	out, err := cmd.Output()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, ErrNoGit
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = fmt.Errorf("%w: %.500s", err, strings.TrimSpace(string(exit.Stderr)))
		}
		return nil, err
	}
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, value, ok := strings.Cut(record, "\n")
		if !ok {
			value = "true"
		}
		if strings.Contains(name, ".") {
			entries = append(entries, gitconfig.EntryOf(name, value))
		}
	}
	return entries, nil
}
