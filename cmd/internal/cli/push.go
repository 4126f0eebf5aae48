package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tape/repo"
)

type pushOptions struct {
	*App
	repo.PushOptions
}

func newPushCmd(a *App) *cobra.Command {
	o := &pushOptions{App: a}
	cmd := &cobra.Command{
		Use:   "push [REMOTE] [--tape NAME]… [--all] [--forks] [--archives] [--dry-run] [--allow-secret FINGERPRINT]…",
		Short: "Send tapes to a remote",
		Long: `Send the history of tapes to a remote, with the tags of their anchors: of all tapes that
have something new, or of those that --tape names. What is not committed is committed first.
A fork that is named takes the tape that it is a fork of along.

Nothing is ever forced. A tape that somebody else has pushed to meanwhile is rejected (exit
code 4), and the others go; tape pull brings both sides together, then push again.

Before anything leaves this machine, all of it is looked through for secrets: tokens, keys,
passwords. If there is one, nothing is pushed, and each is shown masked, with its
fingerprint. If it is no secret, --allow-secret FINGERPRINT lets it through, and is
remembered in the workspace's settings. If it is one, it must be revoked, and tape purge
takes it out of the tape.
` + byGit,
		Example: `  tape push
  tape push backup --all
  tape push --tape main --forks
  tape push --tape main/try-redis --dry-run`,
		Args:              takes(0, "REMOTE"),
		ValidArgsFunction: upTo(1, a.completeRemotes()),
		RunE:              a.withRemote(&o.Tapes, o.run),
	}
	cmd.Flags().StringArrayVar(&o.Tapes, "tape", nil, "push the tape `NAME`, or fork TAPE/NAME; can be repeated (default: all tapes)")
	cmd.Flags().BoolVarP(&o.All, "all", "a", false, "push forks and archives, too, and list what is up to date")
	cmd.Flags().BoolVar(&o.Forks, "forks", false, "push the forks of the tapes, too, and close those there that were merged here")
	cmd.Flags().BoolVar(&o.Archives, "archives", false, "push the archives of the tapes, too")
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "do everything but the sending")
	allowFlag(cmd, &o.Allow)
	return cmd
}

func allowFlag(cmd *cobra.Command, allow *[]string) {
	cmd.Flags().StringArrayVar(allow, "allow-secret", nil, "let through what has this `FINGERPRINT`, now and later; can be repeated")
}

func (o *pushOptions) run(ctx context.Context, store *repo.Store, remote string) error {
	o.RemoteOptions = o.transport()
	for i, name := range o.Tapes {
		t, err := o.findTape(ctx, store, name)
		if err != nil {
			return err
		}
		o.Tapes[i] = t.Name()
	}
	done, err := store.Push(ctx, remote, &o.PushOptions)
	if err != nil {
		return explainRemote(err)
	}
	if !o.json && !o.All && len(o.Tapes) == 0 {
		done = slices.DeleteFunc(done, func(s repo.RefStatus) bool { return s.Status == repo.RefUpToDate })
	}
	words := refWords{repo.RefNew: "pushed, new there", repo.RefFastForward: "pushed", repo.RefDeleted: "closed there, since it is merged"}
	if o.DryRun {
		words = refWords{repo.RefNew: "would be pushed, new there", repo.RefFastForward: "would be pushed", repo.RefDeleted: "would be closed there, since it is merged"}
	}
	return o.showStatuses(done, words, o.All)
}
