package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// side is one side of a pair: commands that run one after another and are timed together.
type side struct {
	commands [][]string
	prepare  string // a shell command before each run, not timed
	input    string // a file for standard input
	codes    []string
	wall     []time.Duration
	cpu      []time.Duration // on all processors; other work on the machine changes it less than wall
}

// pair runs both sides in turn, A B A B …, so that changes in the speed of the machine affect both. It
// prints the median times, and the median, least and greatest ratio of the pairs.
func pair(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("pair", flag.ContinueOnError)
	runs := flags.Int("n", 25, "timed runs of each side, after one that does not count")
	a := flags.String("a", "", "a shell command before each run of the first side; $I is the number of the run")
	b := flags.String("b", "", "the same, for the second side")
	input := flags.String("in", "", "a file for the standard input of all commands")
	codes := flags.String("ok", "0", "exit codes that are not failures, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 2 {
		return errors.New(usage)
	}
	name, rest := flags.Arg(0), flags.Args()[1:]
	var sides []*side
	for i, argv := range split(rest, ":::") {
		s := &side{commands: split(argv, ";;"), prepare: []string{*a, *b}[min(i, 1)], input: *input, codes: strings.Split(*codes, ",")}
		if _, err := exec.LookPath(s.commands[0][0]); err != nil {
			fmt.Fprintf(out, "%-34s left out: %v\n", name, err)
			return nil
		}
		sides = append(sides, s)
	}
	for i := range *runs + 1 {
		for _, s := range sides {
			if err := s.run(i); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	report(out, name, sides)
	return nil
}

// split splits a list of arguments at each separator.
func split(args []string, separator string) (out [][]string) {
	for i := slices.Index(args, separator); i >= 0; i = slices.Index(args, separator) {
		out, args = append(out, args[:i]), args[i+1:]
	}
	return append(out, args)
}

// run runs the side once. Run 0 is not counted. The number replaces {} in arguments.
func (s *side) run(i int) error {
	number := strconv.Itoa(i)
	if s.prepare != "" {
		cmd := exec.Command("sh", "-ec", s.prepare)
		cmd.Env = append(os.Environ(), "I="+number)
		if said, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", s.prepare, err, said)
		}
	}
	var wall, cpu time.Duration
	for _, argv := range s.commands {
		var args []string
		for _, arg := range argv[1:] {
			args = append(args, strings.ReplaceAll(arg, "{}", number))
		}
		cmd := exec.Command(argv[0], args...)
		if s.input != "" {
			in, err := os.Open(s.input)
			if err != nil {
				return err
			}
			defer in.Close()
			cmd.Stdin = in
		}
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		began := time.Now()
		err := cmd.Run()
		wall += time.Since(began)
		if cmd.ProcessState == nil || !slices.Contains(s.codes, strconv.Itoa(cmd.ProcessState.ExitCode())) {
			return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, stderr.Bytes())
		}
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	if i > 0 {
		s.wall, s.cpu = append(s.wall, wall), append(s.cpu, cpu)
	}
	return nil
}

func report(out io.Writer, name string, sides []*side) {
	first := sides[0]
	fmt.Fprintf(out, "%-34s %10s ms", name, ms(first.wall))
	if len(sides) == 1 {
		fmt.Fprintf(out, "   cpu %s ms\n", ms(first.cpu))
		return
	}
	other := sides[1]
	var ratios []float64
	for i := range first.wall {
		ratios = append(ratios, float64(first.wall[i])/float64(other.wall[i]))
	}
	slices.Sort(ratios)
	fmt.Fprintf(out, "   %s %s ms   ratio %.2f (%.2f to %.2f)   cpu %s, %s ms\n", strings.Join(other.commands[0][:min(2, len(other.commands[0]))], " "),
		ms(other.wall), ratios[len(ratios)/2], ratios[0], ratios[len(ratios)-1], ms(first.cpu), ms(other.cpu))
}

// ms returns the median in milliseconds, as text.
func ms(times []time.Duration) string {
	sorted := slices.Sorted(slices.Values(times))
	return strconv.FormatFloat(float64(sorted[len(sorted)/2])/float64(time.Millisecond), 'f', 2, 64)
}
