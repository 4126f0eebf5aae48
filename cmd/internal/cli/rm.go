package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

type rmOptions struct {
	*App
	purgeArchive, yes bool
}

func newRmCmd(a *App) *cobra.Command {
	o := &rmOptions{App: a}
	cmd := &cobra.Command{
		Use:        "rm NAME [--purge-archive] [--yes]",
		SuggestFor: []string{"remove", "delete"},
		Short:      "Remove a tape",
		Long: `Remove a tape with its files, branch and tags. Its history becomes an archive, and tape restore
brings it back. With --purge-archive no archive is made, and the tape's earlier archives are
removed, too. The command asks on a terminal, and needs --yes elsewhere. It refuses a tape with
open forks, and the current tape. With --purge-archive and --yes, NAME must be the whole name.

A remote keeps what was pushed to it: the next tape pull brings that back. To take a secret
out of the history, use tape purge.`,
		Example: `  tape rm review
  tape restore latest --tape review   # brings it back`,
		Args:              takes(1, "NAME"),
		ValidArgsFunction: upTo(1, a.completeTapes()),
		RunE:              a.inStore(o.run),
	}
	cmd.Flags().BoolVar(&o.purgeArchive, "purge-archive", false, "keep no archive, and remove the former ones")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *rmOptions) run(ctx context.Context, store *repo.Store, args []string) error {
	t, err := o.findTape(ctx, store, args[0])
	if err != nil {
		return err
	}
	if o.yes && o.purgeArchive && t.Name() != args[0] {
		return layout.Invalid("tape rm --purge-archive --yes "+shellWord(t.Name()),
			"%s is short for tape %s: --purge-archive with --yes needs the whole name", quoted(args[0]), quoted(t.Name()))
	}
	facts, err := o.aboutTape(ctx, t)
	if err != nil {
		return err
	}
	if err := o.warnPublished(ctx, t, "the next tape pull brings it back"); err != nil {
		return err
	}
	if !o.yes {
		if !o.CanAsk() {
			return layout.Invalid("tape rm "+shellWord(t.Name())+" --yes does it without asking", "rm asks before it removes a tape, and there is no terminal to ask on")
		}
		fate := "will be archived"
		if o.purgeArchive {
			fate = "will be removed"
		}
		err := o.Confirm(ctx, "The %s of tape %s %s. Remove it?", display.Entries(facts.Entries), quoted(t.Name()), fate)
		if err != nil {
			return err
		}
	}
	ref, err := t.Remove(ctx, !o.purgeArchive)
	if err != nil {
		return err
	}
	text := "removed tape " + quoted(t.Name()) + " with " + display.Entries(facts.Entries)
	if ref != "" {
		text += "; tape restore latest --tape " + shellWord(t.Name()) + " brings it back"
	}
	return o.Result(object{{"removed", t.Name()}, {"entries", facts.Entries}, {"archived", orNull(ref)}}, "%s", text)
}
