package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
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
)

// The states of recording, as programs read them.
const (
	stateNotInstalled = "not_installed"
	stateNeverSeen    = "never_seen"
	stateRecording    = "recording"
	stateOff          = "off"
	stateNotTrusted   = "not_trusted"
	stateProgramGone  = "program_gone"
	stateUnreadable   = "unreadable"
)

func newRecordStatusCmd(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is recorded, and what is wrong",
		Long: `Show for each agent whether its sessions are recorded: which settings have the hooks, what
keeps the agent from calling them, when it called one last, how far its transcripts were
read, and what failed. With --json, state is one of
` + strings.Join([]string{stateNotInstalled, stateNeverSeen, stateRecording, stateOff, stateNotTrusted, stateProgramGone, stateUnreadable}, ", ") + `.`,
		Example: `  tape record status
  tape record status --json`,
		RunE: func(*cobra.Command, []string) error { return a.recordStatus() },
	}
}

// agentStatus is what is known of one agent in one of its settings.
type agentStatus struct {
	agents.State
	scope    string
	state    string
	last     *recorder.Session // the one told of last
	sessions int
	waiting  int // notes
	problems []string
}

func (a *App) recordStatus() error {
	places, err := a.places()
	if err != nil {
		return err
	}
	sessions, err := recorder.Sessions(places)
	if err != nil {
		a.Warn(err.Error())
	}
	notes, err := spool.Notes(places)
	if err != nil {
		a.Warn(err.Error())
	}
	list, err := a.agentStates()
	if err != nil {
		return err
	}
	refused := spool.Check(nil, places[0])
	for _, st := range list {
		if st.Installed && refused != nil {
			st.problem("what its hooks say cannot be kept in its usual place: " + refused.Error())
		}
		a.judge(st, sessions, notes)
		if !a.JSON {
			a.showAgent(st)
		} else if err := a.Emit(describeAgent(st)); err != nil {
			return err
		}
	}
	return nil
}

// agentStates looks at all settings that have hooks of ours, and at an agent's own where none has.
func (a *App) agentStates() (list []*agentStatus, err error) {
	user, err := a.userSettings()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	here, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	for _, agent := range importer.All().WithHooks() {
		project, local := user, user
		project.Project, local.Project, local.Local = here, here, true
		none := &agentStatus{State: agents.Inspect(agent, user, here, program), scope: "user"}
		found := false
		for _, st := range []*agentStatus{none, {State: agents.Inspect(agent, project, here, program), scope: "project"}, {State: agents.Inspect(agent, local, here, program), scope: "local"}} {
			// In the home directory, the project's settings are the user's.
			if (st.Installed || st.Problem != "") && (st == none || st.File != none.File && (st.scope != "local" || agent.Agent.LocalHooks != "")) {
				list, found = append(list, st), true
			}
		}
		if !found {
			list = append(list, none)
		}
	}
	return list, nil
}

// judge finds out from settings and from what was seen how recording goes.
func (a *App) judge(st *agentStatus, sessions []*recorder.Session, notes []spool.Kept) {
	var oldest time.Time
	for _, n := range notes {
		if n.Agent != st.Agent.Name {
			continue
		}
		if st.waiting++; oldest.IsZero() {
			oldest = n.At
		}
		if n.Trouble != "" && !endsWith(st.problems, n.Trouble) {
			st.problem("notes of hooks are not in their usual place: " + n.Trouble)
		}
	}
	for _, s := range sessions {
		if s.Agent == st.Agent.Name {
			st.sessions++
			st.session(s)
		}
	}
	if st.waiting > 0 && a.Now().Sub(oldest) > 10*time.Second {
		st.problem("notes of hooks are waiting since " + a.briefly(oldest) + "; tape record sync reads them now")
	}
	user, _ := a.userSettings()
	if dir := agents.Transcripts(st.Agent, user); dir != "" && st.sessions > 0 {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			st.problem("the folder of the transcripts is gone: " + dir)
		}
	}
	st.decide()
}

