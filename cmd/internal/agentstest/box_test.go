//go:build unix && extra

package agentstest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tape/cmd/internal/agentstest/model"
)

// A box is a machine for one trial: a home, a project, a model.
type box struct {
	t       *testing.T
	agent   agent
	model   *model.Server
	home    string
	project string
	bin     string // has tape and tape-host, and nothing else

	installed bool          // recording was installed
	reason    string        // why the trial failed or was skipped
	patience  time.Duration // how long a command may take
}

// newBox makes a box in which nothing is installed yet.
func newBox(t *testing.T, a agent, script model.Script) *box {
	t.Helper()
	dir := t.TempDir()
	b := &box{t: t, patience: patience, agent: a, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "shop"), bin: filepath.Join(dir, "bin")}
	t.Cleanup(b.tell)
	b.model = model.New(script, a.call)
	b.model.TitleTool = a.titleTool
	t.Cleanup(func() {
		b.model.Close()
		if unknown := b.model.Unknown(); t.Failed() && len(unknown) > 0 {
			t.Logf("the model was asked for paths that it does not serve: %v", unknown)
		}
	})
	for _, d := range []string{b.home, b.project, b.bin, filepath.Join(dir, "tmp")} {
		b.must(os.MkdirAll(d, 0o700))
	}
	b.provide()
	b.write(".gitconfig", "[user]\n\tname = dev\n\temail = dev@example.com\n[init]\n\tdefaultBranch = main\n")
	for name, text := range a.settings(b) {
		b.write(name, text)
	}
	b.command("git", "init", "--quiet")
	b.must(os.WriteFile(filepath.Join(b.project, "shop.txt"), []byte("apples\n"), 0o600))
	b.command("git", "add", ".")
	b.command("git", "commit", "--quiet", "-m", "Begin")
	return b
}

// provide puts tape and tape-host where the agents find them.
func (b *box) provide() {
	b.t.Helper()
	for _, name := range []string{"tape", "tape-host"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(tapeProgram()), name))
		b.must(err)
		path := filepath.Join(b.bin, name) // it may be running, so another file replaces it
		b.must(os.WriteFile(path+"-new", data, 0o700))
		b.must(os.Rename(path+"-new", path))
	}
}

// install turns on recording of the agent's sessions. Before the box is removed, it waits for the
// processes of tape that still run.
func (b *box) install(flags ...string) {
	b.t.Helper()
	b.tape("", append([]string{"record", "install", b.agent.name}, flags...)...)
	if b.installed {
		return
	}
	b.installed = true
	b.t.Cleanup(func() {
		for range 3 { // one may have been killed, or have no program
			b.provide()
			b.start(new(bytes.Buffer), filepath.Join(b.bin, "tape"), "record", "sync").Wait()
		}
	})
}

// write makes a file below HOME.
func (b *box) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.home, name)
	b.must(os.MkdirAll(filepath.Dir(path), 0o700))
	b.must(os.WriteFile(path, []byte(text), 0o600))
}

func (b *box) env() []string {
	out := []string{"HOME=" + b.home, "PATH=" + b.bin + ":" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(filepath.Dir(b.home), "tmp"),
		"USER=dev", "LOGNAME=dev", "LANG=C.UTF-8", "TERM=xterm-256color", "SHELL=/bin/bash",
		// Only this machine is reachable, even if the tests do not run in a network of their own.
		"HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost"}
	return append(out, b.agent.env(b)...)
}

// patience is how long an agent may take to answer a prompt with a few calls. The machine may be busy.
const patience = 4 * time.Minute

// start begins a command in the project, in a process group of its own.
func (b *box) start(out *bytes.Buffer, name string, arg ...string) *exec.Cmd {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), b.patience)
	b.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, arg...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.project, b.env(), out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	b.must(cmd.Start())
	return cmd
}

// command runs a command that must succeed, and returns what it prints.
func (b *box) command(name string, arg ...string) string {
	b.t.Helper()
	var out bytes.Buffer
	if err := b.start(&out, name, arg...).Wait(); err != nil {
		b.fatalf("%s %s: %v\n%s", filepath.Base(name), strings.Join(arg, " "), err, out.String())
	}
	return out.String()
}

// ask runs the agent for one prompt.
func (b *box) ask(prompt string) string {
	b.t.Helper()
	return b.command(b.agent.path(), b.agent.run(prompt, false)...)
}

// goOn runs the agent for another prompt of its last session.
func (b *box) goOn(prompt string) string {
	b.t.Helper()
	return b.command(b.agent.path(), b.agent.run(prompt, true)...)
}

// begin starts the agent for one prompt and does not wait for it.
func (b *box) begin(prompt string) *exec.Cmd {
	b.t.Helper()
	return b.start(new(bytes.Buffer), b.agent.path(), b.agent.run(prompt, false)...)
}

// kill kills a command and everything that it started.
func (b *box) kill(cmd *exec.Cmd) {
	b.t.Helper()
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) { // it may have ended
		b.must(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		b.fatalf("%v", err)
	}
}
