package cli

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/rows"
	"tape/internal/sessions/agents"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/spool"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

// settingsOptions say which settings of an agent are changed, and how.
type settingsOptions struct {
	app *App
	agents.Options
	user, project, local, dryRun bool
}

func (o *settingsOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.user, "user", false, "change your own settings, for all projects (the default)")
	cmd.Flags().BoolVar(&o.project, "project", false, "change the settings of the project in the current directory")
	cmd.Flags().BoolVar(&o.local, "local", false, "change the project's settings that are not committed ("+agentsWith(hasLocal)+")")
	cmd.Flags().BoolVarP(&o.dryRun, "dry-run", "n", false, "show what would be changed")
	cmd.MarkFlagsMutuallyExclusive("user", "project", "local")
	cmd.ValidArgsFunction = upTo(1, completeWords(importer.All().WithSettings().Names()...))
	cmd.Args = takes(1, "AGENT")
}

func newRecordInstallCmd(a *App) *cobra.Command {
	o := &settingsOptions{app: a}
	cmd := &cobra.Command{
		Use:   "install AGENT [--user | --project | --local] [--mcp] [--push] [--dry-run]",
		Short: "Record the sessions of an agent",
		Long: `Add hooks to the settings of an agent, ` + strings.Join(importer.All().WithHooks().Names(), ", ") + `, so that its
sessions are recorded from now on. Sessions that are already running are not recorded.

` + settingsFiles() + `
Nothing else in the file changes: comments, the order of keys and other hooks stay. The
original file is kept, and tape record uninstall restores it. A file that cannot be read, or is
read-only, is refused. If you install again, with other flags or after tape has moved, the
hooks are updated.

A hook takes a few milliseconds, prints nothing and cannot fail. If tape is removed, the agent
works as before.

With --mcp, the MCP server tape mcp is also registered, so that the agent can search tapes.
Crush has no hooks to record with: --mcp registers the server alone, and tape watch records.
With --push, a session is pushed to the workspace's remote when it ends; tape record status
shows pushes that were refused because of a secret. With --recall, each new Claude Code session
is told about the project's last handoff, in at most 1,500 characters.`,
		Example: `  tape record install claude-code
  tape record install codex --mcp
  tape record install claude-code --project --push
  tape record install gemini --dry-run`,
		RunE: func(_ *cobra.Command, args []string) error { return o.install(args[0]) },
	}
	o.flags(cmd)
	cmd.Flags().BoolVar(&o.MCP, "mcp", false, "register the MCP server tape mcp, too")
	cmd.Flags().BoolVar(&o.Push, "push", false, "push each session when it ends")
	cmd.Flags().BoolVar(&o.Recall, "recall", false, "tell new sessions about the last handoff ("+agentsWith(hasRecall)+")")
	return cmd
}

func newRecordUninstallCmd(a *App) *cobra.Command {
	o := &settingsOptions{app: a}
	cmd := &cobra.Command{
		Use:   "uninstall AGENT [--user | --project | --local] [--dry-run]",
		Short: "Stop recording an agent's sessions",
		Long: `Remove from an agent's settings what tape record install has added. If nobody else has changed
the file since, it has the same bytes as before. Recorded sessions stay.`,
		Example: `  tape record uninstall claude-code
  tape record uninstall codex --project`,
		RunE: func(_ *cobra.Command, args []string) error { return o.uninstall(args[0]) },
	}
	o.flags(cmd)
	return cmd
}

