package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/internal/store/remotes"
	"tape/internal/store/workspace"
	"tape/repo"
)

type fetchOptions struct {
	app *App
	repo.FetchOptions
}

func newFetchCmd(a *App) *cobra.Command {
	o := &fetchOptions{app: a}
	cmd := &cobra.Command{
		Use:   "fetch [REMOTE] [--tape NAME]…",
		Short: "Download from a remote without changing your sessions",
		Long: `Download from a remote into the workspace without changing your sessions. Afterwards, tape info
and tape tapes show offline how many entries are only here or only there, and tape pull merges
them. Pull also does a fetch.

Data from a remote is checked before it is used: names, files, sizes, and that its history only
grows. A branch that fails the checks is rejected (exit code 4).` + byGit,
		Example: `  tape fetch
  tape fetch backup --tape main`,
		Args:              takes(0, "REMOTE"),
		ValidArgsFunction: upTo(1, a.completeRemotes()),
		RunE:              a.withRemote(&o.Tapes, o.run),
	}
	cmd.Flags().StringArrayVar(&o.Tapes, "tape", nil, "fetch the session `NAME` with its forks; can be repeated (default: all sessions)")
	return cmd
}

func (o *fetchOptions) run(ctx context.Context, store *repo.Store, remote string) error {
	o.Progress = o.app.ProgressWriter()
	done, err := store.Fetch(ctx, remote, &o.FetchOptions)
	if err != nil {
		return explainRemote(err)
	}
	tidy(ctx, store)
	if o.app.JSON {
		if done, err = o.addUnmoved(ctx, store, remote, done); err != nil {
			return err
		}
	}
	err = rows.Statuses(&o.app.Streams, done, rows.RefWords{repo.RefNew: "new there", repo.RefFastForward: "fetched", repo.RefDeleted: "closed there"}, true)
	if !o.app.JSON && slices.ContainsFunc(done, func(s repo.RefStatus) bool { return s.Status != repo.RefRejected }) {
		o.app.PrintUnlessQuiet("tape pull brings it into your tapes")
	}
	return err
}

// addUnmoved adds the remote's refs that did not change, so that each tape and fork has a line.
func (o *fetchOptions) addUnmoved(ctx context.Context, store *repo.Store, remote string, list []repo.RefStatus) ([]repo.RefStatus, error) {
	same, todo, err := remotes.Published(ctx, (*workspace.Store)(store), remote, o.Tapes)
	if err != nil {
		return nil, err
	}
	for _, s := range append(same, todo...) {
		if !slices.ContainsFunc(list, func(has repo.RefStatus) bool { return has.Ref == s.Ref }) {
			s.Status = repo.RefUpToDate
			list = append(list, s)
		}
	}
	return list, nil
}
