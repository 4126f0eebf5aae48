// Package agents has the facts about the agents that can be recorded: where their settings are, which of
// their events to ask for, and how. Nothing here starts an agent, or reads a transcript.
package agents

import (
	"cmp"
	"path/filepath"
	"runtime"
)

// The agents, by the names that users write.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
	Gemini     = "gemini"
	OpenCode   = "opencode"
)

// Names are those of all agents.
func Names() []string { return []string{ClaudeCode, Codex, Gemini, OpenCode} }

// Title is what people call an agent.
func Title(agent string) string {
	switch agent {
	case ClaudeCode:
		return "Claude Code"
	case Codex:
		return "Codex"
	case Gemini:
		return "Gemini CLI"
	}
	return agent
}

// ProjectVariable names an agent's project in the environment of its hooks, where the working
// directory may be another one; "" if it has none.
func ProjectVariable(agent string) string {
	switch agent {
	case ClaudeCode:
		return "CLAUDE_PROJECT_DIR"
	case Gemini:
		return "GEMINI_PROJECT_DIR"
	}
	return ""
}

// events are those of an agent's hooks that tell of something new. There is none for each tool:
// an agent waits for its hooks.
func events(agent string) []string {
	switch agent {
	case ClaudeCode:
		return []string{"SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"}
	case Codex:
		return []string{"SessionStart", "UserPromptSubmit", "Stop", "Interrupt", "SubagentStop", "PreCompact", "PostCompact", "SessionEnd"}
	case Gemini:
		return []string{"SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd"} // PreCompress comes before every request
	}
	return nil
}

// Where says which of an agent's settings are meant.
type Where struct {
	Project string // "" for the user's own
	Local   bool   // of the project, those that are not committed
	Home    string
	Getenv  func(string) string
}

// folder is where an agent keeps its settings.
func (w Where) folder(agent string) string {
	if w.Project != "" {
		return filepath.Join(w.Project, map[string]string{ClaudeCode: ".claude", Codex: ".codex", Gemini: ".gemini", OpenCode: ".opencode"}[agent])
	}
	switch agent {
	case ClaudeCode:
		return cmp.Or(w.Getenv("CLAUDE_CONFIG_DIR"), filepath.Join(w.Home, ".claude"))
	case Codex:
		return cmp.Or(w.Getenv("CODEX_HOME"), filepath.Join(w.Home, ".codex"))
	case Gemini:
		return filepath.Join(w.Home, ".gemini")
	}
	return filepath.Join(cmp.Or(w.Getenv("XDG_CONFIG_HOME"), filepath.Join(w.Home, ".config")), "opencode")
}

// HooksFile is the file that has an agent's hooks.
func (w Where) HooksFile(agent string) string {
	name := "settings.json"
	switch {
	case agent == Codex:
		name = "hooks.json"
	case agent == OpenCode:
		name = filepath.Join("plugin", "tape.js")
	case agent == ClaudeCode && w.Local:
		name = "settings.local.json"
	}
	return filepath.Join(w.folder(agent), name)
}

// managed are the settings that an administrator has made for an agent.
func managed(agent string) []string {
	system := map[string]string{
		"linux " + ClaudeCode: "/etc/claude-code/managed-settings.json", "darwin " + ClaudeCode: "/Library/Application Support/ClaudeCode/managed-settings.json",
		"linux " + Gemini: "/etc/gemini-cli/settings.json", "darwin " + Gemini: "/Library/Application Support/GeminiCli/settings.json",
		"linux " + Codex: "/etc/codex/requirements.toml", "darwin " + Codex: "/etc/codex/requirements.toml",
	}
	if file := system[runtime.GOOS+" "+agent]; file != "" {
		return []string{file}
	}
	return nil
}
