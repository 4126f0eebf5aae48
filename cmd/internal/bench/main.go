// Command bench times the program as its users run it, as whole processes, against
// what they would use instead, in the same run. It prints figures and ratios and
// never fails for being slow.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

func main() {
	if err := bench(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type setup struct {
	out  io.Writer
	tape string // the program
	dir  string // scratch
	runs int
	big  int // entries of the long tape
	mb   int // size of the transcript to import
	env  []string
}

func bench(out io.Writer) error {
	s := &setup{out: out}
	dir := flag.String("dir", "", "scratch folder; default: a temporary one, removed at the end")
	tape := flag.String("tape", "", "the program to measure; default: built from this tree")
	flag.IntVar(&s.runs, "runs", 25, "counted runs of each pair")
	flag.IntVar(&s.big, "entries", 1_000_000, "entries of the long tape")
	flag.IntVar(&s.mb, "mb", 200, "megabytes of transcript to import")
	flag.Parse()
	s.dir, s.tape = *dir, *tape
	if s.dir == "" {
		tmp, err := os.MkdirTemp("", "tape-bench-*")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		s.dir = tmp
	}
	if s.tape == "" {
		s.tape = filepath.Join(s.dir, "tape")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", s.tape, "./cmd/tape")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build the program: %w", err)
		}
	}
	s.env = []string{"HOME=" + s.dir, "GIT_CONFIG_NOSYSTEM=1", "TAPE_AUTHOR=Bench <bench@example.org>",
		"GIT_AUTHOR_NAME=Bench", "GIT_AUTHOR_EMAIL=bench@example.org", "GIT_COMMITTER_NAME=Bench", "GIT_COMMITTER_EMAIL=bench@example.org"}
	for _, part := range []func() error{s.batch, s.appends, s.handoffs, s.imports} {
		if err := part(); err != nil {
			return err
		}
	}
	return nil
}

// workspace creates a workspace with a tape of n entries and returns its folder.
func (s *setup) workspace(name string, n int) (string, error) {
	ws := filepath.Join(s.dir, name)
	if _, err := os.Stat(ws); err == nil {
		return ws, nil // kept from an earlier run in the same folder
	}
	if _, err := s.cmd(ws, "init", ws).run(); err != nil {
		return ws, err
	}
	fill := s.cmd(ws, "append", "--stdin", "--json")
	fill.stdin = s.entries(n)
	if _, err := fill.run(); err != nil {
		return ws, err
	}
	_, err := s.cmd(ws, "handoff", "filled").run()
	return ws, err
}

// entries streams n generated entries.
func (s *setup) entries(n int) func() io.Reader {
	return func() io.Reader {
		r, w := io.Pipe()
		go func() { w.CloseWithError(newGen(1).entries(w, n)) }()
		return r
	}
}

func (s *setup) cmd(ws string, args ...string) command {
	argv := append([]string{s.tape, args[0]}, args[1:]...)
	env := append(s.env, "TAPE_WORKSPACE="+ws)
	if args[0] == "init" {
		env = s.env
	}
	return command{env: env, argv: argv}
}
