package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/internal/show/display"
	"tape/repo"
)

type cloneOptions struct {
	app    *App
	remote string
}

func newCloneCmd(a *App) *cobra.Command {
	o := &cloneOptions{app: a}
	cmd := &cobra.Command{
		Use:   "clone URL [DIR] [--tape NAME] [--remote NAME]",
		Short: "Clone a remote into a new workspace",
		Long: `Clone a remote into the workspace of the current directory, with all of its sessions, their forks
and anchors. As with tape init, the workspace lives below $TAPE_HOME (~/.tape), and nothing is
written into the project. With DIR, that directory itself becomes the workspace; it must be
empty or not exist.

One tape is checked out and becomes the current one: the one that --tape names, or the one in
the remote's HEAD, or main. The others get a folder when somebody first writes to them. Cloning
an empty remote gives a workspace with a first session, ready to be pushed. URL may also be a
workspace: a folder of your own, or of another user.` + byGit,
		Example: `  tape clone git@example.org:ada/sessions.git
  tape clone https://example.org/ada/sessions.git ./sessions --tape review
  tape clone /mnt/disk/sessions.git --remote backup`,
		Args: takes(1, "URL", "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0], first(args[1:])) },
	}
	cmd.Flags().StringVar(&o.remote, "remote", repo.DefaultRemote, "call the remote `NAME`")
	return cmd
}

func (o *cloneOptions) run(ctx context.Context, url, dir string) error {
	dir, err := o.app.newWorkspaceDir(dir)
	if err != nil {
		return err
	}
	store, done, err := repo.Clone(ctx, url, dir, &repo.CloneOptions{
		Options: *o.app.storeOptions(), Progress: o.app.ProgressWriter(), Remote: o.remote, Tape: o.app.tapeName})
	if err != nil {
		return explainRemote(err)
	}
	InstallHooks(ctx, &o.app.Streams, store)
	o.app.noteProject(store)
	text := "cloned " + display.Count(done.Tapes, "tape", "tapes") + " into " + display.Line(store.Dir())
	if done.Tapes == 0 {
		text = "the remote is empty; created workspace " + display.Line(store.Dir())
	}
	err = o.app.Result(object{{"workspace", store.Dir()}, {"tapes", done.Tapes}}, "%s; the current tape is %s", text, quoted(store.CurrentTape()))
	if err != nil {
		return err
	}
	return rows.Rejected(done.Rejected)
}
