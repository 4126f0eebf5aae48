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
	"runtime"
	"slices"
	"strings"
)

func main() {
	if err := bench(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type setup struct {
	out         io.Writer
	tape        string // the program
	dir         string // scratch
	runs        int
	big         int    // entries of the long tape
	mb          int    // size of the transcript to import
	tapes       int    // of the workspace with many
	transcripts string // folder of real ones
	env         []string

	needles *needles // see searched
}

// part is some of the rows, which can be asked for by its name.
type part struct {
	name string
	run  func() error
}

func (s *setup) parts() []part {
	return []part{
		{"stream", s.batch}, {"append", s.appends}, {"handoff", s.handoffs}, {"fork", s.forks}, {"import", s.imports}, {"sessions", s.sessions},
		{"search", s.searches}, {"linear", s.linear}, {"exact", s.exacts}, {"between", s.betweens},
		{"context", s.contexts}, {"catchup", s.catchUps}, {"rebuild", s.rebuilds}, {"size", s.sizes}, {"remote", s.remotes}, {"all", s.allTapes},
	}
}

func bench(out io.Writer) error {
	s := &setup{out: out}
	var names []string
	for _, p := range s.parts() {
		names = append(names, p.name)
	}
	dir := flag.String("dir", "", "scratch folder, whose workspaces the next run in it uses again; default: a temporary one, removed at the end")
	tape := flag.String("tape", "", "the program to measure; default: built from this tree")
	only := flag.String("only", "", "the parts to run, of "+strings.Join(names, ",")+"; default: all")
	flag.IntVar(&s.runs, "runs", 25, "counted runs of each pair")
	flag.IntVar(&s.big, "entries", 1_000_000, "entries of the long tape")
	flag.IntVar(&s.mb, "mb", 200, "megabytes of transcript to import")
	flag.IntVar(&s.tapes, "tapes", 5000, "tapes of the workspace with many")
	flag.StringVar(&s.transcripts, "transcripts", "../shared/fixtures", "folder of real transcripts, for the size of their index; left out if it is not there")
	flag.Parse()
	wanted := names
	if *only != "" {
		wanted = strings.Split(*only, ",")
	}
	for _, name := range wanted {
		if !slices.Contains(names, name) {
			return fmt.Errorf("-only: there is no part %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	done, err := s.prepare(*dir, *tape)
	if err != nil {
		return err
	}
	defer done()
	for _, p := range s.parts() {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		fmt.Fprintf(out, "\n%s%s\n", p.name, load())
		if err := p.run(); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

// prepare makes the scratch folder and the program. done removes what is temporary.
func (s *setup) prepare(dir, tape string) (done func(), err error) {
	done = func() {}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "tape-bench-*"); err != nil {
			return done, err
		}
		done = func() { _ = os.RemoveAll(dir) }
	}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return done, err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return done, err
	}
	if s.tape = tape; s.tape == "" {
		s.tape = filepath.Join(s.dir, "tape")
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", s.tape, "./cmd/tape")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			return done, fmt.Errorf("build the program: %w", err)
		}
	}
	s.env = []string{"HOME=" + s.dir, "GIT_CONFIG_NOSYSTEM=1", "TAPE_AUTHOR=Bench <bench@example.org>",
		"GIT_AUTHOR_NAME=Bench", "GIT_AUTHOR_EMAIL=bench@example.org", "GIT_COMMITTER_NAME=Bench", "GIT_COMMITTER_EMAIL=bench@example.org"}
	return done, nil
}

// load says how busy the machine is, where that can be told: figures of a busy one are
// worth less.
func load() string {
	now, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(now))
	return fmt.Sprintf(" (load %s, %d processors)", fields[0], runtime.NumCPU())
}
