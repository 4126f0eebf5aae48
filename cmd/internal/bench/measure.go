package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// run is one finished process.
type run struct {
	wall time.Duration
	cpu  time.Duration // of all processors: what others do on the machine hardly changes it
	rss  int64         // bytes, the process itself
}

// command is something to be timed as a whole process.
type command struct {
	dir   string
	env   []string
	stdin func() io.Reader // nil: none
	argv  []string
	// search is for programs whose exit code 1 says that they found nothing.
	search bool
}

func (c command) run() (run, error) {
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	if c.stdin != nil {
		cmd.Stdin = c.stdin()
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	shrink()
	start := time.Now()
	err := cmd.Run()
	r := run{wall: time.Since(start)}
	var exit *exec.ExitError
	if c.search && errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w\n%s", strings.Join(c.argv, " "), err, stderr.String())
	}
	r.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	r.rss = maxRSS(cmd.ProcessState)
	return r, nil
}

// step is one side of a comparison: processes that run one after another. What it does
// itself is not counted.
type step func(i int) []command

// run adds the times up, and gives the largest memory.
func (s step) run(i int) (run, error) {
	var total run
	for _, c := range s(i) {
		r, err := c.run()
		if err != nil {
			return run{}, err
		}
		total.wall += r.wall
		total.cpu += r.cpu
		total.rss = max(total.rss, r.rss)
	}
	return total, nil
}

// always is a step of one process.
func always(c command) step { return func(int) []command { return []command{c} } }

// pair is what both sides took in one turn.
type pair struct{ a, b run }

// alternate runs two sides in turn, A B A B …, so that what drifts on the machine
// drifts for both. The first warm pairs are not counted. Without b, it is A A A ….
func alternate(warm, runs int, a, b step) ([]pair, error) {
	var pairs []pair
	for i := range warm + runs {
		var p pair
		var err error
		if p.a, err = a.run(i); err != nil {
			return nil, err
		}
		if b != nil {
			if p.b, err = b.run(i); err != nil {
				return nil, err
			}
		}
		if i >= warm {
			pairs = append(pairs, p)
		}
	}
	return pairs, nil
}

// paired runs two sides in turn and prints their medians and the median of the ratios
// of the pairs. Without b, only a is told of.
func paired(out io.Writer, name string, runs int, a, b step, other string) error {
	pairs, err := alternate(2, runs, a, b)
	if err != nil {
		return err
	}
	if b == nil {
		fmt.Fprintf(out, "%-38s %10s\n", name, short(medianOf(pairs, pair.wallA)))
		return nil
	}
	printPair(out, name, pairs, other)
	return nil
}

func printPair(out io.Writer, name string, pairs []pair, other string) {
	var ratios []float64
	for _, p := range pairs {
		ratios = append(ratios, float64(p.a.wall)/float64(p.b.wall))
	}
	fmt.Fprintf(out, "%-38s %10s   %s %s   ratio %.2f (%.2f to %.2f)   cpu %s, %s\n", name, short(medianOf(pairs, pair.wallA)),
		other, short(medianOf(pairs, pair.wallB)), median(ratios), slices.Min(ratios), slices.Max(ratios),
		short(medianOf(pairs, pair.cpuA)), short(medianOf(pairs, pair.cpuB)))
}

func (p pair) wallA() time.Duration { return p.a.wall }
func (p pair) wallB() time.Duration { return p.b.wall }
func (p pair) cpuA() time.Duration  { return p.a.cpu }
func (p pair) cpuB() time.Duration  { return p.b.cpu }
func (p pair) more() time.Duration  { return p.a.wall - p.b.wall }

func medianOf[T int64 | float64 | time.Duration](pairs []pair, f func(pair) T) T {
	var xs []T
	for _, p := range pairs {
		xs = append(xs, f(p))
	}
	return median(xs)
}

func median[T int64 | float64 | time.Duration](xs []T) T {
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

func short(d time.Duration) string {
	return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond))
}
