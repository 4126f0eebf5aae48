package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"tape/internal/display"
	"tape/repo"
)

type switchOptions struct {
	*App
	create bool
}

func newSwitchCmd(a *App) *cobra.Command {
	o := &switchOptions{App: a}
	cmd := &cobra.Command{
		Use:   "switch NAME [--create]",
		Short: "Make a tape the current one",
		Long: `Make a tape the one that commands mean by default in this workspace. No file moves.
A single command takes another tape with --tape, a whole shell with TAPE_NAME.`,
		Example: `  tape switch telegram:123
  tape switch 2            # in the list of tape tapes
  tape switch -            # the tape before
  tape switch --create experiment`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: upTo(1, a.completeTapes()),
		RunE:              a.inStore(o.run),
	}
	cmd.Flags().BoolVarP(&o.create, "create", "c", false, "create the tape if there is none of that name")
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
	t, err := o.findTape(ctx, store, name)
	if err != nil {
		return err
	}
	if t, err = store.Switch(ctx, t.Name()); err != nil {
		return err
	}
	if t.Name() != name && !o.json {
		facts, err := o.aboutTape(ctx, t)
		if err != nil {
			return err
		}
		if facts.Title != "" {
			o.say(text+": %s", quoted(t.Name()), display.Line(facts.Title))
			return nil
		}
	}
	return o.tapeResult(ctx, t, text)
}
