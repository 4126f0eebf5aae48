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

// PushEnv is set in the environment of git's hooks while this program pushes: it has
// checked what it pushes, and its own pre-push hook need not do so again. Hooks of the
// user's run as ever.
const PushEnv = "TAPE_PUSHING"

// streamFrom is the size from which git handles a file piece by piece: a crafted pack
// must not make it hold gigabytes.
const streamFrom = "32m"

// Bounds of what a remote may tell of its refs. A million takes a quarter of a gigabyte of
// memory here: twenty times the tags of a workspace that is used a lot.
const (
	maxRefs     = 1_000_000
	maxRefBytes = 256 << 20
)

// gitMemory is how much memory a git may use that listens to a remote, in bytes, where the
// system can bound it. Refs take it a few hundred bytes, as do the objects of a pack.
const gitMemory = 4 << 30

// unknownOption is git's exit code for an option that it does not know.
const unknownOption = 129

func hostile(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrHostile, fmt.Errorf(format, args...))
}

// gitError is a git that failed.
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

// gitRun says how git is run.
type gitRun struct {
	options Options
	gitDir  string // another git folder, which uses the objects of the repository; empty: its own
	env     []string
	listens bool // to a remote: its memory is bounded
	near    bool // the remote is a path
}

// listening is a git that a remote tells something.
func listening(r *gitstore.Repo, m Remote, o Options) gitRun {
	_, near := localDir(r, fetchAddress(r, m))
	return gitRun{options: o, listens: true, near: near}
}

// asks reports whether git may ask for a password. It can do so in the terminal's own
// process group only, and takes as long as the user does.
func (g gitRun) asks() bool { return g.options.Progress != nil && !g.near }

// runGit runs the git program for a transport and returns what it wrote to its standard
// output. A git that is stopped, or fails, leaves no lock and no temporary file. One that
// listens to a remote is stopped when that says nothing for too long.
func runGit(ctx context.Context, r *gitstore.Repo, run gitRun, args ...string) ([]byte, error) {
	gitCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := gitCommand(gitCtx, r, run, args)
	if err != nil {
		return nil, err
	}
	stdout, stderr := &boundedBuffer{most: maxRefBytes}, &tail{more: run.options.Progress}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	idle := &patience{limit: run.options.idle(), end: cancel}
	if run.listens && !run.asks() {
		cmd.Stdout, cmd.Stderr = idle.watching(stdout), idle.watching(stderr)
	}
	started := time.Now()
	err = cmd.Start()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, gitrun.ErrNoGit
	}
	if err == nil {
		if run.listens {
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
	if idle.isOver() {
		return nil, errors.Join(fmt.Errorf("%w: it has said nothing for %s", ErrRemote, idle.limit), swept)
	}
	failed := &gitError{stderr: stderr.String(), err: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		failed.code = exit.ExitCode()
	}
	err = failed
	if held := gitrun.InTheWay(r, failed.stderr); held != nil {
		err = held.Busy()
	} else if stdout.over {
		err = hostile("its list of refs has more than %d bytes", stdout.most)
	} else if run.listens && strings.Contains(strings.ToLower(failed.stderr), "out of memory") {
		err = hostile("git needed more than %d bytes of memory for it, or more than is free: %w", int64(gitMemory), failed)
	}
	return stdout.kept.Bytes(), errors.Join(err, swept)
}

// gitCommand is a git that is ready to run.
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
	if run.asks() { // it ends its children itself; where there is no such signal, it is killed after WaitDelay
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	} else {
		gitrun.EndWithChildren(cmd)
	}
	return cmd, nil
}

// boundedBuffer takes no more than so many bytes.
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

// rootDir is where git runs: relative addresses in its configuration begin there.
func rootDir(r *gitstore.Repo) string {
	if main, ok := r.MainDir(); ok {
		return main
	}
	return r.GitDir()
}

// plainSSH is the ssh program where nobody has said which. Without a terminal it must not
// wait for an answer that nobody can give, and for a host only as long as for any remote.
func (o Options) plainSSH() string {
	command := fmt.Sprintf("ssh -oConnectTimeout=%d", o.idleSeconds())
	if o.Progress == nil && os.Getenv("SSH_ASKPASS") == "" {
		command += " -oBatchMode=yes"
	}
	return command
}

// transportEnvironment is that of a git that talks to a remote. Without a terminal it must
// not wait for an answer that nobody can give.
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

// lowSpeed has git give up a web server that says nothing, unless the user has said when.
func lowSpeed(r *gitstore.Repo, o Options) []string {
	for _, key := range []string{"lowSpeedLimit", "lowSpeedTime"} {
		if _, ok := r.Config().Value("http", "", key); ok {
			return nil
		}
	}
	return []string{"-c", "http.lowSpeedLimit=1", "-c", fmt.Sprintf("http.lowSpeedTime=%d", o.idleSeconds())}
}

// What git says when credentials are wrong, what it says of bad objects, and what it
// says when it is not for the remote that it failed.
var (
	saysAuth = []string{
		"authentication failed", "could not read username", "could not read password", "terminal prompts disabled",
		"permission denied (", "returned error: 401", "returned error: 403", "host key verification failed", "access denied",
	}
	saysHostile = []string{
		"fsck error", "error in object", "in packed object", "pack has bad object", "pack is corrupted", "pack has ", "inflate", "sha1 collision", "hash mismatch",
		"bad pack", "missing blob", "missing tree", "missing commit", "did not send all necessary objects", "refusing ref with", "refname contains", "bad object",
		"remote error: upload-pack: not our ref", "broken delta", "serious inflate",
	}
	saysLocal = []string{"no space left", "read-only file system", "unable to create temporary", "cannot lock ref", "unable to lock", "disk quota", "out of memory"}
)

// gitName is what git calls a remote.
func (m Remote) gitName() string { return cmp.Or(m.Name, m.URL) }

// gitLsRemote lets the git program ask for a remote's refs, and with --symref for the branch
// that its HEAD names.
func gitLsRemote(ctx context.Context, r *gitstore.Repo, m Remote, o Options, option string) (refs []gitstore.Ref, head string, err error) {
	out, err := runGit(ctx, r, listening(r, m, o), "ls-remote", "--quiet", option, "--", m.gitName())
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

// checkServer says that a web server which told no refs is none of git's. For git whatever
// answers has an empty list of refs, as old servers have it in a file.
func checkServer(ctx context.Context, r *gitstore.Repo, m Remote, o Options) error {
	if !isHTTP(fetchAddress(r, m)) {
		return nil
	}
	dir, err := scratchDir(r, "talk-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	talk := filepath.Join(dir, "packets")
	run := listening(r, m, Options{Idle: o.Idle})
	run.env = []string{"GIT_TRACE_PACKET=" + talk}
	if _, err := runGit(ctx, r, run, "ls-remote", "--quiet", "--", m.gitName()); err != nil {
		return ctx.Err() // it may want a password again, which nobody is asked for
	}
	if st, err := os.Stat(talk); err == nil && st.Size() > 0 {
		return nil
	}
	return fmt.Errorf("%w: what answers there is not a git server, or an outdated one", ErrRemote)
}
