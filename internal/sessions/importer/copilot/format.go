package copilot

import (
	"os"
	"path/filepath"
	"strings"

	"tape/internal/git/disk"
	"tape/internal/sessions/importer/record"
)

// Format is the format of GitHub Copilot CLI.
var Format = record.Format{
	Name: "copilot", Title: "Copilot CLI", Read: Read, Describe: Describe,
	Record: func(m record.Members) record.Confidence {
		return record.Certain.If(m.Has("type", "data", "id", "timestamp") && strings.Contains(m.Text("type"), "."))
	},
	Head: func(head []byte) record.Confidence {
		return record.Certain.If(record.ContainsAll(head, `"session.start"`, `"copilot-agent"`))
	},
	Path: func(path, _ string) bool {
		return strings.Contains(path, "/.copilot/") || strings.Contains(path, ofChat)
	},
	Files: record.Files{
		Ext: ".jsonl",
		Folders: func(user record.Where) []string {
			out := []string{sessions(user)}
			for _, folder := range record.EditorFolders(user, "workspaceStorage") {
				out = append(out, disk.Glob(folder, "*/"+strings.Trim(ofChat, "/"))...)
			}
			return out
		},
		IsNote: func(path, name string) bool { return strings.Contains(path, ofChat) && isInChatSessions(path, name) },
	},
	Resume: &record.Resume{
		Program: "copilot", Args: []string{"--resume"}, IsID: record.IsUUID, Entry: "session.start", Member: "sessionId",
		Has: func(user record.Where, id, here string) string {
			if _, err := os.Stat(transcript(user, id)); err != nil {
				return ""
			}
			return here
		},
	},
	Events: moments,
	Agent: &record.Agent{
		Folder: folder, Hooks: "hooks/tape.json", OwnFile: hooks, TranslateInput: told,
		MCPFile: func(w record.Where) string { return filepath.Join(folder(w.User()), "mcp-config.json") },
		MCP:     server,
	},
}

// ofChat is the folder in which newer versions of Copilot Chat keep transcripts, in VS Code's storage of a workspace. They are
// as those of Copilot CLI, but without the directory, tokens and most results (vshulcz/deja-vu#3637).
const ofChat = "/GitHub.copilot-chat/transcripts/"

// isInChatSessions reports whether VS Code itself keeps a session that has a transcript: that has more. It may have kept
// only that there is one (microsoft/vscode#337375).
func isInChatSessions(path, name string) bool {
	id := filepath.Join(filepath.Dir(filepath.FromSlash(path)), "..", "..", "chatSessions", strings.TrimSuffix(name, ".jsonl"))
	for _, ext := range []string{".json", ".jsonl"} {
		if record.FileContains(id+ext, `"requestId"`) {
			return true
		}
	}
	return false
}

// folder returns the folder of the user's settings, or that of a project.
func folder(w record.Where) string {
	if w.Project != "" {
		return filepath.Join(w.Project, ".github")
	}
	return w.Folder(".copilot", "COPILOT_HOME")
}

func transcript(user record.Where, id string) string {
	return filepath.Join(sessions(user), id, "events.jsonl")
}

func sessions(user record.Where) string { return filepath.Join(folder(user), "session-state") }
