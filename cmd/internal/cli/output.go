package cli

import (
	"errors"
	"fmt"
)

// writeError marks a failed write of results.
type writeError struct{ err error }

func (e *writeError) Error() string { return "write output: " + e.err.Error() }
func (e *writeError) Unwrap() error { return e.err }

// printf writes to the results. Failed writes show at the next check or at the end.
func (a *App) printf(format string, args ...any) { fmt.Fprintf(a.out, format, args...) }

// say writes a line for people about what was done; --quiet drops it.
func (a *App) say(format string, args ...any) {
	if !a.quiet {
		a.printf(format+"\n", args...)
	}
}

// writeLine writes bytes and a newline, and reports a write that failed, so that a
// long listing ends when its reader does.
func (a *App) writeLine(line []byte) error {
	if _, err := a.out.Write(line); err != nil {
		return &writeError{err}
	}
	if err := a.out.WriteByte('\n'); err != nil {
		return &writeError{err}
	}
	return nil
}

// emit writes one object of JSON output.
func (a *App) emit(v any) error { return a.writeLine(marshal(v)) }

// result writes a single result: as JSON, or as a sentence for people.
func (a *App) result(v any, format string, args ...any) error {
	if a.json {
		return a.emit(v)
	}
	a.say(format, args...)
	return nil
}

// closeOutput brings the results out and ends the pager.
func (a *App) closeOutput() error {
	err := a.out.Flush()
	if a.pager != nil {
		err = errors.Join(err, a.pager.close())
		a.pager = nil
	}
	if err != nil {
		return &writeError{err}
	}
	return nil
}
