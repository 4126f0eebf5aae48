package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/agentside"
	"tape/internal/store/workspace"
)

func newRecordStatusCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is recorded, and what is wrong",
		Long: `Show for each agent whether its sessions are recorded: which settings have the hooks, what
prevents the agent from calling them, when it last called one, how far its transcripts were
read, and what failed. Status reflects hook calls that were received. With --json, state is one of
` + strings.Join(agentside.StatusWords(), ", ") + `.`,
		Example: `  tape record status
  tape record status --json`,
		RunE: func(*cobra.Command, []string) error { return a.recordStatus() },
	}
}

func (a *App) recordStatus() error {
	places, err := a.places()
	if err != nil {
		return err
	}
	user, err := a.userSettings()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	here, err := workspace.Absolute(".")
	if err != nil {
		return err
	}
	for _, st := range agentside.StatusOf(places, user, here, program, a.Now(), a.Warn) {
		if err := st.Show(&a.Streams); err != nil {
			return err
		}
	}
	return nil
}
