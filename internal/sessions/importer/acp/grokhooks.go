package acp

import (
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const grokTimeout = 5 // s: Grok waits for some of its hooks, and a disk may hang

// grokEvents are those that begin and end something. Notification comes when Grok has been idle for a while, and all of the
// turn is in the transcript.
var grokEvents = []record.HookEvent{
	{Name: "SessionStart", Is: record.Start, Timeout: grokTimeout}, {Name: "UserPromptSubmit", Timeout: grokTimeout},
	{Name: "Stop", Is: record.TurnEnd, Timeout: grokTimeout}, {Name: "StopFailure", Is: record.TurnEnd, Timeout: grokTimeout},
	{Name: "StopCancelled", Is: record.TurnEnd, Timeout: grokTimeout}, {Name: "SubagentStop", Is: record.TurnEnd, Timeout: grokTimeout},
	{Name: "PreCompact", Timeout: grokTimeout}, {Name: "PostCompact", Timeout: grokTimeout}, {Name: "Notification", Timeout: grokTimeout},
	{Name: "SessionEnd", Is: record.End}, // Grok gives it less time
}

var grokSettings = record.Agent{
	Folder: grokFolder, Hooks: "hooks/tape.json", TranslateInput: grokTold,
	MCPFile: func(w record.Where) string { return filepath.Join(grokFolder(w), "config.toml") },
	MCP: func(program string) (string, any) {
		_, server := record.MCPServer(program)
		return "mcp_servers", server
	},
}

func grokFolder(w record.Where) string { return w.Folder(".grok", "GROK_HOME") }

// grokTold translates the input of a hook. A subagent has a session of its own. The last event of a session is a Stop for
// its shutdown.
func grokTold(payload []byte, user record.Where) []byte {
	id, event := jsonl.GetString(payload, "sessionId"), jsonl.GetString(payload, "hookEventName")
	if !record.IsUUID(id) {
		return nil
	}
	name := ""
	for word := range strings.SplitSeq(event, "_") {
		if word != "" {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	if event == "stop" && jsonl.GetString(payload, "reason") == "shutdown" {
		name = "SessionEnd"
	}
	out := record.NewObject(512).Str("session_id", id).Str("hook_event_name", name).Raw("cwd", jsonl.Get(payload, "cwd"))
	path := jsonl.GetString(payload, "transcriptPath")
	if path == "" { // it is not there yet, or this version does not name it
		if found := disk.Glob(grokFolder(user), "sessions/*/"+id+"/"+updates); len(found) == 1 {
			path = found[0]
		}
	}
	if path != "" {
		out.Str("transcript_path", path)
	}
	return out.Raw("last_assistant_message", jsonl.Get(payload, "lastAssistantMessage")).Done()
}
