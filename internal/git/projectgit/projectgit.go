// Package projectgit asks the git repository of a project that sessions were about: from which
// commits lines come, what a commit is, which files it changed. It changes nothing there, except for the
// notes that a person asks for.
//
// Such a repository may be anybody's, and a transcript may name any directory. So git runs
// without pager and hooks, without prompts and fetches, and runs none of the programs that the
// repository's settings name for monitors, filters, diffs or signatures.
package projectgit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"tape/internal/git/gitrun"
)

// ErrNoRepository says that a directory is in no working tree of git.
var ErrNoRepository = errors.New("not in a working tree of git")

// ErrSlow says that git took longer than the limit.
var ErrSlow = errors.New("git has given no answer for two minutes")

const limit = 2 * time.Minute

// Repo is the git repository of a project.
type Repo struct {
	Top     string // its working tree
	Shallow bool   // older commits are missing
}

// Commit is a commit of a project.
type Commit struct {
	ID       string
	Subject  string
	Author   string    // name only
	Authored time.Time // a rebase or amendment keeps it

	// Only Blame knows these:
	Committed time.Time
	Previous  string // the commit that had changed the file before; "" if there is none
}

// Open finds the repository that a directory is in. Errors: ErrNoRepository, ErrSlow, gitrun.ErrNoGit.
func Open(ctx context.Context, dir string) (Repo, error) {
	out, err := run(ctx, dir, nil, "rev-parse", "--is-shallow-repository", "--show-toplevel")
	if failed, ok := errors.AsType[*gitError](err); ok && (strings.Contains(failed.stderr, "not a git repository") || strings.Contains(failed.stderr, "must be run in a work tree")) {
		return Repo{}, fmt.Errorf("%s: %w", dir, ErrNoRepository)
	}
	shallow, top, _ := strings.Cut(strings.TrimSuffix(string(out), "\n"), "\n")
	return Repo{Top: top, Shallow: shallow == "true"}, err
}

// Commit returns the commit that a revision names; ok is false if it names none, or git fails.
func (r Repo) Commit(ctx context.Context, revision string) (c Commit, ok bool, err error) {
	out, err := run(ctx, r.Top, nil, "log", "-1", "--no-walk", "--no-show-signature", "--encoding=UTF-8",
		"--format=%H%x00%at%x00%an%x00%s", "--end-of-options", revision+"^{commit}", "--")
	if _, ok := errors.AsType[*gitError](err); ok {
		return c, false, nil
	}
	f := strings.SplitN(strings.TrimSuffix(string(out), "\n"), "\x00", 4)
	if err != nil || len(f) < 4 {
		return c, false, err
	}
	return Commit{ID: f[0], Authored: seconds(f[1]), Author: f[2], Subject: f[3]}, true, nil
}

func seconds(s string) time.Time {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// gitError says that git failed, and what it said.
type gitError struct {
	stderr string
	err    error
}

func (e *gitError) Error() string {
	said := strings.TrimPrefix(strings.TrimSpace(e.stderr), "fatal: ")
	return "git: " + cmp.Or(said, e.err.Error())
}

func (e *gitError) Unwrap() error { return e.err }

func run(ctx context.Context, dir string, settings []string, args ...string) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := command(limited, dir, settings, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := failed(ctx, limited, cmd.Run(), said.String()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// command returns a git command for a directory. settings are pairs of key and value, in addition
// to those that keep git from running the repository's programs.
func command(ctx context.Context, dir string, settings []string, args ...string) *exec.Cmd {
	settings = append([]string{"core.fsmonitor", "", "core.hooksPath", os.DevNull, "diff.external", "", "log.showSignature", "false"}, settings...)
	before := []string{"--no-pager", "--literal-pathspecs"}
	for i := 0; i < len(settings); i += 2 { // git before 2.31 does not read them from the environment
		if !strings.Contains(settings[i], "=") {
			before = append(before, "-c", settings[i]+"="+settings[i+1])
		}
	}
	cmd := exec.CommandContext(ctx, "git", append(before, args...)...)
	cmd.Dir = dir
	cmd.WaitDelay = 5 * time.Second
	gitrun.KillWithChildren(cmd)
	// Behind -c a key cannot contain "="; in the environment it can.
	env := append(gitrun.Environment(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_CONFIG_COUNT="+strconv.Itoa(len(settings)/2))
	for i, s := range settings {
		env = append(env, fmt.Sprintf("GIT_CONFIG_%s_%d=%s", [...]string{"KEY", "VALUE"}[i%2], i/2, s))
	}
	cmd.Env = env
	return cmd
}
