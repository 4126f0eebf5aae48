package agentside

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"tape/internal/sessions/agents"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/importer/record"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/spool"
	"tape/internal/show/display"
)

// The states of recording, as in JSON.
const (
	notInstalled = "not_installed"
	neverSeen    = "never_seen"
	recording    = "recording"
	off          = "off"
	notTrusted   = "not_trusted"
	programGone  = "program_gone"
	unreadable   = "unreadable"
)

// AgentStatus is the state of an agent, by one of its settings files.
type AgentStatus struct {
	agents.State
	Scope    string            // of the settings: user, project or local
	Word     string            // one of the states above
	Last     *recorder.Session // the session that was active last
	Sessions int
	Waiting  int // notes of hooks that nobody has read yet
	Problems []string
}

// StatusWords are the possible states of an Agent.
func StatusWords() []string {
	return []string{notInstalled, neverSeen, recording, off, notTrusted, programGone, unreadable}
}

// StatusOf returns the state of each agent. places are the folders of the recorder, user says where settings are, here is
// the current directory, and program the path of this program. warn gets errors in reading sessions and notes.
func StatusOf(places []string, user record.Where, here, program string, now time.Time, warn func(string)) []*AgentStatus {
	sessions, err := recorder.Sessions(places)
	if err != nil {
		warn(err.Error())
	}
	notes, err := spool.Notes(places)
	if err != nil {
		warn(err.Error())
	}
	refused := spool.Check(nil, places[0])
	list := installed(user, here, program)
	for _, st := range list {
		if st.Installed && refused != nil {
			st.problem("notes of its hooks cannot be kept in their usual place: " + refused.Error())
		}
		st.judge(sessions, notes, now)
		if dir := agents.Transcripts(st.Agent, user); dir != "" && st.Sessions > 0 {
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
				st.problem("the folder of the transcripts is gone: " + dir)
			}
		}
		st.decide()
	}
	return list
}

// installed returns an Agent for each settings file that has our hooks or cannot be read; for an agent without such a
// file, one for the user's settings.
func installed(user record.Where, here, program string) (list []*AgentStatus) {
	for _, agent := range importer.All().WithHooks() {
		project, local := user, user
		project.Project, local.Project, local.Local = here, here, true
		ofUser := &AgentStatus{State: agents.Inspect(agent, user, here, program), Scope: "user"}
		found := false
		for _, st := range []*AgentStatus{ofUser, {State: agents.Inspect(agent, project, here, program), Scope: "project"}, {State: agents.Inspect(agent, local, here, program), Scope: "local"}} {
			// In the home directory, the project's settings are the user's.
			if (st.Installed || st.Problem != "") && (st == ofUser || st.File != ofUser.File && (st.Scope != "local" || agent.Agent.LocalHooks != "")) {
				list, found = append(list, st), true
			}
		}
		if !found {
			list = append(list, ofUser)
		}
	}
	return list
}

// judge counts the agent's notes and sessions, and collects their problems.
func (st *AgentStatus) judge(sessions []*recorder.Session, notes []spool.Kept, now time.Time) {
	var oldest time.Time
	for _, n := range notes {
		if n.Agent != st.Agent.Name {
			continue
		}
		if st.Waiting++; oldest.IsZero() {
			oldest = n.At
		}
		if n.Trouble != "" && !slices.ContainsFunc(st.Problems, func(p string) bool { return strings.HasSuffix(p, n.Trouble) }) {
			st.problem("notes of hooks are not in their usual place: " + n.Trouble)
		}
	}
	for _, s := range sessions {
		if s.Agent == st.Agent.Name {
			st.Sessions++
			st.session(s)
		}
	}
	if st.Waiting > 0 && now.Sub(oldest) > 10*time.Second {
		st.problem("notes of hooks have been waiting since " + display.Briefly(now, oldest) + "; tape record sync reads them now")
	}
}

func (st *AgentStatus) problem(text string) { st.Problems = append(st.Problems, text) }

// session collects the problems of a session. It is called for the last active session first.
func (st *AgentStatus) session(s *recorder.Session) {
	if st.Last == nil {
		st.Last = s
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

// decide sets the state: of several possible ones, the one to repair first.
func (st *AgentStatus) decide() {
	switch {
	case st.Problem != "":
		st.Word = unreadable
		st.problem(st.File + ": " + st.Problem)
		return
	case !st.Installed:
		st.Word = notInstalled
		return
	case st.ProgramMissing:
		st.Word = programGone
		st.problem("the hooks call " + st.Program + ", which does not exist, and PATH has no tape; tape record install " + st.Agent.Name + " makes them call this program")
	case st.Off != "":
		st.Word = off
		st.problem("hooks are switched off: " + st.Off)
	case st.Trust != "" && st.Trust != record.Reviewed:
		st.Word = notTrusted
		st.problem(st.Agent.Title + " skips the hooks: " + string(st.Trust) + "; " + st.Agent.Agent.ReviewHint)
	case st.Last == nil && st.Waiting == 0:
		st.Word = neverSeen
	default:
		st.Word = recording
	}
	if len(st.Missing) > 0 {
		st.problem("there is no hook for " + strings.Join(st.Missing, ", ") + "; tape record install " + st.Agent.Name + " adds what is missing")
	}
	if st.OtherProgram && !st.ProgramMissing {
		st.problem("the hooks call another program than this one: " + st.Program)
	}
}

// Bytes is how many bytes of the last active session were read.
func (st *AgentStatus) Bytes() (n int64) {
	if st.Last != nil {
		for _, f := range st.Last.Files {
			n += f.Bytes
		}
	}
	return n
}
