package transport

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tape/internal/git/gitrun"
	"tape/internal/git/gitstore"
)

// PushEnv is set in the environment of git's hooks while tape pushes. Our own pre-push hook then
// does nothing, because tape has checked already. The user's hooks run as usual.
const PushEnv = "TAPE_PUSHING"

// streamFrom is the size from which git streams a file, so that a crafted pack cannot make git hold
// gigabytes in memory.
const streamFrom = "32m"

// Bounds on a remote's list of refs. A million refs take a quarter of a gigabyte of memory here,
// and are twenty times as many as a heavily used workspace has.
const (
	maxRefs     = 1_000_000
	maxRefBytes = 256 << 20
)

// gitMemory is how many bytes of memory a git that reads from a remote may use, where the system
// can limit it. A ref, or an object in a pack, takes a few hundred bytes.
const gitMemory = 4 << 30

// unknownOption is git's exit code for an option that it does not know.
const unknownOption = 129

func hostile(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrHostile, fmt.Errorf(format, args...))
}

// gitError says that git failed, and what it said.
type gitError struct {
	code   int
	stderr string
	err    error
}

func (e *gitError) Error() string {
	if said := explain(e.stderr); said != "" {
		return said
	}
	return e.err.Error()
}

func (e *gitError) Unwrap() error { return e.err }

// gitRun says how to run git.
type gitRun struct {
	options Options
	gitDir  string // another git folder with the repository's objects; empty: the repository's
	env     []string
	fetches bool   // git reads from a remote: limit its memory, and how long the remote may be silent
	local   bool   // the remote is a path
	remote  string // for messages; empty if git talks to none
}

// fetchRun returns how to run a git that reads from a remote.
func fetchRun(r *gitstore.Repo, m Remote, o Options) gitRun {
	_, local := localDir(r, fetchAddress(r, m))
	return gitRun{options: o, fetches: true, local: local, remote: m.label()}
}

// asks reports whether git may ask the user for a password. For that it has to stay in the
// terminal's process group, and must not time out.
func (g gitRun) asks() bool { return g.options.Progress != nil && !g.local }

// runGit runs the git program and returns its standard output, also if git fails with a gitError. If
// git fails or is stopped, its locks and temporary files are removed. A git that talks to a remote
// is stopped when the remote is silent for too long, unless it may ask for a password.
func runGit(ctx context.Context, r *gitstore.Repo, run gitRun, args ...string) ([]byte, error) {
	gitCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := gitCommand(gitCtx, r, run, args)
	if err != nil {
		return nil, err
	}
	stdout, stderr := &boundedBuffer{most: maxRefBytes}, &stderrTail{progress: run.options.Progress}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	idle := newIdleTimer(r, run, cancel)
	if run.remote != "" {
		cmd.Stdout, cmd.Stderr = idle.watching(stdout), idle.watching(stderr)
	}
	started := time.Now()
	err = cmd.Start()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, gitrun.ErrNoGit
	}
	if err == nil {
		if run.fetches {
			limitMemory(cmd.Process.Pid)
		}
		err = cmd.Wait()
	}
	idle.stop()
	if err == nil {
		return stdout.kept.Bytes(), nil
	}
	swept := gitrun.Sweep(r, started)
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), swept)
	}
	if idle.expired() {
		return nil, errors.Join(fmt.Errorf("%w: it was silent for %s", ErrRemote, idle.limit), swept)
	}
	failed := &gitError{stderr: stderr.String(), err: err}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		failed.code = exit.ExitCode()
	}
	err = failed
	if held := gitrun.LockNamedIn(r, failed.stderr); held != nil {
		err = held.Busy()
	} else if said := explain(failed.stderr); gitrun.SaysDamaged(r, said) && !bytes.Contains(stdout.kept.Bytes(), []byte("(missing necessary objects)")) { // it is there that git cannot read something
		err = fmt.Errorf("%w: %.500s", gitrun.ErrDamaged, said)
	} else if stdout.over {
		err = hostile("its list of refs has more than %d bytes", stdout.most)
	} else if run.fetches && strings.Contains(strings.ToLower(failed.stderr), "out of memory") {
		err = hostile("git ran out of memory (the limit is %d bytes): %w", int64(gitMemory), failed)
	}
	return stdout.kept.Bytes(), errors.Join(err, swept)
}

// gitCommand returns the command for a run.
func gitCommand(ctx context.Context, r *gitstore.Repo, run gitRun, args []string) (*exec.Cmd, error) {
	o, gitDir, env := run.options, r.GitDir(), transportEnvironment(r, run.options)
	if run.gitDir != "" {
		gitDir, env = run.gitDir, append(env, "GIT_OBJECT_DIRECTORY="+gitrun.ObjectsDir(r))
	}
	base := []string{
		"-c", "core.bigFileThreshold=" + streamFrom, "-c", "protocol.ext.allow=never",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "submodule.recurse=false",
	}
	base = append(base, lowSpeed(r, o)...)
	cmd, err := gitrun.CommandIn(ctx, r, gitDir, append(base, args...)...)
	if err != nil {
		return nil, err
	}
	cmd.Dir, cmd.Env = rootDir(r), append(env, run.env...)
	cmd.WaitDelay = 10 * time.Second
	if run.asks() { // git ends its children; on Windows, without such a signal, it is killed after WaitDelay
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	} else {
		gitrun.KillWithChildren(cmd)
	}
	return cmd, nil
}

