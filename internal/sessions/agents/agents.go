// Package agents installs the hooks for recording in the settings of agents, and checks them. The format of an
// agent says where its settings are. Nothing here starts an agent or reads a transcript.
package agents

import (
	"path/filepath"

	"tape/internal/sessions/importer/record"
)

// HooksFile returns the path of the file, or of the folder with scripts, for an agent's hooks; for an agent without
// hooks, the path of the file with its MCP servers.
func HooksFile(a *record.Agent, w record.Where) string {
	if a.Hooks == "" {
		return a.MCPFile(w)
	}
	name := a.Hooks
	if w.Local && a.LocalHooks != "" {
		name = a.LocalHooks
	}
	return filepath.Join(a.Folder(w), filepath.FromSlash(name))
}

// Places lists for a help text the files in which an agent's hooks may be: the user's, the project's, and the project's
// file that is not committed.
func Places(a *record.Agent) string {
	at := record.Where{Home: "~", Getenv: func(string) string { return "" }}
	project, local := at, at
	project.Project, local.Project, local.Local = ".", ".", true
	line := filepath.ToSlash(HooksFile(a, at))
	switch {
	case a.Plugin != nil:
		line = "a plugin, " + line
	case a.Scripts:
		line = "scripts in " + line
	}
	if OnlyUsers(a) {
		return line
	}
	if a.LocalHooks != "" {
		return line + ", " + filepath.ToSlash(HooksFile(a, project)) + " or " + filepath.ToSlash(HooksFile(a, local))
	}
	return line + " or " + filepath.ToSlash(HooksFile(a, project))
}

// OnlyUsers reports whether an agent has hooks only in the user's own settings.
func OnlyUsers(a *record.Agent) bool {
	at := record.Where{Home: "home", Getenv: func(string) string { return "" }}
	project := at
	project.Project = "project"
	return HooksFile(a, at) == HooksFile(a, project)
}

// hookFiles returns the files for an agent's hooks: one, a script for each event, or none.
func hookFiles(f *record.Format, w record.Where) (files []string) {
	at := HooksFile(f.Agent, w)
	switch {
	case f.Agent.Hooks == "":
		return nil
	case !f.Agent.Scripts:
		return []string{at}
	}
	for _, event := range f.Events {
		files = append(files, filepath.Join(at, event.Name))
	}
	return files
}

// mcpFile returns the path of the file in which an agent looks for MCP servers.
func mcpFile(a *record.Agent, w record.Where) string {
	if a.MCPFile != nil {
		return a.MCPFile(w)
	}
	return HooksFile(a, w)
}

// settingsFile returns the path of the agent's file in which hooks may be turned off.
func settingsFile(a *record.Agent, w record.Where) string {
	if a.Settings != "" {
		return filepath.Join(a.Folder(w), a.Settings)
	}
	return HooksFile(a, w)
}

// Transcripts returns the folder in which an agent keeps transcripts, the first of several; "" if there is no fixed one.
func Transcripts(f *record.Format, w record.Where) string {
	if f.Files.Folders == nil {
		return ""
	}
	return f.Files.Folders(w.User())[0]
}
