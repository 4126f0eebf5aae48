package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
	"tape/merge"
	"tape/repo"
)

type runForkOptions struct {
	app                       *App
	at, summary               string
	merge, discard, onSuccess bool
	short                     bool // --summary was given: only the summary is merged
}

func newRunForkCmd(a *App) *cobra.Command {
	o := &runForkOptions{app: a}
	cmd := &cobra.Command{
		Use:   "run-fork NAME [--at ANCHOR|@ID] [--merge|--discard|--merge-on-success] [--summary TEXT] -- COMMAND [ARG…]",
		Short: "Run a command in a fork",
		Long: `Create a fork, run a command on it (with TAPE_NAME and TAPE_WORKSPACE set), and then merge the
fork, discard it, or, by default, leave it open. With --merge-on-success it is merged if the
command exits with 0, and left open otherwise.

The command gets standard input, output and error, and the signals; messages about the fork go
to standard error. With --json, standard output has only the result, one object; the output of
the command goes to standard error.

The exit code is the command's: 128+n if signal n ended it, 127 if there is no such command,
126 if it cannot be run. In the last two cases no fork is left. If the command exits with 0, but
the fork cannot be merged or discarded, the exit code is that of the failure.`,
		Example: `  tape run-fork try-redis --merge-on-success -- ./agent "use redis"
  tape run-fork probe --discard -- sh -c 'tape append --text hi && tape log'
  tape run-fork review --at plan --merge --summary "no objections" -- ./reviewer`,
		Args:              runForkArgs,
		ValidArgsFunction: before(1, completeWords(), cobra.ShellCompDirectiveDefault),
		PreRunE:           o.check,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.app.nameEntries(&o.at); err != nil {
				return err
			}
			return o.run(cmd.Context(), args[0], args[1:])
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.at, "at", "", "begin the fork after this `ANCHOR` or entry (@ID)")
	f.BoolVar(&o.merge, "merge", false, "merge the fork afterwards")
	f.BoolVar(&o.discard, "discard", false, "discard the fork afterwards")
	f.BoolVar(&o.onSuccess, "merge-on-success", false, "merge the fork if the command exits with 0")
	f.StringVar(&o.summary, "summary", "", "merge this `TEXT` instead of the fork's entries")
	cmd.MarkFlagsMutuallyExclusive("merge", "discard", "merge-on-success")
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

type forked struct {
	*repo.Tape
	base    repo.Base
	exit    int
	status  string // forkKept, or one of repo's words for closed forks
	entries int64
	commit  string
	merge.Result
}

const forkKept = "kept"

func (f *forked) object() object {
	first, last := mergedIDs(f.Result)
	return object{{"fork", f.ForkName()}, {"tape", f.Parent()}, {"name", f.Name()}, {"base", f.base.Entry}, {"exit", f.exit}, {"status", f.status},
		{"entries", f.entries}, {"merged", f.Merged}, {"first_id", first}, {"last_id", last}, {"commit", orNull(f.commit)}}
}

func (o *runForkOptions) check(cmd *cobra.Command, _ []string) error {
	o.short = cmd.Flags().Changed("summary")
	switch {
	case !o.short:
		return nil
	case !o.merge && !o.onSuccess:
		return usagef("--summary needs --merge or --merge-on-success")
	case o.summary == "-":
		return usagef("--summary - is not possible here: the command reads standard input")
	}
	return checkSummary(o.summary)
}

func (o *runForkOptions) run(ctx context.Context, name string, command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return cannotRun(command[0], err)
	}
	t, err := o.app.openTape(ctx)
	if err != nil {
		return err
	}
	tape, base, err := forkTape(ctx, t, name, o.at)
	if err != nil {
		return err
	}
	f := &forked{Tape: tape, base: base, status: forkKept}
	o.app.StderrUnlessQuiet("forked %s at %s: %s", quoted(t.Name()), baseText(base), quoted(f.Name()))
	cmd := exec.Command(path, command[1:]...)
	cmd.Args[0] = command[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = o.app.Stdin, o.app.Stdout, o.app.Stderr
	if o.app.JSON {
		cmd.Stdout = o.app.Stderr
	}
	cmd.Env = append(os.Environ(), envTape+"="+f.Name(), repo.EnvWorkspace+"="+t.Store().Dir())
	f.exit, err = stdio.RunForwarding(cmd)
	// The interrupt that ended the command must not stop us from closing its fork; a second one may.
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err != nil {
		if _, derr := discardFork(ctx, f.Tape); derr != nil {
			err = errors.Join(err, derr)
		}
		return cannotRun(command[0], err)
	}
	if err := o.finish(ctx, f); err != nil {
		if f.exit == exitOK {
			return err
		}
		o.app.report(nil, err, o.app.JSON)
		return exited(f.exit)
	}
	if o.app.JSON {
		if err := o.app.Emit(f.object()); err != nil {
			return err
		}
	}
	return exited(f.exit)
}

func (o *runForkOptions) finish(ctx context.Context, f *forked) error {
	info, err := f.ForkInfo(ctx)
	if errors.Is(err, repo.ErrNotFound) && !isFork(ctx, f.Store(), f.Name()) {
		closed, _ := o.app.closedFork(ctx, f.Store(), f.Name())
		// A fork that was merged without entries has no merge commit, and is not found.
		f.status, f.entries = cmp.Or(closed.Status, repo.ForkMerged), closed.Entries
		o.app.StderrUnlessQuiet("the command itself has closed the fork %s: %s", quoted(f.Name()), f.status)
		return nil
	}
	if err != nil {
		return err
	}
	f.entries, f.commit = info.Entries, info.Commit
	switch {
	case o.merge || o.onSuccess && f.exit == exitOK:
		return o.mergeBack(ctx, f)
	case o.discard:
		info, err := discardFork(ctx, f.Tape)
		if err != nil {
			return err
		}
		f.status, f.commit = repo.ForkDiscarded, info.Commit
		o.app.StderrUnlessQuiet("discarded %s with %s", quoted(f.Name()), display.Entries(info.Entries))
		return nil
	}
	name := shellWord(f.Name())
	o.app.StderrUnlessQuiet("the fork %s is open, with %s: tape merge %s, or tape discard %s", quoted(f.Name()), display.Entries(info.Entries), name, name)
	return nil
}

func (o *runForkOptions) mergeBack(ctx context.Context, f *forked) (err error) {
	if f.Result, err = merge.BackWith(ctx, f.Tape, merge.Options{Summary: o.summary}); err != nil {
		o.app.StderrUnlessQuiet("the fork %s is still open", quoted(f.Name()))
		return err
	}
	f.status = repo.ForkMerged
	if o.short && f.Merged > 0 {
		f.status = repo.ForkSummarized
	}
	if f.Merged > 0 {
		f.commit = f.Commit
	}
	o.app.StderrUnlessQuiet("%s", mergeText(f.Name(), f.Result, o.short))
	return nil
}

// cannotRun returns an error with the exit code that a shell would use.
func cannotRun(name string, err error) error {
	out := &cliError{exit: 126}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		out.exit = 127
	}
	if inner, ok := errors.AsType[*exec.Error](err); ok {
		err = inner.Err
	}
	out.msg = "cannot run " + quoted(name) + ": " + err.Error()
	return out
}
