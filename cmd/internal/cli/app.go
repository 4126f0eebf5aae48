// Package cli is the tape command: one file a command, each an options struct, a
// constructor that parses, and a run function.
//
// A command gets everything it touches from the App: streams, clock, environment, and
// a workspace that is opened when it is first asked for. So help and errors of usage
// open nothing, and appending touches nothing but the tape.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/repo"
)

// envTape names the tape to use where --tape does not.
const envTape = "TAPE_NAME"

// App is what commands share during one run of the program.
type App struct {
	stdio.Streams

	Version string // "" when the build did not stamp one
	Commit  string

	Host Host // what tape-host does; nil in tape

	// The global flags.
	workspace string
	tapeName  string

	reads      bool // the command only reads, see findTape
	takesOver  bool // the command asks about former settings itself
	toldFormer bool // those were told of

	store *repo.Store

	lockWait time.Duration // how long to wait for other writers; 0: the default
}

// OS returns an App on the process's own streams and environment.
func OS(version, commit string) *App {
	return &App{Streams: stdio.Streams{Stdin: os.Stdin, Stdout: stdio.OwnDescriptor(os.Stdout), Stderr: stdio.OwnDescriptor(os.Stderr), Getenv: os.Getenv, Now: time.Now},
		Version: version, Commit: commit}
}

// Run runs the program with its arguments, its name not included, and returns its exit code.
func Run(ctx context.Context, a *App, args []string) int {
	a.Out = bufio.NewWriterSize(a.Stdout, 16<<10)
	root := newRoot(a, args)
	root.SetArgs(args)
	root.SetOut(a.Out)
	root.SetErr(a.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	err = a.withSuggestion(ctx, err)
	a.tellRecording(cmd)
	if closed := a.Close(); err == nil || isClosedPipe(err) && closed != nil {
		err = closed
	}
	if err == nil || isClosedPipe(err) {
		return exitOK
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return a.report(cmd, err, a.JSON || wantsJSON(args))
}

// wantsJSON looks for --json where a wrong flag kept it from being parsed.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true":
			return true
		}
	}
	return false
}

// openStore opens the workspace that flags, environment or current directory name.
func (a *App) openStore(ctx context.Context) (*repo.Store, error) {
	if a.store != nil {
		return a.store, nil
	}
	dir := a.workspaceDir()
	if dir == "" {
		var err error
		if dir, err = repo.Find("."); errors.Is(err, repo.ErrNotFound) {
			dir, err = a.takeAlong(err)
		}
		if err != nil {
			return nil, err
		}
	}
	a.Note("workspace: %s", dir)
	store, err := repo.Open(ctx, dir, a.storeOptions())
	if err != nil {
		return nil, err
	}
	a.store = store
	return store, a.askFormer(ctx, store)
}

func (a *App) storeOptions() *repo.Options {
	return &repo.Options{LockWait: a.lockWait, Warn: a.Warn, Now: a.Now}
}

// workspaceDir is the workspace that is named explicitly, or "".
func (a *App) workspaceDir() string { return cmp.Or(a.workspace, a.Getenv(repo.EnvWorkspace)) }

// newWorkspaceDir is where a workspace is to be made: in a directory that was given, or that
// is named otherwise, or in the place for the current directory.
func (a *App) newWorkspaceDir(given string) (string, error) {
	if dir := cmp.Or(given, a.workspaceDir()); dir != "" {
		return dir, nil
	}
	return repo.WorkspaceFor(".")
}

// wantedTape is the name of the tape that is named explicitly, or "".
func (a *App) wantedTape() string { return cmp.Or(a.tapeName, a.Getenv(envTape)) }

// openTape opens the tape that the flags and the environment name, or the current one. Only
// a person's flag may be short: what a program has set in the environment is a whole name.
func (a *App) openTape(ctx context.Context) (*repo.Tape, error) {
	store, err := a.openStore(ctx)
	if err != nil {
		return nil, err
	}
	find := store.Tape
	if a.tapeName != "" {
		find = func(ctx context.Context, name string) (*repo.Tape, error) { return a.findTape(ctx, store, name) }
	}
	t, err := find(ctx, a.wantedTape())
	if err == nil {
		a.Note("tape: %s", t.Name())
	}
	return t, err
}

// openTapeOrRemoved is openTape for commands that know what to do with a tape's archives alone.
func (a *App) openTapeOrRemoved(ctx context.Context) (*repo.Tape, error) {
	t, err := a.openTape(ctx)
	if a.store == nil || a.wantedTape() == "" || !errors.Is(err, repo.ErrNotFound) {
		return t, err
	}
	if removed, removedErr := a.store.Removed(ctx, a.wantedTape()); removedErr == nil {
		return removed, nil
	}
	return t, err
}

type runFunc = func(cmd *cobra.Command, args []string) error

// inStore is for commands that need the workspace, and no tape of it.
func (a *App) inStore(run func(ctx context.Context, store *repo.Store, args []string) error) runFunc {
	return opened(a.openStore, run)
}

// onTape is for commands that need the tape that is meant.
func (a *App) onTape(run func(ctx context.Context, t *repo.Tape, args []string) error) runFunc {
	return opened(a.openTape, run)
}

func opened[T any](open func(context.Context) (T, error), run func(context.Context, T, []string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		what, err := open(cmd.Context())
		if err != nil {
			return err
		}
		return run(cmd.Context(), what, args)
	}
}
