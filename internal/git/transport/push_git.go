package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/git/gitconfig"
	"tape/internal/git/gitlock"
	"tape/internal/git/gitstore"
)

// hasReceivePack reports whether git-receive-pack at an address can be asked for its refs.
func hasReceivePack(address string) bool {
	_, local := LocalDir(address)
	_, _, scp := scpAddress(address)
	scheme, _, _ := strings.Cut(strings.ToLower(address), "://")
	return local || scp || strings.Contains(scheme, "ssh")
}

// gitPushRefs lists a remote's refs by git-receive-pack. Unlike upload-pack, it does not read each tag
// to find its commit, which takes long for tens of thousands of tags.
func gitPushRefs(ctx context.Context, r *gitstore.Repo, m Remote, o Options) (refs []gitstore.Ref, err error) {
	program := "git-receive-pack"
	if own, ok := r.Config().Value("remote", m.Name, "receivepack"); ok && own != "" {
		program = own
	}
	refs, _, err = gitLsRemote(ctx, r, m, o, "--upload-pack="+program)
	return refs, err
}

// gitPush pushes refs with git push; if atomic, all or none of them.
func gitPush(ctx context.Context, r *gitstore.Repo, m Remote, refs []PushRef, atomic bool, o Options) ([]PushResult, error) {
	// Progress shows that the remote is alive, see idleTimer.
	args := []string{"-c", "push.followTags=false", "push", "--porcelain", "--progress", "--no-follow-tags", "--recurse-submodules=no"}
	if atomic {
		args = append(args, "--atomic")
	}
	if o.NoHook {
		args = append(args, "--no-verify")
	}
	for _, ref := range refs {
		if ref.New.IsZero() || ref.Replace {
			args = append(args, "--force-with-lease="+ref.Name+":"+ref.Old.String())
		}
	}
	if m.Name != "" { // with such a remote, git push takes no refs
		args = append([]string{"-c", "remote." + m.Name + ".mirror=false"}, args...)
	}
	args = append(args, "--", m.gitName())
	_, local := localDir(r, pushAddress(r, m))
	run := gitRun{options: o, local: local, remote: m.label()}
	if len(refs) > gitstore.FewRefs && !slices.ContainsFunc(refs, func(ref PushRef) bool { return ref.New.IsZero() }) {
		dir, err := outgoing(r, refs)
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		run.gitDir, args = dir, append(args, "refs/*:refs/*")
	} else {
		for _, ref := range refs {
			from := ref.New.String()
			if ref.New.IsZero() {
				from = ""
			}
			args = append(args, from+":"+ref.Name)
		}
	}
	out, err := runGit(ctx, r, run, args...)
	var failed *gitError
	if err != nil && !errors.As(err, &failed) {
		return nil, err
	}
	if failed != nil && strings.Contains(failed.stderr, "does not support --atomic") {
		return nil, errNoAtomic
	}
	if failed != nil && strings.Contains(string(out), "(unpacker error)") {
		return nil, fmt.Errorf("%w: it could not accept the objects: %w", ErrRemote, err) // for example, its disk is full
	}
	said := ""
	if failed != nil {
		said = remoteLines(failed.stderr)
	}
	results := parsePush(string(out), said)
	switch hook := pushHook(r, o); {
	case failed != nil && hook != "" && len(out) == 0 && strings.Contains(failed.stderr, "error: failed to push some refs") && !strings.Contains(failed.stderr, "fatal: git-http-push failed"):
		return nil, &HookError{Hook: hook, Err: err, Hint: "nothing was sent; mend that program, or, if git's setting core.hooksPath names it for all repositories, set another one here: " +
			gitstore.GitCommand(r.GitDir()) + " config core.hooksPath .git/hooks"}
	case err == nil && len(results) < len(refs):
		return nil, fmt.Errorf("%w: it reported on %d of %d refs", ErrRemote, len(results), len(refs))
	case len(results) < len(refs) || err != nil && !slices.ContainsFunc(results, isRejected):
		return nil, classify(err)
	}
	return results, nil
}

