package agentside

import (
	"strings"
	"testing"
	"time"

	"tape/internal/sessions/agents"
	"tape/internal/sessions/importer"
	"tape/internal/sessions/recorder"
	"tape/internal/sessions/spool"
)

// If several things are wrong, the state is the one to repair first, and all are named.
func TestWords(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	said := spool.Kept{Note: spool.Note{Agent: "codex", At: now.Add(-time.Hour)}}
	read := &recorder.Session{Agent: "codex", ID: "s1", Files: []recorder.File{{Bytes: 5}, {Bytes: 6, Gone: true, Path: "/f"}}}
	codex := importer.All().WithHooks().Find("codex")
	for _, c := range []struct {
		state    agents.State
		sessions []*recorder.Session
		notes    []spool.Kept
		word     string
		problems string
	}{
		{agents.State{}, nil, nil, notInstalled, ""},
		{agents.State{Installed: true}, nil, nil, neverSeen, ""},
		{agents.State{Installed: true}, []*recorder.Session{{Agent: "gemini"}}, nil, neverSeen, ""},
		{agents.State{Installed: true}, []*recorder.Session{read}, nil, recording, "the transcript of session s1 is not there: /f"},
		{agents.State{Installed: true}, nil, []spool.Kept{said}, recording, "notes of hooks have been waiting since 1h ago; tape record sync reads them now"},
		{agents.State{Installed: true, ProgramMissing: true, Off: "x", Program: "/p"}, nil, nil, programGone, "the hooks call /p, which does not exist"},
		{agents.State{Installed: true, Off: "a setting"}, nil, nil, off, "hooks are switched off: a setting"},
		{agents.State{Installed: true, Trust: "new"}, nil, nil, notTrusted, "Codex skips the hooks: new"},
		{agents.State{Problem: "no JSON", File: "/s"}, nil, nil, unreadable, "/s: no JSON"},
	} {
		c.state.Agent = codex
		st := &AgentStatus{State: c.state}
		st.judge(c.sessions, c.notes, now)
		st.decide()
		if got := strings.Join(st.Problems, "\n"); st.Word != c.word || !strings.HasPrefix(got, c.problems) || c.problems == "" && got != "" {
			t.Errorf("%+v: state %s, problems %q", c, st.Word, got)
		}
	}
	st := &AgentStatus{State: agents.State{Agent: codex}}
	if st.judge([]*recorder.Session{read}, nil, now); st.Bytes() != 11 {
		t.Errorf("%d bytes were read, want 11", st.Bytes())
	}
}
