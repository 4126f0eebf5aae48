package storetest

import (
	"bufio"
	"context"
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
	"time"
)

// The test binary is also the program of the processes that tests start.
// testkit.HelperEnv names what the process does, HelperDir where, HelperArg how much of it.
const (
	HelperDir = "TAPE_TEST_DIR"
	HelperArg = "TAPE_TEST_ARG"
)

// RunWriter writes to the tape main until it is killed or has done its share. Each line
// that it prints was acknowledged: "entry ID TEXT", or "anchor ID NAME".
func RunWriter(mode string) {
	err := func() error {
		ctx := context.Background()
		s, err := repo.Open(ctx, os.Getenv(HelperDir), &repo.Options{Warn: func(m string) { fmt.Fprintln(os.Stderr, "warning:", m) }})
		if err != nil {
			return err
		}
		tp, err := s.Tape(ctx, "main")
		if err != nil {
			return err
		}
		share, err := strconv.Atoi(os.Getenv(HelperArg))
		if err != nil {
			return err
		}
		h := &helper{ctx: ctx, t: tp, label: fmt.Sprintf("p%d-%d", os.Getpid(), time.Now().UnixNano())}
		for i := 0; share == 0 || i < share; i++ {
			if err := h.step(mode, i); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "helper:", err)
		fmt.Fprintln(os.Stdout, "failed")
	}
}

type helper struct {
	ctx   context.Context
	t     *repo.Tape
	label string
}

func (h *helper) step(mode string, i int) error {
	name := fmt.Sprintf("%s/%d", h.label, i)
	if mode == "mixed" {
		mode = [...]string{"append", "append", "append", "artifact", "append", "append", "append", "handoff"}[i%8]
	}
	switch mode {
	case "append":
		e, err := h.t.Append(h.ctx, nil, repo.Message("user", name))
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "entry", e[0].ID, name)
	case "artifact":
		a, err := h.t.AddArtifact(h.ctx, repo.Artifact{MIMEType: "text/plain"}, strings.NewReader("the content of "+name))
		if err != nil {
			return err
		}
		d := repo.Draft{Kind: repo.KindMessage, Payload: fmt.Appendf(nil, `{"role":"user","content":%q,"artifact":%s}`, name, a.Reference())}
		e, err := h.t.Append(h.ctx, nil, d)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "entry", e[0].ID, name)
	case "batch":
		// Three classes, and every few batches a file is filled.
		drafts := make([]repo.Draft, BatchSize)
		for n := range drafts {
			label := fmt.Sprintf("%s#%d", name, n)
			switch n % 3 {
			case 0:
				drafts[n] = repo.Draft{Kind: repo.KindMessage, Payload: jsonl.AppendString([]byte(`{"role":"user","pad":"`+strings.Repeat("y", 20_000)+`","content":`), label)}
				drafts[n].Payload = append(drafts[n].Payload, '}')
			case 1:
				drafts[n] = repo.Draft{Kind: repo.KindToolCall, Payload: append(jsonl.AppendString([]byte(`{"calls":[],"content":`), label), '}')}
			case 2:
				drafts[n] = repo.Draft{Kind: repo.KindEvent, Payload: append(jsonl.AppendString([]byte(`{"name":"n","content":`), label), '}')}
			}
		}
		entries, err := h.t.Append(h.ctx, nil, drafts...)
		if err != nil {
			return err
		}
		var b strings.Builder
		for n, e := range entries {
			fmt.Fprintf(&b, "entry %d %s#%d\n", e.ID, name, n)
		}
		fmt.Fprint(os.Stdout, b.String())
	case "handoff":
		made, err := h.t.Handoff(h.ctx, repo.Anchor{Name: name})
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stdout, "anchor", made.Entry, name)
	default:
		return fmt.Errorf("no helper %q", mode)
	}
	return nil
}

// BatchSize is how many entries a helper in mode batch appends at once.
const BatchSize = 12

// Process is a running helper and what it has acknowledged so far.
type Process struct {
	Cmd   *exec.Cmd
	Acked map[int64]string // entry id to "kind text"
	Done  chan struct{}    // closed when its output has ended
	First chan struct{}    // closed at the first acknowledgement
	Fault string
	Errs  strings.Builder
}

// Start starts a helper on a workspace; it ends after its share of steps, with 0 never.
func Start(t testing.TB, dir, mode string, share int) *Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &Process{Cmd: exec.Command(self), Acked: map[int64]string{}, Done: make(chan struct{}), First: make(chan struct{})}
	p.Cmd.Env = append(os.Environ(), testkit.HelperEnv+"="+mode, HelperDir+"="+dir, HelperArg+"="+strconv.Itoa(share))
	p.Cmd.Stderr = &p.Errs
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
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

// End waits for a process that goes by itself.
func (p *Process) End(t testing.TB) {
	t.Helper()
	<-p.Done
	if err := p.Cmd.Wait(); err != nil || p.Fault != "" {
		t.Errorf("helper: %v, %s\n%s", err, p.Fault, p.Errs.String())
	}
}

// TextOf gives an entry as the helpers acknowledge it.
func TextOf(e repo.Entry) string {
	if e.Kind == repo.KindAnchor {
		return "anchor " + e.Anchor
	}
	return "entry " + jsonl.GetString(e.Payload, "content")
}

// Background runs f again and again until the returned function is called.
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
