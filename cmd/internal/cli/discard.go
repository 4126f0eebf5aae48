package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"tape/repo"
)

type discardOptions struct {
	app *App
	yes bool
}

func newDiscardCmd(a *App) *cobra.Command {
	o := &discardOptions{app: a}
	cmd := &cobra.Command{
		Use:   "discard FORK [--yes]",
		Short: "Drop a fork",
		Long: `Drop a fork with its branch, tags and working tree. Where it has entries of its own it
asks on a terminal, and needs --yes elsewhere. A fork that has forks is refused.

Git keeps the entries for a while: the command that brings the fork back is shown, and
tape forks --closed knows the commit, too. A remote keeps what was pushed to it.`,
		Example: `  tape discard try-redis
  tape discard main/try-redis/cluster --yes`,
		Args:              takes(1, "FORK"),
		ValidArgsFunction: a.completeForks,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	return cmd
}

type discardJSON struct {
	Discarded string `json:"discarded"`
	Entries   int64  `json:"entries"`
	Commit    string `json:"commit"`
}

func (o *discardOptions) run(ctx context.Context, name string) error {
	a := o.app
	f, err := a.openFork(ctx, name)
	if err != nil {
		return err
	}
	if err := a.warnPublished(ctx, f, "there it stays, and comes back when somebody goes on with it; merged, it is closed for all"); err != nil {
		return err
	}
	if !o.yes {
		info, err := f.ForkInfo(ctx)
		if err != nil {
			return err
		}
		if err := a.confirmDiscard(ctx, info); err != nil {
			return err
		}
	}
	before := a.store.CurrentTape()
	info, err := discardFork(ctx, f)
	if err != nil {
		return err
	}
	text := "discarded " + quoted(info.Name) + ", which had nothing of its own"
	if info.Entries > 0 {
		text = fmt.Sprintf("discarded %s with %s\ngit keeps them for a while; to bring the fork back: %s", quoted(info.Name), entries(info.Entries),
			a.bringBack(info))
	}
	return a.result(discardJSON{info.Name, info.Entries, info.Commit}, "%s%s", text, a.movedFrom(before))
}

// discardFork drops a fork, and tells what it was.
func discardFork(ctx context.Context, f *repo.Tape) (repo.ForkInfo, error) {
	// What is not committed is, so that the commit that is told has it all.
	if _, _, err := f.Checkpoint(ctx); err != nil {
		return repo.ForkInfo{}, err
	}
	info, err := f.ForkInfo(ctx)
	if err != nil {
		return info, err
	}
	return info, f.Discard(ctx)
}

// bringBack is the command that opens a discarded fork again.
func (a *App) bringBack(f repo.ForkInfo) string {
	return fmt.Sprintf("git -C %s branch %s %.12s", shellWord(a.store.Dir()), shellWord(f.Branch), f.Commit)
}

func (a *App) confirmDiscard(ctx context.Context, f repo.ForkInfo) error {
	if f.Entries == 0 {
		return nil
	}
	if !isTerminal(a.Stdin) || !isTerminal(a.Stderr) {
		return invalidf("tape discard --yes does it without asking", "fork %s has %s of its own, and there is no terminal to ask on",
			quoted(f.Name), entries(f.Entries))
	}
	return a.confirm(ctx, fmt.Sprintf("Fork %s has %s of its own. Discard it?", quoted(f.Name), entries(f.Entries)))
}
