package copilot

import (
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

type handler struct {
	Type string `json:"type"`
	Bash string `json:"bash"`
}

// hooks returns the content of the file with our hooks.
func hooks(command func(record.HookEvent) string) []byte {
	all := map[string][]handler{}
	for _, event := range moments {
		all[event.Name] = []handler{{"command", command(event)}}
	}
	return append(record.JSON(map[string]any{"version": 1, "hooks": all}), '\n')
}

func server(program string) (member string, value any) {
	return "mcpServers", struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
		Tools   []string `json:"tools"`
	}{"local", program, []string{"mcp"}, []string{"*"}}
}

// moments are the events that get hooks. preToolUse gets none: Copilot refuses the call if such a hook fails.
var moments = []record.HookEvent{
	{Name: "sessionStart", Is: record.Start}, {Name: "userPromptSubmitted"}, {Name: "agentStop", Is: record.TurnEnd},
	{Name: "preCompact"}, {Name: "sessionEnd", Is: record.End},
}

// events maps a member of a hook's input to its event: the input does not name the event, but only that event has the
// member.
var events = []struct{ member, name string }{
	{"stopReason", "agentStop"}, {"reason", "sessionEnd"}, {"source", "sessionStart"}, {"trigger", "preCompact"}, {"prompt", "userPromptSubmitted"},
}

// told translates the input of a hook. Subagents' events are ignored: their lines are in the file of the session, and
// the session has events of its own.
func told(payload []byte, user record.Where) []byte {
	id := jsonl.GetString(payload, "sessionId")
	if !record.IsUUID(id) || jsonl.Get(payload, "agentId") != nil {
		return nil
	}
	for _, e := range events {
		if jsonl.Get(payload, e.member) != nil {
			return record.NewObject(256).Str("session_id", id).Str("hook_event_name", e.name).Raw("cwd", jsonl.Get(payload, "cwd")).
				Str("transcript_path", transcript(user, id)).Done()
		}
	}
	return nil
}
