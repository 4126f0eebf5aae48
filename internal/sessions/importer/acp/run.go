package acp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Options say what to run, and where to record it.
type Options struct {
	Argv     []string // the agent's program and its arguments
	In       io.Reader
	Out, Err io.Writer
	Dir      string // for the sessions' files; it is created if needed
	Now      func() time.Time
	// Note is called after an event, when the session's file on the disk has it. Its error ends up in [Lost]. It must
	// be set.
	Note func(Event) error
}

// Event is something that happened in a session.
type Event struct {
	Name    string // SessionStart, Stop at the end of a turn, or SessionEnd
	Session string // id
	File    string
	Cwd     string // the agent's directory
}

// Lost says that some messages could not be recorded. The agent was not disturbed.
type Lost struct{ Err error }

func (l *Lost) Error() string { return "some messages could not be recorded: " + l.Err.Error() }
func (l *Lost) Unwrap() error { return l.Err }

// endWait is how long Run waits for an agent that was told to end, or whose children still hold its output.
const endWait = 5 * time.Second

// Run runs an agent that speaks the protocol on its standard streams, and records its messages and its client's, a file for
// each session. It passes every byte on unchanged. Neither side waits for the recording, unless that falls thousands of
// lines behind.
//
// It runs the agent until it ends, and returns its exit status: 127 if there is no such program, 126 if it cannot be
// run, 128 plus the number of the signal that ended it. When ctx ends, the agent is told to end. The error may be a
// [Lost].
func Run(ctx context.Context, o Options) (status int, err error) {
	k := newKeeper(o)
	cmd := exec.CommandContext(ctx, o.Argv[0], o.Argv[1:]...) //nolint:gosec // what the user asked for
	cmd.Stdout, cmd.Stderr = &tee{to: o.Out, from: agent, keeper: k}, o.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(terminate) }
	cmd.WaitDelay = endWait
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return cannotRun(err), errors.Join(fmt.Errorf("run %s: %w", o.Argv[0], err), k.end())
	}
	go func() { // nobody waits for it: after the agent's end, it may wait for the client forever
		_, _ = io.Copy(&tee{to: in, from: client, keeper: k}, o.In)
		_ = in.Close()
	}()
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) || ctx.Err() != nil {
		err = nil // the status says how it ended
	}
	if lost := k.end(); lost != nil && err == nil {
		err = &Lost{lost}
	}
	return exitStatus(cmd.ProcessState), err
}

func cannotRun(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return 127
	}
	return 126
}

// tee passes bytes on, and gives a copy of each line to the keeper.
type tee struct {
	to     io.Writer
	from   string
	keeper *keeper
	line   []byte
	long   int // bytes so far of a line that is too long to be recorded, otherwise 0
}

func (t *tee) Write(b []byte) (int, error) {
	// Record first, so that no response comes before its request.
	for part := range bytes.Lines(b) {
		if t.line = append(t.line, part...); t.long > 0 || len(t.line) > maxLine {
			t.line, t.long = t.line[:0], t.long+len(t.line)
		}
		if part[len(part)-1] == '\n' {
			t.keeper.add(t.from, t.line, t.long)
			t.line, t.long = nil, 0
		}
	}
	return t.to.Write(b)
}
