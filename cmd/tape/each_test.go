package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// recorder is a program that keeps one `tape append --stdin --each` open.
type recorder struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func tapeIn(ws string, args ...string) *exec.Cmd {
	cmd := exec.Command("tape", args...)
	cmd.Env = append(os.Environ(), "TAPE_WORKSPACE="+ws, "TAPE_AUTHOR=Ada <ada@example.org>", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	return cmd
}

func mustTape(t *testing.T, ws string, args ...string) string {
	t.Helper()
	out, err := tapeIn(ws, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("tape %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func record(t *testing.T, ws string) *recorder {
	t.Helper()
	cmd := tapeIn(ws, "append", "--stdin", "--each", "--json")
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := cmp.Or(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return &recorder{t, cmd, in, bufio.NewReader(out)}
}

func message(n int) string {
	return fmt.Sprintf(`{"kind":"message","payload":{"role":"user","content":"line %d"}}`+"\n", n)
}

// answer returns the next answer; 0 and false once there are no more.
func (r *recorder) answer() (id int64, ok bool) {
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		return 0, false
	}
	var a struct{ ID int64 }
	if err := json.Unmarshal(line, &a); err != nil || a.ID == 0 {
		r.t.Fatalf("the answer is %s, want an object with an id", line)
	}
	return a.ID, true
}

// A writer that waits for each answer gets it. While it is silent, others append, hand off and fork; its next
// entry comes after theirs.
func TestEachWaits(t *testing.T) {
	t.Parallel()
	ws := filepath.Join(t.TempDir(), "ws")
	mustTape(t, ws, "init", ws)
	r := record(t, ws)
	for want := int64(2); want < 30; want += 4 {
		if _, err := io.WriteString(r.in, message(int(want))); err != nil {
			t.Fatal(err)
		}
		if id, ok := r.answer(); !ok || id != want {
			t.Fatalf("the answer is %d, %v; want %d", id, ok, want)
		}
		mustTape(t, ws, "append", "--text", "of another")
		mustTape(t, ws, "handoff", fmt.Sprint("phase ", want))
		mustTape(t, ws, "fork", fmt.Sprint("f", want))
		mustTape(t, ws, "append", "--text", "of another")
	}
	if err := r.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Wait(); err != nil {
		t.Error(err)
	}
	mustTape(t, ws, "verify")
}

// However a stream ends, each acknowledged entry is stored, and no entry is stored in part.
func TestEachEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *recorder) error{
		"killed":      func(r *recorder) error { return r.cmd.Process.Kill() },
		"terminated":  func(r *recorder) error { return r.cmd.Process.Signal(syscall.SIGTERM) },
		"interrupted": func(r *recorder) error { return r.cmd.Process.Signal(os.Interrupt) },
		"end of file": func(r *recorder) error { return r.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws := filepath.Join(t.TempDir(), "ws")
			mustTape(t, ws, "init", ws)
			r := record(t, ws)
			go func() {
				for n := range 2_000_000 {
					if _, err := io.WriteString(r.in, message(n)); err != nil {
						return
					}
				}
			}()
			var last int64
			read := func(upTo int64) {
				for last < upTo {
					id, ok := r.answer()
					if !ok || id != max(last, 1)+1 {
						t.Fatalf("the answer after %d is %d, want %d", last, id, max(last, 1)+1)
					}
					last = id
				}
			}
			read(1000)
			// A program catches signals only some time after its start. Meanwhile it waits until its answers are read.
			time.Sleep(time.Second)
			read(20_000)
			if err := end(r); err != nil {
				t.Fatal(err)
			}
			for id, ok := r.answer(); ok; id, ok = r.answer() {
				last = id
			}
			_ = r.cmd.Wait()
			if code := r.cmd.ProcessState.ExitCode(); name == "terminated" && code != 130 {
				t.Errorf("the exit code is %d, want 130", code)
			}
			holds(t, ws, last)
		})
	}
}

// If a program stops reading the answers, the stream ends without a message.
func TestEachUnread(t *testing.T) {
	t.Parallel()
	ws := filepath.Join(t.TempDir(), "ws")
	mustTape(t, ws, "init", ws)
	cmd := tapeIn(ws, "append", "--stdin", "--each", "--json")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = write, &said
	in, err1 := cmd.StdinPipe()
	if err := cmp.Or(err1, cmd.Start(), write.Close()); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len(`{"id":2}`))
	if _, err := io.WriteString(in, message(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(read, first); err != nil || string(first) != `{"id":2}` {
		t.Fatalf("the answer is %s (%v), want the id 2", first, err)
	}
	read.Close()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for n := 2; ; n++ {
		_, _ = io.WriteString(in, message(n))
		select {
		case err := <-done:
			if err != nil || said.String() != "" {
				t.Errorf("append ends with %v, and prints %q; want no error and no message", err, said.String())
			}
			holds(t, ws, 2)
			return
		case <-time.After(10 * time.Millisecond):
		}
		if n > 1000 {
			t.Fatal("append goes on after 1000 entries whose answers nobody reads")
		}
	}
}

// holds checks that a tape has at least the entries up to the id last, verifies, and can be appended to.
func holds(t *testing.T, ws string, last int64) {
	t.Helper()
	var info struct{ Entries int64 }
	if err := json.Unmarshal([]byte(mustTape(t, ws, "info", "--json")), &info); err != nil || info.Entries < last {
		t.Errorf("the tape has %d entries (%v), want at least %d", info.Entries, err, last)
	}
	mustTape(t, ws, "append", "--text", "next")
	mustTape(t, ws, "verify")
}
