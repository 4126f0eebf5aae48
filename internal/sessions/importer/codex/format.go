package codex

import (
	"path/filepath"
	"strings"

	"tape/internal/sessions/importer/record"
)

const (
	timeout = 5 // s: Codex waits for its hooks, and a disk may hang
	// Codex warns at each start if Interrupt gets more.
	interruptTimeout = 3
)

// Format is the format of Codex.
var Format = record.Format{
	Name: "codex", Title: "Codex", Read: Read, Describe: Describe,
	Record: like,
	// The history of prompts, and the list of sessions with their titles.
	Companion: func(m record.Members) bool {
		return m.Has("session_id", "ts", "text") || m.Has("id", "thread_name", "updated_at")
	},
	Head: func(head []byte) record.Confidence {
		return record.High.If(record.ContainsAll(head, `"session_meta"`) || record.ContainsAll(head, `"response_item"`) || record.ContainsAll(head, `"event_msg"`))
	},
	Path: func(path, stem string) bool {
		return strings.HasPrefix(stem, "rollout-") || strings.Contains(path, "/.codex/")
	},
	Files: record.Files{
		Compressed: true, // rollouts to which nothing was written for a week (codex-rs/rollout in openai/codex)
		Folders: func(user record.Where) (out []string) {
			for _, dir := range user.Places(".codex", home) {
				out = append(out, filepath.Join(dir, "sessions"), filepath.Join(dir, archived))
			}
			return out
		},
	},
	Writer: &writer,
	Resume: &record.Resume{
		Program: "codex", Args: []string{"resume"}, IsID: record.IsUUID, Entry: "session_meta", Member: "id",
		IsFile: func(stem, id string) bool {
			return strings.HasSuffix(stem, "-"+id) || strings.Contains(stem, "-"+id+"_")
		},
		Refused: func(folder string) string {
			if filepath.Base(folder) == archived {
				return "Codex has archived it"
			}
			return ""
		},
	},
	Events: []record.HookEvent{
		{Name: "SessionStart", Is: record.Start, Timeout: timeout}, {Name: "UserPromptSubmit", Timeout: timeout},
		{Name: "Stop", Is: record.TurnEnd, Timeout: timeout}, {Name: "Interrupt", Is: record.TurnEnd, Timeout: interruptTimeout},
		{Name: "SubagentStop", Timeout: timeout}, {Name: "PreCompact", Timeout: timeout}, {Name: "PostCompact", Timeout: timeout},
		{Name: "SessionEnd", Is: record.End}, // Codex gives it less time, and would complain
	},
	Agent: &record.Agent{
		Folder: folder, Hooks: "hooks.json", Settings: settings,
		MCPFile: func(w record.Where) string { return filepath.Join(folder(w), settings) },
		MCP: func(program string) (string, any) {
			_, server := record.MCPServer(program)
			return "mcp_servers", server
		},
		ManagedLinux: "/etc/codex/requirements.toml", ManagedMacOS: "/etc/codex/requirements.toml",
		Off: func(settings map[string]any, managed bool) string {
			switch {
			case managed && settings["allow_managed_hooks_only"] == true:
				return "allow_managed_hooks_only"
			case record.Setting(settings, "features", "hooks") == false, record.Setting(settings, "features", "codex_hooks") == false:
				return "features.hooks = false"
			}
			return ""
		},
		Review: review, ReviewHint: "start codex, and choose to review the hooks, or type /hooks",
	},
}

const (
	home     = "CODEX_HOME"
	settings = "config.toml"
	archived = "archived_sessions" // codex unarchive takes them out again
)

func folder(w record.Where) string { return w.Folder(".codex", home) }

func like(m record.Members) record.Confidence {
	switch typ := m.Text("type"); {
	case m.Has("payload", "type", "timestamp"), m.Has("instructions", "timestamp"), m.Has("record_type"):
		return record.Certain
	case m.Has("role") && typ == "message", strings.HasPrefix(typ, "function_call"):
		return record.High // of the versions without envelopes; others have lines of type reasoning, too
	}
	return record.NoMatch
}
