package cli

import (
	"context"
	"os/exec"

	"github.com/spf13/cobra"

	"tape/hooks"
)

func newGitCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "git COMMAND",
		Short: "Make git at home with tapes",
		Long: `Set up the git repository of the workspace, so that git diff, git log -p and git show
render entries readably instead of as lines of JSON, git merge merges tapes, and what is
not append-only is refused by git commit and git push.`,
		Example: `  tape git install
  tape git uninstall`,
		Args: takes(1, "COMMAND"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return usagef("tape git has no command %s: it is install or uninstall", quoted(args[0]))
		},
	}
	cmd.AddCommand(newGitInstallCmd(a), newGitUninstallCmd(a))
	for _, c := range cmd.Commands() {
		c.DisableFlagsInUseLine = true
	}
	return cmd
}

func newGitInstallCmd(a *App) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:   "install [--server DIR]",
		Short: "Set up git for tapes: diffs, merges and hooks",
		Long: `Set git up for tapes, in the workspace and in all of its worktrees. tape init does this
for a new workspace; a plain git clone, and a workspace that was made by an older version,
need it once. Nothing that is committed changes.

Diffs and merges: diff.tape.* and merge.* in .git/config, and a few lines in
.git/info/attributes. What you have set there yourself is kept. Raw lines are a flag away:
git diff --no-textconv. A patch that is to be applied needs it, and so does git log -S
where it has to find what is not shown, such as the end of a long result. git show
COMMIT:FILE prints raw lines unless it is given --textconv. Where git does not find the
program tape, it shows raw lines, and reports a conflict instead of merging.

Hooks: pre-commit and pre-push refuse what is not append-only; post-merge, post-commit,
post-checkout and post-rewrite bring the index up to date in the background. A hook of
your own gets the name NAME.own, is called first, and may refuse as before. Where
core.hooksPath names a folder that is not the workspace's, nothing is written to it, and
you are told what to add to your hooks. Without the program tape, or when it fails, git
goes on.

With --server, the hook pre-receive goes into the bare repository DIR, and nothing else is
done: pushes to tapes and forks that are forced or not append-only are refused there.`,
		Example: `  tape git install
  tape --workspace ./clone git install
  git -C ./clone log -p
  git -C ./clone log --no-textconv -S SetReference
  tape git install --server /srv/git/sessions.git`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("server") {
				return a.gitServer(cmd.Context(), server, hooks.InstallServer, "pushes to the tapes in %s have to be append-only")
			}
			return a.gitInstall(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "put the hook that checks pushes into the bare repository `DIR`")
	return cmd
}

func newGitUninstallCmd(a *App) *cobra.Command {
	var server string
	cmd := &cobra.Command{
		Use:   "uninstall [--server DIR]",
		Short: "Take away what tape git install has set up",
		Long: `Take away what tape git install, or tape init, has added to .git/config, to
.git/info/attributes and to the hooks, and nothing else. Hooks of your own get their names
back. Git then shows entries as lines of JSON, does not know how to merge them, and checks
nothing.

With --server, the hook pre-receive is taken out of the bare repository DIR.`,
		Example: `  tape git uninstall
  tape git uninstall --server /srv/git/sessions.git`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("server") {
				return a.gitServer(cmd.Context(), server, hooks.UninstallServer, "pushes to %s are not checked")
			}
			return a.gitUninstall(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&server, "server", "", "take the hook that checks pushes out of the bare repository `DIR`")
	return cmd
}

// gitServer sets up, or cleans up, a repository that is pushed to.
func (a *App) gitServer(ctx context.Context, dir string, call func(context.Context, string) (hooks.Report, error), done string) error {
	if dir == "" {
		return usagef("--server is empty")
	}
	report, err := call(ctx, dir)
	if err != nil {
		return err
	}
	for _, line := range outsideLines(report) {
		a.tell("%s", safeLine(line))
	}
	result := struct {
		Repository string   `json:"repository"`
		Installed  []string `json:"installed"`
		Kept       []string `json:"kept"`
		Changed    []string `json:"changed"`
	}{dir, hookNames(report.Installed), hookNames(report.Own), hookNames(report.Changed)}
	return a.result(result, done, safeLine(dir))
}

func (a *App) gitInstall(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	done, err := store.InstallGit(ctx)
	if err != nil {
		return err
	}
	report, err := hooks.Install(ctx, store)
	if err != nil {
		return err
	}
	drivers := len(done.Kept)
	done.Installed = append(done.Installed, hookNames(report.Installed)...)
	done.Kept = append(done.Kept, hookNames(report.Own)...)
	if report.Outside {
		done.Kept = append(done.Kept, "core.hooksPath")
	}
	if a.json {
		return a.emit(struct {
			Workspace string   `json:"workspace"`
			Installed []string `json:"installed"`
			Kept      []string `json:"kept"`
		}{store.Dir(), list(done.Installed), list(done.Kept)})
	}
	for _, line := range outsideLines(report) {
		a.tell("%s", safeLine(line))
	}
	for _, name := range done.Installed {
		a.note("in place: %s", name)
	}
	also := ""
	if drivers > 0 {
		also = "for the rest, "
	}
	for _, name := range done.Kept {
		a.say("kept your own: %s", safeLine(name))
	}
	a.say("%sgit diff, git log -p and git show render the entries of %s; git merge merges them, and its hooks watch over them", also, safeLine(store.Dir()))
	if _, err := exec.LookPath("tape"); err != nil {
		a.warn("there is no program tape on your PATH; until there is, git shows raw lines and checks nothing")
	}
	return nil
}

func (a *App) gitUninstall(ctx context.Context) error {
	store, err := a.openStore(ctx)
	if err != nil {
		return err
	}
	removed, err := store.UninstallGit(ctx)
	if err != nil {
		return err
	}
	report, err := hooks.Uninstall(ctx, store)
	if err != nil {
		return err
	}
	removed = append(removed, hookNames(report.Changed)...)
	result := struct {
		Workspace string   `json:"workspace"`
		Removed   []string `json:"removed"`
	}{store.Dir(), list(removed)}
	if len(removed) == 0 {
		return a.result(result, "nothing of tape git install is in %s", safeLine(store.Dir()))
	}
	return a.result(result, "git shows the entries of %s as raw lines", safeLine(store.Dir()))
}

// list makes a missing list an empty one, which JSON shows as [].
func list(names []string) []string { return append([]string{}, names...) }
