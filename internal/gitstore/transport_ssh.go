package gitstore

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// sshLine talks to a git on another machine through the ssh program.
type sshLine struct {
	r       *Repo
	o       TransportOptions
	address string
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	idle    *patience
	cancel  context.CancelFunc
	said    *tail
	asked   bool
	sent    chan struct{}
}

// sshTarget is what an ssh address says.
type sshTarget struct{ host, port, path string }

func parseSSH(address string) (t sshTarget, err error) {
	if host, path, ok := scpAddress(address); ok {
		user, host := cutUser(host)
		t = sshTarget{host: strings.Trim(host, "[]"), path: path}
		if user != "" {
			t.host = user + "@" + t.host
		}
	} else {
		// Not as a URL: in these git takes # and ? for characters of the path.
		_, rest, _ := strings.Cut(address, "://")
		host, path, ok := strings.Cut(rest, "/")
		if t.path, err = url.PathUnescape("/" + path); err != nil || !ok || host == "" {
			return t, fmt.Errorf("%w: the address %s cannot be read", ErrRemote, MaskURL(address))
		}
		user, host := cutUser(host)
		t.host = host
		if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
			t.host, t.port = host[:colon], host[colon+1:]
		}
		t.host = strings.Trim(t.host, "[]")
		if user, _, _ = strings.Cut(user, ":"); user != "" {
			t.host = user + "@" + t.host
		}
		if strings.HasPrefix(t.path, "/~") {
			t.path = t.path[1:]
		}
	}
	if strings.HasPrefix(t.host, "-") || strings.HasPrefix(t.path, "-") {
		return t, fmt.Errorf("%w: the host or path of %s begins with a dash", ErrRemote, MaskURL(address))
	}
	return t, nil
}

// sshCommand is the program and its arguments: as git's environment and configuration
// have it, where it is for the shell, else ssh.
func (r *Repo) sshCommand(o TransportOptions) []string {
	command := os.Getenv("GIT_SSH_COMMAND")
	if command == "" {
		command, _ = r.ConfigValue("core", "", "sshCommand")
	}
	if command != "" {
		return []string{"sh", "-c", command + ` "$@"`, "ssh"}
	}
	if program := os.Getenv("GIT_SSH"); program != "" {
		return []string{program}
	}
	return o.plainSSH()
}

// plainSSH is the ssh program where nobody has said which. Without a terminal it must not
// wait for an answer that nobody can give, and for a host only as long as for any remote.
func (o TransportOptions) plainSSH() []string {
	command := []string{"ssh", fmt.Sprintf("-oConnectTimeout=%d", o.idleSeconds())}
	if o.Progress == nil && os.Getenv("SSH_ASKPASS") == "" {
		command = append(command, "-oBatchMode=yes")
	}
	return command
}

// quoteShell makes one word of a string for the shell on the other side.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (l *sshLine) refs(ctx context.Context, service string) (io.Reader, error) {
	target, err := parseSSH(l.address)
	if err != nil {
		return nil, err
	}
	args := l.r.sshCommand(l.o)
	if target.port != "" {
		args = append(args, "-p", target.port)
	}
	args = append(args, "--", target.host, service+" "+quoteShell(target.path))
	ctx, l.cancel = context.WithCancel(ctx)
	l.idle = newPatience(l.o.idle(), l.cancel)
	l.cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	l.cmd.Dir, l.cmd.Env, l.cmd.WaitDelay = l.r.gitDir, gitEnvironment(), 10*time.Second
	if l.o.Progress == nil {
		endWithChildren(l.cmd)
	} else { // it may have to ask in the terminal
		l.cmd.Cancel = func() error { return l.cmd.Process.Signal(syscall.SIGTERM) }
	}
	l.said = &tail{}
	l.cmd.Stderr = l.said
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		l.cmd = nil
		return nil, fmt.Errorf("%w: the ssh program cannot be started: %w", ErrRemote, err)
	}
	l.out = out
	return &patientReader{patience: l.idle, r: out, first: l.o.Progress != nil}, nil
}

func (l *sshLine) ask(_ context.Context, _ string, request io.Reader, _ int64) (io.Reader, error) {
	l.asked, l.sent = true, make(chan struct{})
	go func() { // it may answer before it has read all
		defer close(l.sent)
		_, _ = io.Copy(l.in, watchedReader{l.idle, request}) // what it was not sent it had no use for: its end tells
		_ = l.in.Close()
	}()
	return &patientReader{patience: l.idle, r: l.out}, nil
}

func (l *sshLine) close() error {
	if l.cancel != nil {
		defer l.cancel()
	}
	if l.cmd == nil {
		return nil
	}
	if l.asked {
		_ = l.out.Close() // ends a writer that nobody listens to
		<-l.sent
	} else {
		_, _ = io.WriteString(l.in, "0000")
		_ = l.in.Close()
	}
	err := l.cmd.Wait()
	l.cmd = nil
	if err == nil || l.idle.isOver() {
		return nil
	}
	return classify(&gitError{stderr: l.said.String(), err: err})
}
