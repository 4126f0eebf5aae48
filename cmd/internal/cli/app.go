// Package cli implements the tape command. Each command has a file with a struct of options, a
// constructor that defines the flags, and a run function.
//
// A command gets everything from the App: streams, clock, environment, and the workspace, which
// is opened on first use. So help and usage errors open nothing, and appending touches only the
// tape.
package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/internal/store/workspace"
	"tape/repo"
)

// envTape names the variable with the tape to use without --tape.
const envTape = "TAPE_NAME"

// App is shared by the commands during one run of the program. The options of a command have it as a
// named field: if they embedded it, the compiler would make a wrapper for each of its 140 methods.
type App struct {
	stdio.Streams

	Version string // "" if the build did not set one
	Commit  string

	Host Host // what tape-host does; nil in tape

	// The global flags.
	workspace string
	tapeName  string

	everywhere bool                      // --all-workspaces, see allworkspaces.go
	elsewhere  map[string]map[int64]bool // by workspace, what counts in another one, see findShared

	command  string // with what comes before the name of a tape, for hints
	reads    bool   // the command only reads, see findTape
	numbered bool   // the workspace is that of a number, see storeShown

	store *repo.Store

	warned *sync.Map // the warnings of workspaces that were given

	lockWait time.Duration // how long to wait for other writers; 0: the default
}

// OS returns an App with the process's streams and environment.
func OS(version, commit string) *App {
	return &App{Streams: stdio.Streams{Stdin: os.Stdin, Stdout: stdio.OwnDescriptor(os.Stdout), Stderr: stdio.OwnDescriptor(os.Stderr), Getenv: os.Getenv, Now: time.Now},
		Version: version, Commit: commit}
}

// Run runs the program with its arguments, its name not included, and returns its exit code.
func Run(ctx context.Context, a *App, args []string) int {
	a.Out, a.warned = bufio.NewWriterSize(a.Stdout, 16<<10), &sync.Map{}
	root := newRoot(a, args)
	root.SetArgs(asQuestion(root, args))
	root.SetOut(a.Out)
	root.SetErr(a.Stderr)
	cmd, err := root.ExecuteContextC(ctx)
	err = a.withFirstStep(cmd, a.withSuggestion(ctx, err))
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

// wantsJSON looks for --json in arguments that could not be parsed.
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

// openStore opens the workspace that the flags, the environment or the current directory select.
func (a *App) openStore(ctx context.Context) (*repo.Store, error) {
	if a.store != nil {
		return a.store, nil
	}
	dir := a.workspaceDir()
	if dir == "" {
		var err error
		if dir, err = repo.Find("."); errors.Is(err, repo.ErrNotFound) {
			dir, err = a.takeAlong(ctx, err)
		}
		if err != nil {
			return nil, err
		}
	}
	a.StderrIfVerbose("workspace: %s", dir)
	store, err := repo.Open(ctx, dir, a.storeOptions())
	if err != nil {
		return nil, err
	}
	a.store = store
	return store, nil
}

func (a *App) storeOptions() *repo.Options {
	return &repo.Options{LockWait: a.lockWait, Warn: a.warnOnce, Now: a.Now, Attended: a.CanAsk()}
}

// warnOnce is Warn for what several readings of a workspace say. It may be called from several goroutines.
func (a *App) warnOnce(text string) {
	if a.warned != nil {
		if _, known := a.warned.LoadOrStore(text, true); known {
			return
		}
	}
	a.Warn(text)
}

// workspaceDir returns the workspace that is named explicitly, or "".
func (a *App) workspaceDir() string { return cmp.Or(a.workspace, a.Getenv(repo.EnvWorkspace)) }

// newWorkspaceDir returns where to create a workspace: the given directory, or one named by flag or
// environment, or the place for the current directory.
func (a *App) newWorkspaceDir(given string) (string, error) {
	if dir := cmp.Or(given, a.workspaceDir()); dir != "" {
		return dir, nil
	}
	return workspace.NewFor(".")
}

// wantedTape returns the tape name that is given explicitly, or "".
func (a *App) wantedTape() string { return cmp.Or(a.tapeName, a.Getenv(envTape)) }

// openTape opens the tape that the flag or the environment names, or the current one. Only the
// flag may be a short name, since programs set the environment.
func (a *App) openTape(ctx context.Context) (*repo.Tape, error) {
	if a.everywhere {
		return a.openEverywhere(ctx)
	}
	if t, err := a.openShown(ctx, a.tapeName); t != nil || err != nil {
		return t, err
	}
	store, err := a.openStore(ctx)
	if err != nil {
		return a.openOther(ctx, err)
	}
	find := store.Tape
	if a.tapeName != "" {
		find = func(ctx context.Context, name string) (*repo.Tape, error) { return a.findTape(ctx, store, name) }
	}
	t, err := find(ctx, a.wantedTape())
	if err != nil {
		return a.openOther(ctx, err)
	}
	a.StderrIfVerbose("tape: %s", t.Name())
	return t, nil
}

// openTapeOrRemoved is openTape for commands that also work on a removed tape's archives.
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

// inStore runs a command that needs the workspace, but no tape.
func (a *App) inStore(run func(ctx context.Context, store *repo.Store, args []string) error) runFunc {
	return opened(a.openStore, run)
}

// inStoreOf is inStore for a command whose first argument names a tape, which may be a number of a list of all
// workspaces.
func (a *App) inStoreOf(run func(ctx context.Context, store *repo.Store, args []string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		if _, err := a.storeShown(cmd.Context(), args[0]); err != nil {
			return err
		}
		return a.inStore(run)(cmd, args)
	}
}

// onTape runs a command on the selected tape.
func (a *App) onTape(run func(ctx context.Context, t *repo.Tape, args []string) error) runFunc {
	return opened(a.openTape, run)
}

func opened[T any](open func(context.Context) (T, error), run func(context.Context, T, []string) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		target, err := open(cmd.Context())
		if err != nil {
			return err
		}
		return run(cmd.Context(), target, args)
	}
}