// boundedBuffer fails a write that would make it larger than most bytes.
type boundedBuffer struct {
	kept bytes.Buffer
	most int
	over bool
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.over = b.over || b.kept.Len()+len(p) > b.most; b.over {
		return 0, io.ErrShortWrite
	}
	return b.kept.Write(p)
}

// rootDir is the folder that git runs in: relative addresses in its configuration start there.
func rootDir(r *gitstore.Repo) string {
	if main, ok := r.MainDir(); ok {
		return main
	}
	return r.GitDir()
}

// plainSSH returns the ssh command for users who configured none: it waits for a host no longer than
// for any remote, and does not ask if there is no terminal.
func (o Options) plainSSH() string {
	command := fmt.Sprintf("ssh -oConnectTimeout=%d", o.idleSeconds())
	if o.Progress == nil && os.Getenv("SSH_ASKPASS") == "" {
		command += " -oBatchMode=yes"
	}
	return command
}

// transportEnvironment returns the environment of a git that talks to a remote. Without a terminal it
// must not ask anything.
func transportEnvironment(r *gitstore.Repo, o Options) []string {
	env := append(gitrun.Environment(), PushEnv+"=1")
	if o.Progress == nil {
		env = append(env, "GIT_TERMINAL_PROMPT=0")
	}
	for _, key := range []string{"GIT_SSH", "GIT_SSH_COMMAND"} {
		if os.Getenv(key) != "" {
			return env
		}
	}
	if _, ok := r.Config().Value("core", "", "sshCommand"); ok {
		return env
	}
	return append(env, "GIT_SSH_COMMAND="+o.plainSSH())
}

// lowSpeed makes git give up a silent web server, unless the user configured when.
func lowSpeed(r *gitstore.Repo, o Options) []string {
	for _, key := range []string{"lowSpeedLimit", "lowSpeedTime"} {
		if _, ok := r.Config().Value("http", "", key); ok {
			return nil
		}
	}
	return []string{"-c", "http.lowSpeedLimit=1", "-c", fmt.Sprintf("http.lowSpeedTime=%d", o.idleSeconds())}
}

// Parts of git's messages: credentials are wrong; objects are bad; the cause is on this machine.
var (
	saysAuth = []string{
		"authentication failed", "could not read username", "could not read password", "terminal prompts disabled",
		"permission denied (", "returned error: 401", "returned error: 403", "host key verification failed", "access denied",
	}
	saysHostile = []string{
		"fsck error", "error in object", "in packed object", "pack is corrupted", "pack has ", "inflate", "sha1 collision", "hash mismatch",
		"bad pack", "missing blob", "missing tree", "missing commit", "did not send all necessary objects", "refusing ref with", "refname contains", "bad object",
		"remote error: upload-pack: not our ref", "broken delta",
	}
	saysLocal = []string{"no space left", "read-only file system", "unable to create temporary", "cannot lock ref", "unable to lock", "disk quota", "out of memory"}
)

// gitName returns the name or address that git gets for the remote.
func (m Remote) gitName() string { return cmp.Or(m.Name, m.URL) }

// gitLsRemote lists a remote's refs with git ls-remote and one more option. With --symref it also
// returns the branch that the remote's HEAD names.
func gitLsRemote(ctx context.Context, r *gitstore.Repo, m Remote, o Options, option string) (refs []gitstore.Ref, head string, err error) {
	out, err := runGit(ctx, r, fetchRun(r, m, o), "ls-remote", "--quiet", option, "--", m.gitName())
	if err != nil {
		return nil, "", classify(err)
	}
	for line := range bytes.Lines(out) {
		value, name, ok := strings.Cut(strings.TrimRight(string(line), "\n"), "\t")
		if target, symbolic := strings.CutPrefix(value, "ref: "); ok && symbolic {
			if name == "HEAD" {
				head = target
			}
			continue
		}
		if len(refs) == maxRefs {
			return nil, "", hostile("it has more than %d refs", maxRefs)
		}
		h, herr := gitstore.ParseHash(value)
		if !ok || herr != nil || gitstore.CheckRefName(name) != nil {
			continue // HEAD, what tags peel to, and names that git would not accept
		}
		refs = append(refs, gitstore.Ref{Name: name, Hash: h})
	}
	if len(refs) == 0 {
		err = checkServer(ctx, r, m, o)
	}
	return refs, head, err
}

// checkServer returns an error if a web server that listed no refs is not a git server. Git takes any
// answer for a list of refs, because old servers keep that in a file.
func checkServer(ctx context.Context, r *gitstore.Repo, m Remote, o Options) error {
	if !isHTTP(fetchAddress(r, m)) {
		return nil
	}
	dir, err := scratchDir(r, "trace-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	packets := filepath.Join(dir, "packets")
	run := fetchRun(r, m, Options{Idle: o.Idle})
	run.env = []string{"GIT_TRACE_PACKET=" + packets}
	if _, err := runGit(ctx, r, run, "ls-remote", "--quiet", "--", m.gitName()); err != nil {
		return ctx.Err() // the server may want a password again, and this git asks nobody
	}
	if st, err := os.Stat(packets); err == nil && st.Size() > 0 {
		return nil
	}
	return fmt.Errorf("%w: there is no git server at the address, or only an outdated one", ErrRemote)
}