// agentsWith lists the names of the agents that have a feature.
func agentsWith(has func(*record.Agent) bool) string {
	var names []string
	for _, f := range importer.All().WithHooks() {
		if has(f.Agent) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func hasLocal(a *record.Agent) bool  { return a.LocalHooks != "" }
func hasRecall(a *record.Agent) bool { return a.RecallSources != nil }

// settingsFiles lists the files that get the hooks, a line for each agent.
func settingsFiles() string {
	var out strings.Builder
	for _, f := range importer.All().WithHooks() {
		out.WriteString("  " + display.Pad(f.Name, 13) + agents.Places(f.Agent) + "\n")
	}
	return out.String()
}

// where returns the format of an agent, and which of its settings are to be changed.
func (o *settingsOptions) where(agent string) (f *record.Format, w record.Where, err error) {
	all := importer.All().WithSettings()
	f = all.Find(agent)
	switch {
	case f == nil:
		return nil, w, layout.Invalid("the agents are: "+strings.Join(all.Names(), ", "), "there is no agent %s", quoted(agent))
	case o.local && f.Agent.LocalHooks == "":
		return nil, w, usagef("--local is for %s", agentsWith(hasLocal))
	case o.project && agents.OnlyUsers(f.Agent):
		return nil, w, usagef("%s has hooks only in your own settings: leave out --project", f.Title)
	case o.Recall && f.Agent.RecallSources == nil:
		return nil, w, usagef("--recall is for %s", agentsWith(hasRecall))
	}
	w, err = o.app.userSettings()
	if err == nil && (o.project || o.local) {
		w.Local = o.local
		w.Project, err = workspace.Absolute(".")
	}
	return f, w, err
}

func (o *settingsOptions) install(agent string) error {
	f, w, err := o.where(agent)
	if err != nil {
		return err
	}
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	list, err := agents.Install(f, w, o.Options)
	if err != nil {
		return err
	}
	if err := o.apply(agent, list, true); err != nil || o.dryRun || o.app.JSON {
		return err
	}
	if len(list) == 0 {
		o.app.PrintUnlessQuiet("nothing to do for %s: %s is as it should be", f.Title, display.Line(agents.HooksFile(f.Agent, w)))
	}
	if st := agents.Inspect(f, w, w.Project, o.Program); st.Trust != "" && st.Trust != record.Reviewed {
		o.app.PrintUnlessQuiet("%s runs no hook that you have not reviewed: %s", f.Title, f.Agent.ReviewHint)
	} else if st.Off != "" {
		o.app.Warn("hooks are switched off by " + st.Off)
	}
	return nil
}

func (o *settingsOptions) uninstall(agent string) error {
	f, w, err := o.where(agent)
	if err != nil {
		return err
	}
	receipts, err := o.app.receipts()
	if err != nil {
		return err
	}
	list, err := agents.Uninstall(f, w, receipts)
	if err != nil {
		return err
	}
	if len(list) == 0 && !o.app.JSON {
		o.app.PrintUnlessQuiet("nothing is installed in %s", display.Line(agents.HooksFile(f.Agent, w)))
	}
	return o.apply(agent, list, false)
}

// receipts returns the folder that records what was installed, for uninstall.
func (a *App) receipts() (string, error) {
	places, err := a.places()
	if err != nil {
		return "", err
	}
	return filepath.Join(places[0], "installed"), nil
}

// apply makes the changes, or with --dry-run shows them.
func (o *settingsOptions) apply(agent string, list []agents.Change, installs bool) error {
	receipts, err := o.app.receipts()
	if err != nil {
		return err
	}
	for _, c := range list {
		if o.dryRun {
			o.showChange(c)
			continue
		}
		if places, _ := o.app.places(); len(places) > 0 {
			if err := spool.Make(nil, places[0]); err != nil {
				return err
			}
		}
		if err := c.Apply(nil, receipts, installs); err != nil {
			return err
		}
		done := "changed"
		switch {
		case c.Before == nil:
			done = "written"
		case c.After == nil:
			done = "removed"
		}
		text := done + ": " + display.Line(c.File)
		if c.Backup != "" && c.After != nil {
			text += "; as it was: " + display.Line(c.Backup)
		}
		if err := o.app.Result(object{{"agent", agent}, {"file", c.File}, {"done", done}, {"backup", orNull(c.Backup)}}, "%s", text); err != nil {
			return err
		}
	}
	return nil
}

// showChange shows which lines of a file would change.
func (o *settingsOptions) showChange(c agents.Change) {
	if o.app.JSON {
		_ = o.app.Emit(object{{"file", c.File}, {"before", string(c.Before)}, {"after", string(c.After)}})
		return
	}
	o.app.Line("--- " + display.Line(c.File))
	rows.TextDiff(&o.app.Streams, string(c.Before), string(c.After))
}
