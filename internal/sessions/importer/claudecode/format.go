package claudecode

import (
	"cmp"
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
	"tape/internal/text/jsonl"
)

const (
	configDir      = "CLAUDE_CONFIG_DIR"
	subagentPrefix = "agent-"
	timeout        = 5 // seconds: Claude Code waits for its hooks, and a disk may hang
)

// Format is the format of Claude Code.
var Format = record.Format{
	Name: "claude-code", Title: "Claude Code", Read: Read, Describe: Describe, HasFirst: HasFirst, FirstIn: "*.jsonl",
	Record: like, Companion: companion,
	Head: func(head []byte) record.Confidence {
		return record.High.If(record.ContainsAll(head, `"parentUuid"`) || record.ContainsAll(head, `"isSidechain"`) || record.ContainsAll(head, `"isSnapshotUpdate"`))
	},
	Path: func(path, stem string) bool {
		return strings.Contains(path, "/.claude/") || strings.HasPrefix(stem, subagentPrefix)
	},
	Files: record.Files{
		Folders: folders,
		Holds:   holds,
		Subagents: func(path, _ string) string {
			return filepath.Join(strings.TrimSuffix(path, filepath.Ext(path)), "subagents")
		},
		SubagentPrefix: subagentPrefix, BeginsLike: beginsLike,
		IsNote: isBeside,
	},
	Writer: &writer,
	Resume: &record.Resume{
		Program: "claude", Args: []string{"--resume"}, IsID: record.IsUUID, Entry: "session/start", Member: "sessionId",
		IsFile: func(stem, id string) bool { return stem == id }, Refused: refused,
	},
	Events: []record.HookEvent{
		{Name: "SessionStart", Is: record.Start, Timeout: timeout}, {Name: "UserPromptSubmit", Timeout: timeout},
		{Name: "Stop", Is: record.TurnEnd, Timeout: timeout}, {Name: "StopFailure", Is: record.TurnEnd, Timeout: timeout},
		{Name: "SubagentStop", Timeout: timeout}, {Name: "PreCompact", Timeout: timeout}, {Name: "PostCompact", Timeout: timeout},
		{Name: "SessionEnd", Is: record.End, Timeout: timeout},
	},
	Agent: &record.Agent{
		ProjectVariable: "CLAUDE_PROJECT_DIR", Folder: folder, TranslateInput: told,
		Hooks: "settings.json", LocalHooks: "settings.local.json", RecallSources: []string{"startup", "clear"},
		MCPFile: mcpFile, MCP: mcpServer,
		ManagedLinux: "/etc/claude-code/managed-settings.json",
		ManagedMacOS: "/Library/Application Support/ClaudeCode/managed-settings.json",
		Off: func(settings map[string]any, managed bool) string {
			switch {
			case settings["disableAllHooks"] == true:
				return "disableAllHooks"
			case managed && settings["allowManagedHooksOnly"] == true:
				return "allowManagedHooksOnly"
			}
			return ""
		},
	},
}

// told leaves out what other agents say, which run the hooks in Claude Code's settings, too: Grok and VS Code name the
// event hookEventName as well, or only so, and Cursor names its version.
func told(payload []byte, _ record.Where) []byte {
	if jsonl.Get(payload, "hookEventName") != nil || jsonl.Get(payload, "cursor_version") != nil {
		return nil
	}
	return payload
}

func like(m record.Members) record.Confidence {
	switch {
	case m.Has("parentUuid"), m.Has("isSidechain"), m.Has("leafUuid"), m.Has("isSnapshotUpdate"), m.Has("uuid", "sessionId"):
		return record.Certain
	case m.Has("sessionId", "type"), m.Has("timestamp") && jsonl.Get(m["message"], "content") != nil && (m.Text("type") == "user" || m.Text("type") == "assistant"):
		return record.Low
	}
	return record.NoMatch
}

// folders returns the folders with transcripts. Since version 1.0.30 Claude Code may have them below the folder for
// settings of XDG (ryoppippi/ccusage#8).
func folders(user record.Where) []string {
	var out []string
	for _, dir := range user.Places(".claude", configDir) {
		out = append(out, filepath.Join(dir, "projects"))
	}
	if user.Getenv(configDir) == "" {
		out = append(out, filepath.Join(cmp.Or(user.Getenv("XDG_CONFIG_HOME"), filepath.Join(user.Home, ".config")), "claude", "projects"))
	}
	return append(out, desktop(user)...)
}

// holds reports whether a folder may have sessions of a directory. A long name is cut, and ends with a hash.
func holds(name, dir string) bool {
	const longest = 200
	dashed := record.Dashed(dir)
	return strings.HasPrefix(name, dashed[:min(len(dashed), longest)])
}

// isBeside reports whether a file is one that Claude Code keeps for its transcripts: the facts of a subagent, the journal of
// a workflow (letta-ai/trajectory#26), the list of a project's sessions, and results that are too long for a transcript.
func isBeside(path, name string) bool {
	return strings.HasSuffix(name, ".meta.json") || name == "sessions-index.json" || strings.Contains(path, "/tool-results/") ||
		name == "journal.jsonl" && strings.Contains(path, "/subagents/")
}

// companion recognises the journal of a workflow, the history of prompts, and the list of a project's sessions.
func companion(m record.Members) bool {
	return m.Has("agentId", "key") && (m.Text("type") == "started" || m.Text("type") == "result") ||
		m.Has("display", "timestamp", "project") || m.Has("version", "entries", "originalPath")
}

// beginsLike returns the session's transcript for an agent that begins with the session's history: those that compact it
// or answer a question about it have a word in their id, as in agent-acompact-1a2b (anthropics/claude-code#41607).
func beginsLike(path string) string {
	id, is := strings.CutPrefix(filepath.Base(path), subagentPrefix)
	if dir := filepath.Dir(path); is && strings.Contains(id, "-") && filepath.Base(dir) == "subagents" {
		return filepath.Dir(dir) + filepath.Ext(path)
	}
	return ""
}

func folder(w record.Where) string { return w.Folder(".claude", configDir) }

func mcpFile(w record.Where) string {
	if w.Project != "" {
		return filepath.Join(w.Project, ".mcp.json")
	}
	return filepath.Join(cmp.Or(w.Getenv(configDir), w.Home), ".claude.json")
}

// mcpServer returns the setting for an MCP server as Claude Code writes it.
func mcpServer(program string) (member string, server any) {
	return "mcpServers", struct {
		Type    string   `json:"type"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{"stdio", program, []string{"mcp"}}
}
