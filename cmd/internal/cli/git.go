package cli

import (
	"context"
	"os/exec"

	"github.com/spf13/cobra"
)

func newGitCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "git COMMAND",
		Short: "Make git show entries readably",
		Long: `Set up the git repository of the workspace, so that git diff, git log -p and git show
render entries readably instead of as lines of JSON.`,
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
	return &cobra.Command{
		Use:   "install",
		Short: "Let git diff, git log -p and git show render entries",
		Long: `Let git diff, git log -p and git show render entries readably, in the workspace and in all
of its worktrees. tape init does this for a new workspace; a plain git clone, and a
workspace that was made by an older version, need it once.

It adds diff.tape.* to .git/config and a few lines to .git/info/attributes. Nothing that
is committed changes, and what you have set there yourself is kept.

Raw lines are a flag away: git diff --no-textconv. A patch that is to be applied needs it,
and so does git log -S where it has to find what is not shown, such as the end of a long
result. git show COMMIT:FILE prints raw lines unless it is given --textconv. Where git
does not find the program tape, it shows raw lines.`,
		Example: `  tape git install
  tape --workspace ./clone git install
  git -C ./clone log -p
  git -C ./clone log --no-textconv -S SetReference`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.gitInstall(cmd.Context()) },
	}
}

func newGitUninstallCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "uninstall",
		Short: "Take away what tape git install has set up",
		Long: `Take away what tape git install, or tape init, has added to .git/config and to
.git/info/attributes, and nothing else. git then shows entries as lines of JSON.`,
		Example: `  tape git uninstall`,
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.gitUninstall(cmd.Context()) },
	}
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
	if a.json {
		return a.emit(struct {
			Workspace string   `json:"workspace"`
			Installed []string `json:"installed"`
			Kept      []string `json:"kept"`
		}{store.Dir(), list(done.Installed), list(done.Kept)})
	}
	for _, name := range done.Installed {
		a.note("in place: %s", name)
	}
	also := ""
	for _, name := range done.Kept {
		a.say("kept your own: %s", safeLine(name))
		also = "for the rest, "
	}
	a.say("%sgit diff, git log -p and git show render the entries of %s", also, safeLine(store.Dir()))
	if _, err := exec.LookPath("tape"); err != nil {
		a.warn("there is no program tape on your PATH; until there is, git shows raw lines")
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
