package gemini

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tape/internal/sessions/importer/record"
)

const timeout = 5000 // ms: Gemini CLI waits for its hooks, and a disk may hang

// Format is the format of Gemini CLI.
var Format = record.Format{
	Name: "gemini", Title: "Gemini CLI", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("$set") || m.Has("$rewindTo") || m.Has("projectHash") ||
			m.Has("sessionId") && m.HasMessages("type") ||
			m.Text("type") == "gemini" || m.Text("type") == "user" && m.Has("content", "timestamp", "id"))
	},
	Companion: func(m record.Members) bool { return m.Has("sessionId", "messageId", "type", "message") }, // logs.json
	Head: func(head []byte) record.Confidence {
		return record.High.If(record.ContainsAll(head, `"projectHash"`) ||
			record.ContainsAll(head, `"sessionId"`, `"messages"`) && record.HeadHasMessages(head, "type"))
	},
	Path: func(path, _ string) bool { return strings.Contains(path, "/.gemini/") },
	Files: record.Files{
		Folders: func(user record.Where) []string { return []string{filepath.Join(folder(user), "tmp")} },
		MadeIn: func(head []byte, dir string) bool {
			return record.ContainsAll(head, fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(dir))))
		},
		Subagents: func(path, session string) string { return filepath.Join(filepath.Dir(path), session) },
	},
	Writer: &writer,
	Resume: &record.Resume{
		Program: "gemini", Args: []string{"--resume"}, IsID: record.IsUUID, Entry: "session", Member: "sessionId",
		IsFile: func(stem, id string) bool { return strings.HasSuffix(stem, "-"+id[:min(len(id), 8)]) },
	},
	Events: []record.HookEvent{ // without PreCompress, which comes before every request
		{Name: "SessionStart", Is: record.Start, Timeout: timeout}, {Name: "BeforeAgent", Timeout: timeout},
		{Name: "AfterAgent", Is: record.TurnEnd, Timeout: timeout}, {Name: "SessionEnd", Is: record.End, Timeout: timeout},
	},
	Agent: &record.Agent{
		ProjectVariable: "GEMINI_PROJECT_DIR", Folder: folder, Hooks: "settings.json", HookName: hookName, MCP: record.MCPServer,
		ManagedLinux: "/etc/gemini-cli/settings.json",
		ManagedMacOS: "/Library/Application Support/GeminiCli/settings.json",
		Off: func(settings map[string]any, _ bool) string {
			disabled, _ := record.Setting(settings, "hooksConfig", "disabled").([]any)
			switch {
			case record.Setting(settings, "hooksConfig", "enabled") == false:
				return "hooksConfig.enabled = false"
			case slices.Contains(disabled, any(hookName)):
				return "hooksConfig.disabled"
			}
			return ""
		},
	},
}

const hookName = "tape"

// folder returns the folder of a project's settings, or that of the user, which may be in another place than the home
// directory (homedir in packages/core/src/utils/paths.ts of google-gemini/gemini-cli).
func folder(w record.Where) string {
	return filepath.Join(cmp.Or(w.Project, w.Getenv("GEMINI_CLI_HOME"), w.Home), ".gemini")
}
