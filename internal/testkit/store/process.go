package storetest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"tape/internal/testkit"
	"tape/internal/text/jsonl"
	"tape/repo"
	"testing"
)

// The test binary is also the program of the processes that tests start.
// testkit.HelperEnv names what the process does, HelperDir where, HelperArg how much of it.
const (
	HelperDir = "TAPE_TEST_DIR"
	HelperArg = "TAPE_TEST_ARG"
)

// Process is a running helper and what it has acknowledged so far.
type Process struct {
	Cmd   *exec.Cmd
	Acked map[int64]string // entry id to "kind text"
	Done  chan struct{}    // closed when its output has ended
	First chan struct{}    // closed at the first acknowledgement
	Fault string           // what was wrong with its output; "" if nothing
	Errs  strings.Builder  // its standard error
}

// Start starts a helper on a workspace. The helper ends after share steps; if share is 0,
// never.
func Start(t testing.TB, dir, mode string, share int) *Process {
	t.Helper()
	self, err := os.Executable()
	Must(t, err)
	p := &Process{Cmd: exec.Command(self), Acked: map[int64]string{}, Done: make(chan struct{}), First: make(chan struct{})}
	p.Cmd.Env = append(os.Environ(), testkit.HelperEnv+"="+mode, HelperDir+"="+dir, HelperArg+"="+strconv.Itoa(share))
	p.Cmd.Stderr = &p.Errs
	out, err := p.Cmd.StdoutPipe()
	Must(t, err)
	Must(t, p.Cmd.Start())
	go func() {
		defer close(p.Done)
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // a torn line was not acknowledged
			}
			kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			id, text, _ := strings.Cut(rest, " ")
			n, err := strconv.ParseInt(id, 10, 64)
			if err != nil {
				p.Fault = "unexpected output: " + line
				continue
			}
			if len(p.Acked) == 0 {
				close(p.First)
			}
			if before, twice := p.Acked[n]; twice {
				p.Fault = fmt.Sprintf("id %d was given to %q and to %q", n, before, text)
			}
			p.Acked[n] = kind + " " + text
		}
	}()
	return p
}

// End waits until a process ends by itself.
func (p *Process) End(t testing.TB) {
	t.Helper()
	<-p.Done
	if err := p.Cmd.Wait(); err != nil || p.Fault != "" {
		t.Errorf("helper: %v, %s\n%s", err, p.Fault, p.Errs.String())
	}
}

// TextOf returns an entry as the helpers acknowledge it.
func TextOf(e repo.Entry) string {
	if e.Kind == repo.KindAnchor {
		return "anchor " + e.Anchor
	}
	return "entry " + jsonl.GetString(e.Payload, "content")
}

// Background calls f repeatedly, until f fails or stop is called. stop returns f's error.
func Background(f func() error) (stop func() error) {
	quit, result := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			select {
			case <-quit:
				result <- nil
				return
			default:
				err = f()
			}
		}
		result <- err
	}()
	return sync.OnceValue(func() error { close(quit); return <-result })
}
