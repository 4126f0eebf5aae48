// Command hostbench times tape serve as its clients see it, and PostgreSQL with the same
// entries on the same machine beside it. It prints one table and never fails for being slow.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := bench(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "hostbench:", err)
		os.Exit(1)
	}
}

type setup struct {
	out     io.Writer
	dir     string // scratch
	tape    string // the program
	entries int    // of the long tape
	session int    // of the one that is shown as a page
	tapes   int    // the small ones
	each    time.Duration
	env     []string
	table   table
}

func bench(ctx context.Context, out io.Writer) error {
	s := &setup{out: out}
	dir := flag.String("dir", "", "scratch folder on the disk to measure, whose data the next run in it uses again; default: a temporary one, removed at the end")
	flag.StringVar(&s.tape, "tape", "bin/tape", "the program to measure, with tape-host beside it")
	flag.IntVar(&s.entries, "entries", 1_000_000, "entries of the long tape")
	flag.IntVar(&s.session, "session", 100_000, "entries of the session that is shown as a page")
	flag.IntVar(&s.tapes, "tapes", 5000, "small tapes beside it")
	flag.DurationVar(&s.each, "time", 5*time.Second, "how long each row is measured")
	only := flag.String("only", "tape,postgres", "what to measure")
	flag.Parse()
	done, err := s.prepare(*dir)
	if err != nil {
		return err
	}
	defer done()
	syncs, err := s.syncs()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d entries in one tape, %d in another, %d small tapes; %d processors%s\n", s.entries, s.session, s.tapes, runtime.NumCPU(), load())
	fmt.Fprintf(out, "the disk alone: %.0f appends of 400 bytes a second, each with fsync\n", syncs)
	wanted := strings.Split(*only, ",")
	if slices.Contains(wanted, "tape") {
		if err := s.measureTape(ctx); err != nil {
			return fmt.Errorf("tape: %w", err)
		}
	}
	if slices.Contains(wanted, "postgres") {
		if err := s.measurePostgres(ctx); err != nil {
			return fmt.Errorf("PostgreSQL: %w", err)
		}
	}
	s.table.print(out)
	fmt.Fprintf(out, "at the end%s\n", load())
	return nil
}

// prepare makes the scratch folder. done removes what is temporary.
func (s *setup) prepare(dir string) (done func(), err error) {
	done = func() {}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "hb"); err != nil {
			return done, err
		}
		done = func() { _ = os.RemoveAll(dir) }
	}
	if s.dir, err = filepath.Abs(dir); err != nil {
		return done, err
	}
	if s.tape, err = filepath.Abs(s.tape); err != nil {
		return done, err
	}
	if _, err := exec.LookPath(s.tape); err != nil {
		return done, fmt.Errorf("%w: run make build", err)
	}
	if err := os.MkdirAll(s.dir, 0o711); err != nil {
		return done, err
	}
	s.env = append(os.Environ(), "HOME="+s.dir, "TAPE_AUTHOR=Bench <bench@example.org>", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Bench", "GIT_AUTHOR_EMAIL=bench@example.org", "GIT_COMMITTER_NAME=Bench", "GIT_COMMITTER_EMAIL=bench@example.org")
	return done, os.Chmod(s.dir, 0o711) // PostgreSQL runs as another user than root
}

// syncs is how many small appends a second the file system makes durable, one after another.
func (s *setup) syncs() (float64, error) {
	f, err := os.CreateTemp(s.dir, "sync")
	if err != nil {
		return 0, err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }()
	line := []byte(strings.Repeat("x", 400))
	began, n := time.Now(), 0
	for ; time.Since(began) < 2*time.Second; n++ {
		if _, err := f.Write(line); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(began).Seconds(), nil
}

// load says how busy the machine is, where that can be told: figures of a busy one are
// worth less.
func load() string {
	now, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return ", load " + strings.Fields(string(now))[0]
}
