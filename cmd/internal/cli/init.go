package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/workspace"
	"tape/repo"
)

func newInitCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create the workspace of the current directory",
		Long: `Create the workspace that holds the sessions of the current directory. It lives below $TAPE_HOME
(~/.tape): nothing is written into the project. With DIR, that directory itself becomes the
workspace. The first session is called main, unless --tape gives another name.

If there is a workspace already, init says so and changes nothing.`,
		Example: `  tape init
  tape init --tape telegram:123
  tape init ./session`,
		Args: takes(0, "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runInit(cmd.Context(), first(args)) },
	}
}

func (a *App) runInit(ctx context.Context, dir string) error {
	given := dir != "" || a.workspaceDir() != ""
	dir, err := a.newWorkspaceDir(dir)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(dir); !given && errors.Is(err, fs.ErrNotExist) {
		if taken, err := a.takeAlong(ctx, err); err == nil {
			dir = taken
		} // otherwise a new workspace is created
	}
	opts := *a.storeOptions()
	opts.Project = "."
	store, created, err := repo.Init(ctx, dir, &repo.InitOptions{Options: opts, Tape: a.wantedTape()})
	if err != nil {
		return err
	}
	a.noteProject(store)
	// Hooks that were removed from a workspace stay removed.
	if (*workspace.Store)(store).First() {
		InstallHooks(ctx, &a.Streams, store)
	}
	name := store.CurrentTape()
	text := "workspace %s exists; its current tape is %s"
	if created {
		text = "created workspace %s with tape %s"
	}
	return a.Result(object{{"workspace", store.Dir()}, {"tape", name}, {"created", created}}, text, display.Line(store.Dir()), quoted(name))
}
