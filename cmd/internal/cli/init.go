package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tape/repo"
)

type initOptions struct {
	app *App
	dir string
}

func newInitCmd(a *App) *cobra.Command {
	o := &initOptions{app: a}
	return &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create the workspace of the current directory",
		Long: `Create the workspace that holds the tapes of the current directory. It lives below
$TAPE_HOME (~/.tape): nothing is written into the project. With DIR, that directory is
itself the workspace. The first tape is called main, or what --tape says.

Where there is a workspace already, init says so and changes nothing.`,
		Example: `  tape init
  tape init --tape telegram:123
  tape init ./session`,
		Args: takes(0, "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.dir = args[0]
			}
			return o.run(cmd.Context())
		},
	}
}

func (o *initOptions) run(ctx context.Context) error {
	a := o.app
	dir, err := a.newWorkspaceDir(o.dir)
	if err != nil {
		return err
	}
	_, statErr := os.Stat(filepath.Join(dir, "config.json"))
	store, created, err := repo.Init(ctx, dir, &repo.InitOptions{Options: *a.storeOptions(), Tape: a.wantedTape()})
	if err != nil {
		return err
	}
	// Hooks that were taken away from a workspace stay away.
	if errors.Is(statErr, fs.ErrNotExist) {
		a.installHooks(ctx, store)
	}
	name := store.CurrentTape()
	result := struct {
		Workspace string `json:"workspace"`
		Tape      string `json:"tape"`
		Created   bool   `json:"created"`
	}{store.Dir(), name, created}
	if created {
		return a.result(result, "created workspace %s with tape %s", safeLine(store.Dir()), quoted(name))
	}
	return a.result(result, "workspace %s exists; its current tape is %s", safeLine(store.Dir()), quoted(name))
}
