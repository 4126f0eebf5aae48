package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tape/internal/git/gitconfig"
	"tape/internal/git/gitrun"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/repo"
)

type trustOptions struct {
	app         *App
	yes, remove bool
}

func newTrustCmd(a *App) *cobra.Command {
	o := &trustOptions{app: a}
	cmd := &cobra.Command{
		Use:   "trust [DIR] [--yes] [--remove]",
		Short: "Let a workspace's own git settings and hooks count",
		Long: `Declare that the workspace in DIR, or the current one, is yours. The git settings and hooks in
its .git folder then count when tape runs git: programs for ssh, passwords and signatures,
hooks, rewritten addresses.

A workspace that your tape made is yours. One that came in another way, by git clone, from an
archive or a shared disk, may have somebody else's settings. Until you trust it, tape ignores
those that run or send something. If it cannot ignore a setting, it does not run git.

It shows what would count and asks on a terminal, and needs --yes elsewhere. --remove undoes
it. A workspace that you copy, or restore from a backup, is a new one, and you have to trust it
again; one that you move is still yours.`,
		Example: `  tape workspaces trust .
  tape workspaces trust --yes ~/restored/shop
  tape workspaces trust --remove .`,
		Args: takes(0, "DIR"),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), first(args)) },
	}
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&o.remove, "remove", false, "do not trust it any more")
	return cmd
}

func (o *trustOptions) run(ctx context.Context, name string) error {
	dir, err := o.workspaceToTrust(name)
	if err != nil {
		return err
	}
	gitDir := filepath.Join(dir, layout.GitDirName)
	if real, err := filepath.EvalSymlinks(gitDir); err == nil && !o.remove && real != gitDir {
		o.app.Warn("its git folder is " + display.Line(real))
	}
	found := []object{}
	if !o.remove {
		if found, err = wouldCount(ctx, gitDir); err != nil {
			return err
		}
		if err := o.agree(ctx, dir, found); err != nil {
			return err
		}
	}
	if err := workspace.Trust(dir, !o.remove); err != nil {
		return err
	}
	text := "the git settings and hooks of %s count from now on"
	if o.remove {
		text = "the git settings and hooks of %s do not count any more"
	}
	return o.app.Result(object{{"workspace", dir}, {"trusted", !o.remove}, {"counts", found}}, text, display.Line(dir))
}

// workspaceToTrust returns the workspace in a folder, or the one that is used there.
func (o *trustOptions) workspaceToTrust(name string) (string, error) {
	if name == "" {
		if dir := o.app.workspaceDir(); dir != "" {
			return filepath.Abs(dir)
		}
		return repo.Find(".")
	}
	if dir, err := filepath.Abs(name); err != nil || workspace.IsWorkspace(dir) {
		return dir, err
	}
	if dir, err := repo.Find(name); err == nil {
		return dir, nil
	}
	return findWorkspace(name)
}

// wouldCount lists what would take effect if the repository were trusted: settings, hooks, state and
// links. It runs no git that obeys the repository.
func wouldCount(ctx context.Context, gitDir string) (found []object, err error) {
	found = []object{}
	add := func(what, name, value string) {
		found = append(found, object{{"what", what}, {"name", name}, {"value", value}})
	}
	local, err := gitrun.LocalConfig(ctx, gitDir)
	if err != nil {
		return nil, layout.Classify(err)
	}
	for _, e := range local {
		if gitconfig.Judge(e) != gitconfig.Harmless {
			add("setting", e.Name(), e.Value)
		}
	}
	entries, _ := os.ReadDir(filepath.Join(gitDir, "hooks"))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".sample") && !e.IsDir() {
			add("hook", "hooks/"+e.Name(), "")
		}
	}
	for _, name := range []string{"messages", "host"} {
		if entries, _ := os.ReadDir(filepath.Join(gitDir, layout.PrivateDir, name)); len(entries) > 0 {
			add("state", layout.PrivateDir+"/"+name, "unanswered messages, or grants")
		}
	}
	links, err := os.ReadDir(gitDir)
	for _, e := range links {
		if e.Type()&os.ModeSymlink != 0 {
			to, _ := os.Readlink(filepath.Join(gitDir, e.Name()))
			add("link", e.Name(), to)
		}
	}
	if to, err := os.ReadFile(filepath.Join(gitDir, "commondir")); err == nil {
		add("link", "commondir", strings.TrimSpace(string(to)))
	}
	return found, layout.Classify(err)
}

// agree shows what would take effect, and asks.
func (o *trustOptions) agree(ctx context.Context, dir string, found []object) error {
	if o.yes {
		return nil
	}
	if !o.app.CanAsk() {
		return layout.Invalid("look at "+filepath.Join(dir, layout.GitDirName)+"; tape workspaces trust --yes DIR does it without asking",
			"trust asks before the git settings of a workspace count, and there is no terminal to ask on")
	}
	for _, f := range found {
		line := display.Line(f[1][1].(string))
		if value := f[2][1].(string); value != "" {
			line += " = " + display.Line(value)
		}
		o.app.Tell("  %s", line)
	}
	if len(found) == 0 {
		o.app.Tell("  Nothing in it runs or sends anything.")
	}
	return o.app.Confirm(ctx, "Let this count, and what is set there later, whenever tape runs git in %s?", display.Line(dir))
}
