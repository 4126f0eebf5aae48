package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tape/cmd/internal/hints"
	"tape/cmd/internal/rows"
	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitBusy        = 5
	exitCorrupt     = 6
	exitInterrupted = 130
)

// exitCode is a code with its name in JSON errors, its class of errors, and its meaning in the help.
type exitCode struct {
	code    int
	name    string
	class   error
	meaning string
}

// exitCodes lists all codes but 0. For an error of several classes, the first one counts.
func exitCodes() []exitCode {
	return []exitCode{
		{exitInterrupted, "interrupted", context.Canceled, "interrupted; nothing was left half done"},
		{exitCorrupt, "corrupt", repo.ErrCorrupt, "stored data violates the format"},
		{exitBusy, "busy", repo.ErrBusy, "another process held the tape for too long"},
		{exitConflict, "conflict", repo.ErrConflict, "the tape is not in the state that was expected, or histories have diverged"},
		{exitNotFound, "not_found", repo.ErrNotFound, "there is no such workspace, tape, anchor, entry or archive"},
		{exitUsage, "usage", repo.ErrInvalid, "wrong usage, or input that cannot be used"},
		{exitFailure, "failure", nil, "any other failure"},
	}
}

func codeOf(err error) exitCode {
	all := exitCodes()
	var own *cliError
	if errors.As(err, &own) && own.exit != 0 {
		c := all[len(all)-1]
		c.code = own.exit
		return c
	}
	for _, c := range all {
		// The library has no error type for an unknown command below its own completion command.
		if c.class != nil && errors.Is(err, c.class) || c.code == exitUsage && strings.HasPrefix(err.Error(), "unknown command ") {
			return c
		}
	}
	return all[len(all)-1]
}

type cliError struct {
	class error // one of repo's error classes; nil: a plain failure
	msg   string
	hint  string
	cause error // may be nil
	usage bool  // if there is no hint, show the usage and how to get help
	exit  int   // the exit code; 0: that of the class
}

func (e *cliError) Error() string        { return e.msg }
func (e *cliError) Unwrap() []error      { return []error{e.class, e.cause} }
func (e *cliError) Hints() []layout.Hint { return layout.Words(e.hint) }

func usagef(format string, args ...any) error {
	return &cliError{class: repo.ErrInvalid, msg: fmt.Sprintf(format, args...), usage: true}
}

// describeError returns an error as an object for JSON.
func describeError(err error) object {
	return object{{"code", codeOf(err).name}, {"message", err.Error()}, {"hint", hints.Of(err)}}
}

// exited returns an error that sets the exit code and prints nothing; nil for 0.
func exited(code int) error {
	if code == exitOK {
		return nil
	}
	return &cliError{exit: code}
}

func (a *App) report(cmd *cobra.Command, err error, asJSON bool) int {
	var own *cliError
	if errors.As(err, &own) && own.exit != 0 && own.msg == "" {
		return own.exit
	}
	code, hint, msg := codeOf(err), hints.Of(err), err.Error()
	if hint == "" && own != nil && own.usage && cmd != nil {
		hint = "usage: " + cmd.UseLine() + "\n" + cmd.CommandPath() + " --help says more"
	}
	hint = a.sameTape(hint)
	if code.code == exitInterrupted {
		msg, hint = "interrupted", ""
	}
	var rewritten *repo.RewrittenError
	if errors.As(err, &rewritten) && code.code == exitConflict {
		msg = rewritten.Error()
	}
	var secrets *repo.SecretsError
	if errors.As(err, &secrets) && code.code != exitConflict {
		secrets = nil
	}
	if asJSON {
		out := object{{"code", code.name}, {"message", msg}, {"hint", hint}}
		if rewritten != nil {
			out = append(out, member{"difference", rows.DescribeRewritten(rewritten)})
		}
		if secrets != nil {
			out = out.With("findings", objects(secrets.Findings, rows.DescribeFinding))
		}
		fmt.Fprintf(a.Stderr, "%s\n", display.JSON(marshal(object{{"error", out}})))
		return code.code
	}
	a.Message("error", msg)
	if rewritten != nil {
		rows.PrintRewritten(a.Stderr, rewritten)
	}
	if secrets != nil {
		rows.PrintFindings(a.Stderr, secrets.Findings)
	}
	if hint != "" {
		a.Message("hint", hint)
	}
	return code.code
}

// sameTape adds the tape that --tape named to the commands in a hint, so that they can be copied.
func (a *App) sameTape(hint string) string {
	if a.tapeName == "" {
		return hint
	}
	for _, command := range []string{"anchors lists", "info says", "archives lists", "artifact list", "reset --"} {
		hint = strings.ReplaceAll(hint, "tape "+command, "tape --tape "+shellWord(a.tapeName)+" "+command)
	}
	return hint
}

// named returns the flags with which the workspace and the tape were named, each with a space after it, for a command that
// can be copied.
func (a *App) named() (flags string) {
	if a.workspace != "" {
		flags = "--workspace " + shellWord(a.workspace) + " "
	}
	if a.tapeName != "" {
		flags += "--tape " + shellWord(a.tapeName) + " "
	}
	return flags
}

// isClosedPipe reports whether the reader of our output went away, which is not an error.
func isClosedPipe(err error) bool {
	var w *stdio.WriteError
	return errors.As(err, &w) && errors.Is(err, syscall.EPIPE)
}

// takes returns a check of the arguments: at least least, at most as many as names, and none empty. names are
// their names in the usage. If the last name ends in …, there may be more.
func takes(least int, names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s is missing", names[len(args)])
		case len(args) > len(names) && (len(names) == 0 || !strings.HasSuffix(names[len(names)-1], "…")):
			return usagef("unexpected argument %q", args[len(names)])
		}
		for i, arg := range args {
			if arg == "" {
				return usagef("%s is empty", strings.TrimSuffix(names[min(i, len(names)-1)], "…"))
			}
		}
		return nil
	}
}
