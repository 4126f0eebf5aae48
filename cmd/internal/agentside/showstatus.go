package agentside

import (
	"cmp"
	"strings"

	"tape/cmd/internal/stdio"
	"tape/internal/show/display"
)

// Show describes the state of an agent, for people in a few lines.
func (st *AgentStatus) Show(s *stdio.Streams) error {
	if s.JSON {
		return s.Emit(st.object())
	}
	words := map[string]string{notInstalled: "not installed", neverSeen: "installed, never seen", off: "switched off",
		notTrusted: "not reviewed", programGone: "program gone", unreadable: "settings cannot be read"}
	state := cmp.Or(words[st.Word], st.Word)
	colour := stdio.Yellow
	switch {
	case st.Word == recording && len(st.Problems) == 0:
		colour = stdio.Green
	case st.Word == notInstalled:
		colour = stdio.Dim
	}
	text := display.Pad(st.Agent.Title, 13) + s.Style(colour, state)
	if last := st.Last; last != nil {
		text += ", last " + display.Line(last.Event) + " " + display.Briefly(s.Now(), last.Last) + ", " + display.Bytes(st.Bytes()) + " read of that session"
	}
	s.Line(text)
	indent := strings.Repeat(" ", 13)
	if st.Installed {
		extra := ""
		if st.MCP {
			extra = ", with the MCP server"
		}
		s.Line(indent + "hooks in " + display.Line(st.File) + extra)
	}
	if st.Waiting > 0 {
		s.Line(indent + display.Count(st.Waiting, "note waits", "notes wait"))
	}
	const most = 5
	for _, p := range st.Problems[:min(most, len(st.Problems))] {
		s.Line(indent + "! " + display.Line(p))
	}
	if more := len(st.Problems) - most; more > 0 {
		s.Line(indent + display.Count(more, "problem", "problems") + " more: tape record status --json")
	}
	return nil
}

func (st *AgentStatus) object() stdio.Object {
	out := stdio.Object{{"agent", st.Agent.Name}, {"scope", st.Scope}, {"state", st.Word}, {"file", st.File}, {"installed", st.Installed},
		{"program", stdio.OrNull(st.Program)}, {"off", stdio.OrNull(st.Off)}, {"trust", stdio.OrNull(string(st.Trust))}, {"mcp", st.MCP},
		{"sessions", st.Sessions}, {"waiting", st.Waiting}}
	var last, event, session, version any
	if s := st.Last; s != nil {
		last, event, session, version = s.Last, s.Event, s.ID, stdio.OrNull(s.Program)
	}
	return append(out, stdio.Object{{"last_seen", last}, {"last_event", event}, {"last_session", session}, {"last_bytes", st.Bytes()}, {"version", version}, {"problems", append([]string{}, st.Problems...)}}...)
}
