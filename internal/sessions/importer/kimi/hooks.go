package kimi

import (
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const timeout = 5 // s: Kimi Code waits for some of its hooks, and a disk may hang

// events are those that each version knows that has hooks: with one that it does not know, it ignores all hooks.
// A run without a terminal has no SessionEnd.
var events = []record.HookEvent{
	{Name: "SessionStart", Is: record.Start, Timeout: timeout}, {Name: "UserPromptSubmit", Timeout: timeout},
	{Name: "Stop", Is: record.TurnEnd, Timeout: timeout}, {Name: "StopFailure", Is: record.TurnEnd, Timeout: timeout},
	{Name: "Interrupt", Is: record.TurnEnd, Timeout: timeout}, {Name: "SubagentStop", Timeout: timeout},
	{Name: "PreCompact", Timeout: timeout}, {Name: "PostCompact", Timeout: timeout},
	{Name: "SessionEnd", Is: record.End, Timeout: timeout},
}

// settings are those of Kimi Code. Projects have none for hooks.
var settings = record.Agent{
	Folder: folder, Hooks: "config.toml", TranslateInput: told,
	MCPFile: func(w record.Where) string { return filepath.Join(folder(w), "mcp.json") },
	MCP:     record.MCPServer,
}

func folder(w record.Where) string { return w.User().Folder(".kimi-code", "KIMI_CODE_HOME") }

// told adds to the input of a hook which transcript it is about. Events of subagents name only their session.
func told(payload []byte, user record.Where) []byte {
	id := jsonl.GetString(payload, "session_id")
	if id == "" || strings.ContainsAny(id, `/\*?[`) {
		return nil
	}
	out := record.NewObject(512).Str("session_id", id).Raw("hook_event_name", jsonl.Get(payload, "hook_event_name")).Raw("cwd", jsonl.Get(payload, "cwd"))
	if found := disk.Glob(folder(user), "sessions/*/"+id+"/agents/"+mainAgent+"/"+wire); len(found) == 1 {
		out.Str("transcript_path", found[0])
	}
	return out.Done()
}
