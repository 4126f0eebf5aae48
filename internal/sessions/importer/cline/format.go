package cline

import (
	"bytes"
	"cmp"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

// The ends of the names of files in a session's folder.
const (
	messages   = ".messages.json"
	compaction = ".compaction.json"
)

// The names of subagents' files begin with subagentFile, their names on tapes with subagentPrefix.
const (
	subagentFile   = "agent_"
	subagentPrefix = "agent-"
)

// Format is the format of Cline's CLI.
var Format = record.Format{
	Name: "cline", Title: "Cline", Read: Read, Describe: Describe, HasFirst: HasFirst, FirstIn: "../*/*" + messages,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("sessionId", "origin", "updated_at", "messages") || m.Has("id", "role", "content", "ts"))
	},
	Head: func(head []byte) record.Confidence {
		head, _, found := bytes.Cut(head, []byte(`"messages"`))
		return record.Certain.If(found && record.ContainsAll(head, `"sessionId"`, `"origin"`, `"updated_at"`))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/.cline/") },
	Files: record.Files{
		Ext:            messages,
		Folders:        func(user record.Where) []string { return []string{sessions(user)} },
		Subagents:      func(path, _ string) string { return filepath.Dir(path) },
		SubagentPrefix: subagentFile,
		IsNote: func(_, name string) bool {
			return strings.HasSuffix(name, compaction) || isID(strings.TrimSuffix(name, ".json"))
		},
		Beside: func(path string) []string {
			stem := strings.TrimSuffix(path, messages)
			return []string{stem + ".json", stem + compaction}
		},
	},
	Resume: &record.Resume{
		Program: "cline", Args: []string{"--id"}, IsID: isID, Entry: "session/start", Member: "sessionId",
		IsFile: func(stem, id string) bool { return stem+".json" == id+messages },
	},
	// SessionShutdown comes only when somebody interrupts Cline.
	Events: []record.HookEvent{
		{Name: "TaskStart", Is: record.Start}, {Name: "TaskComplete", Is: record.TurnEnd}, {Name: "TaskError", Is: record.TurnEnd},
		{Name: "SessionShutdown", Is: record.End},
	},
	Agent: &record.Agent{
		Folder: folder, Hooks: "hooks", Scripts: true, TranslateInput: told, MCP: record.MCPServer,
		MCPFile: func(w record.Where) string {
			return cmp.Or(w.Getenv("CLINE_MCP_SETTINGS_PATH"), filepath.Join(data(w), "settings", "cline_mcp_settings.json"))
		},
	},
}

func folder(w record.Where) string { return w.Folder(".cline", "CLINE_DIR") }

// data returns the folder with Cline's data, which is always the user's.
func data(w record.Where) string {
	return cmp.Or(w.Getenv("CLINE_DATA_DIR"), filepath.Join(folder(w.User()), "data"))
}

func sessions(w record.Where) string {
	return cmp.Or(w.Getenv("CLINE_SESSION_DATA_DIR"), filepath.Join(data(w), "sessions"))
}

// isID reports whether a text is the id of a session: milliseconds since 1970, "_", and about five characters.
func isID(id string) bool {
	at, rest, ok := strings.Cut(id, "_")
	return ok && len(at) == 13 && strings.Trim(at, "0123456789") == "" &&
		rest != "" && len(rest) < 16 && strings.Trim(rest, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// events maps the names of events in a hook's input to those of the hooks.
var events = map[string]string{
	"agent_start": "TaskStart", "agent_end": "TaskComplete", "agent_error": "TaskError", "session_shutdown": "SessionShutdown",
}

// told translates the input of a hook. A subagent's event is reported for its session, but neither begins nor ends a
// turn there.
func told(payload []byte, user record.Where) []byte {
	id := jsonl.GetString(payload, "sessionContext", "rootSessionId")
	if !isID(id) {
		return nil
	}
	event := events[jsonl.GetString(payload, "hookName")]
	answer := jsonl.Get(payload, "turn", "outputText")
	if parent := jsonl.Get(payload, "parent_agent_id"); parent != nil && !record.Blank(parent) {
		event, answer = "Subagent"+event, nil
	}
	return record.NewObject(512).Str("session_id", id).Str("hook_event_name", event).
		Raw("cwd", jsonl.Get(payload, "workspaceInfo", "rootPath")).
		Str("transcript_path", filepath.Join(sessions(user), id, id+messages)).
		Raw("last_assistant_message", answer).Done()
}
