package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// run is one finished process.
type run struct {
	wall time.Duration
	rss  int64 // bytes, the process itself
}

// command is something to be timed as a whole process.
type command struct {
	dir   string
	env   []string
	stdin func() io.Reader // nil: none
	argv  []string
}

func (c command) run() (run, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	if c.stdin != nil {
		cmd.Stdin = c.stdin()
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	// A new process is charged with what its parent had resident when it was forked.
	debug.FreeOSMemory()
	start := time.Now()
	err := cmd.Run()
	r := run{wall: time.Since(start)}
	if err != nil {
		return r, fmt.Errorf("%s: %w\n%s", strings.Join(c.argv, " "), err, stderr.String())
	}
	r.rss = maxRSS(cmd.ProcessState)
	return r, nil
}

// step is one side of a comparison: processes that run one after another.
type step func(i int) []command

func (s step) run(i int) (time.Duration, error) {
	var total time.Duration
	for _, c := range s(i) {
		r, err := c.run()
		if err != nil {
			return 0, err
		}
		total += r.wall
	}
	return total, nil
}

// paired runs two sides in turn, A B A B …, and prints their medians and the median of
// the ratios of the pairs: what drifts on the machine drifts for both.
func paired(out io.Writer, name string, runs int, a, b step, other string) error {
	var as, bs []time.Duration
	var ratios []float64
	for i := range runs + 2 {
		ta, err := a.run(i)
		if err != nil {
			return err
		}
		tb, err := b.run(i)
		if err != nil {
			return err
		}
		if i < 2 {
			continue // warm-up
		}
		as, bs = append(as, ta), append(bs, tb)
		ratios = append(ratios, float64(ta)/float64(tb))
	}
	fmt.Fprintf(out, "%-34s %10s   %s %s   ratio %.2f (%.2f to %.2f)\n", name, short(median(as)), other, short(median(bs)),
		median(ratios), slices.Min(ratios), slices.Max(ratios))
	return nil
}

func median[T int64 | float64 | time.Duration](xs []T) T {
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

func short(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
