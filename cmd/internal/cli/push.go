package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/cmd/internal/sharing"
	"tape/repo"
)

type pushOptions struct {
	app *App
	repo.PushOptions
}

func newPushCmd(a *App) *cobra.Command {
	o := &pushOptions{app: a}
	cmd := &cobra.Command{
		Use:   "push [REMOTE] [--tape NAME]… [--all] [--forks] [--archives] [--dry-run] [--allow-secret FINGERPRINT]…",
		Short: "Send sessions to a remote",
		Long: `Send the history of sessions to a remote, with the tags of their anchors: all sessions with new
entries, or those that --tape names. Uncommitted entries are committed first. If you push a
fork, its session is pushed, too. On a terminal, the first push of several sessions to a remote lists
them and asks which to push, unless you use --all or --tape. The sessions that tape serve keeps for itself
(host, audit) are pushed only if --tape names them.

A push is never forced. If somebody else has pushed to a session meanwhile, that session is rejected
(exit code 4), and the others are pushed; run tape pull, which merges both sides, then push
again.

Before anything is sent, all of it is searched for secrets: tokens, keys, passwords. If one is
found, nothing is pushed, and each is shown masked, with its fingerprint. If it is not a
secret, --allow-secret FINGERPRINT allows it, and the workspace's settings remember that. If it
is one, revoke it; tape purge removes it from the session.

Push warns about an entry that is larger than other workspaces accept by default (16 MiB).
` + byGit,
		Example: `  tape push
  tape push backup --all
  tape push --tape main --forks
  tape push --tape main/try-redis --dry-run`,
		Args:              takes(0, "REMOTE"),
		ValidArgsFunction: upTo(1, a.completeRemotes()),
		RunE:              a.withRemote(&o.Tapes, o.run),
	}
	cmd.Flags().StringArrayVar(&o.Tapes, "tape", nil, "push the session `NAME`, or fork TAPE/NAME; can be repeated (default: all sessions)")
	cmd.Flags().BoolVarP(&o.All, "all", "a", false, "push forks and archives, too, and list what is up to date")
	cmd.Flags().BoolVar(&o.Forks, "forks", false, "push the forks of the sessions, too, and close forks at the remote that were merged here")
	cmd.Flags().BoolVar(&o.Archives, "archives", false, "push the archives of the sessions, too")
	cmd.Flags().BoolVarP(&o.DryRun, "dry-run", "n", false, "do everything except sending")
	allowFlag(cmd, &o.Allow)
	return cmd
}

func allowFlag(cmd *cobra.Command, allow *[]string) {
	cmd.Flags().StringArrayVar(allow, "allow-secret", nil, "allow the text with this `FINGERPRINT`, now and later; can be repeated")
}

func (o *pushOptions) run(ctx context.Context, store *repo.Store, remote string) error {
	if err := o.askFirst(ctx, store, remote); err != nil {
		return err
	}
	o.Progress = o.app.ProgressWriter()
	named := len(o.Tapes) > 0
	if !named {
		var err error
		if o.Tapes, err = sharing.WithoutEmpty(ctx, store); err != nil {
			return err
		}
	}
	o.app.command += " --tape"
	for i, name := range o.Tapes {
		t, err := o.app.findTape(ctx, store, name)
		if err != nil {
			return err
		}
		o.Tapes[i] = t.Name()
	}
	done, err := store.Push(ctx, remote, &o.PushOptions)
	if err != nil {
		return explainRemote(err)
	}
	if !o.app.JSON && !o.All && !named {
		done = slices.DeleteFunc(done, func(s repo.RefStatus) bool { return s.Status == repo.RefUpToDate })
	}
	words := rows.RefWords{repo.RefNew: "pushed, new there", repo.RefFastForward: "pushed", repo.RefDeleted: "closed there, because it was merged"}
	if o.DryRun {
		words = rows.RefWords{repo.RefNew: "would be pushed, new there", repo.RefFastForward: "would be pushed", repo.RefDeleted: "would be closed there, because it was merged"}
	}
	if err := rows.Statuses(&o.app.Streams, done, words, o.All); err != nil || o.DryRun {
		return err
	}
	return o.publishPushed(store, remote)
}

// publishPushed publishes what the remote has, if tape config publish names a branch for that.
func (o *pushOptions) publishPushed(store *repo.Store, remote string) error {
	branch, err := store.Setting("publish")
	if err != nil || branch == "" {
		return err
	}
	if err := o.app.Flush(); err != nil {
		return err
	}
	args := []string{"publish", "--workspace", store.Dir(), "--branch", branch, "--push", remote, "--pushed"}
	if o.app.JSON || o.app.Quiet {
		args = append(args, "--quiet") // the results are those of the push
	}
	return o.app.startHost("push", args)
}

// askFirst lists what a first push would send, and asks which tapes to push: some may not be for others.
// It does not ask without a terminal, with --tape, --all or --dry-run, if fewer than two tapes are new
// there, or once the remote has several.
func (o *pushOptions) askFirst(ctx context.Context, store *repo.Store, remote string) error {
	if o.All || o.DryRun || len(o.Tapes) > 0 || !o.app.CanAsk() {
		return nil
	}
	tapes, err := o.app.listTapes(ctx)
	if err != nil {
		return err
	}
	var list []sharing.Session
	for _, t := range tapes {
		at := slices.IndexFunc(t.Remotes, func(d repo.Distance) bool { return d.Remote == remote })
		ofHost, err := sharing.IsHostTape(ctx, store, t.Name)
		if err != nil {
			return err
		}
		if at >= 0 && !t.Remotes[at].Shared && !ofHost {
			list = append(list, sharing.Session{Tape: t.Tape, New: t.Remotes[at].Ahead})
		}
	}
	if shared := len(tapes) - len(list); len(list) < 2 || shared > 1 {
		return nil
	}
	if o.Tapes, err = sharing.AskSessions(ctx, &o.app.Streams, remote, list); err != nil && len(repo.Hints(err)) == 0 {
		return &cliError{msg: err.Error(), cause: err, hint: "tape push --tape NAME pushes one of them, --all all of them without asking"}
	}
	return err
}
