package tools

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"tape/internal/agent/keys"
)

// watchdog starts commands so that everything they start ends with them. A small shell beside the host
// knows the running process groups, and kills them when the host is gone, for whatever reason: it reads
// from a pipe whose other end only the host has. Without process groups, as on Windows, there is no such
// shell, and only a command itself is ended.
type watchdog struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
}

// watchdogScript is the shell's script. It keeps a list: "+ N" adds a group, "- N" removes it. At the end
// of its input it kills the groups that are left.
const watchdogScript = `trap '' INT TERM HUP
live=
while read -r op group; do
	case $op in
	+) live="$live $group" ;;
	-) rest=
		for g in $live; do [ "$g" = "$group" ] || rest="$rest $g"; done
		live=$rest ;;
	esac
done
for g in $live; do kill -s KILL -- "-$g"; done`

// gateScript starts a command once its group is on the list. If the host ends before that, the command is
// not started.
const gateScript = `read -r _ <&3 && exec "$@" 3<&-`

// start starts a command as the leader of a process group.
func (g *watchdog) start(cmd *exec.Cmd) error {
	detach(cmd)
	g.mu.Lock()
	defer g.mu.Unlock()
	if groups && g.cmd == nil {
		if err := g.begin(); err != nil {
			return fmt.Errorf("start the watchdog of commands: %w", err)
		}
	}
	if g.cmd == nil {
		return cmd.Start()
	}
	gate, open, err := os.Pipe()
	if err != nil {
		return err
	}
	defer gate.Close()
	defer open.Close()
	cmd.Args = append([]string{"sh", "-c", gateScript, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = g.cmd.Path, []*os.File{gate}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.send("+", cmd)
	_, err = fmt.Fprintln(open)
	return err
}

// begin starts the watchdog's shell. g.mu must be held.
func (g *watchdog) begin() error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	g.cmd = &exec.Cmd{Path: sh, Args: []string{"sh", "-c", watchdogScript}, Env: []string{}}
	detach(g.cmd)
	if g.in, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		g.cmd, g.in = nil, nil
	}
	return err
}

func (g *watchdog) send(op string, cmd *exec.Cmd) {
	if g.in != nil {
		// If the watchdog is gone, commands still end with the turn.
		_, _ = fmt.Fprintln(g.in, op, cmd.Process.Pid)
	}
}

// ended is called when a command has ended: it kills what is left of its group.
func (g *watchdog) ended(cmd *exec.Cmd) {
	kill(cmd)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.send("-", cmd)
}

func (g *watchdog) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in != nil {
		_ = g.in.Close()
		_ = g.cmd.Wait()
		g.cmd, g.in = nil, nil
	}
}

// grace is how long a command has to end after SIGTERM.
const grace = 2 * time.Second

// end terminates a command and what it has started, and kills them after grace. done is closed
// when the command has ended.
func end(cmd *exec.Cmd, done <-chan struct{}) {
	select {
	case <-done:
		return // its process number may already be in use again
	default:
	}
	terminate(cmd)
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		kill(cmd)
		<-done
	}
}

// environment returns a function that returns the host's environment, read at the first call, without keys; see
// [keys.CleanEnv].
func environment(keep, apiKeys []string) func() []string {
	return sync.OnceValue(func() []string {
		// Nobody answers a prompt or leaves a pager.
		return append(keys.CleanEnv(os.Environ(), keep, apiKeys...), "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0")
	})
}
