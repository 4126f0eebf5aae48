package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tape/merge"
	"tape/repo"
)

type runForkOptions struct {
	app                       *App
	at, summary               string
	merge, discard, onSuccess bool
	short                     bool // --summary was given
}

func newRunForkCmd(a *App) *cobra.Command {
	o := &runForkOptions{app: a}
	cmd := &cobra.Command{
		Use:   "run-fork NAME [--at ANCHOR|@ID] [--merge|--discard|--merge-on-success] [--summary TEXT] -- COMMAND [ARG…]",
		Short: "Run a command with a fork as its tape",
		Long: `Make a fork, run a command whose tape it is (TAPE_NAME and TAPE_WORKSPACE say so), and
then merge the fork, discard it, or, by default, leave it open. With --merge-on-success it
is merged if the command exits with 0, and left open otherwise.

The command has standard input, output and error to itself, and gets the signals; what is
to be said about the fork goes to standard error. With --json the result is the one object
on standard output, and what the command writes there goes to standard error.

The exit code is the command's: 128+n if signal n ended it, 127 if there is no such
command, 126 if it cannot be run; then there is no fork either. Where the command exits
with 0, but the fork cannot be merged or discarded, it is that failure's.`,
		Example: `  tape run-fork try-redis --merge-on-success -- ./agent "use redis"
  tape run-fork probe --discard -- sh -c 'tape append --text hi && tape log'
  tape run-fork review --at plan --merge --summary "no objections" -- ./reviewer`,
		Args: runForkArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.short = cmd.Flags().Changed("summary")
			return o.run(cmd.Context(), args[0], args[1:])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "", "begin the fork behind this `ANCHOR` or entry (@ID)")
	f.BoolVar(&o.merge, "merge", false, "merge the fork afterwards")
	f.BoolVar(&o.discard, "discard", false, "discard the fork afterwards")
	f.BoolVar(&o.onSuccess, "merge-on-success", false, "merge the fork if the command exits with 0")
	f.StringVar(&o.summary, "summary", "", "merge this `TEXT` instead of the fork's entries")
	a.completeFlag(cmd, "at", a.completeAnchors)
	return cmd
}

func runForkArgs(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) == 0 || dash == 0:
		return usagef("NAME is missing")
	case len(args) == 1:
		return usagef("COMMAND is missing")
	case dash != 1:
		return usagef("put -- before the command")
	case args[0] == "" || args[1] == "":
		return usagef("NAME and COMMAND must not be empty")
	}
	return nil
}

// What became of the fork. Besides, it has repo's words for closed ones.
const forkKept = "kept"

type runForkJSON struct {
	Fork    string `json:"fork"`
	Tape    string `json:"tape"`
	Name    string `json:"name"`
	Base    int64  `json:"base"`
	Exit    int    `json:"exit"`
	Status  string `json:"status"`
	Entries int64  `json:"entries"`
	Merged  int    `json:"merged"`
	FirstID any    `json:"first_id"`
	LastID  any    `json:"last_id"`
	Commit  any    `json:"commit"`
}

// check refuses flags that do not go together.
func (o *runForkOptions) check() error {
	switch {
	case o.merge && o.discard, o.merge && o.onSuccess, o.discard && o.onSuccess:
		return usagef("--merge, --discard and --merge-on-success exclude each other")
	case !o.short:
		return nil
	case !o.merge && !o.onSuccess:
		return usagef("--summary is for --merge and --merge-on-success")
	case o.summary == "-":
		return usagef("standard input is the command's: give the summary itself")
	case strings.TrimSpace(o.summary) == "":
		return usagef("the summary is empty")
	}
	return nil
}

