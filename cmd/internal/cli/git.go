package cli

import (
	"context"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/hooks/githooks"
	"tape/repo"
)

func newGitCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "git COMMAND",
		Short: "Set up git diff, merge and hooks for tapes; link commits",
		Long: `Set up the git repository of the workspace: git diff, git log -p and git show print readable
entries instead of lines of JSON, git merge merges tapes, and git commit and git push refuse
changes that are not append-only. tape git link notes in a project's repository which sessions led to
its commits.`,
		Example: `  tape git install
  tape git link main..HEAD
  tape git uninstall`,
	}
	addSubcommands(cmd, newGitInstallCmd(a), newGitUninstallCmd(a), newGitLinkCmd(a))
	return cmd
}

func newGitInstallCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "install [--server DIR]",
		Short: "Set up git diff, merge and hooks for tapes",
		Long: `Set up git for tapes, in the workspace and in all of its worktrees. tape init does this for a
new workspace; run it once for a plain git clone, or a workspace of an older version. Nothing
that is committed changes.

Diffs and merges: diff.tape.* and merge.* in .git/tape/gitconfig, which .git/config then
includes, and a few lines in .git/info/attributes. Your own settings are kept. git diff
--no-textconv shows raw lines. Use it for a patch that is to be applied, and with git log -S to
find text that is not shown, such as the end of a long result. git show COMMIT:FILE prints raw
lines unless it is given --textconv. If git does not find the program tape, it shows raw lines,
and reports a conflict instead of merging.

Hooks: pre-commit and pre-push refuse changes that are not append-only; post-merge,
post-commit, post-checkout and post-rewrite update the index in the background. Your own hook
is renamed to NAME.own, is called first, and may refuse as before. If core.hooksPath names a
folder outside the workspace, nothing is written there, and you are told what to add to your
hooks. If the program tape is missing or fails, git continues.

With --server, only the hook pre-receive is installed, in the bare repository DIR: it refuses
pushes to tapes and forks that are forced or not append-only.`,
		Example: `  tape git install
  tape --workspace ./clone git install
  git -C ./clone log -p
  git -C ./clone log --no-textconv -S SetReference
  tape git install --server /srv/git/sessions.git`,
	}
	server := cmd.Flags().String("server", "", "put the hook that checks pushes into the bare repository `DIR`")
	cmd.RunE = a.onServerOr(server, githooks.InstallServer, "pushes to the tapes in %s have to be append-only", Install)
	return cmd
}

func newGitUninstallCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "uninstall [--server DIR]",
		Short: "Undo tape git install",
		Long: `Remove the lines that tape git install, or tape init, has added to .git/config, to
.git/info/attributes and to the hooks, and nothing else. Your own hooks get their names back.
Git then shows entries as lines of JSON, cannot merge them, and checks nothing.

With --server, the hook pre-receive is removed from the bare repository DIR.`,
		Example: `  tape git uninstall
  tape git uninstall --server /srv/git/sessions.git`,
	}
	server := cmd.Flags().String("server", "", "remove the hook that checks pushes from the bare repository `DIR`")
	cmd.RunE = a.onServerOr(server, githooks.UninstallServer, "pushes to %s are not checked", Uninstall)
	return cmd
}

// onServerOr runs a command on the repository that --server names, else on the workspace.
func (a *App) onServerOr(server *string, call func(context.Context, string) (githooks.Report, error), done string,
	workspace func(context.Context, *stdio.Streams, *repo.Store) error) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed("server") {
			return a.inStore(func(ctx context.Context, store *repo.Store, _ []string) error {
				return workspace(ctx, &a.Streams, store)
			})(cmd, args)
		}
		if *server == "" {
			return usagef("--server is empty")
		}
		return Server(cmd.Context(), &a.Streams, *server, call, done)
	}
}
