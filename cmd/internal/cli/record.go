package cli

import (
	"cmp"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tape/cmd/internal/stdio"
	"tape/internal/sessions/agents"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/spool"
	"tape/internal/show/display"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
)

func newRecordCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "record COMMAND",
		Short: "Record the sessions of agents while they run",
		Long: `Record the sessions of coding agents while they run: ` + strings.Join(importer.All().WithHooks().Names(), ", ") + `.

Run tape record install once for each agent. From then on, the agent's hooks call tape hook,
which stores what they report in $TAPE_HOME/.recording and returns at once. A process in the
background reads the session's transcript into the workspace of the agent's project. Recording
a session and importing it later give the same tape.`,
		Example: `  tape record install claude-code
  tape record status`,
	}
	addSubcommands(cmd, newRecordInstallCmd(a), newRecordStatusCmd(a), newRecordUninstallCmd(a), newRecordSyncCmd(a), newRecordPluginCmd(a))
	return cmd
}

func newRecordSyncCmd(a *App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sync [--no-wait]",
		Short: "Import new transcript entries now",
		Long: `Import the new entries of recorded sessions' transcripts now, and wait until that is done.

With --no-wait, read only sessions that hooks have newly reported, and leave them to another
tape record sync if one is running. Hooks run this in the background.`,
		Example: `  tape record sync`,
	}
	noWait := cmd.Flags().Bool("no-wait", false, "read only what hooks have reported, and do not wait for another sync")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		places, err := a.places()
		if err != nil {
			return err
		}
		a.lockWait = time.Hour // a long import of the same session comes first
		return a.newRecorder(places).Run(cmd.Context(), !*noWait)
	}
	return cmd
}

func newRecordPluginCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "plugin DIR",
		Short: "Write a plugin for Claude Code",
		Long: `Write a Claude Code plugin into the folder DIR, which you can give to others: the hooks that
tape record install adds, the MCP server tape mcp, and a skill that says when to search earlier
sessions. Its users need tape in PATH. It replaces tape record install; with both, each event
is reported twice, which does no harm.`,
		Example: `  tape record plugin ./tape-plugin
  claude --plugin-dir ./tape-plugin`,
		Args: takes(1, "DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := agents.WritePlugin(nil, args[0], cmp.Or(a.Version, "0.0.0")); err != nil {
				return err
			}
			return a.Result(object{{"plugin", args[0]}}, "written: %s; try it: claude --plugin-dir %s", display.Line(args[0]), shellWord(args[0]))
		},
	}
}

// places returns the folders of the recorder's own files.
func (a *App) places() ([]string, error) {
	home, err := workspace.Home()
	if err != nil {
		return nil, err
	}
	return spool.Places(home, a.Getenv), nil
}

// userSettings returns where agents keep the settings for all projects.
func (a *App) userSettings() (record.Where, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return record.Where{}, layout.Invalid("set HOME", "there is no home directory: %v", err)
	}
	return record.Where{Home: home, Getenv: a.Getenv}, nil
}

// tellRecording reports problems of background recording on one line.
func (a *App) tellRecording(cmd *cobra.Command) {
	if !stdio.IsTerminal(a.Stderr) || a.Quiet || a.JSON || cmd.Name() == "hook" || cmd.HasParent() && cmd.Parent().Name() == "record" {
		return
	}
	places, err := a.places()
	if err != nil {
		return
	}
	if line := recorder.TakeFailure(places); line != "" {
		a.Message("warning", "recording of "+line+"; tape record status says more")
	}
}
