package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/repo"
)

type discardOptions struct {
	app *App
	yes bool
}

func newDiscardCmd(a *App) *cobra.Command {
	o := &discardOptions{app: a}
	cmd := &cobra.Command{
		Use:        "discard FORK [--yes]",
		SuggestFor: []string{"remove", "delete"},
		Short:      "Drop a fork",
		Long: `Discard a fork with its branch, tags and working tree. If the fork has entries of its own, the
command asks on a terminal, and needs --yes elsewhere. A fork that has forks is refused.

Git keeps the entries for a while: the command that brings the fork back is shown, and
tape forks --closed shows the commit, too. A remote keeps what was pushed to it.`,
		Example: `  tape discard try-redis
  tape discard main/try-redis/cluster --yes`,
		Args:              takes(1, "FORK"),
		ValidArgsFunction: upTo(1, a.completeForks),
		RunE:              a.inStoreOf(o.run),
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (o *discardOptions) run(ctx context.Context, store *repo.Store, args []string) error {
	f, err := o.app.openFork(ctx, store, args[0])
	if err != nil {
		return err
	}
	if err := o.app.warnPublished(ctx, f, "the fork stays there, and a pull brings it back if somebody goes on with it; merging it closes it for everybody"); err != nil {
		return err
	}
	if !o.yes {
		if err := o.ask(ctx, f); err != nil {
			return err
		}
	}
	before := store.CurrentTape()
	info, err := discardFork(ctx, f)
	if err != nil {
		return err
	}
	text := "discarded " + quoted(info.Name) + ", which had nothing of its own"
	if info.Entries > 0 {
		text = fmt.Sprintf("discarded %s with %s\ngit keeps them for a while; to bring the fork back: %s", quoted(info.Name), display.Entries(info.Entries),
			bringBack(store, info))
	}
	return o.app.Result(object{{"discarded", info.Name}, {"entries", info.Entries}, {"commit", info.Commit}}, "%s%s", text, movedFrom(store, before))
}

func (o *discardOptions) ask(ctx context.Context, f *repo.Tape) error {
	info, err := f.ForkInfo(ctx)
	if err != nil || info.Entries == 0 {
		return err
	}
	if !o.app.CanAsk() {
		return layout.Invalid("tape discard "+shellWord(info.Name)+" --yes does it without asking", "fork %s has %s of its own, and there is no terminal to ask on",
			quoted(info.Name), display.Entries(info.Entries))
	}
	return o.app.Confirm(ctx, "Fork %s has %s of its own. Discard it?", quoted(info.Name), display.Entries(info.Entries))
}

func discardFork(ctx context.Context, f *repo.Tape) (repo.ForkInfo, error) {
	// Commit everything, so that the commit that is named below has all entries.
	if _, _, err := f.Checkpoint(ctx); err != nil {
		return repo.ForkInfo{}, err
	}
	info, err := f.ForkInfo(ctx)
	if err != nil {
		return info, err
	}
	return info, f.Discard(ctx)
}

// bringBack returns the command that opens a discarded fork again.
func bringBack(store *repo.Store, f repo.ForkInfo) string {
	return fmt.Sprintf("git -C %s branch %s %.12s", shellWord(store.Dir()), shellWord(f.Branch), f.Commit)
}
