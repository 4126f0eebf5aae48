//go:build extra

package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// world is a workspace on a disk of its own, a remote on another disk, and what the program has promised.
type world struct {
	t    *testing.T
	rng  *rand.Rand
	disk *disk
	out  string // a folder on another disk
	url  string // of the remote
	bare string // the remote's folder

	acks      sync.Mutex // guards what acknowledgements change
	mu        sync.Mutex // guards the rest
	promises  []*promise
	said      strings.Builder // the commands so far and their output
	texts     int
	prefix    string
	off       bool   // the power was cut
	last      string // the output of the last command
	failure   string
	committed []string          // texts whose commit was acknowledged
	odd       map[string]string // the oddFiles from before the cut
}

// promise is about texts that are written together: they are on exactly one of the tapes, once.
type promise struct {
	texts []string
	tapes []string
	kept  bool // acknowledged; otherwise all texts may be missing, but not only some
	gone  bool // their removal was acknowledged
}

func (w *world) workspace() string { return filepath.Join(w.disk.dir, "ws") }

// text returns a new unique word.
func (w *world) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts++
	word := []byte("zq" + w.prefix)
	for n, i := w.texts, 0; i < 4; n, i = n/26, i+1 {
		word = append(word, byte('a'+n%26))
	}
	return string(word)
}

// expect notes what a command is about to write.
func (w *world) expect(tape string, texts ...string) *promise {
	p := &promise{texts: texts, tapes: []string{tape}}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.promises = append(w.promises, p)
	return p
}

// promised returns the promises about a tape.
func (w *world) promised(tape string) []*promise {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*promise
	for _, p := range w.promises {
		if slices.Contains(p.tapes, tape) {
			out = append(out, p)
		}
	}
	return out
}

// doubt marks the promises about a tape as not acknowledged, before a command that may undo them.
func (w *world) doubt(tape string) {
	for _, p := range w.promised(tape) {
		p.kept = false
	}
}

// undone marks the texts promised on a tape as removed.
func (w *world) undone(tape string) {
	for _, p := range w.promised(tape) {
		p.gone = true
	}
}

// step is one call of the program.
type step struct {
	args  []string
	stdin string
	begin func() // before it runs
	acked func() // notes what its success promises
	again []int  // exit codes that count as success when it is repeated; nil: do not repeat it
}

func (w *world) env() []string {
	cmd := exec.Cmd{Env: append(os.Environ(), "TAPE_WORKSPACE="+w.workspace(), "HOME="+w.out)}
	return cmd.Environ() // each variable once
}

// note records a command and its output, to be printed if the test fails.
func (w *world) note(what string, code int, output []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 0 && (strings.Contains(what, " export ") || strings.Contains(what, " cat-file ")) {
		output = nil // long, and of no use in the report
	}
	if len(output) > 2000 {
		output = append(slices.Clip(output[:2000]), "…\n"...)
	}
	w.last = strings.TrimSpace(string(output))
	fmt.Fprintf(&w.said, "$ %s\n%s", what, output)
	if code != 0 {
		fmt.Fprintf(&w.said, "[exit code %d]\n", code)
	}
}

// run runs a program, and returns its output and exit code.
func (w *world) run(stdin, program string, args ...string) (string, int) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = w.env(), w.out, strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	w.note(program+" "+strings.Join(args, " "), cmd.ProcessState.ExitCode(), append(stderr.Bytes(), stdout.Bytes()...))
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("%s: %v", program, err)
	}
	return stdout.String(), cmd.ProcessState.ExitCode()
}

// must runs a program, and fails if that fails.
func (w *world) must(program string, args ...string) string {
	w.t.Helper()
	out, code := w.run("", program, args...)
	if code != 0 {
		w.fail("broken: %s %s: exit code %d\n%s", program, strings.Join(args, " "), code, w.last)
	}
	return out
}

// fail ends the test of a cut.
func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	w.failure = fmt.Sprintf(format, args...)
	w.t.Fatal(w.failure)
}

// take runs a step without a cut. It fails unless the exit code is success or among the allowed ones.
func (w *world) take(s step, allowed ...int) {
	w.t.Helper()
	if s.begin != nil {
		s.begin()
	}
	_, code := w.run(s.stdin, "tape", s.args...)
	done := code == 0 || slices.Contains(s.again, code)
	if !done && !slices.Contains(allowed, code) {
		w.fail("broken: tape %s: exit code %d\n%s", strings.Join(s.args, " "), code, w.last)
	}
	if done {
		w.acknowledged(s)
	}
}

// acknowledged notes what a step has promised.
func (w *world) acknowledged(s step) {
	w.acks.Lock()
	defer w.acks.Unlock()
	if s.acked != nil {
		s.acked()
	}
}

// oddFiles returns the files that a cut may have left: locks, and empty or temporary files.
func (w *world) oddFiles() map[string]string {
	out := map[string]string{}
	_ = filepath.WalkDir(w.disk.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		if ownLock.MatchString(path) && info.Size() == 0 {
			return nil // a lock by flock, whose file stays
		}
		inGit := strings.Contains(path, "/.git/")
		if strings.HasSuffix(path, ".lock") || inGit && (info.Size() == 0 || strings.Contains(path, "tmp")) {
			out[strings.TrimPrefix(path, w.disk.dir+"/")] = fmt.Sprintf("%d bytes %s", info.Size(), info.Mode())
		}
		return nil
	})
	return out
}

var ownLock = regexp.MustCompile(`/(\.git|worktrees/[^/]+)/tape/[^/]+\.lock$`)

// leftovers lists the oddFiles that are new, or different, since the cut.
func (w *world) leftovers() string {
	var out []string
	for name, what := range w.oddFiles() {
		if w.odd[name] != what {
			out = append(out, "  "+name+" "+what)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// beside runs two other writers until the power is cut.
func (w *world) beside() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for n := range 2 {
		rng := rand.New(rand.NewPCG(w.rng.Uint64(), uint64(n)))
		all.Go(func() {
			for ctx.Err() == nil {
				w.besideOnce(ctx, w.oneOf(rng, appendOne, appendOne, appendBatch, handoff))
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

func (w *world) oneOf(rng *rand.Rand, all ...func(*world) step) step {
	return all[rng.IntN(len(all))](w)
}

func (w *world) besideOnce(ctx context.Context, s step) {
	s.begin()
	cmd := exec.CommandContext(ctx, "tape", s.args...)
	cmd.Env, cmd.Dir, cmd.Stdin = w.env(), w.out, strings.NewReader(s.stdin)
	output, err := cmd.CombinedOutput()
	w.mu.Lock()
	off := w.off
	w.mu.Unlock()
	if ctx.Err() != nil || off || errors.Is(err, syscall.ECHILD) {
		// Its result does not count after the cut. With ECHILD, the tracer's thread has collected its exit code.
		return
	}
	if err != nil {
		w.note("(beside) tape "+strings.Join(s.args, " "), cmd.ProcessState.ExitCode(), output)
		w.t.Errorf("broken beside another writer: tape %s: %v", strings.Join(s.args, " "), err)
		return
	}
	w.acknowledged(s)
}
