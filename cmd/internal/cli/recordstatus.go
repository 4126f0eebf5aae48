package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tape/cmd/internal/status"
	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
)

func newRecordStatusCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is recorded, and what is wrong",
		Long: `Show for each agent whether its sessions are recorded: which settings have the hooks, what
prevents the agent from calling them, when it last called one, how far its transcripts were
read, and what failed. Status reflects hook calls that were received. With --json, state is one of
` + strings.Join(status.Words(), ", ") + `.`,
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
	here, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	for _, st := range status.Of(places, user, here, program, a.Now(), a.Warn) {
		if !a.JSON {
			a.showAgent(st)
		} else if err := a.Emit(describeAgent(st)); err != nil {
			return err
		}
	}
	return nil
}

func describeAgent(st *status.Agent) object {
	out := object{{"agent", st.Agent.Name}, {"scope", st.Scope}, {"state", st.Word}, {"file", st.File}, {"installed", st.Installed},
		{"program", orNull(st.Program)}, {"off", orNull(st.Off)}, {"trust", orNull(string(st.Trust))}, {"mcp", st.MCP},
		{"sessions", st.Sessions}, {"waiting", st.Waiting}}
	var last, event, session, version any
	if s := st.Last; s != nil {
		last, event, session, version = s.Last, s.Event, s.ID, orNull(s.Program)
	}
	return append(out, object{{"last_seen", last}, {"last_event", event}, {"last_session", session}, {"last_bytes", st.Bytes()}, {"version", version}, {"problems", append([]string{}, st.Problems...)}}...)
}

// showAgent describes the state of an agent in a few lines.
func (a *App) showAgent(st *status.Agent) {
	words := map[string]string{status.NotInstalled: "not installed", status.NeverSeen: "installed, never seen", status.Off: "switched off",
		status.NotTrusted: "not reviewed", status.ProgramGone: "program gone", status.Unreadable: "settings cannot be read"}
	state := cmp.Or(words[st.Word], st.Word)
	colour := stdio.Yellow
	switch {
	case st.Word == status.Recording && len(st.Problems) == 0:
		colour = stdio.Green
	case st.Word == status.NotInstalled:
		colour = stdio.Dim
	}
	text := display.Pad(st.Agent.Agent.Title, 13) + a.Style(colour, state)
	if s := st.Last; s != nil {
		text += ", last " + display.Line(s.Event) + " " + a.briefly(s.Last) + ", " + display.Bytes(st.Bytes()) + " read of that session"
	}
	a.Line(text)
	indent := strings.Repeat(" ", 13)
	if st.Installed {
		extra := ""
		if st.MCP {
			extra = ", with the MCP server"
		}
		a.Line(indent + "hooks in " + display.Line(st.File) + extra)
	}
	if st.Waiting > 0 {
		a.Line(indent + display.Count(st.Waiting, "note waits", "notes wait"))
	}
	const most = 5
	for _, p := range st.Problems[:min(most, len(st.Problems))] {
		a.Line(indent + "! " + display.Line(p))
	}
	if more := len(st.Problems) - most; more > 0 {
		a.Line(indent + display.Count(more, "problem", "problems") + " more: tape record status --json")
	}
}