// HookError says that a hook of git on this machine stopped a push.
type HookError struct {
	Hook string // the path of the program
	Hint string // what to do about it
	Err  error  // what the hook said
}

func (e *HookError) Error() string {
	return "git's hook " + e.Hook + " stopped the push: " + e.Err.Error()
}

func (e *HookError) Unwrap() error { return e.Err }

// pushHook returns the file that git runs before it sends anything, "" if there is none. If it fails, git says nothing
// about any ref.
func pushHook(r *gitstore.Repo, o Options) string {
	dir, _ := r.HooksDir()
	path := filepath.Join(dir, "pre-push")
	if _, err := os.Stat(path); err != nil || dir == "" || o.NoHook {
		return ""
	}
	return path
}

// outgoing makes a git folder that has only the refs to be pushed, and the objects of this repository.
// Git compares each ref that is named on its command line with all refs of the remote; with a
// pattern over this folder it does not.
func outgoing(r *gitstore.Repo, refs []PushRef) (dir string, err error) {
	if dir, err = scratchDir(r, "push-*"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}()
	lines := make([]string, len(refs))
	for i, ref := range refs {
		lines[i] = ref.New.String() + " " + ref.Name + "\n"
	}
	hooks, _ := r.HooksDir()
	// Nothing is synced (fsync = none): the folder is removed after the push.
	config := "[include]\n\tpath = " + gitconfig.Quote(r.Config().Path()) + "\n[core]\n\tbare = true\n\tfsync = none\n\thooksPath = " + gitconfig.Quote(hooks) + "\n"
	err = os.Mkdir(filepath.Join(dir, "refs"), 0o700)
	for name, content := range map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config, "packed-refs": strings.Join(lines, "")} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir, err
}

// scratchDir makes a temporary folder in ours, inside the git folder.
func scratchDir(r *gitstore.Repo, pattern string) (string, error) {
	tmp := filepath.Join(r.GitDir(), gitlock.OwnDir, "tmp")
	if err := r.FS().MkdirAll(tmp); err != nil {
		return "", err
	}
	return os.MkdirTemp(tmp, pattern)
}

// remoteLines returns what the remote, or its hook, said.
func remoteLines(stderr string) string {
	var out []string
	for _, line := range messageLines(stderr) {
		if said, ok := strings.CutPrefix(strings.TrimRight(line, " "), "remote: "); ok && !gitMeter().MatchString(line) {
			out = append(out, printable(said))
		}
	}
	return strings.Join(out, "\n")
}

// parsePush reads the output of git push --porcelain: flag, from:to and summary, separated by tabs.
func parsePush(out, said string) (results []PushResult) {
	for line := range strings.Lines(out) {
		flag, rest, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
		names, summary, ok2 := strings.Cut(rest, "\t")
		_, name, ok3 := strings.Cut(names, ":")
		if !ok || !ok2 || !ok3 || len(flag) != 1 {
			continue
		}
		r := PushResult{Name: name}
		switch flag {
		case "=":
			r.Status = PushUpToDate
		case "*":
			r.Status = PushedNew
		case " ", "+":
			r.Status = PushedFastForward
		case "-":
			r.Status = PushedDeleted
		default:
			r.Status, r.Reason = PushRejected, reason(summary, said)
		}
		results = append(results, r)
	}
	return results
}

// reason returns why a ref was rejected, from git's summary "[rejected] (why)" and what the remote said.
func reason(summary, said string) string {
	why := summary
	if _, after, ok := strings.Cut(summary, "("); ok {
		why = strings.TrimSuffix(after, ")")
	}
	switch {
	case strings.Contains(why, "atomic"):
		return PushCollateral
	case why == "fetch first" || why == "needs force":
		return "non-fast-forward"
	case strings.Contains(why, "hook") && said != "":
		return why + ": " + said
	}
	return why
}
