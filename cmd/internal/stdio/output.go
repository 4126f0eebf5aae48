// Package stdio is the input and output of commands: results and messages, for people or as JSON;
// tables, the screen and its pager, progress, questions, and running other programs.
package stdio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tape/internal/show/display"
	"tape/internal/store/layout"
)

// Streams are the streams of one run of a program, with the flags for output.
type Streams struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
	Now    func() time.Time

	JSON, Quiet, Verbose, NoPager bool // the global flags

	Out   *bufio.Writer // results
	pager *pager
	term  *terminal
}

// WriteError marks a failed write of results.
type WriteError struct{ err error }

func (e *WriteError) Error() string { return "write output: " + e.err.Error() }
func (e *WriteError) Unwrap() error { return e.err }

// Results wraps the error of a failed write in a WriteError.
type Results struct{ io.Writer }

func (w Results) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if err != nil {
		err = &WriteError{err}
	}
	return n, err
}

// Printf writes to the results. Written, Flush and Close report failed writes.
func (s *Streams) Printf(format string, args ...any) { fmt.Fprintf(s.Out, format, args...) }

// Line writes a line of results.
func (s *Streams) Line(text string) { _, _ = s.Out.WriteString(text + "\n") }

// Written returns the error of a failed write, so that a long listing ends when its reader is
// gone.
func (s *Streams) Written() error {
	if _, err := s.Out.Write(nil); err != nil {
		return &WriteError{err}
	}
	return nil
}

// PrintUnlessQuiet writes a line about the result to standard output, unless --quiet is set.
func (s *Streams) PrintUnlessQuiet(format string, args ...any) {
	if !s.Quiet {
		s.Printf(format+"\n", args...)
	}
}

// WriteLine writes a line of JSON, or of text that is safe to show. On a terminal, what could change what is shown is
// escaped in it.
func (s *Streams) WriteLine(line []byte) error {
	if s.Screen().Out {
		line = display.JSON(line)
	}
	_, _ = s.Out.Write(line)
	_ = s.Out.WriteByte('\n')
	return s.Written()
}

// Emit writes a value as a line of JSON.
func (s *Streams) Emit(v any) error { return s.WriteLine(Marshal(v)) }

// Result writes a single result: as JSON, or as a sentence for people.
func (s *Streams) Result(v any, format string, args ...any) error {
	if s.JSON {
		return s.Emit(v)
	}
	s.PrintUnlessQuiet(format, args...)
	return nil
}

// Flush writes out the buffered results, before a question or for somebody who is watching.
func (s *Streams) Flush() error {
	if err := s.Out.Flush(); err != nil {
		return &WriteError{err}
	}
	return nil
}

// Close writes out the buffered results, and waits until the user has left the pager.
func (s *Streams) Close() error {
	err := s.Out.Flush()
	if s.pager != nil {
		left := s.pager.close()
		s.pager = nil
		if own := (*layout.Error)(nil); errors.As(left, &own) {
			return own
		}
		err = errors.Join(err, left)
	}
	if err != nil {
		return &WriteError{err}
	}
	return nil
}

// Message writes a message to standard error, with a prefix on each line.
func (s *Streams) Message(level, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		fmt.Fprintf(s.Stderr, "tape: %s: %s\n", level, display.Line(line))
	}
}

// Warn writes a warning, unless --quiet is set: something is wrong, but the command goes on.
func (s *Streams) Warn(text string) {
	switch {
	case s.Quiet:
	case s.JSON:
		fmt.Fprintf(s.Stderr, "%s\n", Marshal(Object{{"warning", Object{{"message", text}}}}))
	default:
		s.Message("warning", text)
	}
}

// StderrUnlessQuiet writes a line to standard error, unless --quiet or --json is set.
func (s *Streams) StderrUnlessQuiet(format string, args ...any) {
	if !s.Quiet && !s.JSON {
		s.Tell(format, args...)
	}
}

// StderrIfVerbose writes a note to standard error if --verbose is set, and --json is not.
func (s *Streams) StderrIfVerbose(format string, args ...any) {
	if s.Verbose && !s.JSON {
		s.Message("note", fmt.Sprintf(format, args...))
	}
}

// AboveResults writes what readers must know about the results that follow: on a terminal above them,
// otherwise to standard error, as a warning with --json.
func (s *Streams) AboveResults(text string) {
	switch {
	case s.JSON:
		s.Warn(text)
	case s.Screen().Out:
		s.PrintUnlessQuiet("%s\n", s.Style(Dim, strings.TrimSpace(text)))
	default:
		s.StderrUnlessQuiet("%s", text)
	}
}

// BelowResults writes a remark about the results. On a terminal it goes below them, where it is seen even if they are
// in a pager, otherwise to standard error.
func (s *Streams) BelowResults(text string) {
	if s.Screen().Out {
		s.PrintUnlessQuiet("\n%s", s.Style(Dim, strings.Join(display.Wrap(text, s.Width()), "\n")))
		return
	}
	_ = s.Flush()
	s.StderrUnlessQuiet("%s", text)
}