func (o *runForkOptions) run(ctx context.Context, name string, command []string) error {
	a := o.app
	if err := o.check(); err != nil {
		return err
	}
	path, err := exec.LookPath(command[0])
	if err != nil {
		return cannotRun(command[0], err)
	}
	t, err := a.openTape(ctx)
	if err != nil {
		return err
	}
	f, base, err := forkTape(ctx, t, name, o.at)
	if err != nil {
		return err
	}
	a.tell("forked %s at %s: %s", quoted(t.Name()), baseText(base), quoted(f.Name()))
	cmd := exec.Command(path, command[1:]...)
	cmd.Args[0] = command[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.Stdin, a.Stdout, a.Stderr
	if a.json {
		cmd.Stdout = a.Stderr
	}
	cmd.Env = append(os.Environ(), envTape+"="+f.Name(), repo.EnvWorkspace+"="+t.Store().Dir())
	code, err := runForwarding(cmd)
	// What interrupted the command must not keep its fork from being handled. Another
	// interrupt does.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err != nil {
		if _, derr := discardFork(ctx, f); derr != nil {
			err = errors.Join(err, derr)
		}
		return cannotRun(command[0], err)
	}
	out := runForkJSON{Fork: f.ForkName(), Tape: f.Parent(), Name: f.Name(), Base: base.Entry, Exit: code, Status: forkKept}
	if err := o.finish(ctx, f, &out); err != nil {
		if code == exitOK {
			return err
		}
		a.report(nil, err, a.json)
		return &statusError{code}
	}
	if a.json {
		if err := a.emit(out); err != nil {
			return err
		}
	}
	if code != exitOK {
		return &statusError{code}
	}
	return nil
}

// finish does with the fork what was asked for.
func (o *runForkOptions) finish(ctx context.Context, f *repo.Tape, out *runForkJSON) error {
	a := o.app
	info, err := f.ForkInfo(ctx)
	if errors.Is(err, repo.ErrNotFound) && !isFork(ctx, f.Store(), f.Name()) {
		closed, _ := a.closedFork(ctx, f.Name())
		if closed.Status == "" {
			closed.Status = repo.ForkMerged // without entries it left no commit
		}
		out.Status, out.Entries = closed.Status, closed.Entries
		a.tell("the command itself has closed the fork %s: %s", quoted(f.Name()), closed.Status)
		return nil
	}
	if err != nil {
		return err
	}
	out.Entries, out.Commit = info.Entries, info.Commit
	switch {
	case o.merge || o.onSuccess && out.Exit == exitOK:
		return o.mergeBack(ctx, f, out)
	case o.discard:
		info, err := discardFork(ctx, f)
		if err != nil {
			return err
		}
		out.Status, out.Commit = repo.ForkDiscarded, info.Commit
		a.tell("discarded %s with %s", quoted(f.Name()), entries(info.Entries))
		return nil
	}
	name := shellWord(f.Name())
	a.tell("the fork %s is open, with %s: tape merge %s, or tape discard %s", quoted(f.Name()), entries(info.Entries), name, name)
	return nil
}

func (o *runForkOptions) mergeBack(ctx context.Context, f *repo.Tape, out *runForkJSON) error {
	a := o.app
	r, err := merge.BackWith(ctx, f, merge.Options{Summary: o.summary})
	if err != nil {
		a.tell("the fork %s is still open", quoted(f.Name()))
		return err
	}
	out.Status, out.Merged = repo.ForkMerged, r.Merged
	if o.short && r.Merged > 0 {
		out.Status = repo.ForkSummarized
	}
	if r.Merged > 0 {
		out.FirstID, out.LastID, out.Commit = r.FirstID, r.LastID, r.Commit
	}
	a.tell("%s", mergeText(f.Name(), r, o.short))
	return nil
}

// statusError ends the program with another program's exit code, and says nothing.
type statusError struct{ code int }

func (e *statusError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// commandError says that a command cannot be run.
type commandError struct {
	cliError
	code int
}

// cannotRun is an error with the exit code that a shell has for it.
func cannotRun(name string, err error) error {
	out := &commandError{code: 126}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		out.code = 127
	}
	var inner *exec.Error
	if errors.As(err, &inner) {
		err = inner.Err
	}
	out.msg = "cannot run " + quoted(name) + ": " + err.Error()
	return out
}

// runForwarding runs a command, hands it the signals that this program gets, and returns
// its exit code as a shell tells it.
func runForwarding(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, forwarded()...)
	defer signal.Stop(signals)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case s := <-signals:
			if !fromTerminal(s) {
				_ = cmd.Process.Signal(s)
			}
		case err := <-done:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, err
			}
			return exitStatus(cmd.ProcessState), nil
		}
	}
}

// exitStatus is an exit code as a shell tells it.
func exitStatus(p *os.ProcessState) int {
	if status, ok := p.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return p.ExitCode()
}
