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

// guard starts commands so that they end with what they have started. A small shell beside
// the host knows the groups of processes that run, and ends them when the host is gone,
// however that came about: it reads from a pipe whose other end only the host has.
type guard struct {
	mu  sync.Mutex
	cmd *exec.Cmd
	in  io.WriteCloser
}

// guarding keeps a list: +N adds a group, -N takes it off. At the end of its input it ends
// those that are left.
const guarding = `trap '' INT TERM HUP
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

// gated is what a command is started by: it begins when its group is on the list, and not at
// all if the host ends before that.
const gated = `read -r _ <&3 && exec "$@" 3<&-`

// start starts a command as the head of a group of processes.
func (g *guard) start(cmd *exec.Cmd) error {
	apart(cmd)
	g.mu.Lock()
	defer g.mu.Unlock()
	if groups && g.cmd == nil {
		if err := g.begin(); err != nil {
			return fmt.Errorf("start the shell that looks after commands: %w", err)
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
	cmd.Args = append([]string{"sh", "-c", gated, "sh", cmd.Path}, cmd.Args[1:]...)
	cmd.Path, cmd.ExtraFiles = g.cmd.Path, []*os.File{gate}
	if err := cmd.Start(); err != nil {
		return err
	}
	g.tell("+", cmd)
	_, err = fmt.Fprintln(open)
	return err
}

func (g *guard) begin() error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	g.cmd = &exec.Cmd{Path: sh, Args: []string{"sh", "-c", guarding}, Env: []string{}} // it needs no environment
	apart(g.cmd)
	if g.in, err = g.cmd.StdinPipe(); err == nil {
		err = g.cmd.Start()
	}
	if err != nil {
		g.cmd, g.in = nil, nil
	}
	return err
}

func (g *guard) tell(op string, cmd *exec.Cmd) {
	if g.in != nil {
		// Where it is gone, commands still end with the turn.
		_, _ = fmt.Fprintln(g.in, op, cmd.Process.Pid)
	}
}

// ended is called when a command was waited for: what is left of its group ends.
func (g *guard) ended(cmd *exec.Cmd) {
	kill(cmd)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tell("-", cmd)
}

func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.in != nil {
		_ = g.in.Close()
		_ = g.cmd.Wait()
		g.cmd, g.in = nil, nil
	}
}

// grace is how long a command has to end by itself when it is asked to.
const grace = 2 * time.Second

// end asks a command and what it has started to end, and ends it. done closes when it has
// been waited for.
func end(cmd *exec.Cmd, done <-chan struct{}) {
	select {
	case <-done:
		return // its number may be another's by now
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

// environment is the host's without keys but those that are named, see [keys.CleanEnv].
func environment(named, known []string) []string {
	// Programs that ask or page have nobody in front of them.
	return append(keys.CleanEnv(os.Environ(), named, known...), "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0")
}
