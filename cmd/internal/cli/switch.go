package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/repo"
)

type switchOptions struct {
	app    *App
	create bool
}

func newSwitchCmd(a *App) *cobra.Command {
	o := &switchOptions{app: a}
	cmd := &cobra.Command{
		Use:   "switch NAME [--create]",
		Short: "Make a session the current one",
		Long: `Make a session the current one, which commands use by default in this workspace, and show where
its files are. Files of other sessions do not move.

Use --tape to select another session for a single command, and TAPE_NAME for a shell.`,
		Example: `  tape switch telegram:123
  tape switch 2            # in the list of tape tapes
  tape switch -            # the tape before
  tape switch --create experiment`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: upTo(1, a.completeTapes()),
		RunE: func(cmd *cobra.Command, args []string) error {
			other, err := a.storeShown(cmd.Context(), args[0])
			if err == nil && other != nil {
				err = a.ofOther(args[0])
			}
			if err != nil {
				return err
			}
			return a.inStore(o.run)(cmd, args)
		},
	}
	cmd.Flags().BoolVarP(&o.create, "create", "c", false, "create the session if there is none of that name")
	return cmd
}

func (o *switchOptions) run(ctx context.Context, store *repo.Store, args []string) error {
	name, text := args[0], "switched to tape %s"
	if o.create {
		_, err := store.CreateTape(ctx, name)
		if err != nil && !errors.Is(err, repo.ErrConflict) {
			return err
		}
		if err == nil {
			text = "created tape %s and switched to it"
		}
	}
	t, err := o.app.findTape(ctx, store, name)
	if err != nil {
		return err
	}
	if t, err = store.Switch(ctx, t.Name()); err != nil {
		return err
	}
	facts, err := o.app.aboutTape(ctx, t)
	if err != nil {
		return err
	}
	if o.app.JSON {
		return o.app.Emit(append(tapeObject(listedAs(facts, true)), member{"path", t.WorkTree()}))
	}
	if t.Name() != name && facts.Title != "" {
		text += ": " + strings.ReplaceAll(display.Line(facts.Title), "%", "%%")
	}
	o.app.PrintUnlessQuiet(text+"\nits files are in %s", quoted(t.Name()), display.Line(t.WorkTree()))
	return nil
}
