package cli

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/sharing"
	"tape/internal/show/display"
	"tape/merge"
	"tape/repo"
)

type pullOptions struct {
	app *App
	merge.PullOptions
	yes bool
}

func newPullCmd(a *App) *cobra.Command {
	o := &pullOptions{app: a}
	cmd := &cobra.Command{
		Use:   "pull [REMOTE] [--tape NAME]… [--archives] [--purge [--yes]]",
		Short: "Fetch from a remote and merge into your sessions",
		Long: `Fetch from a remote, and merge its entries into your sessions and forks: all of them, or those
that --tape names. Sessions and forks that are new here are created; they get a folder when
somebody first writes to them.

If both sides have appended, you do not have to resolve anything. Published entries keep their
place and their numbers. Entries that are only here follow, renumbered, each with its previous
number in meta.origin. One commit has both sides as parents. Forks that begin after renumbered
entries can be merged as before. A fork that somebody else has merged is closed here, too.
Uncommitted entries are committed first.

The same session of an agent, imported on two machines, is one session, although the histories have
nothing in common: published entries stay, and those follow whose sources only you have. Your
former history is kept as an archive.

A session is rejected (exit code 4) if its history was changed on one side, if both sides have
nothing in common, or if the remote's data does not pass the checks (see tape fetch). A
rejected session does not change, and the others are pulled. A session from which a secret was purged
at the remote is also rejected, until --purge makes the same purge here. It says which entries of
whom it changes, and asks; --yes does not ask.

A session that you have forgotten (tape rm --forget) is left out. If somebody has forgotten one
at the remote, pull asks whether to forget it here, too; without a terminal it stays.` + byGit,
		Example: `  tape pull
  tape pull origin --tape main
  tape pull --purge
  tape pull --archives --json`,
		Args:              takes(0, "REMOTE"),
		ValidArgsFunction: upTo(1, a.completeRemotes()),
		RunE:              a.withRemote(&o.Tapes, o.run),
	}
	cmd.Flags().StringArrayVar(&o.Tapes, "tape", nil, "pull the session `NAME` with its forks; can be repeated (default: all sessions)")
	cmd.Flags().BoolVar(&o.Archives, "archives", false, "pull archives, too")
	cmd.Flags().BoolVar(&o.Purges, "purge", false, "purge secrets here that were purged at the remote")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "with --purge: do not ask")
	return cmd
}

// askPurge says what a purge that was made at a remote takes away here, and asks.
func (o *pullOptions) askPurge(ctx context.Context, there repo.PurgeThere) error {
	if !o.app.CanAsk() {
		return errors.New("pull --purge asks before it takes texts away, and there is no terminal to ask on; --yes does not ask")
	}
	o.app.Tell("%s was purged at %s by %s: %s lose text here", quoted(there.Tape), display.Line(there.Remote), display.Line(cmp.Or(strings.Join(there.By, ", "), "somebody")), display.Entries(len(there.Entries)))
	const most = 20
	for _, e := range there.Entries[:min(len(there.Entries), most)] {
		what := "what was named a secret"
		if e.Whole {
			what = "all of it"
		}
		o.app.Tell("  @%d %s of %s: %s", e.ID, display.Line(strings.Trim(e.Kind+"/"+e.Role, "/")), display.Line(cmp.Or(e.Author, "nobody named")), what)
	}
	if n := len(there.Entries) - most; n > 0 {
		o.app.Tell("  and %s", display.Count(n, "other", "others"))
	}
	return o.app.Confirm(ctx, "Take it away here, too? It cannot be undone.")
}

func (o *pullOptions) run(ctx context.Context, store *repo.Store, remote string) error {
	if !o.yes {
		o.AskPurge = o.askPurge
	}
	o.PullOptions.Progress, o.Derived = o.app.ProgressWriter(), o.app.rebuildIndex
	before := store.CurrentTape()
	done, err := merge.Pull(ctx, store, remote, &o.PullOptions)
	if err != nil {
		return explainRemote(err)
	}
	tidy(ctx, store)
	err = rows.Statuses(&o.app.Streams, done, rows.RefWords{repo.RefNew: "new here", repo.RefFastForward: "pulled", repo.RefMerged: "pulled, and merged with local entries",
		repo.RefDeleted: "closed, because it was merged"}, false)
	if forgetErr := sharing.ForgetAfterPull(ctx, remote, o.app.forgetting(store)); err == nil {
		err = forgetErr
	}
	if now := store.CurrentTape(); now != before && !o.app.JSON {
		o.app.PrintUnlessQuiet("the current tape is %s again", quoted(now))
	}
	return err
}