func endsWith(list []string, end string) bool {
	for _, s := range list {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

func (st *agentStatus) problem(text string) { st.problems = append(st.problems, text) }

// session takes in what is known of a session; the one that was told of last comes first.
func (st *agentStatus) session(s *recorder.Session) {
	if st.last == nil {
		st.last = s
	}
	switch {
	case s.Trouble != "":
		st.problem("session " + s.ID + " was not read: " + s.Trouble)
	case s.Refused != "":
		st.problem("session " + s.ID + " was not pushed: " + s.Refused)
	}
	for _, f := range s.Files {
		if f.Gone {
			st.problem("the transcript of session " + s.ID + " is not there: " + f.Path)
		}
	}
}

// decide is the state, of several the one that has to be put right first.
func (st *agentStatus) decide() {
	switch {
	case st.Problem != "":
		st.state = stateUnreadable
		st.problem(st.File + ": " + st.Problem)
		return
	case !st.Installed:
		st.state = stateNotInstalled
		return
	case st.Gone:
		st.state = stateProgramGone
		st.problem("the hooks call " + st.Program + ", which is not there, nor is there a tape in PATH; tape record install " + st.Agent.Name + " names this one")
	case st.Off != "":
		st.state = stateOff
		st.problem("hooks are switched off: " + st.Off)
	case st.Trust != "" && st.Trust != record.Reviewed:
		st.state = stateNotTrusted
		st.problem(st.Agent.Agent.Title + " skips the hooks: " + string(st.Trust) + "; " + st.Agent.Agent.ReviewHint)
	case st.last == nil && st.waiting == 0:
		st.state = stateNeverSeen
	default:
		st.state = stateRecording
	}
	if len(st.Missing) > 0 {
		st.problem("there is no hook for " + strings.Join(st.Missing, ", ") + "; tape record install " + st.Agent.Name + " adds what is missing")
	}
	if st.Elsewhere && !st.Gone {
		st.problem("the hooks call another program than this one: " + st.Program)
	}
}

func describeAgent(st *agentStatus) object {
	out := object{{"agent", st.Agent.Name}, {"scope", st.scope}, {"state", st.state}, {"file", st.File}, {"installed", st.Installed},
		{"program", orNull(st.Program)}, {"off", orNull(st.Off)}, {"trust", orNull(string(st.Trust))}, {"mcp", st.MCP},
		{"sessions", st.sessions}, {"waiting", st.waiting}}
	var last, event, session, version any
	bytes := int64(0)
	if s := st.last; s != nil {
		last, event, session, version = s.Last, s.Event, s.ID, orNull(s.Program)
		for _, f := range s.Files {
			bytes += f.Bytes
		}
	}
	return append(out, object{{"last_seen", last}, {"last_event", event}, {"last_session", session}, {"last_bytes", bytes}, {"version", version}, {"problems", append([]string{}, st.problems...)}}...)
}

// showAgent tells of an agent in a few lines.
func (a *App) showAgent(st *agentStatus) {
	words := map[string]string{stateNotInstalled: "not installed", stateNeverSeen: "installed, never seen", stateOff: "switched off",
		stateNotTrusted: "not reviewed", stateProgramGone: "program gone", stateUnreadable: "settings cannot be read"}
	state := words[st.state]
	if state == "" {
		state = st.state
	}
	colour := stdio.Yellow
	switch {
	case st.state == stateRecording && len(st.problems) == 0:
		colour = stdio.Green
	case st.state == stateNotInstalled:
		colour = stdio.Dim
	}
	text := display.Pad(st.Agent.Agent.Title, 13) + a.Style(colour, state)
	if s := st.last; s != nil {
		bytes := int64(0)
		for _, f := range s.Files {
			bytes += f.Bytes
		}
		text += ", last " + display.Line(s.Event) + " " + a.briefly(s.Last) + ", " + display.Bytes(bytes) + " read of that session"
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
	if st.waiting > 0 {
		a.Line(indent + display.Count(st.waiting, "note waits", "notes wait"))
	}
	const most = 5
	for _, p := range st.problems[:min(most, len(st.problems))] {
		a.Line(indent + "! " + display.Line(p))
	}
	if more := len(st.problems) - most; more > 0 {
		a.Line(indent + display.Count(more, "problem", "problems") + " more: tape record status --json")
	}
}
