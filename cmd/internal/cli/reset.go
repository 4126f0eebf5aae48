package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/forks"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

type resetOptions struct {
	app          *App
	archive, yes bool
}

func newResetCmd(a *App) *cobra.Command {
	o := &resetOptions{app: a}
	cmd := &cobra.Command{
		Use:        "reset [--archive] [--yes]",
		SuggestFor: []string{"remove", "delete"},
		Short:      "Start the session over",
		Long: `Start the session over, with only its first anchor. With --archive the old history becomes an
archive, and tape restore brings it back; without it, only git's reflog keeps the history.
It asks on a terminal, and needs --yes elsewhere. A session with open forks is refused: merge or
discard them first.

A remote keeps what was pushed to it: the next tape pull brings that back. If you share the
session and want a fresh start, create another session instead (tape new).`,
		Example: `  tape reset --archive`,
		RunE:    a.onTape(o.run),
	}
	cmd.Flags().BoolVar(&o.archive, "archive", false, "keep the history so far")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *resetOptions) run(ctx context.Context, t *repo.Tape, _ []string) error {
	if err := forks.CheckNoneOpen(ctx, (*workspace.Tape)(t)); err != nil {
		return err
	}
	if err := o.app.warnPublished(ctx, t, "the next tape pull brings its history back; tape new begins another one"); err != nil {
		return err
	}
	if !o.yes {
		if err := o.ask(ctx, t); err != nil {
			return err
		}
	}
	ref, err := t.Reset(ctx, o.archive)
	if err != nil {
		return err
	}
	kept := ""
	if ref != "" {
		kept = "; its history is kept as " + ref
	}
	return o.app.Result(object{{"reset", true}, {"archived", orNull(ref)}}, "tape %s starts over%s", quoted(t.Name()), kept)
}

func (o *resetOptions) ask(ctx context.Context, t *repo.Tape) error {
	if !o.app.CanAsk() {
		return layout.Invalid("tape reset --yes does it without asking", "reset asks before it starts a tape over, and there is no terminal to ask on")
	}
	s, err := t.Summary(ctx)
	if err != nil {
		return err
	}
	fate := "will be removed"
	if o.archive {
		fate = "will be archived"
	}
	return o.app.Confirm(ctx, "The %s of tape %s %s. Start over?", display.Entries(s.Entries), quoted(t.Name()), fate)
}

// warnPublished warns that remotes have the tape; outcome says what that means.
func (a *App) warnPublished(ctx context.Context, t *repo.Tape, outcome string) error {
	remotes, err := t.Distances(ctx)
	if err != nil {
		return err
	}
	for _, r := range remotes {
		if r.Shared {
			a.Warn(fmt.Sprintf("%s has %s, too: %s", r.Remote, quoted(t.Name()), outcome))
		}
	}
	return nil
}
